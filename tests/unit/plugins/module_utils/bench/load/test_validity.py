# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load import validity

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


def snapshot(
    yes=100,
    no=0,
    status="ON",
    clients=1,
    senders=1,
    writes=0,
    reads=0,
    gtid=None,
    uptime=50,
    questions=0,
    at=1000.0,
):
    return {
        "status": {
            "com_insert": str(writes),
            "com_select": str(reads),
            "questions": str(questions),
        },
        "uptime": uptime,
        "at": at,
        "senders": senders,
        "gtid": gtid,
        "semisync": {
            "status": status,
            "clients": str(clients),
            "yes_tx": str(yes),
            "no_tx": str(no),
        },
    }


def outcome(**more):
    return dict(
        {"reason": "", "asked": 1000, "own_query": False, "rtt_ms": 0.3, "dropped": 0}, **more
    )


WANTED = {"replication": "semisync", "replicas": 1, "delay_ms": 0, "clients": 10}


@pytest.mark.parametrize(
    "before,after,count",
    [
        (UUID + ":1-10", UUID + ":1-663", 653),
        ("", UUID + ":1-5", 5),
        (UUID + ":1-5", UUID + ":1-5", 0),
        (UUID + ":1-5", UUID + ":1-5,\n" + UUID.replace("3", "4") + ":1-7", 7),
        ("0-1-10", "0-1-25", 15),
        ("0-1-10", "0-2-25,7-1-3", 18),
        ("", "0-1-4", 4),
        (None, None, None),
        ("", "", None),
    ],
)
def test_gtids_tell_how_many_transactions_were_committed(before, after, count):
    assert validity.transactions(before, after) == count


@pytest.mark.parametrize(
    "before,after,count",
    [
        ({"gtid": UUID + ":1-10"}, {"gtid": UUID + ":1-663", "writes": 9}, 653),
        # MySQL 5.5.
        ({"gtid": None, "writes": 10}, {"gtid": None, "writes": 660}, 650),
        ({"gtid": "", "writes": 10}, {"gtid": "", "writes": 10, "reads": 500}, 0),
    ],
)
def test_without_gtids_commits_are_statements_that_changed_rows(before, after, count):
    assert validity.committed(snapshot(**before), snapshot(**after)) == count


def test_a_run_of_acknowledged_commits_counts():
    before, after = snapshot(writes=10, reads=10), snapshot(yes=600, writes=510, reads=510)
    assert validity.invalid(WANTED, before, after, outcome()) == ""


@pytest.mark.parametrize(
    "wanted,before,after,result,words",
    [
        ({}, {}, {"writes": 999}, {}, "the server counted 999 statements, but the load ran 1000"),
        ({}, {}, {"yes": 600, "no": 3}, {}, "3 transactions were not acknowledged (no_tx)"),
        ({}, {}, {"yes": 600, "status": "OFF"}, {}, "after the run semi-sync's status is OFF"),
        ({}, {"status": "OFF"}, {"yes": 600}, {}, "before the run semi-sync's status is OFF"),
        (
            {},
            {},
            {"yes": 600, "clients": 0},
            {},
            "after the run 0 semi-sync replicas are connected, 1 are wanted",
        ),
        (
            {"replicas": 2},
            {},
            {"yes": 600},
            {},
            "before the run 1 semi-sync replicas are connected, 2 are wanted",
        ),
        (
            {},
            {},
            {"yes": 150},
            {},
            (
                "1000 transactions of 10 clients were committed, but yes_tx rose by only 50"
                " (expected: at least 100)"
            ),
        ),
        (
            {"clients": 1},
            {"gtid": "0-1-1"},
            {"yes": 1000, "gtid": "0-1-1001"},
            {},
            "yes_tx rose by only 900 (expected: at least 1000)",
        ),
        ({"replication": "async"}, {}, {}, {}, "semi-sync's status is ON"),
        (
            {"replication": "async"},
            {"status": "OFF"},
            {"status": "OFF", "senders": 0},
            {},
            "0 replicas are connected, 1 are wanted",
        ),
        (
            {"replication": "none"},
            {"status": "OFF", "senders": 0},
            {"status": "OFF"},
            {},
            "1 replicas are connected, none is wanted",
        ),
        ({}, {}, {"yes": 600}, {"dropped": 7}, "netem dropped 7 packets"),
        (
            {"delay_ms": 90},
            {},
            {"yes": 600},
            {"rtt_ms": 0.4},
            "the round trip was 0.4 ms, with a delay of 90 ms",
        ),
        (
            {},
            {},
            {"uptime": 3},
            {"reason": "lost connection"},
            "the server restarted during the run; lost connection",
        ),
        # Started before the run, and again in its first seconds.
        (
            {},
            {"uptime": 5},
            {"uptime": 58, "at": 1060.0},
            {},
            "the server restarted during the run",
        ),
        (
            {},
            {},
            None,
            {"reason": "cannot connect"},
            "the server did not answer after the run; cannot connect",
        ),
        ({}, {}, {}, {"reason": "the load tool failed (1): x"}, "the load tool failed (1): x"),
    ],
)
def test_a_run_does_not_count_when_what_was_to_be_measured_did_not_hold(
    wanted, before, after, result, words
):
    later = None if after is None else snapshot(**dict({"writes": 1000}, **after))
    assert words in validity.invalid(
        dict(WANTED, **wanted), snapshot(**before), later, outcome(**result)
    )


