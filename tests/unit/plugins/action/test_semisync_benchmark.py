# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import copy
import json
import os
from typing import ClassVar
from unittest import mock

import pytest
from ansible.errors import AnsibleActionFail, AnsibleError
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_context import (
    CLIENT_FILE,
)

benchmark = pytest.importorskip(
    "ansible_collections.dbre.semisync.plugins.action.semisync_benchmark"
)

SUITE = """
title: Ours
repetitions: 1
warm_up: false
time_limit: 40
load: {tool: mysqlslap, clients: 4, queries: 100}
cells:
  - {id: a, replication: async, checkpoint: P2.1}
  - {id: b, replication: semisync, delay_ms: 85, baseline: a, checkpoint: P8.1, timeout_ms: 5000,
     durability: {sync_binlog: 0}}
documented:
  - {what: somebody's, figure: 2 s, found: b}
"""
EDITED = """
title: Another one
repetitions: 3
time_limit: 10
load: {tool: mysqlslap, clients: 9, queries: 900}
cells:
  - {id: b, replication: async, delay_ms: 7, label: changed}
"""
INFO = {
    "engine": "mysql",
    "version": "9.7.4",
    "names": {"slapper": "mysqlslap"},
    "variables": {"sync_binlog": "1", "innodb_flush_log_at_trx_commit": "1"},
    "semisync": {
        "source": {
            "variables": {"timeout": "10000", "wait_point": "AFTER_SYNC"},
            "status": {"status": "ON", "clients": "1"},
        }
    },
}
NETEM = {
    "changed": True,
    "command": ["tc qdisc add"],
    "shown": ["qdisc netem 5e51: dev semisync-nm0 root delay 85ms"],
    "way": "redirect",
    "limit": 1000,
    "rtt_before": {"192.0.2.2": {"median": 0.3}},
    "rtt_after": {"192.0.2.2": {"median": 85.4}},
    "qdiscs_after": [{"kind": "noqueue"}],
}
RUN = {
    "valid": True,
    "reason": "",
    "seconds": 2.5,
    "operations": 100,
    "commits": 50,
    "rate": 40.0,
    "latency_ms": None,
    "rtt_ms": 85.4,
    "counters": {},
    "dropped": 0,
}
RESULTS = {
    benchmark.SETTING: {"changed": True},
    benchmark.NETEM: NETEM,
    benchmark.LOAD: {"changed": True, "runs": [RUN]},
    benchmark.INFO: INFO,
    benchmark.ENVIRONMENT: {"changed": False, "dropped": 0},
    benchmark.SEED: {"changed": False, "host": "192.0.2.9"},
}
# The names are the caller's: the action has them from its options alone.
NAMES = {
    "info_from": "info",
    "environment_from": "seen",
    "plan_from": "planned",
    "measured_from": "measured",
    "confirmed_from": "confirmed",
    "restored_from": "restored",
}


class Lifeline:
    """Stands for the signs of life of this run; all hosts get them, but for those named here."""

    unheard: ClassVar[set[str]] = set()
    lost: ClassVar[set[str]] = set()
    held: ClassVar[dict[str, int]] = {}

    def __init__(self, _folder, host, prefixes):
        self.host, self.prefixes = host, prefixes

    def hold(self, _action, seconds):
        self.held[self.host] = seconds
        return self.host not in self.unheard

    def renewed(self, _moment):
        self.lost.discard(self.host)

    def lapsed(self):
        return self.host in self.lost

    def release(self):
        self.held.pop(self.host, None)


@pytest.fixture(name="lifeline", autouse=True)
def fixture_lifeline(monkeypatch):
    for name, value in (("unheard", set()), ("lost", set()), ("held", {})):
        monkeypatch.setattr(Lifeline, name, value)
    monkeypatch.setattr(benchmark, "Lifeline", Lifeline)
    return Lifeline


