# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of failover.yml from Ansible's variables: what each host is given, and what is kept."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster, failover, results
from ansible_collections.dbre.semisync.tests.unit import samples
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.verdict import remnants

RUN = "2026-01-31T120000.000000Z"
CODE = Path(failover.__file__).parents[1] / "module_utils"
PARTS = [
    *(CODE / "switchover" / f"{name}.py" for name in ("part", "target", "replica")),
    *(CODE / "failover").glob("*.py"),
]
# What the module has of its own options, and the dead source's part.
OPTIONS = {"password", "login_unix_socket", "login_port", "unit"}
UNREAD = {"failed": True, "reason": "stopped", "msg": "nobody listens"}


class Run:
    """A cluster of three whose source is dead, in a play."""

    def __init__(self, monkeypatch, folder):
        monkeypatch.setattr(cluster.constants, "DEFAULT_LOCAL_TMP", str(folder / "tmp"))
        (folder / "tmp").mkdir()
        self.said = []
        monkeypatch.setattr(failover.display, "display", self.said.append)
        monkeypatch.setattr(failover.time, "time", lambda: remnants.NOW)
        self.folder = folder / "results"
        evidence = remnants.evidence("mysql")
        self.values = {
            member.host: {
                "info": member.info or UNREAD,
                "looks": evidence.looks.get(member.host, {}),
                "semisync_replication_user": "repl",
            }
            for member in evidence.members
        }
        results.write_json(str(self.folder / "default" / "state.json"), evidence.last)
        self.given = {}

    def step(self, step, host, check_mode=False, **settings):
        arguments = {
            "step": step,
            "info_from": "info",
            "looks_from": "looks",
            "frozen_from": "frozen" if step in ("judge", "thaw") else None,
            "plan_from": "judged",
            "parts_from": "parts",
            "results_dir": str(self.folder),
            "run": RUN,
        }
        task_vars = {
            **self.values[host],
            "hostvars": self.values,
            "groups": {"semisync_source": ["db1"], "semisync_replica": ["db2", "db3"]},
            "inventory_hostname": host,
            "ansible_play_hosts": list(self.values),
            "ansible_play_hosts_all": list(self.values),
        }
        own = samples.settings(
            **{"failover_to": "", "failover_accept": [], "replication_user": "repl", **settings}
        )
        made = failover.Failover(
            arguments,
            task_vars,
            own,
            lambda plan: self.given.update({(step, host): plan}) or {"ran": step},
            lambda _name, _members: "feed",
            check_mode,
        )
        return made.go()

    def freeze(self):
        for host in ("db2", "db3"):
            info = self.values[host]["info"]
            self.values[host]["frozen"] = {
                "stopped": True,
                "changed": True,
                "at": remnants.NOW,
                "channel": dict(info["channel"], io_running="No"),
                "gtid": info["gtid"],
            }

    def judge(self, **settings):
        for host in self.values:
            self.values[host]["judged"] = self.step("judge", host, **settings)
        return self.values["db1"]["judged"]

    def certificate(self):
        return json.loads((self.folder / "default/latest/certificate.json").read_text())


@pytest.fixture(name="run")
def fixture_run(monkeypatch, tmp_path):
    return Run(monkeypatch, tmp_path)


def test_only_replicas_that_were_read_are_touched(run):
    for step in ("look", "freeze"):
        assert run.step(step, "db2") == {"ran": step}
    assert run.step("freeze", "db1")["skipped"]
    # Its host is asked how its server ended.
    assert run.step("look", "db1", service="mysql@1") == {"ran": "look"}
    assert run.given["look", "db1"] == {"part": "dead", "unit": "mysql@1"}
    run.values["db1"]["info"] = {"unreachable": True, "msg": "no route to host"}
    assert run.step("look", "db1")["skipped"]
    hosts = {peer["host"]: peer for peer in run.given["look", "db2"]["members"]}
    assert set(hosts) == {"db1", "db3"}
    assert (hosts["db1"]["address"], hosts["db1"]["port"]) == ("db1", 3306)


def test_the_plan_says_the_verdict_and_every_statement_and_keeps_nothing_in_check_mode(run):
    result = run.step("plan", "db1", check_mode=True)
    kept = result["certificate"]
    assert (kept["verdict"], kept["to"], result["changed"]) == ("proven", "db2", False)
    said = "\n".join(run.said)
    assert "VERDICT proven (so far" in said and "logical fence" in said
    for statement in ("STOP REPLICA IO_THREAD", "SET GLOBAL read_only = 0"):
        assert f"db2: {statement};" in said
    assert not (run.folder / "default" / "latest").exists()
    run.said.clear()
    run.step("plan", "db3")
    assert run.said == []


