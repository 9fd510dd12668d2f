# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import option_files
from ansible_collections.dbre.semisync.plugins.module_utils._replication import channel, gtid_mode
from ansible_collections.dbre.semisync.plugins.module_utils._replication.position import reached
from ansible_collections.dbre.semisync.plugins.module_utils._server import names
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import apply, gtid
from ansible_collections.dbre.semisync.tests.unit import samples

A = "91c92dd4-e5a0-11f1-9b95-0242ac130002"
OURS = (
    "[mysqld]\n# semi-synchronous replication, source side\nloose_rpl_semi_sync_source_enabled"
    " = 1\n"
)
ALL = [
    "SET GLOBAL enforce_gtid_consistency = WARN",
    "SET GLOBAL enforce_gtid_consistency = ON",
    "SET GLOBAL gtid_mode = OFF_PERMISSIVE",
    "SET GLOBAL gtid_mode = ON_PERMISSIVE",
    "SET GLOBAL gtid_mode = ON",
]


def pair(engine="mysql", mode="OFF", consistency="OFF"):
    """The captured pair, as set up by hand by file and position."""
    members = samples.pair(engine)
    for number, member in enumerate(members):
        info = member.info
        info["names"] = dict(info["names"], gtid_online=True)
        info["readers"] = (
            [{"user": "repl", "host": "db2", "tls": None}] if member.side == "source" else []
        )
        info["option_files"].update(
            ours=None, options={"server_id": str(number + 10)}, kind="drop-in", path="/etc/x/zz.cnf"
        )
        info["other_channels"], info["persisted"] = [], {}
        info["variables"]["server_id"] = str(number + 10)
        if engine == "mysql":
            info["variables"].update(gtid_mode=mode, enforce_gtid_consistency=consistency)
            info["gtid"]["gtid_executed"] = ""
    members[1].channel.update(gtid=False, last_io_error="", last_sql_error="")
    return members


def done(members):
    """What the conversion leaves."""
    for member in members:
        if member.info["engine"] == "mysql":
            member.info["variables"].update(gtid_mode="ON", enforce_gtid_consistency="ON")
            text = gtid.option_file(member)["content"]
            member.info["option_files"].update(ours=text, options=option_files.parse_ours(text))
        if member.side == "replica":
            member.channel["gtid"] = True
    return members


def of(members, role):
    return next(gtid.gtid_plan(member, members) for member in members if member.side == role)


@pytest.mark.parametrize(
    "consistency,mode,expected",
    [
        ("OFF", "OFF", ALL),
        ("WARN", "OFF", ALL[1:]),
        ("ON", "OFF", ALL[2:]),
        ("ON", "OFF_PERMISSIVE", ALL[3:]),
        ("ON", "ON_PERMISSIVE", ALL[4:]),
        ("ON", "ON", []),
        ("1", "ON", []),
    ],
)
def test_a_server_takes_the_steps_that_it_has_not_taken(consistency, mode, expected):
    variables = {"gtid_mode": mode, "enforce_gtid_consistency": consistency}
    assert [
        found
        for found in (gtid_mode.statement(step[0], variables) for step in gtid_mode.STEPS)
        if found
    ] == expected


def test_a_mysql_pair_by_position_is_converted_and_then_left_alone():
    members = pair()
    assert gtid.conversion_problems(members) == []
    source, replica = of(members, "source"), of(members, "replica")
    assert (
        source["statements"] == replica["statements"] == ALL
        and source["anonymous"]
        and replica["anonymous"]
    )
    assert (source["convert"], replica["convert"]) == (False, True)
    done(members)
    assert not gtid.needed(members)
    for role in ("source", "replica"):
        found = of(members, role)
        assert (
            not found["changes"] and not found["anonymous"] and not found["option_file"]["changed"]
        )


def test_a_mariadb_pair_changes_its_channel_alone():
    members = pair("mariadb")
    assert gtid.conversion_problems(members) == []
    source, replica = of(members, "source"), of(members, "replica")
    assert (
        not source["changes"] and not source["anonymous"] and not replica["option_file"]["changed"]
    )
    assert replica["statements"] == [] and replica["convert"]


@pytest.mark.parametrize(
    "ours,kind",
    [(None, "drop-in"), (option_files.HEADER + OURS, "drop-in"), (None, "block"), (OURS, "block")],
)
def test_the_modes_go_behind_our_lines_and_site_keeps_them_there(ours, kind):
    members = pair()
    member = members[0]
    member.info["option_files"].update(ours=ours, kind=kind)
    found = gtid.option_file(member)
    assert found["changed"] and option_files.parse_ours(found["content"])["gtid_mode"] == "ON"
    assert found["content"].startswith(
        ours or (option_files.HEADER if kind == "drop-in" else "[mysqld]")
    )
    assert found["content"].count("[mysqld]") == 1
    member.info["option_files"].update(
        ours=found["content"], options=option_files.parse_ours(found["content"])
    )
    again = gtid.option_file(member)
    assert not again["changed"] and again["content"] == found["content"]


