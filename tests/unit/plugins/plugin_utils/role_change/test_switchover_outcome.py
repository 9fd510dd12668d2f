# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of a switchover, from what its parts said, or did not say."""

from __future__ import annotations

import json
import os

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import SEE_ITS_RESULT
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import switchover_outcome
from ansible_collections.dbre.semisync.tests.unit import samples

SCHEMA = os.path.join(
    os.path.dirname(os.path.abspath(switchover_outcome.__file__)), "switchover.schema.json"
)
PLAN = {
    "cluster": "shop",
    "mode": "switch",
    "from": "db1",
    "to": "db2",
    "token": "feed",
    "premises": [],
    "hosts": {"db1": {}, "db2": {}},
}
SILENT = {"msg": "MODULE FAILURE", "failed": True}


def said(outcome, reason="", **more):
    return dict({"outcome": outcome, "reason": reason, "statements": [], "points": []}, **more)


@pytest.mark.parametrize(
    "source,target,outcome",
    [
        (said("done"), said("done"), "done"),
        # The source saw it open before the other's part was killed.
        (said("done"), SILENT, "done"),
        (SILENT, said("done"), "done"),
        (said("undone", "db2 did not come"), SILENT, "undone"),
        (said("refused", "long transactions"), said("refused"), "refused"),
        (said("unknown", "db2 does not answer"), SILENT, "unknown"),
        # A target that stepped back knows nothing of the source.
        (SILENT, said("undone"), "unknown"),
        (SILENT, SILENT, "unknown"),
    ],
)
def test_the_source_s_word_counts_and_the_target_s_that_it_is_open(source, target, outcome):
    parts = {"db1": source, "db2": target}
    assert switchover_outcome.outcome(PLAN, parts)[0] == outcome


def test_a_run_that_only_settles_asks_no_part():
    parts = {"db1": {"skipped": True}, "db2": {"skipped": True}}
    assert switchover_outcome.outcome(dict(PLAN, mode="settle"), parts) == ("done", "")
    assert switchover_outcome.switchover_failure(record(parts, mode="settle"), parts, True) == ""


def test_whoever_only_heard_of_it_does_not_say_why():
    parts = {
        "db1": said("refused", f"db2 rolled back; {SEE_ITS_RESULT}"),
        "db2": said("refused", "it has transactions that db1 lacks"),
    }
    assert switchover_outcome.outcome(PLAN, parts)[1] == "db2: it has transactions that db1 lacks"


def record(parts, rows=(), **more):
    outcome, reason = switchover_outcome.outcome(dict(PLAN, **more), parts)
    return switchover_outcome.record(dict(PLAN, **more), parts, outcome, reason, list(rows))


@pytest.mark.parametrize(
    "source,target,mode,words",
    [
        (said("done"), said("done"), "switch", ""),
        (said("done"), SILENT, "switch", "db2 is the source, but db2 did not finish"),
        (
            said("undone", "no"),
            said("undone"),
            "switch",
            "everything was rolled back, db1 is the source",
        ),
        (
            said("refused", "no"),
            said("refused"),
            "switch",
            "nothing was changed, db1 is the source",
        ),
        (SILENT, SILENT, "switch", "it is not known which server is the source"),
        (said("undone"), said("undone"), "undo", ""),
        (said("unknown"), said("unknown"), "undo", "could not be rolled back"),
    ],
)
def test_a_run_fails_where_the_role_is_not_where_it_should_be(source, target, mode, words):
    parts = {"db1": source, "db2": target}
    said_words = switchover_outcome.switchover_failure(record(parts, mode=mode), parts, False)
    assert words in said_words
    assert bool(words) == bool(said_words)


def test_a_checkpoint_that_failed_is_said_when_all_is_settled():
    parts = {
        "db1": said("done"),
        "db2": said(
            "done", points=[{"id": "S7", "good": False, "observed": "no", "expected": "yes"}]
        ),
    }
    rows = switchover_outcome.points(parts, switchover_outcome.TITLES)
    words = switchover_outcome.switchover_failure(record(parts, rows), parts, True)
    assert words == "Cluster 'shop': db2 is the source, but S7 db2: no"


@pytest.mark.parametrize(
    "follows,runs,good",
    [("db2", True, True), ("db2", False, False), ("db1", True, False), ("", True, False)],
)
def test_everybody_else_follows_the_target_when_all_is_settled(follows, runs, good):
    members = samples.replicating("mysql", 2)
    db1, db2, db3 = members
    for one, other in ((db1, "db2"), (db3, follows)):
        one.info["channel"] = None
        if other:
            samples.connect(one, {"db1": db1, "db2": db2}[other])
    if follows and not runs:
        db3.info["channel"]["io_running"] = "No"
    db1.info["semisync"]["replica"]["status"]["status"] = "ON"
    peers = [{"host": one.host, "address": one.address, "port": 3306} for one in members]
    plan = dict(PLAN, hosts={one.host: {"members": peers} for one in members})
    rows = switchover_outcome.settled(plan, members, {})
    seen = {row["host"]: row["outcome"] for row in rows if row["id"] == "S8"}
    assert seen == {"db1": "passed", "db3": "passed" if good else "failed"}


