# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks import drill_outcome
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import FAILED, UNKNOWN
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.drill import (
    announcement,
    drill_plan,
    refusals,
)
from ansible_collections.dbre.semisync.tests.unit.samples import pair as captured_pair

TASK = {
    "replica": "r1",
    "source": "s",
    "unit": "mysql",
    "timeout_ms": 3000,
    "needed": 1,
    "clients": 1,
    "waits": True,
    "expected_fallback": True,
}
TWO = dict(TASK, clients=2, expected_fallback=False)
SETTINGS = {"drill_replica": "", "drill_max_block": 15}
# The replica's server is told to stop at 1003.05 and to start again at 1008.4.
STOPPED = {
    "changed": True,
    "running": False,
    "active": "inactive",
    "sub": "dead",
    "main_pid": 0,
    "times": {"stopping": 1003.05, "stopped": 1003.9, "starting": 900.0, "started": 901.0},
}
STARTED = {
    "changed": False,
    "running": True,
    "active": "active",
    "sub": "running",
    "main_pid": 669,
    "times": {"stopping": 1003.05, "stopped": 1003.9, "starting": 1008.4, "started": 1009.7},
}


def one(at, latency, yes, no, status, clients, times=0):
    return {
        "at": at,
        "latency_ms": latency,
        "yes_tx": yes,
        "no_tx": no,
        "no_times": times,
        "status": status,
        "clients": clients,
    }


def before():
    return [one(1000 + n / 10.0, 8.0, 1, 0, "ON", 1) for n in range(30)]


def away(blocked=3003.5):
    return [one(1003.1, blocked, 0, 1, "OFF", 1, 1)] + [
        one(1006.2 + n / 10.0, 2.6, 0, 1, "OFF", 1 if n < 9 else 0) for n in range(20)
    ]


def after():
    return [one(1008.5 + n / 10.0, 5.0, 0, 1, "OFF", 0) for n in range(14)] + [
        one(1010 + n / 10.0, 5.0, 1, 0, "ON", 1) for n in range(10)
    ]


def judged(task=None, rows=None, stopped=None, started=None, reason="", returned=None):
    return drill_outcome.drill_seen(
        task or TASK,
        before() + away() + after() if rows is None else rows,
        STOPPED if stopped is None else stopped,
        STARTED if started is None else started,
        reason,
        STARTED if returned is None else returned,
    )


def outcomes(found):
    return {point["id"]: point["outcome"] for point in found["checkpoints"]}


def unknown(found):
    return [point["id"] for point in found["checkpoints"] if point["outcome"] == UNKNOWN]


def failed(found):
    return [point["id"] for point in found["checkpoints"] if point["outcome"] == FAILED]


def members(engine="mysql", **variables):
    pair = captured_pair(engine)
    pair[0].info["semisync"]["source"]["status"]["clients"] = "1"
    pair[0].info["semisync"]["source"]["variables"].update(variables)
    return pair


def test_a_drill_as_it_should_be():
    found = judged()
    assert found["outcome"] == "passed" and found["reason"] == ""
    assert set(outcomes(found).values()) == {"passed"}
    assert sorted(outcomes(found)) == [
        "P6.0",
        "P6.1",
        "P6.2",
        "P6.3",
        "P6.4",
        "P7.1",
        "P7.2",
        "P7.3",
    ]
    assert (
        found["blocked_ms"] == 3003.5
        and found["unprotected"] == 35
        and found["recovery_seconds"] == 1.605
    )
    assert (found["stopped_at"], found["started_at"]) == (3.9, 8.4)
    assert [entry["phase"] for entry in found["inserts"]] == (
        ["before"] * 30 + ["stopped"] * 21 + ["recovering"] * 14 + ["after"] * 10
    )
    assert [event["t"] for event in found["events"]] == [0.0, 3.05, 3.9, 6.104, 8.4, 9.7, 10.005]