class Cluster:
    """A source and a replica, and the calls that the role makes on them."""

    def __init__(self, folder):
        self.suite, self.results = folder / "ours.yml", folder / "results"
        self.suite.write_text(SUITE)
        self.calls = []
        self.groups = {"semisync_source": ["db1"], "semisync_replica": ["db2"]}
        machine = {"environment": {}, "tools": {"mysqlslap": "/usr/bin/x", "driver": "pymysql"}}
        self.hostvars = {
            "db1": {
                "info": INFO,
                "seen": {
                    **machine,
                    "addresses": {"db2": "192.0.2.2"},
                    "rtt_ms": {"db2": 0.3},
                },
            },
            "db2": {"info": INFO, "seen": machine},
        }

    def call(self, host, do, check_mode=False, without=None, **more):
        """What a part returns on a host."""
        task = mock.Mock(check_mode=check_mode, async_val=0, diff=False)
        task.args = {
            "do": do,
            "suite": str(self.suite),
            "results_dir": str(self.results),
            **NAMES,
            **more,
        }
        task.args.pop(without, None)
        self.last = benchmark.ActionModule(
            task, mock.MagicMock(), mock.MagicMock(), None, mock.MagicMock(), None
        )
        self.last._execute_module = self.execute
        return self.last.run(
            task_vars={
                "inventory_hostname": host,
                "hostvars": self.hostvars,
                "groups": self.groups,
            }
        )

    def execute(self, module_name, module_args, task_vars):
        self.calls.append((task_vars["inventory_hostname"], module_name, module_args))
        return copy.deepcopy(RESULTS[module_name])

    def options(self, module_name):
        """What a module was last called with."""
        return [options for _host, name, options in self.calls if name == module_name][-1]

    def plan(self):
        planned = self.call("db1", "plan")
        self.hostvars["db1"]["planned"] = planned
        return planned

    def step(self, step):
        for host in ("db2", "db1"):
            self.call(host, "prepare", step=step)
        self.hostvars["db1"]["measured"] = self.call("db1", "measure", step=step)

    def kept(self):
        with open(self.hostvars["db1"]["planned"]["path"]) as stream:
            return json.load(stream)


@pytest.fixture(name="cluster")
def fixture_cluster(tmp_path):
    return Cluster(tmp_path)


def test_a_suites_file_that_is_edited_meanwhile_changes_nothing(cluster):
    steps = cluster.plan()["steps"]
    cluster.suite.write_text(EDITED)
    for step in steps:
        cluster.step(step)
    assert cluster.options(benchmark.NETEM)["delay_ms"] == 85
    setting, load = cluster.options(benchmark.SETTING), cluster.options(benchmark.LOAD)
    assert setting["replication"] == "semisync" and setting["variables"]["timeout"] == 5000
    assert setting["variables"]["sync_binlog"] == 0
    assert (load["clients"], load["queries"], load["timeout"], load["delay_ms"]) == (4, 100, 40, 85)
    cluster.hostvars["db1"]["restored"] = cluster.call("db1", "restore")
    finished = cluster.call("db1", "finish")
    kept = cluster.kept()
    assert kept["suite"]["title"] == "Ours" and kept["suite"]["repetitions"] == 1
    assert [cell["id"] for cell in kept["cells"]] == ["a", "b"] and kept["complete"]
    assert kept["documented"][0]["found"] == "2.5 s"
    points = {row["id"]: row["outcome"] for row in finished["checkpoints"]}
    assert points["P8.2"] == points["P8.5"] == "passed"


def test_a_host_that_cannot_delay_is_refused_before_the_first_load(cluster):
    cluster.hostvars["db1"]["seen"]["no_delay"] = "the kernel 6.1 has no netem"
    with pytest.raises(AnsibleActionFail, match=r"db1: the kernel 6\.1 has no netem"):
        cluster.call("db1", "plan")
    assert cluster.calls == [] and not cluster.results.exists()
    cluster.suite.write_text(SUITE.replace("delay_ms: 85", "delay_ms: 0"))
    assert cluster.call("db1", "plan")["steps"]


def test_no_part_but_plan_needs_the_suites_file(cluster):
    steps = cluster.plan()["steps"]
    cluster.suite.unlink()
    for step in steps:
        cluster.step(step)
    cluster.hostvars["db1"]["restored"] = cluster.call("db1", "restore")
    assert cluster.call("db1", "finish")["invalid"] == []
    with pytest.raises(AnsibleActionFail, match="there is no suite file"):
        cluster.call("db1", "plan")