def test_what_site_writes_for_a_converted_server_is_what_is_there():
    members = done(pair())
    for member in members:
        first = apply.set_up_plan(member, members, samples.settings())["option_file"]["content"]
        assert option_files.parse_ours(first)["gtid_mode"] == "ON" and "server_id" not in first
        member.info["option_files"].update(ours=first, options=option_files.parse_ours(first))
    for member in members:
        assert not apply.set_up_plan(member, members, samples.settings())["option_file"]["changed"]
        assert not gtid.option_file(member)["changed"]


def test_lines_of_somebody_else_or_a_persisted_value_are_enough():
    members = done(pair())
    for member in members:
        member.info["option_files"].update(
            ours=None, options={"gtid_mode": "on", "enforce_gtid_consistency": "ON"}
        )
    assert not gtid.needed(members)
    members[0].info["option_files"]["options"] = {}
    assert (
        of(members, "source")["option_file"]["changed"] and not of(members, "source")["anonymous"]
    )
    members[0].info["persisted"] = {"gtid_mode": "ON", "enforce_gtid_consistency": "ON"}
    assert not gtid.needed(members)


def reader(host):
    return {"user": "repl", "host": host, "tls": None}


def refuse(members, change):
    change(*members)
    return "; ".join(gtid.conversion_problems(members))


@pytest.mark.parametrize(
    "engine,mode,change,expected",
    [
        (
            "mysql",
            "OFF",
            lambda s, r: s.info["names"].update(gtid_online=False),
            "restart all servers of the cluster with gtid_mode = ON",
        ),
        (
            "mysql",
            "OFF",
            lambda s, r: s.info["names"].update(gtid=False, gtid_online=False),
            "has no GTIDs; they begin with MySQL 5.6.9",
        ),
        # 5.6 was started with GTIDs: its channels go while it runs
        ("mysql", "ON", lambda s, r: s.info["names"].update(gtid_online=False), ""),
        (
            "mysql",
            "OFF",
            lambda s, r: r.info["persisted"].update(gtid_mode="OFF"),
            "run RESET PERSIST gtid_mode",
        ),
        (
            "mysql",
            "OFF",
            lambda s, r: s.info["readers"].append(reader("backup")),
            "2 sessions read the binary log of db1",
        ),
        (
            "mysql",
            "OFF",
            lambda s, r: r.info["readers"].append(reader("db3")),
            "1 sessions read the binary log of db2",
        ),
        (
            "mysql",
            "OFF",
            lambda s, r: r.info["other_channels"].append("east"),
            "db2 has further channels (east)",
        ),
        (
            "mysql",
            "OFF",
            lambda s, r: r.channel.update(last_sql_error="Duplicate entry"),
            "db2 does not replicate: Duplicate entry",
        ),
        (
            "mysql",
            "OFF",
            lambda s, r: s.info["gtid"].update(gtid_executed=A + ":1-10"),
            f"db2 has not executed {A}:1-10 of",
        ),
        (
            "mariadb",
            "",
            lambda s, r: r.channel.update(last_io_error="Access denied"),
            "db2 does not replicate: Access denied",
        ),
        # what runs with GTIDs already moves, and is compared when the replica has come to a place
        ("mysql", "ON", lambda s, r: s.info["gtid"].update(gtid_executed=A + ":1-10"), ""),
        (
            "mysql",
            "OFF",
            lambda s, r: [one.info["gtid"].update(gtid_executed=A + ":1-10") for one in (s, r)],
            "",
        ),
        # MariaDB's servers need not go together
        ("mariadb", "", lambda s, r: s.info["readers"].append(reader("backup")), ""),
    ],
)
def test_what_cannot_be_converted_is_refused(engine, mode, change, expected):
    said = refuse(pair(engine, mode), change)
    assert expected in said and bool(expected) == bool(said)


def test_a_cluster_that_has_gtids_is_refused_nothing():
    assert refuse(done(pair()), lambda s, r: s.info["readers"].append(reader("backup"))) == ""


@pytest.mark.parametrize(
    "changes,starts",
    [
        ({}, False),
        ({"io_running": "No"}, False),
        ({"io_running": "No", "sql_running": "No"}, True),
        ({"io_running": "No", "sql_running": "No", "last_sql_error": "x"}, False),
        ({"io_running": "No", "sql_running": "No", "gtid": False}, False),
    ],
)
def test_what_an_interrupted_conversion_left_stopped_is_started(changes, starts):
    members = done(pair())
    members[1].channel.update(changes)
    assert of(members, "replica")["start"] is starts


