# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import ranking
from ansible_collections.dbre.semisync.tests.unit import samples

UUID, OWN = "91c92dd4-e5a0-11f1-9b95-0242ac130002", "91c92dd4-e5a0-11f1-9b95-0242ac130003"


def replica(host, engine, received="", applied="", read=(), done=(), **channel):
    """A replica that has received and applied these: GTIDs, or (file, position) where there are
    none.
    """
    info = samples.captured(engine, "replica")
    # The source is gone.
    info["channel"].update(dict({"retrieved": received, "io_running": "Connecting"}, **channel))
    if read:
        info["channel"].update(
            gtid=False,
            read_file=read[0],
            read_position=read[1],
            applied_file=(done or read)[0],
            applied_position=(done or read)[1],
        )
    if engine == "mysql":
        info["variables"]["gtid_mode"] = "OFF" if read else "ON"
        info["gtid"]["gtid_executed"] = applied
    else:
        info["gtid"]["gtid_slave_pos"] = applied
    return samples.member(host, "replica", info)


def unread(host, why="unreachable"):
    return samples.member(host, "replica", None, error=why)


def source():
    return samples.member("db1", "source", None, error="gone")


TABLE = [
    # What was received and is not applied counts.
    (
        [
            replica("db2", "mysql", UUID + ":1-90", UUID + ":1-100"),
            replica("db3", "mysql", UUID + ":1-105", UUID + ":1-60"),
        ],
        ["db3"],
        [("db3", 0, 45), ("db2", 5, 0)],
    ),
    # Of two that have all, the one with less left to do.
    (
        [
            replica("db2", "mysql", UUID + ":1-100", UUID + ":1-50"),
            replica("db3", "mysql", UUID + ":1-100", UUID + ":1-99"),
        ],
        ["db3", "db2"],
        [("db3", 0, 1), ("db2", 0, 50)],
    ),
    # Each has what the other lacks: db2 was written to.
    (
        [
            replica("db2", "mysql", "", UUID + ":1-100," + OWN + ":1-2"),
            replica("db3", "mysql", "", UUID + ":1-101"),
        ],
        [],
        [("db2", 1, 0), ("db3", 2, 0)],
    ),
    (
        [
            replica("db2", "mariadb", "0-1-90", "0-1-80"),
            replica("db3", "mariadb", "0-1-95", "0-1-95"),
        ],
        ["db3"],
        [("db3", 0, 0), ("db2", 5, 10)],
    ),
    # After a restart the IO thread's position may be empty, what was applied counts all the same.
    (
        [
            replica("db2", "mariadb", "", "0-1-90,1-2-7"),
            replica("db3", "mariadb", "0-1-90,1-2-5", "0-1-90,1-2-5"),
        ],
        ["db2"],
        [("db2", 0, 0), ("db3", 2, 0)],
    ),
    (
        [
            replica("db2", "mysql", read=("binlog.000009", 500)),
            replica("db3", "mysql", read=("binlog.000009", 900), done=("binlog.000009", 400)),
        ],
        ["db3"],
        [("db3", 0, 500), ("db2", 400, 0)],
    ),
    # The tenth file comes after the ninth.
    (
        [
            replica("db2", "mariadb", read=("bin.000010", 4)),
            replica("db3", "mariadb", read=("bin.000009", 9000)),
        ],
        ["db2"],
        [("db2", 0, 0), ("db3", None, 0)],
    ),
    # One without GTIDs makes all compared by position.
    (
        [
            replica("db2", "mariadb", "0-1-9", "0-1-9", gtid=True, read=("bin.000001", 700)),
            replica("db3", "mariadb", read=("bin.000001", 600)),
        ],
        ["db2"],
        [("db2", 0, 0), ("db3", 100, 0)],
    ),
    (
        [replica("db2", "mysql", UUID + ":1-9", UUID + ":1-9"), unread("db3")],
        ["db2"],
        [("db2", 0, 0)],
    ),
    ([unread("db2"), unread("db3")], [], []),
]


@pytest.mark.parametrize("replicas,best,standings", TABLE)
def test_the_replica_that_received_most_comes_first(replicas, best, standings):
    found = ranking.rank([source(), *replicas], 1)
    assert found["candidates"] == best
    assert [(one["host"], one["lacks"], one["to_apply"]) for one in found["ranking"]] == standings
    assert sorted(found["unread"]) == sorted(one.host for one in replicas if one.info is None)


