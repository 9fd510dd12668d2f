# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import copy

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._canary import watcher
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks import (
    check,
    checkpoints,
)
from ansible_collections.dbre.semisync.tests.unit import samples

ENGINES = ("mysql", "mariadb")
AT = 1795261620.0
ALL = [
    "P0",
    "P0",
    "P1.1",
    "P1.2",
    "P2.1",
    "P3.1",
    "P3.2",
    "P3.3",
    "P3.4",
    "P3.5",
    "P4.1",
    "P4.2",
    "P4.3",
    "P4.4",
    "P5.1",
    "P5.2",
]


def canary(confirmed=True, yes=1, no=0, **more):
    """Result of semisync_canary on the source: one row."""
    return dict(
        {
            "written": [
                {
                    "row": 1,
                    "latency_ms": 1.9,
                    "confirmed": confirmed,
                    "confirmed_at": AT if confirmed else None,
                    "counters": {"yes_tx": yes, "no_tx": no},
                }
            ],
            "confirmed_at": AT if confirmed else None,
        },
        **more,
    )


def arrival(seconds=0.02):
    return {"arrived": True, "arrived_at": AT + seconds, "polls": 3}


NOT_SEEN = {"arrived": False, "arrived_at": None, "polls": 3000}


def evaluate(members, written=None, seen=None, recorded=None):
    written = canary() if written is None else written
    arrivals = {
        one.host: arrival() if seen is None else seen for one in members if one.side == "replica"
    }
    return checkpoints.evaluate(members, written, arrivals, recorded or {})


def failed(rows):
    return [(row["id"], row["host"]) for row in rows if row["outcome"] == "failed"]


def unknown(rows):
    return [(row["id"], row["host"]) for row in rows if row["outcome"] == "unknown"]


def find(rows, point, host=None):
    return next(row for row in rows if row["id"] == point and host in (None, row["host"]))


def test_a_sound_mysql_pair_passes_everything_that_can_be_seen():
    rows = evaluate(samples.pair("mysql"))
    assert [row["id"] for row in rows] == ALL
    assert failed(rows) == []
    assert [row["id"] for row in rows if row["outcome"] != "passed"] == ["P2.1", "P3.5"]


def test_a_sound_mariadb_pair_has_no_plugins_to_show():
    rows = evaluate(samples.pair("mariadb"))
    assert [row["id"] for row in rows] == ALL and failed(rows) == []
    for point in ("P3.1", "P4.1"):
        row = find(rows, point)
        assert (row["outcome"], row["reason"]) == (
            "not_applicable",
            "semi-sync is built into mariadb 10.11.19",
        )
        assert row["observed"] == ""


def test_a_mariadb_with_plugins_must_show_them():
    members = samples.bare("mariadb", version="10.3.2")
    rows = evaluate(members)
    assert find(rows, "P3.1")["title"] == "SHOW PLUGINS has rpl_semi_sync_master"
    assert find(rows, "P3.1")["outcome"] == "failed"


def test_titles_are_in_the_servers_own_words():
    rows = evaluate(samples.pair("mysql"))
    assert find(rows, "P3.1")["title"] == "SHOW PLUGINS has rpl_semi_sync_source"
    assert find(rows, "P4.3")["title"] == "rpl_semi_sync_replica_enabled is ON"
    assert find(rows, "P5.1")["title"] == "Rpl_semi_sync_source_clients"
    assert (
        find(evaluate(samples.pair("mariadb")), "P4.4")["title"]
        == "Rpl_semi_sync_slave_status is ON"
    )


def test_the_values_beside_the_switch_are_recorded():
    assert (
        find(evaluate(samples.pair("mysql")), "P3.3")["observed"]
        == "ON; timeout 10000, trace_level 32, wait_for_replica_count 1, wait_no_replica ON,"
        " wait_point AFTER_SYNC"
    )


# What a person or a failure does to a running pair, and exactly the points that must tell.
def source_off(source, replica):
    """The replica that is connected stays counted."""
    source["semisync"]["source"]["variables"]["enabled"] = "OFF"
    source["semisync"]["source"]["status"]["status"] = "OFF"


def replica_off(source, replica):
    """SET GLOBAL alone: the IO thread that runs is semi-sync until it restarts."""
    replica["semisync"]["replica"]["variables"]["enabled"] = "OFF"


