# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import pytest

pytest.importorskip("ansible_collections.community.mysql.plugins.module_utils.mysql", reason="community.mysql")

from ansible_collections.dbre.semisync.plugins.module_utils import names  # noqa: E402
from ansible_collections.dbre.semisync.plugins.modules import semisync_plugin  # noqa: E402

NEW = names.Names("mysql", (9, 7, 4))
BUILT_IN = names.Names("mariadb", (10, 11, 19))
ACTIVE = {"rpl_semi_sync_source": "ACTIVE"}
OFF, ON = {"rpl_semi_sync_source_enabled": "OFF"}, {"rpl_semi_sync_source_enabled": "ON"}
INSTALL = "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'"


@pytest.mark.parametrize("state,variables,plugins,current,shown", [
    ("present", {}, {}, {}, [INSTALL]),
    ("present", {}, ACTIVE, OFF, []),
    ("present", {"rpl_semi_sync_source_enabled": 1}, {}, {}, [INSTALL, "SET GLOBAL rpl_semi_sync_source_enabled = 1"]),
    ("present", {"rpl_semi_sync_source_enabled": 1}, ACTIVE, OFF, ["SET GLOBAL rpl_semi_sync_source_enabled = 1"]),
    ("present", {"rpl_semi_sync_source_enabled": "ON"}, ACTIVE, ON, []),
    ("present", {"rpl_semi_sync_source_wait_point": "AFTER_SYNC"}, ACTIVE, {"rpl_semi_sync_source_wait_point": "AFTER_COMMIT"},
     ["SET GLOBAL rpl_semi_sync_source_wait_point = 'AFTER_SYNC'"]),
    ("absent", {}, ACTIVE, ON, ["SET GLOBAL rpl_semi_sync_source_enabled = 0", "UNINSTALL PLUGIN rpl_semi_sync_source"]),
    ("absent", {}, ACTIVE, OFF, ["UNINSTALL PLUGIN rpl_semi_sync_source"]),
    ("absent", {}, {}, {}, []),
])
def test_statements_bring_the_server_to_what_is_wanted(state, variables, plugins, current, shown):
    steps = semisync_plugin.plan(NEW, "source", state, variables, plugins, current)
    assert [semisync_plugin.show(*step) for step in steps] == shown


def test_where_semisync_is_built_in_only_variables_are_set():
    steps = semisync_plugin.plan(BUILT_IN, "source", "present", {"rpl_semi_sync_master_enabled": 1}, {},
                                 {"rpl_semi_sync_master_enabled": "OFF"})
    assert [semisync_plugin.show(*step) for step in steps] == ["SET GLOBAL rpl_semi_sync_master_enabled = 1"]
    assert semisync_plugin.plan(BUILT_IN, "source", "absent", {}, {}, {"rpl_semi_sync_master_enabled": "ON"}) == []


@pytest.mark.parametrize("engine,version,words", [
    ("mysql", (9, 7, 4), ["STOP REPLICA IO_THREAD", "START REPLICA IO_THREAD"]),
    ("mysql", (5, 7, 44), ["STOP SLAVE IO_THREAD", "START SLAVE IO_THREAD"]),
    ("mariadb", (10, 5, 1), ["STOP REPLICA IO_THREAD", "START REPLICA IO_THREAD"]),
])
def test_the_io_thread_is_restarted_in_the_servers_words(engine, version, words):
    assert semisync_plugin.restart_io(names.Names(engine, version)) == words


def test_check_mode_predicts_what_a_run_leaves():
    plugin = ("rpl_semi_sync_source", "semisync_source.so")
    wanted = {"rpl_semi_sync_source_enabled": 1}
    assert semisync_plugin.predict({}, {}, wanted, plugin, "present") == (ACTIVE, {"rpl_semi_sync_source_enabled": 1})
    assert semisync_plugin.predict(ACTIVE, {}, {}, plugin, "absent") == ({}, {})
    assert semisync_plugin.predict({}, {}, {}, None, "present") == ({}, {})


def test_a_diff_has_the_plugins_and_only_the_variables_in_question():
    assert semisync_plugin.describe(ACTIVE, dict(ON, secret="x"), {"rpl_semi_sync_source_enabled": 1}) == \
        "plugin rpl_semi_sync_source: ACTIVE\nrpl_semi_sync_source_enabled = ON\n"
