# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._server import names, plugin

NEW, OLD = names.Names("mysql", (9, 7, 4)), names.Names("mysql", (5, 7, 44))
BUILT_IN = names.Names("mariadb", (10, 11, 19))


@pytest.mark.parametrize(
    "table,side,statement",
    [
        (NEW, "source", "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'"),
        (NEW, "replica", "INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'"),
        (OLD, "source", "INSTALL PLUGIN rpl_semi_sync_master SONAME 'semisync_master.so'"),
        (OLD, "replica", "INSTALL PLUGIN rpl_semi_sync_slave SONAME 'semisync_slave.so'"),
        (
            names.Names("mysql", (8, 4, 3), ["rpl_semi_sync_slave"]),
            "source",
            "INSTALL PLUGIN rpl_semi_sync_master SONAME 'semisync_master.so'",
        ),
        (
            names.Names("mariadb", (10, 3, 2)),
            "source",
            "INSTALL PLUGIN rpl_semi_sync_master SONAME 'semisync_master.so'",
        ),
    ],
)
def test_a_missing_plugin_is_installed_under_the_servers_name(table, side, statement):
    assert plugin.install_statements(table, side, {}) == [statement]
    name = statement.split()[2]
    assert plugin.install_statements(table, side, {name: "ACTIVE"}) == []
    assert plugin.uninstall_statements(table, side, {name: "ACTIVE"}) == [
        "UNINSTALL PLUGIN " + name
    ]
    assert plugin.uninstall_statements(table, side, {}) == []


@pytest.mark.parametrize("side", ["source", "replica"])
def test_what_is_built_in_is_neither_installed_nor_removed(side):
    assert (
        plugin.install_statements(BUILT_IN, side, {})
        == plugin.uninstall_statements(BUILT_IN, side, {})
        == []
    )


def test_a_plugin_that_is_there_but_not_active_is_a_conflict():
    with pytest.raises(plugin.ConflictError) as error:
        plugin.install_statements(NEW, "source", {"rpl_semi_sync_source": "DISABLED"})
    assert "rpl_semi_sync_source is DISABLED" in str(error.value) and "error log" in str(
        error.value
    )


STALE = "SET SESSION sql_log_bin = 0; DELETE FROM mysql.plugin WHERE name IN (%s)"


@pytest.mark.parametrize(
    "plugins,registered,way_out",
    [
        # Old ones in use, the new one failed to load: the row of the new one goes, or the server
        # would stay without.
        (
            {"rpl_semi_sync_master": "ACTIVE"},
            {"rpl_semi_sync_source": "semisync_source.so"},
            STALE % "'rpl_semi_sync_source'",
        ),
        (
            {"rpl_semi_sync_master": "ACTIVE", "rpl_semi_sync_replica": "ACTIVE"},
            {},
            "UNINSTALL PLUGIN rpl_semi_sync_master",
        ),
        # After an upgrade: new ones in use, the old one's library is gone.
        (
            {"rpl_semi_sync_source": "ACTIVE"},
            {"rpl_semi_sync_master": "semisync_master.so"},
            STALE % "'rpl_semi_sync_master'",
        ),
        (
            {"rpl_semi_sync_source": "ACTIVE", "rpl_semi_sync_slave": "ACTIVE"},
            {"rpl_semi_sync_master": "semisync_master.so"},
            STALE % "'rpl_semi_sync_master'",
        ),
    ],
)
def test_both_generations_on_one_server_are_refused_with_the_way_out(plugins, registered, way_out):
    with pytest.raises(plugin.ConflictError) as error:
        plugin.check_mix(plugins, registered, names.NEW)
    assert "both name generations" in str(error.value) and way_out in str(error.value)


def test_rows_that_an_upgrade_left_are_refused_before_the_new_plugin_is_installed():
    with pytest.raises(plugin.ConflictError) as error:
        plugin.check_mix({}, {"rpl_semi_sync_slave": "semisync_slave.so"}, names.NEW)
    assert STALE % "'rpl_semi_sync_slave'" in str(error.value)
    plugin.check_mix(
        {"rpl_semi_sync_slave": "ACTIVE"}, {"rpl_semi_sync_slave": "semisync_slave.so"}, names.OLD
    )
    plugin.check_mix({}, {"rpl_semi_sync_slave": "semisync_slave.so"}, names.OLD)


@pytest.mark.parametrize(
    "plugins",
    [
        {},
        {"rpl_semi_sync_master": "ACTIVE", "rpl_semi_sync_slave": "ACTIVE"},
        {"rpl_semi_sync_source": "ACTIVE"},
        {"rpl_semi_sync_unknown": "ACTIVE"},
    ],
)
def test_one_generation_is_fine(plugins):
    plugin.check_mix(plugins, plugins)


def test_only_what_differs_is_set():
    current = {"rpl_semi_sync_source_enabled": "ON", "rpl_semi_sync_source_timeout": "10000"}
    wanted = {
        "rpl_semi_sync_source_enabled": 1,
        "rpl_semi_sync_source_timeout": 500,
        "Rpl_Semi_Sync_Source_Trace_Level": 32,
    }
    assert plugin.variable_changes(wanted, current) == {
        "rpl_semi_sync_source_timeout": ("10000", 500),
        "Rpl_Semi_Sync_Source_Trace_Level": (None, 32),
    }


@pytest.mark.parametrize("value,turn", [(1, -1), ("OFF", 0)])
def test_a_source_is_switched_on_last_and_off_first(value, turn):
    changes = {
        "rpl_semi_sync_source_enabled": (None, value),
        "rpl_semi_sync_source_timeout": ("1", 2),
        "rpl_semi_sync_source_wait_point": ("AFTER_COMMIT", "AFTER_SYNC"),
    }
    assert plugin.in_order(changes)[turn] == "rpl_semi_sync_source_enabled"
