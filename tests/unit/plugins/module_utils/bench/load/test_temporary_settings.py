# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import subprocess

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load import temporary_settings
from ansible_collections.dbre.semisync.plugins.module_utils._host import timer
from ansible_collections.dbre.semisync.plugins.module_utils._server import names

MYSQL = names.Names("mysql", (9, 7, 4), ["rpl_semi_sync_source"])
OLD = names.Names("mysql", (5, 7, 30), ["rpl_semi_sync_master"])
MARIADB = names.Names("mariadb", (10, 11, 14))
NOW = {
    "rpl_semi_sync_source_enabled": "ON",
    "rpl_semi_sync_source_timeout": "10000",
    "sync_binlog": "1",
    "innodb_flush_log_at_trx_commit": "1",
}


@pytest.mark.parametrize(
    "server,side,mode,variables,wanted",
    [
        (
            MYSQL,
            "source",
            "async",
            {"timeout": 5},
            {"rpl_semi_sync_source_enabled": "OFF", "rpl_semi_sync_source_timeout": "5"},
        ),
        (OLD, "source", "semisync", {}, {"rpl_semi_sync_master_enabled": "ON"}),
        (
            MARIADB,
            "source",
            "none",
            {"wait_point": "after_commit"},
            {
                "rpl_semi_sync_master_enabled": "OFF",
                "rpl_semi_sync_master_wait_point": "AFTER_COMMIT",
            },
        ),
        (MYSQL, "source", None, {"sync_binlog": 0}, {"sync_binlog": "0"}),
        (MYSQL, "replica", "async", {"sync_binlog": 0, "timeout": 5}, {"sync_binlog": "0"}),
    ],
)
def test_each_side_gets_its_own_variables_under_the_servers_names(
    server, side, mode, variables, wanted
):
    assert temporary_settings.wanted_variables(server, side, mode, variables) == wanted


@pytest.mark.parametrize(
    "server,variables,words",
    [
        (MYSQL, {"enabled": "OFF"}, "enabled cannot be set"),
        (
            MYSQL,
            {"max_connections": 5},
            "max_connections cannot be set on this server; these can: innodb_flush",
        ),
        (MARIADB, {"wait_for_replica_count": 2}, "wait_for_replica_count cannot be set"),
        (MYSQL, {"timeout": "1; DROP USER x"}, "timeout is '1; DROP USER x'"),
        (MYSQL, {"sync_binlog": -1}, "sync_binlog is -1"),
    ],
)
def test_what_cannot_be_set_is_named(server, variables, words):
    with pytest.raises(ValueError) as error:
        temporary_settings.wanted_variables(server, "source", None, variables)
    assert words in str(error.value)


def test_semi_sync_is_switched_off_first_and_on_last():
    off = temporary_settings.changes(
        NOW, {"rpl_semi_sync_source_enabled": "OFF", "sync_binlog": "0"}
    )
    assert off == ["SET GLOBAL rpl_semi_sync_source_enabled = 'OFF'", "SET GLOBAL sync_binlog = 0"]
    on = temporary_settings.changes(
        dict(NOW, rpl_semi_sync_source_enabled="OFF", sync_binlog="0"), NOW
    )
    assert on == ["SET GLOBAL sync_binlog = 1", "SET GLOBAL rpl_semi_sync_source_enabled = 'ON'"]
    assert temporary_settings.changes(NOW, NOW) == []


def test_the_first_values_are_those_that_are_put_back():
    first = temporary_settings.remembered({}, NOW, {"sync_binlog": "0"}, False, None, "bench", None)
    assert first == {
        "variables": {"sync_binlog": "1"},
        "io": None,
        "schemas": ["bench"],
        "accounts": [],
    }
    later = dict(NOW, sync_binlog="0")
    second = temporary_settings.remembered(
        first,
        later,
        {"sync_binlog": "5", "rpl_semi_sync_source_timeout": "9"},
        False,
        None,
        "bench",
        ("bench", "%"),
    )
    assert second == {
        "variables": {"sync_binlog": "1", "rpl_semi_sync_source_timeout": "10000"},
        "io": None,
        "schemas": ["bench"],
        "accounts": [["bench", "%"]],
    }


@pytest.mark.parametrize(
    "runs,wants,kept,io",
    [
        (True, False, {}, True),
        (False, True, {}, False),
        (True, True, {}, None),
        (True, None, {}, None),
        (False, True, {"io": True}, True),
    ],
)
def test_the_io_thread_goes_back_to_what_it_was_first(runs, wants, kept, io):
    assert temporary_settings.remembered(kept, {}, {}, runs, wants, None, None)["io"] is io


def test_everything_is_put_back_and_semi_sync_last_so_that_no_drop_waits_for_it():
    kept = {
        "variables": {
            "rpl_semi_sync_source_enabled": "ON",
            "rpl_semi_sync_source_timeout": "10000",
        },
        "io": True,
        "schemas": ["be`nch"],
        "accounts": [["o'b", "%"]],
    }
    assert temporary_settings.restore_statements(MYSQL, kept) == [
        "START REPLICA IO_THREAD",
        "SET GLOBAL rpl_semi_sync_source_timeout = 10000",
        "DROP DATABASE IF EXISTS `be``nch`",
        "DROP USER IF EXISTS 'o''b'@'%'",
        "SET GLOBAL rpl_semi_sync_source_enabled = 'ON'",
    ]
    assert temporary_settings.restore_statements(OLD, {"io": False}) == ["STOP SLAVE IO_THREAD"]
    assert temporary_settings.restore_statements(MYSQL, {}) == []


@pytest.mark.parametrize("version", [(5, 5, 62), (5, 6, 21), (5, 7, 7)])
def test_an_account_goes_also_where_no_statement_knows_whether_it_is_there(version):
    # DROP USER alone fails if it is gone, and a rollback may run twice.
    old = names.Names("mysql", version)
    assert temporary_settings.restore_statements(old, {"accounts": [["o'b", "%"]]}) == [
        f"GRANT USAGE ON *.* TO 'o''b'@'%' IDENTIFIED BY PASSWORD '*{'0' * 40}'",
        "DROP USER 'o''b'@'%'",
    ]


def test_the_loads_account_may_do_nothing_outside_its_schema():
    create, grant, process = temporary_settings.account_statements("bench", "%", "semisync_bench_1")
    assert create == "CREATE USER 'bench'@'%%' IDENTIFIED BY %s"
    assert grant == "GRANT ALL ON `semisync\\_bench\\_1`.* TO 'bench'@'%'"
    assert process == "GRANT PROCESS ON *.* TO 'bench'@'%'"


def test_the_rollback_has_nothing_that_systemd_would_expand_or_could_not_read_again():
    script = temporary_settings.restore_script("/usr/bin/mysql")
    assert timer.checked(script) == script
    assert subprocess.call(["sh", "-n", "-c", script]) == 0