def replica_off_and_restarted(source, replica):
    replica["semisync"]["replica"]["variables"]["enabled"] = "OFF"
    replica["semisync"]["replica"]["status"]["status"] = "OFF"
    source["semisync"]["source"]["status"]["clients"] = "0"


def source_plugin_gone(source, replica):
    source["plugins"] = source["plugins_registered"] = {}
    samples.unload(source, "source")


def replica_plugin_gone(source, replica):
    replica["plugins"] = replica["plugins_registered"] = {}
    samples.unload(replica, "replica")
    source["semisync"]["source"]["status"]["clients"] = "0"


def source_plugin_disabled(source, replica):
    source["plugins"]["rpl_semi_sync_source"] = "DISABLED"


def source_line_gone(source, replica):
    del source["option_files"]["options"][source["names"]["source"]["variables"]["enabled"]]


def replica_line_gone(source, replica):
    del replica["option_files"]["options"][replica["names"]["replica"]["variables"]["enabled"]]


def source_line_off(source, replica):
    source["option_files"]["options"][source["names"]["source"]["variables"]["enabled"]] = "OFF"


def io_thread_stopped(source, replica):
    replica["channel"]["io_running"] = "No"
    replica["semisync"]["replica"]["status"]["status"] = "OFF"
    source["semisync"]["source"]["status"]["clients"] = "0"


def sql_thread_stopped(source, replica):
    replica["channel"]["sql_running"] = "No"


def channel_gone(source, replica):
    replica["channel"] = None


def fell_back(source, replica):
    source["semisync"]["source"]["status"]["status"] = "OFF"


def one_too_many(source, replica):
    source["semisync"]["source"]["status"]["clients"] = "2"


def same_id(source, replica):
    replica["variables"]["server_id"] = source["variables"]["server_id"]


def no_binary_log(source, replica):
    source["variables"]["log_bin"] = "OFF"


NO_ACK = canary(yes=0, no=1)
UNCHANGED = canary(yes=0, no=0)
NO_COUNTERS = canary()
NO_COUNTERS["written"][0]["counters"] = {}

BREAKS = [
    # break, canary, arrival, points
    (source_off, UNCHANGED, None, [("P3.3", "db1"), ("P3.4", "db1"), ("P5.2", "db1")]),
    (replica_off, None, None, [("P4.3", "db2")]),
    (
        replica_off_and_restarted,
        NO_ACK,
        None,
        [("P4.3", "db2"), ("P4.4", "db2"), ("P5.1", "db1"), ("P5.2", "db1")],
    ),
    (source_line_gone, None, None, [("P3.2", "db1")]),
    (source_line_off, None, None, [("P3.2", "db1")]),
    (replica_line_gone, None, None, [("P4.2", "db2")]),
    (
        io_thread_stopped,
        NO_ACK,
        NOT_SEEN,
        [("P0", "db2"), ("P1.2", "db2"), ("P4.4", "db2"), ("P5.1", "db1"), ("P5.2", "db1")],
    ),
    (sql_thread_stopped, None, NOT_SEEN, [("P0", "db2"), ("P1.2", "db2")]),
    (channel_gone, None, NOT_SEEN, [("P0", "db2"), ("P1.2", "db2")]),
    (fell_back, NO_ACK, None, [("P3.4", "db1"), ("P5.2", "db1")]),
    (one_too_many, None, None, [("P5.1", "db1")]),
    (same_id, None, None, [("P0", "db1")]),
    (no_binary_log, None, None, [("P0", "db1")]),
]
PLUGIN_BREAKS = [
    (
        source_plugin_gone,
        NO_COUNTERS,
        None,
        [("P3.1", "db1"), ("P3.3", "db1"), ("P3.4", "db1"), ("P5.1", "db1"), ("P5.2", "db1")],
    ),
    (
        replica_plugin_gone,
        NO_ACK,
        None,
        [("P4.1", "db2"), ("P4.3", "db2"), ("P4.4", "db2"), ("P5.1", "db1"), ("P5.2", "db1")],
    ),
    (source_plugin_disabled, None, None, [("P3.1", "db1")]),
]


@pytest.mark.parametrize(
    "engine,broken,written,seen,points",
    [(engine, *case) for engine in ENGINES for case in BREAKS]
    + [("mysql", *case) for case in PLUGIN_BREAKS],
)
def test_a_break_fails_exactly_the_points_concerned(engine, broken, written, seen, points):
    members = samples.pair(engine)
    broken(members[0].info, members[1].info)
    rows = evaluate(members, written, seen)
    assert failed(rows) == points
    for row in rows:
        if row["outcome"] == "failed":
            assert row["expected"] and row["observed"]


