# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import option_files
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import removal
from ansible_collections.dbre.semisync.tests.unit import samples

ENGINES = ("mysql", "mariadb")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_pair_of_ours_is_undone_on_both_sides(engine):
    members = samples.pair(engine)
    source, replica = [removal.removal_plan(one, members) for one in members]
    assert removal.removal_problems(members) == []
    assert (source["switch_off"], replica["switch_off"]) == (["source"], ["replica"])
    both = ["replica", "source"] if engine == "mysql" else []
    assert (source["uninstall"], replica["uninstall"]) == (both, both)
    assert replica["restart_io"] and not source["restart_io"]
    assert source["changes"] and replica["changes"]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_lines_of_replication_outlive_ours(engine):
    members = samples.pair(engine)
    text = removal.removal_plan(members[1], members)["option_file"]["left_behind"]
    lines = option_files.parse_ours(text)
    assert "server_id" in lines and "relay_log" in lines
    # It was for the day of a promotion.
    assert "bind_address" not in lines
    assert not [name for name in lines if "semi_sync" in name]
    source = option_files.parse_ours(
        removal.removal_plan(members[0], members)["option_file"]["left_behind"]
    )
    assert source["bind_address"] == "*"
    assert not {"sync_binlog", "innodb_flush_log_at_trx_commit"} & set(source)


@pytest.mark.parametrize("engine", ENGINES)
def test_lines_without_replication_leave_nothing(engine):
    members = samples.pair(engine)
    members[1].info["option_files"]["ours"] = (
        f"[mysqld]\nloose_{members[1].info['names']['replica']['variables']['enabled']} = 1\n"
    )
    assert removal.removal_plan(members[1], members)["option_file"]["left_behind"] is None


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_not_ours_stays(engine):
    members = samples.pair(engine)
    for one in members:
        one.info["option_files"]["ours"] = None
    assert [removal.removal_plan(one, members)["changes"] for one in members] == [False, False]
    assert len(removal.remains(members[0])) == (
        2 if len(members[0].info["plugins"]) == 2 else int(engine == "mysql")
    )


def test_a_source_that_somebody_else_enabled_keeps_its_replicas():
    members = samples.pair("mysql")
    members[0].info["option_files"]["ours"] = None
    assert "SET GLOBAL rpl_semi_sync_source_enabled = OFF" in removal.removal_problems(members)[0]


@pytest.mark.parametrize(
    "engine,option,value,reason",
    [
        ("mysql", "rpl_semi_sync_source_timeout", "500", "the server may not start again"),
        ("mariadb", "rpl_semi_sync_master_enabled", "ON", "would bring semi-sync back"),
    ],
)
def test_other_peoples_lines_are_seen_before_anything_is_undone(engine, option, value, reason):
    members = samples.pair(engine)
    members[0].info["option_files"]["elsewhere"][option] = value
    (found,) = removal.removal_problems(members)
    assert (
        found.startswith(f"db1: the option files set {option} besides our lines")
        and reason in found
    )


def test_a_line_that_is_off_does_no_harm_where_semisync_is_built_in():
    members = samples.pair("mariadb")
    members[0].info["option_files"]["elsewhere"].update(
        rpl_semi_sync_master_enabled="0", rpl_semi_sync_master_timeout="5"
    )
    assert removal.removal_problems(members) == []


def test_a_file_in_the_way_of_the_lines_that_stay_is_named():
    members = samples.pair("mysql")
    members[1].info["option_files"]["left_behind"]["exists"] = True
    (found,) = removal.removal_problems(members)
    assert found.startswith("db2: /etc/mysql/mysql.conf.d/zz-replication.cnf exists already")


@pytest.mark.parametrize(
    "io,sql,start",
    [("No", "Yes", True), ("No", "No", False), ("Yes", "Yes", False), ("Connecting", "Yes", False)],
)
def test_only_what_a_removal_may_have_stopped_is_started(io, sql, start):
    members = samples.pair("mysql")
    members[1].info["channel"].update(io_running=io, sql_running=sql)
    assert removal.removal_plan(members[1], members)["start"] is start


def test_a_removal_that_was_broken_off_is_finished():
    members = samples.pair("mysql")
    members[0].info["semisync"]["source"]["variables"]["enabled"] = "OFF"
    for side in ("replica", "source"):
        del members[1].info["plugins"][f"rpl_semi_sync_{side}"]
        samples.unload(members[1].info, side)
    source, replica = [removal.removal_plan(one, members) for one in members]
    assert (source["switch_off"], source["uninstall"]) == ([], ["replica", "source"])
    assert (replica["switch_off"], replica["uninstall"], replica["restart_io"]) == ([], [], False)
    assert replica["option_file"]["ours"]