@pytest.mark.parametrize("restored", [None, {}, {"skipped": True}, {"netem": {}}])
def test_a_restore_that_is_missing_leaves_its_point_unknown(cluster, restored):
    for step in cluster.plan()["steps"]:
        cluster.step(step)
    if restored is not None:
        cluster.hostvars["db1"]["restored"] = restored
    rows = {row["id"]: row for row in cluster.call("db1", "finish")["checkpoints"]}
    assert rows["P8.5"]["outcome"] == "unknown"
    assert "did not report whether netem is gone" in rows["P8.5"]["reason"]


def test_a_replica_whose_address_is_not_known_is_not_left_out_of_a_delay(cluster):
    _first, second = cluster.plan()["steps"]
    cluster.hostvars["db1"]["seen"]["addresses"]["db2"] = None
    with pytest.raises(AnsibleActionFail, match="cannot resolve the address of db2"):
        cluster.call("db1", "prepare", step=second)
    assert benchmark.NETEM not in [name for _host, name, _options in cluster.calls]


def test_a_separate_client_host_runs_the_load_with_an_account_of_its_own(cluster):
    cluster.groups["semisync_client"] = ["load1"]
    cluster.hostvars["load1"] = {"seen": cluster.hostvars["db2"]["seen"]}
    steps = cluster.plan()["steps"]
    for step in steps:
        cluster.call("db1", "prepare", step=step)
        measured = cluster.call("load1", "measure", step=step)
        cluster.hostvars["load1"]["measured"] = measured
        assert measured["valid"]
        cluster.call("db1", "confirm", step=step)
    load, setting = cluster.options(benchmark.LOAD), cluster.options(benchmark.SETTING)
    assert load["peers"] == [] and load["login_host"] == "db1"
    assert load["login_password"] == setting["account"]["password"]
    folder = os.path.dirname(cluster.hostvars["db1"]["planned"]["path"])
    assert load["login_password"] not in json.dumps(cluster.kept())
    assert CLIENT_FILE in os.listdir(folder)
    cluster.call("db1", "restore")
    assert CLIENT_FILE not in os.listdir(folder)


@pytest.mark.parametrize("seen,host", [("192.0.2.9", "192.0.2.9"), ("", "%"), (None, "%")])
def test_the_account_of_the_load_lets_in_the_client_host_alone(cluster, monkeypatch, seen, host):
    monkeypatch.setitem(RESULTS, benchmark.SEED, {"host": seen} if seen is not None else {})
    cluster.groups["semisync_client"] = ["load1"]
    cluster.hostvars["load1"] = {"seen": cluster.hostvars["db2"]["seen"]}
    cluster.hostvars["load1"]["planned"] = cluster.call("load1", "plan")
    assert cluster.options(benchmark.SEED)["source_host"] == "db1"
    step = cluster.plan()["steps"][0]
    cluster.call("db1", "prepare", step=step)
    assert cluster.options(benchmark.SETTING)["account"]["host"] == host
    assert [where for where, name, _options in cluster.calls if name == benchmark.SEED] == ["load1"]


def test_after_a_run_that_did_not_count_everything_is_set_up_anew(cluster):
    _first, second = cluster.plan()["steps"]
    quiet = dict(second, source=False, replica=False, delay=False)
    for measured, calls in (({"valid": True}, 0), ({"valid": False}, 1), ({}, 1)):
        cluster.hostvars["db1"]["measured"] = measured
        cluster.calls.clear()
        cluster.call("db2", "prepare", step=quiet)
        assert len(cluster.calls) == calls


def test_hosts_put_everything_back_soon_after_the_last_sign_of_life(cluster, lifeline):
    for step in cluster.plan()["steps"]:
        cluster.step(step)
    for name in (benchmark.SETTING, benchmark.NETEM):
        limits = [
            options["rollback_after"]
            for _host, module, options in cluster.calls
            if module == name and options.get("state") != "absent"
        ]
        assert limits and set(limits) == {60}
    # A load of 40 s at most, and a controller that hangs.
    assert lifeline.held == {"db1": 200, "db2": 200}
    assert cluster.last.lifeline("db1").prefixes == [
        "semisync-setting-",
        "semisync-netem-rollback-",
    ]
    # A delay on a replica that is not ours.
    assert cluster.last.lifeline("db2").prefixes == ["semisync-setting-"]
    for host in ("db1", "db2"):
        cluster.call(host, "restore")
    assert lifeline.held == {}


