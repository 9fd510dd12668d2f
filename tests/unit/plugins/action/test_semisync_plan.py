# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.action.semisync_plan import ActionModule
from ansible_collections.dbre.semisync.tests.unit import samples
from ansible_collections.dbre.semisync.tests.unit.actions import runner

VARIABLES = {"semisync_replication_password": "pass word", "semisync_timeout": "2000"}


@pytest.fixture
def plan(monkeypatch, tmp_path):
    """Runs the action on one host of a captured pair."""
    run = runner(ActionModule, monkeypatch, tmp_path)
    return lambda *positional, **named: run(*positional, **{**VARIABLES, **named})


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_the_wanted_values_are_those_of_the_task(plan, engine):
    result = plan(arguments={"info_from": "info"}, engine=engine)
    (value,) = result["set_global"].values()
    assert value == 2000 and result["cluster_changes"]
    # The replica waits so long on the day it is the source.
    replica = plan("db2", {"info_from": "info"}, engine)
    assert list(replica["set_global"].values()) == [2000] and replica["cluster_changes"]
    assert not (replica["restart"] or replica["restart_io"])


def test_a_cluster_that_is_as_wanted_changes_nothing(plan):
    for host in ("db1", "db2"):
        result = plan(host, {"info_from": "info"}, semisync_timeout=10000)
        assert not result["changes"] and not result["cluster_changes"]
        assert result["rotate_problem"] == ""


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_behind_a_failover_whoever_could_not_be_read_is_left_out(plan, engine):
    members = samples.pair(engine)
    members[1].info = None
    asked = {"info_from": "info"}
    assert "db2: was not read" in plan("db1", asked, members=members)["msg"]
    left = plan("db1", dict(asked, alone=True), members=members)
    # No replica is left to acknowledge, also after its next start.
    enabled = members[0].info["names"]["source"]["variables"]["enabled"]
    assert f"{enabled} = 0" in left["option_file"]["content"]


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_after_a_failover_a_replica_that_it_left_behind_is_left_out(plan, engine):
    members = samples.pair(engine)
    # All that is known of it is what a failover asks of a replica.
    del members[1].info["option_files"]
    left = plan("db1", {"info_from": "info", "alone": True}, members=members)
    enabled = members[0].info["names"]["source"]["variables"]["enabled"]
    assert f"{enabled} = 0" in left["option_file"]["content"]


@pytest.mark.parametrize("goal", ["remove", "gtid"])
def test_other_goals(plan, goal):
    result = plan("db2", {"info_from": "info", "goal": goal})
    assert result["cluster"] == "default" and result["changes"] is (goal == "remove")


def test_without_a_reading_the_inputs_are_judged(plan):
    assert plan() == {}
    result = plan(semisync_timeout=0)
    assert result["failed"] and "db1: semisync_timeout is 0" in result["msg"]
    assert plan("db2", semisync_timeout=0)["refused_with"] == "db1"


def test_a_value_that_is_hardly_meant_is_refused_unless_the_run_does_not_ask(plan):
    result = plan(semisync_timeout=10)
    assert result["failed"] and "db1, db2: semisync_timeout is 10, and" in result["msg"]
    assert plan(arguments={"ask_back": False}, semisync_timeout=10) == {}


def test_a_value_that_cannot_work_is_refused_before_anything_is_planned(plan):
    result = plan(arguments={"info_from": "info"}, semisync_wait_point="LATER")
    assert result["failed"] and "db1: semisync_wait_point is 'LATER'" in result["msg"]


def test_no_result_says_the_password(plan):
    assert "pass word" not in repr(plan(arguments={"info_from": "info"}))


DRILL = {"info_from": "info", "goal": "drill"}
LIMITS = {"semisync_drill_replica": "", "semisync_drill_max_block": 15}


def test_the_drill_of_a_pair_stops_its_replica(plan):
    result = plan(arguments=DRILL, **LIMITS)
    assert (result["source"], result["cluster"]) == ("db1", "default")
    (drill,) = result["drills"]
    assert (drill["replica"], drill["expected_fallback"]) == ("db2", True)


def test_a_drill_that_would_block_writers_for_too_long_is_refused_and_nothing_is_stopped(plan):
    result = plan(arguments=DRILL, **dict(LIMITS, semisync_drill_max_block=1))
    assert result["failed"] and "drills" not in result
    assert result["msg"].startswith("Nothing was stopped. Cluster 'default': db1: the semi-sync")
    # The cluster's other host fails with it, and does not say it again.
    other = plan("db2", DRILL, **dict(LIMITS, semisync_drill_max_block=1))
    assert other["failed"] and other["refused_with"] == "db1"


def test_a_drill_is_refused_where_a_server_belongs_to_no_unit_unless_it_is_named(plan):
    members = samples.pair("mysql")
    members[1].info["unit"] = None
    refused = plan(arguments=DRILL, members=members, **LIMITS)
    assert "belongs to no systemd unit" in refused["msg"]
    named = plan(arguments=DRILL, members=members, semisync_service="mysql@1", **LIMITS)
    assert named["drills"][0]["unit"] == "mysql@1"


def test_what_the_promise_cannot_keep_is_refused_before_anything_is_read(plan):
    result = plan(semisync_promise="lossless", semisync_timeout=10000)
    assert result["failed"] and "db1: semisync_timeout is 10000" in result["msg"]
    assert plan("db2", semisync_promise="lossless", semisync_timeout=86400000) == {}


def test_a_role_s_default_says_nothing_against_the_promise(plan):
    result = plan(
        arguments={"info_from": "info"}, semisync_promise="lossless", semisync_timeout=10000
    )
    assert 604800000 in result["set_global"].values() and result["opens"]


def test_a_lossless_source_is_not_restarted_while_nobody_acknowledges(plan):
    members = samples.pair("mysql")
    source = members[0].info
    source["variables"]["gtid_mode"] = "OFF"
    arguments = {"info_from": "info"}
    lossless = {"semisync_promise": "lossless", "semisync_timeout": 10000, "members": members}
    assert plan(arguments=arguments, **lossless)["restart"]
    source["semisync"]["source"]["status"]["clients"] = "0"
    assert "Bring a replica back first" in plan(arguments=arguments, **lossless)["msg"]
    source["semisync"]["source"]["status"]["clients"] = "1"
    members[1].channel["io_running"] = "No"
    assert "0 replicas acknowledge" in plan(arguments=arguments, **lossless)["msg"]
    available = dict(lossless, semisync_promise="available")
    assert plan(arguments=arguments, **available)["restart"]


def test_a_run_that_read_no_host_does_not_end_well(plan):
    asked = {"info_from": "info", "goal": "read"}
    assert plan(arguments=asked) == {}
    members = samples.pair("mysql")
    for member in members:
        member.info = {"unreachable": True, "msg": "no route"}
    said = plan(arguments=asked, members=members, ansible_run_tags=["sever"])
    assert said["failed"] and "with the tags sever" in said["msg"]


def test_a_run_without_hosts_is_refused_without_a_reading(plan):
    assert plan(arguments={"goal": "hosts"}) == {}


def test_a_variable_that_nothing_knows_is_refused_once_for_its_cluster(plan):
    result = plan(semisync_timout=3000)
    assert result["failed"] and "db1, db2: semisync_timout is not a variable" in result["msg"]
    assert plan("db2", semisync_timout=3000)["refused_with"] == "db1"