# Rows that are written and seen


@pytest.mark.parametrize(
    "written,seen,points",
    [
        (canary(), arrival(0.999), []),
        (canary(), arrival(1.001), ["P1.2"]),
        (canary(), arrival(-0.03), []),
        (canary(), NOT_SEEN, ["P1.2"]),
        (canary(), dict(NOT_SEEN, gave_up_at=AT + 1), ["P1.2"]),
        (canary(confirmed=False, yes=0, no=0), None, ["P1.1", "P5.2"]),
        (canary(yes=5), None, []),
        (canary(yes=1, no=1), None, ["P5.2"]),
        (
            {"failed": True, "msg": "the canary failed: (1290, 'read-only')"},
            NOT_SEEN,
            ["P1.1", "P5.2"],
        ),
    ],
)
def test_rows_are_confirmed_acknowledged_and_seen_within_a_second(written, seen, points):
    assert [
        point for point, host in failed(evaluate(samples.pair("mysql"), written, seen))
    ] == points


@pytest.mark.parametrize(
    "written,seen,reason",
    [
        (canary(), arrival(-2), "the clocks of source and replica differ"),
        (canary(), {}, "the replica was not watched for the row"),
        (canary(), dict(NOT_SEEN, gave_up_at=AT - 9), "the replica was no longer watched"),
        (canary(), dict(NOT_SEEN, gave_up_at=AT + 0.99), "the replica was no longer watched"),
        (canary(), watcher.not_known("the process is gone"), "the process is gone"),
        (canary(confirmed=False, yes=0), arrival(), "no row was confirmed"),
        ({"failed": True, "msg": "read-only"}, NOT_SEEN, "no row was confirmed"),
    ],
)
def test_a_lag_that_nobody_could_see_is_neither_right_nor_wrong(written, seen, reason):
    row = find(evaluate(samples.pair("mysql"), written, seen), "P1.2")
    assert (row["outcome"], row["observed"]) == ("unknown", "") and reason in row["reason"]


@pytest.mark.parametrize(
    "confirmed,words", [(True, "confirmed after 1.9 ms"), (False, "not confirmed within 2 ms")]
)
def test_the_time_of_the_insert_is_recorded(confirmed, words):
    assert (
        find(evaluate(samples.pair("mysql"), canary(confirmed=confirmed)), "P1.1")["observed"]
        == words
    )


def test_the_lag_is_recorded():
    assert (
        find(evaluate(samples.pair("mysql"), seen=arrival(0.0274)), "P1.2")["observed"]
        == "after 27 ms"
    )


def test_clocks_that_differ_are_said():
    assert "clocks" in find(evaluate(samples.pair("mysql"), seen=arrival(-2)), "P1.2")["reason"]


@pytest.mark.parametrize("seen_at,outcome", [(-1.5, "passed"), (-1.7, "unknown")])
def test_a_row_that_waits_for_its_acknowledgement_may_be_seen_before_it_is_confirmed(
    seen_at, outcome
):
    slow = canary()
    slow["written"][0]["latency_ms"] = 1501.0
    assert (
        find(evaluate(samples.pair("mysql"), slow, arrival(seen_at)), "P1.2")["outcome"] == outcome
    )


def test_a_canary_that_failed_says_why():
    rows = evaluate(
        samples.pair("mysql"), {"failed": True, "msg": "the server is read-only"}, NOT_SEEN
    )
    assert (
        find(rows, "P1.1")["observed"]
        == find(rows, "P5.2")["observed"]
        == "the server is read-only"
    )


def test_a_login_that_may_not_write_says_nothing_of_the_cluster():
    canary_denied = {"failed": True, "reason": "login", "msg": "INSERT command denied"}
    rows = evaluate(samples.pair("mysql"), canary_denied, NOT_SEEN)
    assert failed(rows) == []
    assert unknown(rows) == [("P1.1", "db1"), ("P1.2", "db2"), ("P5.2", "db1")]
    assert "INSERT command denied" in find(rows, "P1.1")["reason"]