def test_signs_of_life_end_also_where_putting_back_fails(cluster, lifeline, monkeypatch):
    cluster.step(cluster.plan()["steps"][0])
    monkeypatch.setitem(RESULTS, benchmark.SETTING, {"failed": True, "msg": "no server"})
    with pytest.raises(AnsibleActionFail, match="db1: no server"):
        cluster.call("db1", "restore")
    assert set(lifeline.held) == {"db2"}


def test_a_host_that_no_sign_of_life_reaches_holds_its_settings_for_a_whole_step(
    cluster, lifeline, monkeypatch
):
    warnings = []
    monkeypatch.setattr(benchmark.display, "warning", warnings.append)
    first, _second = cluster.plan()["steps"]
    lifeline.unheard.add("db2")
    cluster.hostvars["db1"]["measured"] = {"valid": True}
    # Also where nothing changes: its timer would run out in the step.
    cluster.call("db2", "prepare", step=dict(first, replica=False))
    assert cluster.options(benchmark.SETTING)["rollback_after"] == 200
    assert len(warnings) == 1 and "db2 gets no sign of life from this controller" in warnings[0]
    assert "after 3 min, not 60 s" in warnings[0]


def test_a_run_does_not_count_where_a_host_has_put_its_settings_back_meanwhile(cluster, lifeline):
    first, second = cluster.plan()["steps"]
    cluster.step(first)
    lifeline.lost.add("db2")
    measured = cluster.call("db1", "measure", step=second)
    assert not measured["valid"] and measured["reason"] == (
        "no sign of life from this controller reached db2 for 60 s, so the settings for the"
        " run were rolled back there"
    )
    run = cluster.kept()["cells"][1]["repetitions"][0]
    assert (run["valid"], run["seconds"], run["rate"]) == (False, None, None)


def test_what_a_host_has_put_back_between_two_runs_is_set_again(cluster, lifeline):
    _first, second = cluster.plan()["steps"]
    quiet = dict(second, source=False, replica=False, delay=False)
    cluster.hostvars["db1"]["measured"] = {"valid": True}
    lifeline.lost.add("db1")
    cluster.call("db1", "prepare", step=quiet)
    assert [name for _host, name, _options in cluster.calls] == [
        benchmark.SETTING,
        benchmark.NETEM,
    ]


def test_a_worker_that_outlives_its_run_keeps_nothing(cluster, monkeypatch):
    first, _second = cluster.plan()["steps"]
    parents = iter([4711, 1])
    monkeypatch.setattr(benchmark.os, "getppid", lambda: next(parents))
    with pytest.raises(AnsibleActionFail, match="ansible-playbook was killed"):
        cluster.call("db1", "measure", step=first)
    assert cluster.kept()["cells"][0]["repetitions"] == []


def test_in_check_mode_nothing_is_kept(cluster):
    planned = cluster.call("db1", "plan", check_mode=True)
    assert planned["path"] is None and len(planned["steps"]) == 2
    assert not cluster.results.exists()


def test_an_interrupted_run_is_gone_on_with(cluster):
    first, _second = cluster.plan()["steps"]
    cluster.step(first)
    path = cluster.hostvars["db1"]["planned"]["path"]
    again = cluster.plan()
    assert again["path"] == path and [step["cell"] for step in again["steps"]] == ["b"]
    fresh = cluster.call("db1", "plan", resume=False)
    assert fresh["path"] != path and len(fresh["steps"]) == 2


@pytest.mark.parametrize(
    "do,missing",
    [
        ("plan", "suite"),
        ("prepare", "measured_from"),
        ("measure", "step"),
        ("confirm", "confirmed_from"),
        ("restore", "plan_from"),
        ("finish", "restored_from"),
    ],
)
def test_no_part_guesses_what_the_roles_variables_are_called(cluster, do, missing):
    step = cluster.plan()["steps"][0]
    with pytest.raises(AnsibleError, match=missing):
        cluster.call("db1", do, without=missing, step=step)