@pytest.mark.parametrize(
    "rows,points",
    [
        (before() + away(blocked=40.0) + after(), ["P6.2"]),
        (before() + away(blocked=9000.0) + after(), ["P6.2"]),
        (
            before()
            + away()[:1]
            + [dict(row, at=1006.5, latency_ms=1600.0) for row in away()[-8:]]
            + after(),
            ["P6.2"],
        ),
        (before() + away()[:-1] + [dict(away()[-1], no_times=1)] + after(), ["P6.2"]),
        (before() + away()[:-1] + [dict(away()[-1], clients=1)] + after(), ["P6.3"]),
        (before() + away()[:-1] + [dict(away()[-1], status="ON")] + after(), ["P6.4"]),
        (before() + away() + after()[:14], ["P7.2", "P7.3"]),
        (before() + away() + after()[:-1] + [dict(after()[-1], no_tx=1)], ["P7.2"]),
        (before() + away() + after()[:-1] + [dict(after()[-1], status="OFF")], ["P7.3"]),
        (before() + away() + after()[:-1] + [dict(after()[-1], clients=0)], ["P7.3"]),
    ],
    ids=[
        "too_soon",
        "too_late",
        "slow_afterwards",
        "off_twice",
        "client_left",
        "still_on",
        "never_back",
        "lost_one",
        "off_again",
        "no_client",
    ],
)
def test_what_differs_fails_its_point_and_no_other(rows, points):
    found = judged(rows=rows)
    assert failed(found) == points
    assert found["outcome"] == "failed" and found["reason"]


def test_what_nobody_saw_has_not_failed_and_the_drill_has_not_passed():
    found = judged(rows=[])
    assert failed(found) == [] and found["outcome"] == "failed"
    assert unknown(found) == ["P6.2", "P6.3", "P6.4", "P7.2", "P7.3"]
    assert "P6.2 on s: not seen" in found["reason"]


def test_an_insert_waits_less_when_another_session_waited_before_it():
    rows = [*before(), dict(away()[0], latency_ms=2950.0, no_tx=4), *away()[1:], *after()]
    assert failed(judged(rows=rows)) == []
    assert judged(rows=rows)["unprotected"] == 38


def test_where_the_source_does_not_wait_for_who_is_not_there():
    task = dict(TASK, waits=False)
    assert failed(judged(task, before() + away(blocked=12.0) + after())) == []
    assert failed(judged(task, before() + away(blocked=4500.0) + after())) == ["P6.2"]


def test_a_server_that_did_not_stop_or_does_not_start_fails_its_point():
    assert failed(judged(stopped=dict(STOPPED, running=True, active="active", main_pid=5))) == [
        "P6.1"
    ]
    assert failed(judged(started=dict(STARTED, running=False, active="failed", main_pid=0))) == [
        "P7.1"
    ]


def test_a_drill_that_was_broken_off_says_why():
    found = judged(rows=before(), stopped={}, started={}, reason="Stop: no")
    assert (
        found["outcome"] == "failed"
        and found["reason"] == "Stop: no"
        and found["recovery_seconds"] is None
    )
    assert failed(found) == []
    assert {point["reason"] for point in found["checkpoints"] if point["outcome"] == UNKNOWN} == {
        "Stop: no"
    }
    assert {entry["phase"] for entry in found["inserts"]} == {"before"}


DIED = "mysql on r1 was not running"


@pytest.mark.parametrize(
    "stopped,returned,started,said",
    [
        (
            {},
            {},
            {"changed": True},
            f"{DIED}, although the drill had not stopped it; it was started",
        ),
        (
            {"changed": True},
            {"changed": True},
            {"changed": True},
            f"{DIED} any more, although the drill had started it again; it was started",
        ),
        ({"changed": False}, {}, {"changed": True}, f"{DIED} when the drill came to stop it"),
        # The drill's own stop, whose start was not reached, or failed, or is not known.
        ({"changed": True}, {}, {"changed": True}, ""),
        ({"changed": True}, {"changed": False, "running": False}, {"changed": True}, ""),
        # Nothing tells whether it was stopped.
        ({"unreachable": True}, {}, {"changed": True}, ""),
        ({}, {}, {"changed": False}, ""),
    ],
)
def test_a_replicas_server_that_dies_by_itself_is_named_first(stopped, returned, started, said):
    found = judged(
        rows=before(),
        stopped=stopped and (stopped if "unreachable" in stopped else {**STOPPED, **stopped}),
        started={**STARTED, **started},
        reason="See that rows are acknowledged: waited",
        returned=returned and {**STARTED, **returned},
    )
    assert found["reason"] == "; ".join(
        filter(None, (said, "See that rows are acknowledged: waited"))
    )
    assert found["outcome"] == FAILED


def test_a_stop_that_broke_off_is_known_by_systemds_times_after_the_start():
    lost = {"unreachable": True, "msg": "the connection broke"}
    found = judged(stopped=lost, reason="r1 was not reachable")
    assert found["outcome"] == "failed" and found["reason"] == "r1 was not reachable"
    assert (failed(found), unknown(found)) == ([], ["P6.1"])
    assert (
        found["unprotected"] == 35
        and found["recovery_seconds"] == 1.605
        and found["stopped_at"] == 3.9
    )


