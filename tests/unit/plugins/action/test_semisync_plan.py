# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import types

import pytest
from ansible.plugins.action import ActionBase
from ansible_collections.dbre.semisync.plugins.action.semisync_plan import ActionModule
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster
from ansible_collections.dbre.semisync.tests.unit import samples

VARIABLES = {"semisync_replication_password": "pass word", "semisync_timeout": "2000"}


class Templar:
    """Takes every value as it stands."""

    def template(self, value):
        return value


@pytest.fixture
def plan(monkeypatch, tmp_path):
    """Runs the action on one host of a captured pair."""
    monkeypatch.setattr(ActionBase, "run", lambda self, tmp, task_vars: {})
    monkeypatch.setattr(cluster.constants, "DEFAULT_LOCAL_TMP", str(tmp_path))

    def run(me="db1", arguments=None, engine="mysql", **variables):
        members = samples.pair(engine)
        values = {
            member.host: {**VARIABLES, **variables, "info": member.info} for member in members
        }
        action = ActionModule.__new__(ActionModule)
        action._templar = Templar()
        action._task = types.SimpleNamespace(args=arguments or {}, check_mode=False)
        action.validate_argument_spec = lambda argument_spec: (
            None,
            {
                **{name: spec.get("default") for name, spec in argument_spec.items()},
                **(arguments or {}),
            },
        )
        return action.run(
            task_vars={
                **values[me],
                "hostvars": values,
                "groups": {"semisync_source": ["db1"], "semisync_replica": ["db2"]},
                "inventory_hostname": me,
                "ansible_play_hosts": ["db1", "db2"],
                "ansible_play_hosts_all": ["db1", "db2"],
            }
        )

    return run


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


@pytest.mark.parametrize("goal", ["remove", "gtid"])
def test_other_goals(plan, goal):
    result = plan("db2", {"info_from": "info", "goal": goal})
    assert result["cluster"] == "default" and result["changes"] is (goal == "remove")


def test_without_a_reading_the_inputs_are_judged(plan):
    assert plan() == {}
    result = plan(semisync_timeout=0)
    assert result["failed"] and "db1: semisync_timeout is 0" in result["msg"]
    assert plan("db2", semisync_timeout=0)["refused_with"] == "db1"


def test_a_value_that_cannot_work_is_refused_before_anything_is_planned(plan):
    result = plan(arguments={"info_from": "info"}, semisync_wait_point="LATER")
    assert result["failed"] and "db1: semisync_wait_point is 'LATER'" in result["msg"]


def test_no_result_says_the_password(plan):
    assert "pass word" not in repr(plan(arguments={"info_from": "info"}))