def test_ones_own_queries_are_counted_whatever_they_are():
    before, after = snapshot(), snapshot(yes=600, questions=1000)
    assert validity.invalid(WANTED, before, after, outcome(own_query=True)) == ""
    assert "counted 0 statements" in validity.invalid(WANTED, before, after, outcome())


def test_latencies_are_told_by_values_that_were_measured():
    assert validity.latencies([float(value) for value in range(100, 0, -1)]) == {
        "mean": 50.5,
        "stdev": 29.0115,
        "p50": 50.0,
        "p95": 95.0,
        "p99": 99.0,
        "max": 100.0,
    }
    assert validity.latencies([2.5]) == {
        "mean": 2.5,
        "stdev": 0.0,
        "p50": 2.5,
        "p95": 2.5,
        "p99": 2.5,
        "max": 2.5,
    }
    assert validity.latencies([]) is None


@pytest.mark.parametrize(
    "ends,seconds,stdev",
    [
        ([0.1, 0.2, 1.1, 1.2, 2.5], 2.6, 0.0),
        ([0.1, 1.1, 1.2, 1.3], 2.0, 1.41),
        ([0.5], 1.9, None),
    ],
)
def test_throughputs_spread_is_that_of_whole_seconds(ends, seconds, stdev):
    assert validity.throughput_stdev(ends, seconds) == stdev


@pytest.mark.parametrize(
    "peers,words", [(["10.0.0.2"], "no peer answered to ping"), ([], ""), (None, "")]
)
def test_a_delay_that_nobodys_answer_shows_does_not_count(peers, words):
    reason = validity.disturbed(90, bool(peers), 0, None)
    assert reason.startswith(words) and bool(reason) == bool(words)


@pytest.mark.parametrize("counter", ["yes_tx", "no_tx"])
def test_a_server_that_does_not_say_what_was_acknowledged_proves_nothing(counter):
    before, after = snapshot(), snapshot(yes=1100, writes=1000)
    del after["semisync"][counter]
    assert "does not show" in validity.invalid(WANTED, before, after, outcome())


LOADS = {
    "mysqlslap": {"tool": "mysqlslap", "clients": 10, "queries": 1000},
    "client": {"tool": "client", "clients": 1, "queries": 5, "query": "SELECT 1"},
    "sysbench": {"tool": "sysbench", "clients": 4, "seconds": 5, "script": "oltp_insert"},
}


@pytest.mark.parametrize(
    "tool,more,words",
    [
        ("mysqlslap", {}, ""),
        ("mysqlslap", {"create": "CREATE TABLE t (i INT)", "query": "SELECT 1"}, ""),
        ("mysqlslap", {"seconds": 5}, "a number of queries, not seconds"),
        ("mysqlslap", {"queries": 9}, "fewer queries (9) than clients (10)"),
        ("mysqlslap", {"create": "CREATE TABLE t (i INT)"}, "create needs a query"),
        ("client", {}, ""),
        ("client", {"queries": None, "seconds": 5}, ""),
        ("client", {"clients": 2}, "the tool client is one connection, not 2"),
        ("client", {"query": None}, "the tool client needs a query"),
        ("sysbench", {}, ""),
        ("sysbench", {"clients": 2000, "queries": 1000}, ""),
        ("sysbench", {"seconds": None, "queries": 3}, "fewer queries (3) than clients (4)"),
        ("sysbench", {"script": None}, "sysbench needs a script"),
        ("sysbench", {"query": "SELECT 1"}, "sysbench takes a script"),
        ("sysbench", {"create": "SELECT 1"}, "sysbench takes a script"),
    ],
)
def test_a_load_that_cannot_be_run_says_why(tool, more, words):
    reason = validity.unfit(dict(LOADS[tool], **more))
    assert words in reason and bool(reason) == bool(words)
