# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import schedule, suite

GOOD = """
title: Ours
load: {tool: mysqlslap, clients: 4, queries: 100}
repetitions: 2
cells:
  - {id: a, replication: async}
  - {id: b, replication: semisync, delay_ms: 90, baseline: a}
"""


def read(text, profile="full"):
    return suite.read_suite(text, "ours.yml", profile)


def test_repetitions_are_interleaved_after_one_warm_up_of_each_load():
    order = [(cell["id"], number) for cell, number in schedule.runs(read(GOOD))]
    assert order == [("a", 0), ("a", 1), ("b", 1), ("a", 2), ("b", 2)]


def test_a_step_sets_only_what_differs_from_the_one_before():
    steps = schedule.remaining_steps(read(GOOD + "time_limit: 60\n"), set())
    assert [(step["cell"], step["source"], step["replica"], step["delay"]) for step in steps] == [
        ("a", True, True, True),
        ("a", False, False, False),
        ("b", True, False, True),
        ("a", True, False, True),
        ("b", True, False, True),
    ]


def test_replicas_are_set_when_they_are_disconnected_and_when_durability_changes():
    text = GOOD.replace("replication: async", "replication: none")
    assert [
        step["replica"] for step in schedule.remaining_steps(read(text + "time_limit: 60\n"), set())
    ] == [True, False, True, True, True]
    text = GOOD.replace("replication: async", "replication: async, durability: {sync_binlog: 0}")
    assert [
        step["replica"] for step in schedule.remaining_steps(read(text + "time_limit: 60\n"), set())
    ] == [True, False, True, True, True]


def test_an_interrupted_run_goes_on_with_what_is_left_and_sets_everything_first():
    steps = schedule.remaining_steps(read(GOOD), {("a", 0), ("a", 1), ("b", 1), ("a", 2)})
    assert [
        (step["cell"], step["repetition"], step["source"], step["replica"], step["delay"])
        for step in steps
    ] == [("b", 2, True, True, True)]


@pytest.mark.parametrize("limit,seconds", [(40, 200), (1800, 3720), (86400, 86400)])
def test_a_step_may_take_what_its_load_may_and_no_longer_than_a_host_waits(limit, seconds):
    assert schedule.longest_step(limit) == seconds
