# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._server import names
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.modules import semisync_plugin

NEW = names.Names("mysql", (9, 7, 4))
BUILT_IN = names.Names("mariadb", (10, 11, 19))
ACTIVE = {"rpl_semi_sync_source": "ACTIVE"}
OFF, ON = {"rpl_semi_sync_source_enabled": "OFF"}, {"rpl_semi_sync_source_enabled": "ON"}
INSTALL = "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'"


@pytest.mark.parametrize(
    "state,variables,plugins,current,shown",
    [
        ("present", {}, {}, {}, [INSTALL]),
        ("present", {}, ACTIVE, OFF, []),
        (
            "present",
            {"rpl_semi_sync_source_enabled": 1},
            {},
            {},
            [INSTALL, "SET GLOBAL rpl_semi_sync_source_enabled = 1"],
        ),
        (
            "present",
            {"rpl_semi_sync_source_enabled": 1},
            ACTIVE,
            OFF,
            ["SET GLOBAL rpl_semi_sync_source_enabled = 1"],
        ),
        ("present", {"rpl_semi_sync_source_enabled": "ON"}, ACTIVE, ON, []),
        (
            "present",
            {"rpl_semi_sync_source_wait_point": "AFTER_SYNC"},
            ACTIVE,
            {"rpl_semi_sync_source_wait_point": "AFTER_COMMIT"},
            ["SET GLOBAL rpl_semi_sync_source_wait_point = 'AFTER_SYNC'"],
        ),
        (
            "absent",
            {},
            ACTIVE,
            ON,
            [
                "SET GLOBAL rpl_semi_sync_source_enabled = 0",
                "UNINSTALL PLUGIN rpl_semi_sync_source",
            ],
        ),
        ("absent", {}, ACTIVE, OFF, ["UNINSTALL PLUGIN rpl_semi_sync_source"]),
        ("absent", {}, {}, {}, []),
    ],
)
def test_statements_bring_the_server_to_what_is_wanted(state, variables, plugins, current, shown):
    steps, later = semisync_plugin.plan(NEW, "source", state, variables, plugins, current)
    assert steps == shown and later == []


@pytest.mark.parametrize(
    "side,names_,wanted,current,steps,later",
    [
        # What it is switched on with is short, what stays is what is wanted.
        (
            "source",
            NEW,
            {"rpl_semi_sync_source_enabled": 1, "rpl_semi_sync_source_timeout": 10000},
            dict(OFF, rpl_semi_sync_source_timeout="10000"),
            ["timeout = 100", "enabled = 1"],
            ["timeout = 10000"],
        ),
        (
            "source",
            NEW,
            {"rpl_semi_sync_source_enabled": 1, "rpl_semi_sync_source_timeout": 3000},
            dict(OFF, rpl_semi_sync_source_timeout="10000"),
            ["timeout = 100", "enabled = 1"],
            ["timeout = 3000"],
        ),
        (
            "source",
            BUILT_IN,
            {"rpl_semi_sync_master_enabled": 1},
            {"rpl_semi_sync_master_enabled": "OFF", "rpl_semi_sync_master_timeout": "10000"},
            ["timeout = 100", "enabled = 1"],
            ["timeout = 10000"],
        ),
        # Short enough already; on already; off; the other side.
        (
            "source",
            NEW,
            {"rpl_semi_sync_source_enabled": 1},
            dict(OFF, rpl_semi_sync_source_timeout="50"),
            ["enabled = 1"],
            [],
        ),
        (
            "source",
            NEW,
            {"rpl_semi_sync_source_enabled": 1, "rpl_semi_sync_source_timeout": 3000},
            dict(ON, rpl_semi_sync_source_timeout="10000"),
            ["timeout = 3000"],
            [],
        ),
        (
            "source",
            NEW,
            {"rpl_semi_sync_source_enabled": 0},
            dict(ON, rpl_semi_sync_source_timeout="10000"),
            ["enabled = 0"],
            [],
        ),
        (
            "replica",
            NEW,
            {"rpl_semi_sync_replica_enabled": 1},
            {"rpl_semi_sync_replica_enabled": "OFF"},
            ["enabled = 1"],
            [],
        ),
    ],
)
def test_a_source_is_switched_on_with_a_timeout_that_holds_no_writer_up(
    side, names_, wanted, current, steps, later
):
    plugins = {} if names_.builtin else {names_.plugin(side)[0]: "ACTIVE"}
    found = semisync_plugin.plan(names_, side, "present", wanted, plugins, current)
    prefix = "SET GLOBAL " + names_.prefix(side)
    short = [[statement.replace(prefix, "") for statement in part] for part in found]
    assert short == [steps, later]