@pytest.mark.parametrize("fence,outcome", [(False, "passed"), (True, "failed"), (None, "passed")])
def test_a_former_source_whose_fence_stays_is_not_settled(fence, outcome):
    members = samples.replicating("mysql", 1)
    samples.connect(members[0], members[1])
    if fence is not None:
        members[0].info["fence"] = fence
    # What another made is none of the switchover's.
    members[1].info["fence"] = True
    peers = [{"host": one.host, "address": one.address, "port": 3306} for one in members]
    plan = dict(PLAN, hosts={one.host: {"members": peers} for one in members})
    plans = {one.host: {"server_changes": False} for one in members}
    rows = switchover_outcome.settled(plan, members, plans)
    seen = {row["host"]: row for row in rows if row["id"] == "S9"}
    assert seen["db1"]["outcome"] == outcome and seen["db2"]["outcome"] == "passed"
    if fence:
        parts = {host: said("done") for host in ("db1", "db2")}
        words = switchover_outcome.switchover_failure(record(parts, rows), parts, True)
        assert "S9 db1: the option file that keeps its channel from starting" in words
        assert "run switchover.yml again with the same host" in words


def event(name, at):
    return {"event": name, "words": "", "at": at}


def test_one_timeline_of_hosts_whose_clocks_differ():
    parts = {
        "db1": said("done", timeline=[event("freeze", 100.0), event("frozen", 100.010)]),
        # Two minutes ahead.
        "db2": said("done", timeline=[event("frozen_seen", 220.010), event("ready", 220.030)]),
    }
    lines = switchover_outcome.timeline(PLAN, parts)
    assert [(line["at_ms"], line["event"]) for line in lines] == [
        (0.0, "freeze"),
        (10.0, "frozen"),
        (10.0, "frozen_seen"),
        (30.0, "ready"),
    ]


def test_what_people_are_told_has_the_time_without_a_source():
    parts = {
        "db1": said("done", writers_waited_ms=123.4, timeline=[event("freeze", 1.0)]),
        "db2": said("done"),
    }
    lines = switchover_outcome.switchover_lines(record(parts))
    assert lines[0] == "Switchover of cluster shop from db1 to db2: done"
    assert "  no server took writes for 123 ms" in lines


MOVED = [("freeze", "db1", 0.0), ("frozen", "db1", 9.0), ("open", "db2", 60.0)]
TAKEN_BACK = [("freeze", "db1", 0.0), ("back", "db1", 40.0), ("reopened", "db1", 50.0)]
# The target's part was killed behind its word, and the source saw that it is open.
SEEN_OPEN = [("freeze", "db1", 0.0), ("open_seen", "db1", 70.0)]


def lines(events):
    return [{"at_ms": at, "host": host, "event": name, "words": ""} for name, host, at in events]


@pytest.mark.parametrize(
    "events,spans",
    [
        (MOVED, [("db1", None, 0.0), ("db2", 60.0, None)]),
        (TAKEN_BACK, [("db1", None, 0.0), ("db1", 50.0, None)]),
        (SEEN_OPEN, [("db1", None, 0.0), ("db2", 70.0, None)]),
        # No server was seen to take writes again.
        (MOVED[:2], [("db1", None, 0.0)]),
        # It was not frozen, or that is not known.
        ([("met", "db1", None)], []),
        ([], []),
    ],
)
def test_who_could_be_written_to_when(events, spans):
    found = switchover_outcome.writable(PLAN, lines(events))
    assert [(span["host"], span["from_ms"], span["to_ms"]) for span in found] == spans


@pytest.fixture(name="validator", scope="module")
def fixture_validator():
    jsonschema = pytest.importorskip("jsonschema")
    with open(SCHEMA) as stream:
        schema = json.load(stream)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def full_record():
    parts = {
        "db1": said(
            "done",
            writers_waited_ms=60.0,
            position="0-1-5",
            statements=["SET GLOBAL read_only = 1"],
            timeline=[event("freeze", 100.0), event("frozen", 100.010)],
        ),
        "db2": said(
            "done",
            points=[{"id": "S7", "good": True, "observed": "yes", "expected": "yes"}],
            timeline=[event("frozen_seen", 100.011), event("open", 100.060)],
        ),
    }
    return record(parts, switchover_outcome.points(parts, switchover_outcome.TITLES))


def test_the_moment_of_the_freeze_is_the_source_s_clock_s():
    assert full_record()["froze_at"] == "1970-01-01T00:01:40.000Z"


def test_every_record_is_valid(validator):
    validator.validate(full_record())
    for source, target in (
        (said("refused", "long transactions"), said("refused")),
        (said("unknown", "gone", timeline=[event("freeze", 1.0)]), SILENT),
        (SILENT, SILENT),
    ):
        validator.validate(record({"db1": source, "db2": target}, mode="settle"))
        validator.validate(record({"db1": source, "db2": target}))


def test_what_was_mended_beforehand_is_kept_in_the_same_run_s_record(validator):
    undone = dict(full_record(), mode="undo", token="old", outcome="undone")
    assert "mended" not in switchover_outcome.with_mended(undone, None)
    # The same one, reported once more when it has settled.
    assert "mended" not in switchover_outcome.with_mended(undone, undone)
    moved = switchover_outcome.with_mended(full_record(), undone)
    settled = switchover_outcome.with_mended(full_record(), moved)
    validator.validate(settled)
    (one,) = settled["mended"]
    assert one == moved["mended"][0]
    assert (one["mode"], one["token"], one["outcome"]) == ("undo", "old", "undone")


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "perhaps"},
        {"writable": []},
        {"froze_at": "2026-11-21 14:30"},
        {"froze_at": None},
        {"writers_waited_ms": -1},
        {"points": [{"id": "P1"}]},
        {"format": 2},
        {"more": 1},
    ],
)
def test_what_is_wrong_is_refused(validator, change):
    assert not validator.is_valid(dict(full_record(), **change))