def test_a_refusal_is_kept_and_can_be_accepted_by_name(run):
    (run.folder / "default" / "state.json").unlink()
    with pytest.raises(cluster.RefusedError, match="semisync_failover_accept=unwatched"):
        run.step("plan", "db1")
    assert (run.certificate()["outcome"], run.certificate()["verdict"]) == (
        "refused",
        "not proven",
    )
    result = run.step("plan", "db1", failover_accept=["unwatched"])
    assert result["certificate"]["accepted"] == ["unwatched"]


def test_behind_the_stop_each_host_gets_its_part(run):
    run.freeze()
    # What came in between the reading and the stop counts.
    run.values["db3"]["frozen"]["channel"]["retrieved"] = f"{remnants.SOURCE}:1-101"
    judged = run.judge()
    assert judged["go"] and judged["certificate"]["to"] == "db3"
    assert {host: plan["part"] for host, plan in judged["hosts"].items()} == {
        "db3": "target",
        "db2": "replica",
    }
    target = judged["hosts"]["db3"]
    assert target["received"] == f"{remnants.SOURCE}:1-101"
    assert (target["others"], target["wait_count"], target["held"]) == (["db2"], 1, True)
    assert (target["source"], target["source_id"]) == ("db1", remnants.SOURCE)
    assert run.step("part", "db1")["skipped"]
    assert run.step("part", "db2") == {"ran": "part"}
    assert run.step("thaw", "db2")["skipped"]


def test_what_was_stopped_is_started_where_the_judge_refuses(run):
    run.freeze()
    run.values["db3"]["frozen"].update(stopped=False, msg="it hangs")
    judged = run.judge()
    assert not judged["go"] and judged["hosts"] == {}
    assert run.step("part", "db2")["skipped"]
    assert run.step("thaw", "db2") == {"ran": "thaw"}
    assert run.step("thaw", "db1")["skipped"]
    result = run.step("report", "db1")
    assert result["failed"] and "started again" in result["msg"]
    assert "not_stopped:db3" in result["msg"]
    assert run.certificate()["outcome"] == "refused"


def test_what_was_stopped_is_started_where_the_judge_breaks(run):
    run.freeze()
    assert run.step("thaw", "db2") == {"ran": "thaw"}
    assert run.step("report", "db1")["failed"]


def test_a_replica_that_cannot_follow_is_started_again_and_named(run):
    run.values["db3"]["looks"]["reach"] = {"db1": "refused", "db2": "access denied"}
    run.values["db2"]["looks"]["reach"] = {"db1": "refused", "db3": "access denied"}
    run.freeze()
    assert not run.judge()["go"]
    judged = run.judge(failover_accept=["alone"])
    assert (judged["go"], list(judged["hosts"])) == (True, ["db2"])
    assert judged["hosts"]["db2"]["wait_count"] == 0
    assert "access denied" in judged["certificate"]["left_behind"]["db3"]
    assert run.step("thaw", "db3") == {"ran": "thaw"}


def test_the_report_keeps_the_certificate_and_fails_where_nobody_took_over(run):
    run.freeze()
    run.judge()
    point = {"id": "C6", "good": True, "observed": "all", "expected": "all"}
    done = {"outcome": "done", "reason": "", "points": [point], "timeline": [], "statements": []}
    for host in ("db2", "db3"):
        run.values[host]["parts"] = dict(done, points=done["points"] if host == "db2" else [])
    result = run.step("report", "db1")
    assert "failed" not in result
    assert (run.certificate()["verdict"], run.certificate()["outcome"]) == ("proven", "done")
    assert "quarantined" in "\n".join(run.said)
    run.values["db2"]["parts"] = dict(done, outcome="undone", reason="too slow")
    result = run.step("report", "db1")
    assert result["failed"] and "everything was undone" in result["msg"]


def test_each_host_gets_all_that_its_part_asks_for(run):
    asked = {
        name
        for path in PARTS
        for name in re.findall(r'params\["(\w+)"\]', path.read_text(encoding="utf-8"))
    }
    assert {"catch_up", "received", "wait_count"} <= asked
    run.freeze()
    for plan in run.judge()["hosts"].values():
        assert asked - OPTIONS <= set(plan)
