# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import advice

NEAR_AND_FAR = {"db2": 0.3, "db3": 30.0}


def sample(**changes) -> Any:
    made = {
        "seconds": 10.0,
        "commits": 8000,
        "groups": 4000,
        "bytes": 3_200_000,
        "lock_waits": 0,
        "writers": 10,
        "sessions": 12,
        "working": 8.5,
        "log_busy": 0.4,
        "answer_ms": {"p50": 0.2, "p99": 0.9},
        "cpus": 2,
        "idle": 0.4,
        "semisync": None,
        "trips": {},
    }
    return {**made, **changes}


def known_cluster(**changes) -> advice.Cluster:
    made = advice.Cluster(names=Names("mysql", (9, 7, 4)), lock_wait_s=50, trips=NEAR_AND_FAR)
    return made._replace(**changes)


def advised(cluster: advice.Cluster | None = None, **changes) -> advice.Advice:
    return advice.advise(
        "shop", "db1", "2026-11-27T09:00:00Z", sample(**changes), cluster or known_cluster()
    )


def rates(found: advice.Advice) -> dict[tuple[str, str], float | None]:
    return {(each["replica"], each["wait_point"]): each["rate"] for each in found["predictions"]}


def test_a_farther_replica_gives_less():
    found = rates(advised())
    assert found["db2", "AFTER_SYNC"] > 2 * found["db3", "AFTER_SYNC"] > 0
    # Ten sessions wait for 30 ms, and for each other.
    assert 200 < found["db3", "AFTER_SYNC"] < 10 / 0.030


def test_the_slowest_commit_in_a_hundred_meets_half_of_what_the_slowest_query_does():
    calm, stalled = (
        advised(answer_ms={"p50": 0.2, "p99": p99})["predictions"][0] for p99 in (0.2, 25.2)
    )
    assert stalled["p99_ms"] == pytest.approx(calm["p99_ms"] + 12.5)
    assert (stalled["rate"], stalled["p50_ms"]) == (calm["rate"], calm["p50_ms"])


def test_sessions_that_take_turns_at_one_row_get_one_commit_a_round_trip():
    found = rates(advised(lock_waits=7000))
    assert found["db3", "AFTER_SYNC"] == pytest.approx(1000 / (30.4 + 1 / 0.8), rel=0.02)
    assert found["db3", "AFTER_COMMIT"] > 200


def test_acknowledgements_that_are_read_in_turn_limit_all_sessions():
    found = rates(advised(known_cluster(names=Names("mysql", (5, 6, 21)))))
    assert found["db3", "AFTER_COMMIT"] == pytest.approx(1000 / 30.4, rel=0.02)


@pytest.mark.parametrize(
    "changes,words",
    [
        ({"semisync": "ON"}, "semi-sync is on"),
        ({"commits": 3}, "3 commits in 10 s are too few"),
        ({"writers": None, "sessions": 0}, "PROCESS"),
    ],
)
def test_a_sample_that_tells_nothing_predicts_nothing(changes, words):
    found = advised(**changes)
    assert found["predictions"] == [] and found["now"] is None
    assert words in found["statement"][0]
    assert found["fits"]["timeout_ms"] is None


@pytest.mark.parametrize(
    "changes,trips,unknown",
    [
        ({}, {"db2": None}, {"AFTER_SYNC", "AFTER_COMMIT"}),
        # Some wait for rows: only what keeps the rows locked cannot be known.
        ({"lock_waits": 1600}, {"db2": 0.3}, {"AFTER_SYNC"}),
        ({"bytes": 8000 * 200_000}, {"db2": 0.3}, {"AFTER_SYNC", "AFTER_COMMIT"}),
        ({}, {"db2": 0.3}, set()),
    ],
)
def test_what_cannot_be_known_has_a_reason_and_no_figure(changes, trips, unknown):
    found = advised(known_cluster(trips=trips), **changes)
    without = {each["wait_point"] for each in found["predictions"] if each["rate"] is None}
    assert without == unknown
    assert all(bool(each["unknown"]) == (each["rate"] is None) for each in found["predictions"])
    assert len([words for words in found["unknown"] if words.startswith("db2")]) == len(unknown)


@pytest.mark.parametrize(
    "changes,said",
    [
        ({}, ["how the slowest commits"]),
        ({"writers": None}, ["which sessions commit", "how the slowest commits"]),
    ],
)
def test_what_the_server_does_not_show_is_said(changes, said):
    found = advised(**changes)["unknown"]
    assert [words.split(" are ")[0].split(":")[0] for words in found] == said


@pytest.mark.parametrize("idle,said", [(0.02, True), (0.4, False), (None, False)])
def test_processors_without_rest_are_said(idle, said):
    lines = advised(idle=idle)["statement"]
    assert any("only 2% idle" in line for line in lines) == said


@pytest.mark.parametrize(
    "rtt,lock_wait,timeout,words",
    [
        (0.3, 50, 1000, "A timeout of 1 s and wait count 1 fit"),
        (90.0, 50, 5000, "A timeout of 5 s"),
        (90.0, 1, None, "No timeout fits"),
        (None, 50, None, "Which timeout fits is not known"),
    ],
)
def test_the_timeout_that_fits(rtt, lock_wait, timeout, words):
    found = advised(known_cluster(trips={"db2": rtt}, lock_wait_s=lock_wait))
    assert found["fits"]["timeout_ms"] == timeout
    assert found["statement"][-1].startswith(words)


@pytest.mark.parametrize(
    "trips,engine,expected",
    [
        ({"db2": 0.3, "db3": 0.3, "db4": 9.0}, "mysql", 2),
        ({"db2": 0.3, "db3": 0.3, "db4": 9.0}, "mariadb", 1),
        ({"db2": 0.3, "db3": 0.3}, "mysql", 1),  # one that fails would stall every commit
        ({"db2": 0.3, "db3": 30.0, "db4": 30.0}, "mysql", 1),  # the second one costs too much
    ],
)
def test_the_wait_count_that_fits(trips, engine, expected):
    names = Names(engine, (11, 8))
    assert advised(known_cluster(trips=trips, names=names))["fits"]["wait_count"] == expected