def test_an_older_stop_is_none_of_this_drill():
    older = dict(
        STARTED, times={"stopping": 800.0, "stopped": 801.0, "starting": 900.0, "started": 901.0}
    )
    found = judged(
        rows=before(),
        stopped={"failed": True, "msg": "no timer"},
        started=older,
        reason="Stop: no timer",
    )
    assert {entry["phase"] for entry in found["inserts"]} == {"before"}
    assert found["unprotected"] == 0 and found["stopped_at"] is None and "P6.1" in unknown(found)


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"unreachable": True, "msg": "gone"},
        {"failed": True, "msg": "systemctl failed", "rc": 1},
    ],
)
def test_a_start_that_nobody_saw_is_unknown(said):
    assert "P7.1" in unknown(judged(started=said, reason="mysql on r1 MAY NOT RUN"))


def other(rows):
    """The same rows where another replica acknowledges all the while."""
    return [
        dict(
            row,
            yes_tx=1,
            no_tx=0,
            no_times=0,
            status="ON",
            latency_ms=min(row["latency_ms"], 9.0),
            clients=2 if row["at"] > 1009.7 or row["at"] < 1003 else 1,
        )
        for row in rows
    ]


def test_with_enough_replicas_nobody_is_blocked_and_that_is_said():
    found = judged(TWO, other(before() + away() + after()))
    assert found["outcome"] == "passed" and found["unprotected"] == 0 and found["blocked_ms"] == 0.0
    without = {
        point["id"]: point["reason"]
        for point in found["checkpoints"]
        if point["outcome"] == "not_applicable"
    }
    assert sorted(without) == ["P6.2", "P6.3", "P6.4"]
    assert "1 other replica(s) acknowledge while r1 is stopped" in without["P6.2"]
    assert "longest insert 9.0 ms, no_tx +0" in without["P6.2"]
    assert outcomes(found)["P7.2"] == outcomes(found)["P7.3"] == "passed"


@pytest.mark.parametrize(
    "change,points",
    [
        (
            {"latency_ms": 3003.0, "no_tx": 1, "yes_tx": 0, "status": "OFF"},
            ["P6.2", "P6.4", "P7.2"],
        ),
        ({"latency_ms": 3003.0}, ["P6.2"]),
    ],
)
def test_with_enough_replicas_a_blocked_writer_fails(change, points):
    rows = other(before() + away() + after())
    rows[35].update(change)
    assert failed(judged(TWO, rows)) == points


def test_the_drills_of_a_run_share_the_sources_rows():
    first, second = (
        judged(TWO, other(before() + away() + after())),
        judged(TWO, other(before() + away() + after())),
    )
    second["replica"] = "r2"
    for point in second["checkpoints"]:
        point["host"] = point["host"].replace("r1", "r2")
    second["checkpoints"][-1]["outcome"] = "failed"
    rows = drill_outcome.merge([first, second])
    assert [(row["id"], row["host"]) for row in rows] == [
        ("P6.0", "s"),
        ("P6.1", "r1"),
        ("P6.1", "r2"),
        ("P6.2", "s"),
        ("P6.3", "s"),
        ("P6.4", "s"),
        ("P7.1", "r1"),
        ("P7.1", "r2"),
        ("P7.2", "s"),
        ("P7.3", "s"),
    ]
    assert rows[-1]["outcome"] == "failed" and rows[-1]["observed"].startswith(
        "r1: ON, 2 client(s); r2: ON"
    )


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_a_pair_falls_back_when_its_replica_is_stopped(engine):
    (task,) = drill_plan(members(engine, timeout="3000"), SETTINGS, {})
    assert (
        task["expected_fallback"]
        and task["timeout_ms"] == 3000
        and task["unit"] in ("mysql", "mariadb")
    )


def drills_of(*places, **changes):
    return [dict(TASK, position=one, count=len(places), **changes) for one in places]


@pytest.mark.parametrize(
    "drills,words",
    [
        (drills_of(1), "cluster default: r1, about 23 s; writers may be blocked for 3 s each"),
        (
            drills_of(1, 2, expected_fallback=False),
            "r1, r1, one after another, about 40 s; the other replicas",
        ),
    ],
)
def test_a_drill_says_beforehand_about_how_long_it_takes(drills, words):
    assert words in announcement("default", drills)