@pytest.mark.parametrize(
    "gtids,at_source,said",
    [
        ("0-1-5", "0-1-5", ""),
        ("", "", ""),
        ("0-1-5,2-7-9", "2-7-9,0-1-5", ""),
        ("", "0-1-5", "but its gtid_slave_pos is ''"),
        ("0-1-4", "0-1-5", "is GTID position '0-1-5', but its gtid_slave_pos is '0-1-4'"),
        # of another source, before: further, and nothing of this one
        ("0-9-900", "0-1-5", "gtid_slave_pos is '0-9-900'"),
        ("0-1-5", "0-1-5,2-7-9", "gtid_slave_pos is '0-1-5'"),
        ("0-1-5,2-7-9", "0-1-5", "gtid_slave_pos is"),
        ("0-1-5", None, "that file may be purged"),
    ],
)
def test_a_mariadb_position_must_be_where_file_and_position_are(gtids, at_source, said):
    found = gtid_mode.mismatch({"file": "bin.000002", "position": 77, "gtid": gtids}, at_source)
    assert said in found and bool(said) == bool(found)


@pytest.mark.parametrize(
    "file,position,expected",
    [
        ("bin.000009", 99, False),
        ("bin.000010", 4, False),
        ("bin.000010", 500, True),
        ("bin.000010", 501, True),
        ("bin.000011", 4, True),
        ("other.000011", 4, False),
        ("", 0, False),
        (None, 0, False),
    ],
)
def test_an_applier_has_passed_a_place(file, position, expected):
    assert reached(file, position, "bin.000010", 500) is expected


@pytest.mark.parametrize(
    "watch,uptime,set_ago,logged_ago,left",
    [
        (60, 1000, 0, None, 60),
        (60, 1000, 50, None, 10),
        (60, 1000, 100, None, 0),
        (60, 20, None, None, 40),
        (60, 1000, None, None, 0),
        (60, 1000, 100, 30, None),
        (60, 1000, 100, 90, 0),
        (0, 1000, 0, 5, 0),
    ],
)
def test_how_long_the_error_log_is_watched(watch, uptime, set_ago, logged_ago, left):
    assert gtid_mode.quiet(watch, uptime, set_ago, logged_ago) == left


STOPPED = {"applied_file": "bin.000002", "applied_position": 77}


@pytest.mark.parametrize(
    "engine,version,there,back",
    [
        (
            "mysql",
            (9, 7, 4),
            "CHANGE REPLICATION SOURCE TO SOURCE_AUTO_POSITION = 1",
            (
                "CHANGE REPLICATION SOURCE TO SOURCE_AUTO_POSITION = 0, SOURCE_LOG_FILE ="
                " 'bin.000002', SOURCE_LOG_POS = 77"
            ),
        ),
        (
            "mysql",
            (5, 7, 44),
            "CHANGE MASTER TO MASTER_AUTO_POSITION = 1",
            (
                "CHANGE MASTER TO MASTER_AUTO_POSITION = 0, MASTER_LOG_FILE = 'bin.000002',"
                " MASTER_LOG_POS = 77"
            ),
        ),
        (
            "mariadb",
            (10, 11, 14),
            "CHANGE MASTER TO MASTER_USE_GTID = slave_pos",
            (
                "CHANGE MASTER TO MASTER_USE_GTID = no, MASTER_LOG_FILE = 'bin.000002',"
                " MASTER_LOG_POS = 77"
            ),
        ),
    ],
)
def test_the_statements_of_a_channel(engine, version, there, back):
    table = names.Names(engine, version)
    steps = [channel.show(*step) for step in channel.gtid_steps(table)]
    word = table.replica_word
    assert steps == [
        channel.DRAIN,
        f"STOP {word} IO_THREAD",
        channel.DRAIN,
        f"STOP {word}",
        there,
        f"START {word}",
    ]
    assert [channel.show(*step) for step in channel.position_steps(table, STOPPED)] == [
        f"STOP {word}",
        back,
        f"START {word}",
    ]


@pytest.mark.parametrize(
    "engine,version,online,status",
    [
        ("mysql", (5, 7, 5), False, "SHOW MASTER STATUS"),
        ("mysql", (5, 7, 6), True, "SHOW MASTER STATUS"),
        ("mysql", (8, 2, 0), True, "SHOW BINARY LOG STATUS"),
        ("mariadb", (10, 11, 14), True, "SHOW MASTER STATUS"),
        ("mariadb", (5, 5, 68), False, "SHOW MASTER STATUS"),
    ],
)
def test_names(engine, version, online, status):
    table = names.Names(engine, version)
    assert (table.gtid_online, table.show_binary_log_status) == (online, status)
