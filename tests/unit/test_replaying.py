# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make replays` without hosts: it can do every step of the model's histories, and its verdict on a
certificate goes by what clients were told.
"""

from __future__ import annotations

import json
import types

import pytest

from replaying import document
from replaying.steps import Player, UnknownStepError
from support.live_hosts import PROJECT

STORY = {"name": "mysql-01", "server": "mysql", "steps": []}
WINDOW = {"from": "1970-01-01T00:02:00Z", "to": "1970-01-01T00:03:00Z", "ended": True}


def player(*moments):
    made = Player(None, STORY, print)
    made.rows = [
        types.SimpleNamespace(number=number, told=told) for number, told in enumerate(moments, 1)
    ]
    return made


def certificate(verdict, window=None, outcome="done"):
    kept = {"verdict": verdict, "outcome": outcome, "window": window, "to": "x-replica1"}
    return dict(kept, reasons=[], cases=[{"name": "unread:x"}])


def test_every_step_of_the_models_histories_can_be_done():
    text = (PROJECT / "tests" / "model" / "replays.json").read_text(encoding="utf-8")
    steps = {step.partition(":")[0] for story in json.loads(text) for step in story["steps"]}
    assert steps
    assert [step for step in steps if not hasattr(Player, f"do_{step}")] == []


def test_a_step_that_is_not_known_is_an_error():
    with pytest.raises(UnknownStepError):
        player().do("dance:replica1")


@pytest.mark.parametrize(
    ("kept", "there", "lost", "lies"),
    [
        # The second row's client was never told.
        (certificate("proven"), {1, 3}, [], False),
        (certificate("proven"), {2, 3}, [1], True),
        (certificate("not proven"), set(), [1, 3], False),
        (certificate("proven but for the degraded window", WINDOW), {1}, [3], False),
        (certificate("proven but for the degraded window", WINDOW), {3}, [1], True),
        (certificate("proven", outcome="refused"), set(), [], False),
        (None, set(), [], False),
    ],
)
def test_a_certificate_is_judged_by_what_clients_were_told(kept, there, lost, lies):
    made = document.record_of(player(100.0, None, 150.0), kept, there)
    assert (made["lost"], made["lies"], made["never"]) == (lost, lies, [2])


ORDERLY = "the server of x-source had no clean shutdown and no restart after 12:00"
KILLED = "no commit that waited on x-source was ended by KILL after 12:00"


@pytest.mark.parametrize(
    ("steps", "lies"),
    [
        (["look:a", "commit", "stop_source", "failover"], False),
        # What happened before the last look, the look has seen.
        (["look:a", "stop_source", "look:a", "commit", "failover"], True),
        (["look:a", "commit", "kill_source", "failover"], True),
        (["look:a", "commit", "kill_query", "failover"], False),
        (["look:a", "commit", "kill_query", "look:a", "failover"], True),
    ],
)
def test_a_verdict_does_not_answer_for_what_it_assumes(steps, lies):
    made = player(100.0)
    made.story = dict(STORY, steps=steps)
    record = document.record_of(made, dict(certificate("proven"), assumes=[ORDERLY, KILLED]), set())
    assert (record["lost"], record["lies"]) == ([1], lies)
    assert document.told_truth(dict(record, steps=steps)).startswith("no" if not lies else "**yes")


def test_a_replay_is_kept_under_the_name_that_its_history_has_today():
    def one(name, *steps, **more):
        return {"server": "mysql", "name": name, "steps": [*steps], "mistake": "C1", **more}

    records = [one("mysql-01", "look:a", seconds=9), one("mysql-02", "commit", seconds=8)]
    histories = [one("mysql-01", "stop_source"), one("mysql-02", "look:a")]
    assert document.renumbered(records, histories) == [one("mysql-02", "look:a", seconds=9)]