def test_several_rows_must_all_be_acknowledged():
    written = canary()
    second = dict(copy.deepcopy(written["written"][0]), row=2)
    written["written"].append(second)
    row = find(evaluate(samples.pair("mysql"), written), "P5.2")
    assert (row["outcome"], row["observed"]) == ("passed", "yes_tx +2, no_tx +0")
    second["counters"]["yes_tx"] = 0
    written["written"][0]["counters"]["yes_tx"] = 2
    assert find(evaluate(samples.pair("mysql"), written), "P5.2")["outcome"] == "failed"


def test_without_a_canary_its_points_are_not_applicable():
    rows = checkpoints.evaluate(samples.pair("mysql"), None, {}, {})
    unseen = [row for row in rows if row["id"] in ("P1.1", "P1.2", "P5.2")]
    assert len(unseen) == 3
    assert all(
        (row["outcome"], row["reason"]) == ("not_applicable", "no row was written in this run")
        for row in unseen
    )


# Several replicas and hosts that do not answer


def test_every_replica_has_its_own_rows():
    members = samples.replicating("mysql", 3)
    samples.carry_out(members, samples.SETTINGS)
    rows = evaluate(members)
    assert failed(rows) == []
    assert [row["host"] for row in rows if row["id"] == "P4.4"] == ["db2", "db3", "db4"]
    assert find(rows, "P5.1")["observed"] == find(rows, "P5.1")["expected"] == "3"
    members[2].info["semisync"]["replica"]["variables"]["enabled"] = "OFF"
    members[0].info["semisync"]["source"]["status"]["clients"] = "2"
    assert failed(evaluate(members)) == [("P4.3", "db3"), ("P5.1", "db1")]


def lose(members, number):
    one = members[number]
    members[number] = samples.member(one.host, one.side, None, error="unreachable: timed out")
    return members


def test_nothing_is_known_of_a_replica_that_does_not_answer():
    rows = evaluate(lose(samples.pair("mysql"), 1), seen={})
    assert failed(rows) == [] and unknown(rows) == [
        ("P0", "db1"),
        ("P0", "db2"),
        ("P1.2", "db2"),
        ("P4.1", "db2"),
        ("P4.2", "db2"),
        ("P4.3", "db2"),
        ("P4.4", "db2"),
    ]
    assert all("unreachable" in row["reason"] for row in rows if row["host"] == "db2")
    # What it has to differ from is not known.
    assert "the server_id of db2 is not known" in find(rows, "P0", "db1")["reason"]


def test_nothing_is_known_of_a_source_that_does_not_answer():
    rows = evaluate(lose(samples.pair("mariadb"), 0), {"msg": "unreachable: timed out"}, NOT_SEEN)
    assert failed(rows) == [] and unknown(rows) == [
        ("P0", "db1"),
        ("P1.1", "db1"),
        ("P1.2", "db2"),
        ("P3.1", "db1"),
        ("P3.2", "db1"),
        ("P3.3", "db1"),
        ("P3.4", "db1"),
        ("P5.1", "db1"),
        ("P5.2", "db1"),
    ]


def test_a_cluster_that_does_not_answer_at_all_still_has_every_row():
    members = lose(lose(samples.pair("mysql"), 0), 1)
    rows = evaluate(members, {"msg": "unreachable: timed out"}, {})
    assert [row["id"] for row in rows] == ALL
    assert {row["outcome"] for row in rows if row["id"] not in ("P2.1", "P3.5")} == {"unknown"}


@pytest.mark.parametrize("number,point", [(0, "P3.2"), (1, "P4.2")])
def test_option_files_that_could_not_be_read_set_nothing_and_lack_nothing(number, point):
    members = samples.pair("mysql")
    members[number].info["option_files"].update(unknown="mysqld is not to be found", options={})
    rows = evaluate(members)
    assert failed(rows) == [] and unknown(rows) == [(point, members[number].host)]
    assert find(rows, point)["reason"] == "mysqld is not to be found"
    line = check.verdict(rows)
    assert line == f"13 passed, 0 failed, 2 not applicable, 1 unknown: {point} on" + (
        f" {members[number].host}"
    )
    members[0].info["variables"]["log_bin"] = "OFF"
    line = check.verdict(evaluate(members))
    assert line.endswith(f": P0 on db1; unknown: {point} on {members[number].host}")
    assert f"  {point}  unknown  {members[number].host}   the option files set " in (
        check.table(rows, "shop")
    )