@pytest.mark.parametrize(
    "position,begins,ends",
    [(1, "  [1/3] Drill of r1: passed; ", "; about 36 s left"), (3, "  [3/3] Drill", "its start")],
)
def test_a_drill_that_has_ended_says_how_many_are_left_and_about_how_long(position, begins, ends):
    task, rows = dict(TASK, position=position, count=3), [*before(), *away(), *after()]
    line = drill_outcome.progress_line(task, judged(), rows, rows[0]["at"] + 18)
    assert line.startswith(begins) and line.endswith(ends), line


@pytest.mark.parametrize(
    "clients,needed,falls",
    [("2", "1", False), ("2", "2", True), ("3", "2", False), ("1", "1", True)],
)
def test_whether_it_falls_back_is_a_matter_of_who_is_left(clients, needed, falls):
    pair = members(wait_for_replica_count=needed)
    pair[0].info["semisync"]["source"]["status"]["clients"] = clients
    assert drill_plan(pair, SETTINGS, {})[0]["expected_fallback"] is falls


@pytest.mark.parametrize(
    "settings,words",
    [
        ({"drill_replica": "db99"}, "semisync_drill_replica is db99, which is not a replica"),
        ({"drill_max_block": 9.9}, "the semi-sync timeout is 10000 ms"),
    ],
)
def test_what_must_not_be_is_refused(settings, words):
    found = refusals(members(timeout="10000"), dict(SETTINGS, **settings), {})
    assert len(found) == 1 and words in found[0]


def test_a_server_without_a_unit_is_refused_unless_one_is_named():
    pair = members(timeout="10000")
    pair[1].info["unit"] = None
    assert "belongs to no systemd unit" in refusals(pair, SETTINGS, {})[0]
    assert refusals(pair, SETTINGS, {pair[1].host: "mysqld@a"}) == []


@pytest.mark.parametrize(
    "where,name,value,refused",
    [
        ("option_files", "skip_replica_start", "", True),
        ("option_files", "skip_slave_start", "1", True),
        ("option_files", "skip_slave_start", "OFF", False),
        ("persisted", "skip_replica_start", "ON", True),
        ("command_line", "skip_replica_start", "", True),
    ],
)
def test_a_replica_that_would_not_follow_again_is_refused(where, name, value, refused):
    pair = members(timeout="10000")
    files = pair[1].info["option_files"]
    options = {
        "persisted": pair[1].info["persisted"],
        "option_files": files["options"],
        "command_line": files["command_line"],
    }
    options[where][name] = value
    assert ["skip_replica_start is set" in words for words in refusals(pair, SETTINGS, {})] == [
        True
    ] * refused


def test_a_host_that_was_not_read_is_refused():
    pair = members()
    pair[1].info, pair[1].error = None, "unreachable"
    assert refusals(pair, SETTINGS, {}) == [f"{pair[1].host}: unreachable"]


def test_a_cluster_with_two_that_take_writes_is_refused():
    pair = members(timeout="10000")
    pair[0].info["variables"]["read_only"] = pair[1].info["variables"]["read_only"] = "OFF"
    row = {"number": 1, "operation": "failover", "run": "r", "state": "done", "happened": "now"}
    ids = [member.info["variables"]["server_uuid"] for member in pair]
    row.update(from_host="db1", to_host="db2", from_id=ids[0], to_id=ids[1])
    pair[1].info.update(channel=None, journal=row)
    assert "take writes, a split brain" in refusals(pair, SETTINGS, {})[0]


def test_a_replica_of_which_nobody_knows_whether_it_follows_again_is_refused():
    pair = members(timeout="10000")
    pair[1].info["option_files"].update(unknown="mysqld is not to be found", options={})
    assert "mysqld is not to be found" in refusals(pair, SETTINGS, {})[0]


def test_a_healthy_pair_is_not_refused():
    assert refusals(members(timeout="10000"), SETTINGS, {}) == []


def test_a_drill_in_words():
    assert (
        drill_outcome.drill_line(judged())
        == "Drill of r1: passed; writers blocked for 3.00 s (timeout 3.00 s), 35 transaction(s) "
        "unprotected, recovered 1.60 s after its start"
    )
    assert "no writer was blocked, longest insert 9.0 ms" in drill_outcome.drill_line(
        judged(TWO, other(before() + away() + after()))
    )


def test_a_replica_whose_service_starts_replication_is_drilled():
    pair = members(timeout="10000")
    pair[1].info["option_files"]["options"]["skip_slave_start"] = ""
    pair[1].info["received"] = {"stands": True}
    assert refusals(pair, SETTINGS, {}) == []