def test_where_semisync_is_built_in_only_variables_are_set():
    steps, _dummy = semisync_plugin.plan(
        BUILT_IN,
        "source",
        "present",
        {"rpl_semi_sync_master_enabled": 1},
        {},
        {"rpl_semi_sync_master_enabled": "OFF"},
    )
    assert steps == ["SET GLOBAL rpl_semi_sync_master_enabled = 1"]
    assert semisync_plugin.plan(
        BUILT_IN, "source", "absent", {}, {}, {"rpl_semi_sync_master_enabled": "ON"}
    ) == ([], [])


@pytest.mark.parametrize(
    "engine,version,words",
    [
        ("mysql", (9, 7, 4), ["STOP REPLICA IO_THREAD", "START REPLICA IO_THREAD"]),
        ("mysql", (5, 7, 44), ["STOP SLAVE IO_THREAD", "START SLAVE IO_THREAD"]),
        ("mariadb", (10, 5, 1), ["STOP REPLICA IO_THREAD", "START REPLICA IO_THREAD"]),
    ],
)
def test_the_io_thread_is_restarted_in_the_servers_words(engine, version, words):
    assert semisync_plugin.restart_io(names.Names(engine, version)) == words


def test_check_mode_predicts_what_a_run_leaves():
    plugin = ("rpl_semi_sync_source", "semisync_source.so")
    wanted = {"rpl_semi_sync_source_enabled": 1}
    assert semisync_plugin.predict({}, {}, wanted, plugin, "present") == (
        ACTIVE,
        {"rpl_semi_sync_source_enabled": 1},
    )
    assert semisync_plugin.predict(ACTIVE, {}, {}, plugin, "absent") == ({}, {})
    assert semisync_plugin.predict({}, {}, {}, None, "present") == ({}, {})


class Server:
    """Refuses to write down what it installs while it is super_read_only."""

    def __init__(self, frozen):
        self.frozen, self.said = frozen, []

    def variables(self):
        return {} if self.frozen is None else {"super_read_only": "ON" if self.frozen else "OFF"}

    def rows(self, statement):
        self.said.append(statement)
        if statement.startswith("SET GLOBAL super_read_only"):
            self.frozen = statement.endswith("ON")
        elif statement.endswith("gone") or (self.frozen and "INSTALL" in statement):
            raise ServerError(Exception("refused"))


class Module:
    check_mode = False

    def fail_json(self, msg):
        raise SystemExit(msg)


@pytest.mark.parametrize("frozen", [True, False, None])
def test_a_server_that_is_super_read_only_installs_and_is_so_again(frozen):
    server = Server(frozen)
    semisync_plugin.execute(Module(), server, [INSTALL, "SET GLOBAL x = 1"])
    assert server.frozen is frozen and server.said[-1] == "SET GLOBAL x = 1"
    assert len(server.said) == (4 if frozen else 2)
    with pytest.raises(SystemExit, match="refuses UNINSTALL PLUGIN gone"):
        semisync_plugin.execute(Module(), server, ["UNINSTALL PLUGIN gone"])
    assert server.frozen is frozen


def test_a_diff_has_the_plugins_and_only_the_variables_in_question():
    assert (
        semisync_plugin.plugin_text(
            ACTIVE, dict(ON, secret="x"), {"rpl_semi_sync_source_enabled": 1}
        )
        == "plugin rpl_semi_sync_source: ACTIVE\nrpl_semi_sync_source_enabled = ON\n"
    )


def counted(status, yes_tx, wait_sessions):
    return {"status": status, "yes_tx": str(yes_tx), "wait_sessions": str(wait_sessions)}


def polls(rows, before, **keywords):
    """How many of the rows are read until the source counts as settled."""
    left = list(rows)
    semisync_plugin.wait_for_acknowledgement(
        lambda: left.pop(0) if len(left) > 1 else left[0], before, pause=0, **keywords
    )
    return len(rows) - len(left)


@pytest.mark.parametrize("before", [{"status": None, "yes_tx": None}, counted("OFF", 0, 0)])
def test_a_status_of_on_is_no_acknowledgement(before):
    rows = [counted("ON", 0, 5)] * 20 + [counted("OFF", 0, 0)] * 20 + [counted("ON", 1, 0)] * 2
    assert polls(rows, before, idle_seconds=5) == 41


def test_a_commit_that_was_acknowledged_before_does_not_count():
    rows = [counted("ON", 7, 1)] * 5 + [counted("ON", 8, 1)] * 2
    assert polls(rows, counted("OFF", 7, 0), idle_seconds=5) == 6


def test_a_source_without_writers_is_not_waited_for():
    assert polls([counted("ON", 0, 0)] * 3, counted("OFF", 0, 0), idle_seconds=0) == 1


def test_a_source_that_is_never_acknowledged_is_waited_for_as_long_as_said():
    assert polls([counted("OFF", 0, 0)] * 3, counted("OFF", 0, 0), seconds=0.05) == 2
