# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The statements of a switchover by server, and the comparisons that it rests on."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import role_statements
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

MYSQL = Names("mysql", (9, 7, 4), ["rpl_semi_sync_source"])
OLD = Names("mysql", (5, 6, 21), ["rpl_semi_sync_master"])
MARIADB = Names("mariadb", (10, 11, 14), [])
UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


@pytest.mark.parametrize(
    "names,statement",
    [
        (MYSQL, "SET GLOBAL super_read_only = 1"),
        (Names("mysql", (5, 7, 23), []), "SET GLOBAL super_read_only = 1"),
        (OLD, "SET GLOBAL read_only = 1"),
        (MARIADB, "SET GLOBAL read_only = 1"),
    ],
)
def test_writers_are_kept_out_by_the_strongest_statement_that_the_server_has(names, statement):
    assert role_statements.freeze_statement(names) == statement


def test_the_source_side_is_on_only_after_the_channel_stands():
    assert role_statements.shown(role_statements.promote_steps(MYSQL)) == [
        "STOP REPLICA",
        "SET GLOBAL rpl_semi_sync_replica_enabled = 0",
        "SET GLOBAL rpl_semi_sync_source_enabled = 1",
    ]


def test_the_way_back_of_a_target_keeps_its_channel():
    for steps in (role_statements.promote_steps(MYSQL), role_statements.return_steps(MYSQL)):
        assert not any(
            "RESET" in words or "CHANGE" in words for words in role_statements.shown(steps)
        )


def test_a_replica_keeps_its_account_and_tls():
    assert role_statements.shown(role_statements.redirect_steps(MYSQL, "db2", 3307)) == [
        "STOP REPLICA",
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'db2', SOURCE_PORT = 3307,"
        " SOURCE_AUTO_POSITION = 1",
        "START REPLICA",
    ]
    assert (
        "MASTER_USE_GTID = slave_pos"
        in role_statements.shown(role_statements.redirect_steps(MARIADB, "x", 1))[1]
    )


CHANNEL = {
    "source_host": "db2",
    "source_port": 3306,
    "source_user": "repl",
    "source_password": "secret",
    "connect_retry": 1,
}


@pytest.mark.parametrize("names", [MYSQL, OLD, MARIADB])
def test_the_old_source_acknowledges_from_its_first_moment_as_a_replica(names):
    channel = role_statements.channel_of(CHANNEL, {"ssl": False, "ca": None, "verify": None})
    words = role_statements.shown(role_statements.attach_steps(names, channel, "0-1-7"))
    replica_on = next(n for n, text in enumerate(words) if "_enabled = 1" in text)
    starts = next(n for n, text in enumerate(words) if text.startswith("START"))
    assert replica_on < starts
    assert "secret" not in " ".join(words)
    assert words[0].startswith("SET GLOBAL gtid_slave_pos") == names.mariadb


def test_the_source_side_goes_off_in_a_statement_of_its_own_for_it_takes_a_second():
    channel = role_statements.channel_of(CHANNEL, {"ssl": False, "ca": None, "verify": None})
    assert not any(
        "enabled = 0" in text
        for text in role_statements.shown(role_statements.attach_steps(MYSQL, channel, ""))
    )
    assert role_statements.shown(role_statements.retire_steps(MYSQL)) == [
        "SET GLOBAL rpl_semi_sync_source_enabled = 0"
    ]


def test_only_a_channel_of_this_switchover_is_reset():
    assert not any(
        "RESET" in text
        for text in role_statements.shown(role_statements.detach_steps(MYSQL, False))
    )
    assert "RESET REPLICA ALL" in role_statements.shown(role_statements.detach_steps(MYSQL, True))


@pytest.mark.parametrize(
    "slave_pos,binlog_pos,begin",
    [
        # A source that never was a replica.
        ("", "0-1-7", "0-1-7"),
        # One that was, and has written since.
        ("0-2-5", "0-1-7", "0-1-7"),
        # A domain that only came by a copy of the data stays.
        ("0-2-5,3-9-4", "0-1-7", "0-1-7,3-9-4"),
        # The binary log never was behind what was applied; a stale row of the table is.
        ("0-2-9", "0-1-7", "0-2-9"),
    ],
)
def test_a_mariadb_source_begins_as_a_replica_where_each_domain_ends(slave_pos, binlog_pos, begin):
    assert str(role_statements.merged(slave_pos, binlog_pos)) == begin


def test_an_event_keeps_its_definer_and_what_it_was_made_with():
    steps = role_statements.alter_event(
        {
            "schema": "a`b",
            "name": "tick",
            "definer": "o'neil@%",
            "sql_mode": "ANSI",
            "time_zone": "SYSTEM",
        },
        "ENABLE",
    )
    assert steps[0][1] == ("ANSI", "SYSTEM")
    assert steps[1][0] == "ALTER DEFINER = 'o''neil'@'%' EVENT `a``b`.`tick` ENABLE"