# Points that are seen once


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("point", ["P2.1", "P3.5"])
@pytest.mark.parametrize("good", [True, False])
def test_what_was_seen_once_counts_for_the_same_server(engine, point, good):
    members = samples.pair(engine)
    seen = checkpoints.observation(point, "db1", "0", good, members[0].info, "2026-11-21T11:00:00Z")
    row = find(evaluate(members, recorded={point: seen}), point)
    assert row["outcome"] == ("passed" if good else "failed")
    assert (row["observed"], row["reason"]) == ("0", "recorded 2026-11-21T11:00:00Z")


@pytest.mark.parametrize(
    "engine,name,value",
    [
        ("mysql", "server_uuid", samples.uuid("new")),
        ("mariadb", "hostname", "new"),
        ("mariadb", "datadir", "/srv/mysql/"),
    ],
)
def test_what_was_seen_on_another_server_does_not_count(engine, name, value):
    members = samples.pair(engine)
    seen = checkpoints.observation(
        "P3.5", "db1", "0", True, members[0].info, "2026-11-21T11:00:00Z"
    )
    members[0].info["variables"][name] = value
    row = find(evaluate(members, recorded={"P3.5": seen}), "P3.5")
    assert row["outcome"] == "not_applicable" and row["reason"] and row["observed"] == ""


def test_what_was_seen_once_does_not_speak_for_a_server_that_does_not_answer():
    members = samples.pair("mysql")
    seen = checkpoints.observation(
        "P3.5", "db1", "0", True, members[0].info, "2026-11-21T11:00:00Z"
    )
    row = find(evaluate(lose(members, 0), recorded={"P3.5": seen}), "P3.5")
    assert (row["outcome"], row["reason"]) == ("unknown", "unreachable: timed out")


def test_a_pairs_two_servers_are_told_apart():
    for engine in ENGINES:
        members = samples.pair(engine)
        assert checkpoints.identity(members[0].info) != checkpoints.identity(members[1].info)


# The report


def test_the_table_says_what_was_expected_where_it_was_missed():
    members = samples.pair("mysql")
    source_line_gone(members[0].info, members[1].info)
    lines = check.table(evaluate(members), "shop").splitlines()
    assert lines[0] == "Checkpoints of cluster shop" and len(lines) == len(ALL) + 1
    line = next(line for line in lines if "P3.2" in line)
    assert "FAILED  db1" in line and line.endswith("not set (expected: 1)")
    assert not any("expected" in line for line in lines if "FAILED" not in line)


def test_the_verdict_names_every_failed_point_and_its_host():
    members = samples.pair("mysql")
    io_thread_stopped(members[0].info, members[1].info)
    rows = evaluate(members, NO_ACK, NOT_SEEN)
    assert (
        check.verdict(rows)
        == "9 passed, 5 failed, 2 not applicable: P0 on db2, P1.2 on db2, P4.4 on db2, "
        "P5.1 on db1, P5.2 on db1"
    )
    assert [row["id"] for row in check.failed(rows)] == [
        "P0",
        "P1.2",
        "P4.4",
        "P5.1",
        "P5.2",
    ]
    assert check.verdict(evaluate(samples.pair("mysql"))) == "14 passed, 0 failed, 2 not applicable"


def test_not_applicable_is_never_passed_and_always_has_a_reason():
    for engine in ENGINES:
        for row in evaluate(samples.pair(engine)):
            assert set(row) == {"id", "host", "title", "expected", "observed", "outcome", "reason"}
            assert row["outcome"] in ("passed", "failed", "not_applicable")
            assert row["outcome"] != "not_applicable" or row["reason"]


@pytest.mark.parametrize(
    "value,outcome",
    [
        ("1", "passed"),
        ("ON", "passed"),
        ("TRUE", "passed"),
        ("", "passed"),
        ("0", "failed"),
        ("OFF", "failed"),
        (None, "failed"),
    ],
)
def test_an_option_counts_as_the_server_reads_it(value, outcome):
    members = samples.pair("mysql")
    values = members[0].info["option_files"]["options"]
    values["rpl_semi_sync_source_enabled"] = value
    if value is None:
        del values["rpl_semi_sync_source_enabled"]
    assert find(evaluate(members), "P3.2")["outcome"] == outcome
    assert find(evaluate(members), "P3.2")["observed"] == {
        "": "set without a value",
        None: "not set",
    }.get(value, value)