@pytest.mark.parametrize(
    "others,needed,words",
    [
        ([], 1, "Every commit that a replica of this inventory acknowledged is on db2"),
        (
            [unread("db3")],
            2,
            "Every commit that a replica of this inventory acknowledged is on db2",
        ),
        ([unread("db3")], 1, "A commit may have been acknowledged only by db3"),
        (
            [unread("db3"), unread("db4")],
            2,
            "A commit may have been acknowledged only by db3 or db4",
        ),
    ],
)
def test_it_says_whether_a_commit_may_be_on_a_replica_that_was_not_read(others, needed, words):
    found = ranking.rank([replica("db2", "mysql", UUID + ":1-9", UUID + ":1-9"), *others], needed)
    assert words in found["statement"][-1]


def test_how_long_applying_would_take_is_said_where_the_applier_runs():
    busy = replica("db2", "mysql", UUID + ":1-100", UUID + ":1-50")
    busy.info["backlog"] = {
        "unit": "transactions",
        "left": 50,
        "applied": 25,
        "seconds": 1.0,
        "busy": True,
    }
    (said, *_rest) = ranking.rank([busy], 1)["statement"]
    assert said.endswith("; 50 transactions to apply, about 2.0 s at 25 a second")


@pytest.mark.parametrize("measured", [False, True])
def test_a_replica_says_what_it_lacks_and_why_it_does_not_apply(measured):
    broken = replica(
        "db2",
        "mysql",
        UUID + ":1-100",
        UUID + ":1-50",
        sql_running="No",
        last_sql_error="Duplicate entry",
    )
    if measured:
        broken.info["backlog"] = {"unit": "transactions", "left": 50, "applied": 0, "seconds": 3.0}
    said = ranking.rank([broken, replica("db3", "mysql", UUID + ":1-97", UUID + ":1-97")], 1)[
        "statement"
    ]
    assert (
        said[0]
        == "db2: has everything that any replica has received; 50 transaction(s) to apply; its SQL"
        " thread is stopped: Duplicate entry"
    )
    assert said[1] == f"db3: lacks 3 transaction(s) ({UUID}:98-100); all applied"
    assert said[2] == "Let db2 apply what it has before clients write to it."


def test_replicas_that_still_receive_are_named_because_the_ranking_holds_for_that_moment():
    gone = replica("db2", "mysql", UUID + ":1-9", UUID + ":1-9")
    said = " ".join(ranking.rank([gone], 1)["statement"])
    assert "while this was read" not in said
    there = replica("db3", "mysql", UUID + ":1-9", UUID + ":1-9", io_running="Yes")
    said = " ".join(ranking.rank([gone, there], 1)["statement"])
    assert "db3 received from a source while this was read: the ranking is true" in said


def test_a_replica_that_follows_nobody_is_not_said_to_be_unread():
    promoted = replica("db2", "mysql", UUID + ":1-9", UUID + ":1-9")
    promoted.info["channel"] = None
    said = ranking.rank([promoted, replica("db3", "mysql", UUID + ":1-9", UUID + ":1-9")], 1)
    assert "db2 is not compared: it follows no source" in said["statement"]


@pytest.mark.parametrize(
    "replicas,words",
    [
        ([unread("db2", "a wrong password")], "no replica can be compared: db2: a wrong password"),
        (
            [
                replica("db2", "mysql", read=("b.000001", 4)),
                replica("db3", "mysql", read=("b.000001", 4), source_host="other"),
            ],
            "the replicas follow different sources without GTIDs",
        ),
        # One that was not read does not hide it.
        (
            [
                replica("db2", "mysql", read=("b.000001", 4)),
                replica("db3", "mysql", read=("b.000001", 4), source_host="other"),
                unread("db4"),
            ],
            "the replicas follow different sources without GTIDs",
        ),
        (
            [
                replica("db2", "mysql", "", UUID + ":1-9," + OWN + ":1"),
                replica("db3", "mysql", "", UUID + ":1-10"),
            ],
            "no replica has everything",
        ),
    ],
)
def test_it_says_why_there_is_no_candidate(replicas, words):
    assert words in ranking.why_none(ranking.rank(replicas, 1))
