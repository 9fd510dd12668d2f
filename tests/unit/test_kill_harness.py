# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loop that kills a run after each of its tasks, and the page's table of it."""

from __future__ import annotations

import time

import pytest

import kill_harness
from kill_harness import DASH, Section, kill_after_each

TASKS = [
    {"number": 1, "name": "Read", "ran": ["x-source", "x-replica"], "changed": []},
    {"number": 2, "name": "Skip", "ran": [], "changed": []},
    {"number": 3, "name": "Set | up", "ran": ["x-source"], "changed": ["x-source"]},
    {"number": 4, "name": "Verify", "ran": ["x-source"], "changed": []},
]
LATER = time.monotonic() + 10**6


@pytest.fixture(name="section")
def fixture_section(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- mysql -->\nold\n<!-- end of mysql -->\nafter\n")
    return Section(page, "mysql")


def loop(results, said, until=LATER, **more):
    """The tasks that were tried, in order."""
    tried = []

    def attempt(number):
        tried.append(number)
        return said.get(number, "converged, 9 s")

    kill_after_each(TASKS, results, attempt, until, lambda: None, **more)
    return tried


def test_a_run_is_killed_after_each_task_that_a_host_ran_but_for_the_last():
    results = {}
    assert loop(results, {}) == [1, 3]
    assert results == {1: "converged, 9 s", 3: "converged, 9 s"}


def test_what_converged_before_is_not_tried_again_and_what_failed_is():
    assert loop({1: "converged, 7 s", 3: "FAILED: no"}, {}) == [3]


@pytest.mark.parametrize(("stop", "tried"), [(True, [1]), (False, [1, 3])])
def test_a_failure_ends_the_loop_only_if_the_next_task_needs_the_same_hosts(stop, tried):
    results = {}
    assert loop(results, {1: "FAILED: two sources"}, stop_at_failure=stop) == tried
    assert kill_harness.any_failed(results)


def test_nothing_begins_after_the_time_is_over_and_the_order_is_the_callers():
    assert loop({}, {}, until=time.monotonic() - 1) == []
    assert loop({}, {}, order=[3, 1]) == [3, 1]


def test_the_table_is_written_between_its_marks_and_read_back(section):
    section.write(TASKS, {1: "converged, 7 s", 3: "FAILED: no"})
    page = section.path.read_text()
    assert page.startswith("before\n<!-- mysql -->\n") and page.endswith(
        "<!-- end of mysql -->\nafter\n"
    )
    assert "old" not in page and "4 tasks, 3 of them ran on a host; killed after 2" in page
    for line in (
        f"| 1 | Read | replica, source | {DASH} | converged, 7 s |",
        f"| 2 | Skip | {DASH} | {DASH} | as after 1 |",
        "| 3 | Set / up | source | source | FAILED: no |",
        f"| 4 | Verify | source | {DASH} | its end |",
    ):
        assert line in page
    assert section.converged() == {(1, "Read"): "converged, 7 s"}


def test_the_words_of_a_failure_stay_in_their_cell():
    assert kill_harness.failure(AssertionError("a |\n b")) == "FAILED: a / b"
