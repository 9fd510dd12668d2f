# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The statements that exchange a server's semi-sync plugins, from any state of an exchange."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import plugin_names
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

MYSQL = Names("mysql", (8, 4, 3))
OLD, NEW = MYSQL.called("old"), MYSQL.called("new")
VARIABLES = {
    "rpl_semi_sync_master_enabled": "ON",
    "rpl_semi_sync_master_timeout": "700",
    "rpl_semi_sync_master_trace_level": "32",
    "rpl_semi_sync_master_wait_no_slave": "OFF",
    "rpl_semi_sync_master_wait_point": "AFTER_SYNC",
    "rpl_semi_sync_master_wait_for_slave_count": "2",
    "rpl_semi_sync_slave_enabled": "OFF",
    "rpl_semi_sync_slave_trace_level": "16",
}
BOTH_OLD = dict.fromkeys(("rpl_semi_sync_master", "rpl_semi_sync_slave"), "ACTIVE")
BOTH_NEW = dict.fromkeys(("rpl_semi_sync_source", "rpl_semi_sync_replica"), "ACTIVE")
UNLOAD = ["UNINSTALL PLUGIN rpl_semi_sync_slave", "UNINSTALL PLUGIN rpl_semi_sync_master"]
LOAD = [
    "INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'",
    "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'",
]
SETTINGS = [
    "SET GLOBAL rpl_semi_sync_replica_enabled = 'OFF'",
    "SET GLOBAL rpl_semi_sync_replica_trace_level = 16",
    "SET GLOBAL rpl_semi_sync_source_timeout = 700",
    "SET GLOBAL rpl_semi_sync_source_trace_level = 32",
    "SET GLOBAL rpl_semi_sync_source_wait_for_replica_count = 2",
    "SET GLOBAL rpl_semi_sync_source_wait_no_replica = 'OFF'",
    "SET GLOBAL rpl_semi_sync_source_wait_point = 'AFTER_SYNC'",
    "SET GLOBAL rpl_semi_sync_source_enabled = 'ON'",
]


@pytest.mark.parametrize(
    "plugins,unload,load",
    [
        (BOTH_OLD, UNLOAD, LOAD),
        ({"rpl_semi_sync_master": "ACTIVE"}, UNLOAD[1:], LOAD),
        ({}, [], LOAD),
        ({"rpl_semi_sync_replica": "ACTIVE"}, [], LOAD[1:]),
        (BOTH_NEW, [], []),
    ],
)
def test_an_exchange_goes_on_from_wherever_it_was_interrupted(plugins, unload, load):
    values = plugin_names.values_of(OLD, VARIABLES)
    found = plugin_names.steps(OLD, NEW, plugins, values)
    assert (found.unload, found.load) == (unload, load)
    # A switch that is on comes last: no commit waits by values that are not the wanted ones.
    assert found.settings == SETTINGS
    assert found.all == [*unload, *load, *SETTINGS]


def test_the_way_back_is_the_same_with_the_other_names():
    values = plugin_names.values_of(OLD, VARIABLES)
    found = plugin_names.steps(NEW, OLD, BOTH_NEW, values)
    assert found.unload[0] == "UNINSTALL PLUGIN rpl_semi_sync_replica"
    assert found.load[1] == "INSTALL PLUGIN rpl_semi_sync_master SONAME 'semisync_master.so'"
    assert found.settings[-1] == "SET GLOBAL rpl_semi_sync_master_enabled = 'ON'"


def test_a_side_without_a_plugin_keeps_the_values_of_the_option_files():
    values = plugin_names.values_of(OLD, {"rpl_semi_sync_slave_enabled": "ON"})
    found = plugin_names.steps(OLD, NEW, {"rpl_semi_sync_slave": "ACTIVE"}, values)
    assert found.settings == ["SET GLOBAL rpl_semi_sync_replica_enabled = 'ON'"]
