# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import ast
import json
import pathlib
import types

import pytest
import yaml
from ansible.errors import AnsibleActionFail
from ansible_collections.dbre.semisync.plugins.action import semisync_verdict
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.drill import drill_plan
from ansible_collections.dbre.semisync.tests.unit import samples
from ansible_collections.dbre.semisync.tests.unit.actions import runner

RUN = "2026-01-31T120000.000000Z"
PAGE = pathlib.Path(__file__).resolve().parents[4] / "plugins/modules/semisync_verdict.py"


def documented():
    """The keys of the module's RETURN."""
    (returned,) = (
        ast.literal_eval(node.value)
        for node in ast.parse(PAGE.read_text()).body
        if isinstance(node, ast.Assign) and node.targets[0].id == "RETURN"
    )
    return set(yaml.safe_load(returned))


@pytest.fixture
def verdict(monkeypatch, tmp_path):
    """Runs the action on one host of a captured pair; results are in results/."""
    said = []
    monkeypatch.setattr(semisync_verdict.display, "display", said.append)
    run = runner(semisync_verdict.ActionModule, monkeypatch, tmp_path)

    def judged(me="db1", check_mode=False, **arguments):
        arguments = {"info_from": "info", "results_dir": str(tmp_path / "results"), **arguments}
        result = run(me, arguments, check_mode=check_mode)
        assert set(result) - {"failed", "msg", "skipped", "skip_reason"} <= documented()
        return result

    judged.said = said
    judged.folder = tmp_path / "results/default"
    return judged


def a_drill(replica="db2", **more):
    (plan,) = drill_plan(
        samples.pair("mysql"), Settings({"drill_replica": "", "drill_max_block": 15}), {}
    )
    return {"plan": dict(plan, replica=replica), **more}


def test_a_healthy_pair_passes_and_leaves_its_rows_findings_and_state(verdict):
    result = verdict(run=RUN)
    assert (result["health"], result["cluster"]) == ("healthy", "default")
    assert "failed" not in result
    kept = json.loads((verdict.folder / RUN / "checkpoints.json").read_text())
    assert {row["id"] for row in kept} == {row["id"] for row in result["checkpoints"]}
    assert all(row["at"] for row in result["checkpoints"])
    assert json.loads((verdict.folder / RUN / "findings.json").read_text()) == result["findings"]
    assert json.loads((verdict.folder / "state.json").read_text())["server"]


@pytest.mark.parametrize(("gone", "speaks"), [("db1", "db2"), ("db2", "db1")])
def test_a_host_that_was_not_reached_is_unreachable_at_the_end_too(
    monkeypatch, tmp_path, gone, speaks
):
    run = runner(semisync_verdict.ActionModule, monkeypatch, tmp_path)
    lost = {"unreachable": True, "msg": "ssh: connect to host: Connection refused"}
    members = [
        types.SimpleNamespace(host=one.host, info=lost if one.host == gone else one.info)
        for one in samples.pair("mysql")
    ]
    arguments = {"info_from": "info", "results_dir": str(tmp_path / "results")}
    said = run(gone, arguments, members=members)
    # Ansible reads `failed` first, and would end with 2.
    assert said["unreachable"] and "failed" not in said and gone in said["msg"]
    judged = run(speaks, arguments, members=members)
    assert judged["failed"] and "unreachable" not in judged


def test_one_host_speaks_for_its_cluster(verdict):
    assert verdict("db2")["skipped"]


def test_check_mode_judges_and_keeps_nothing(verdict):
    result = verdict(check_mode=True)
    assert result["health"] == "healthy" and result["path"] is None
    assert not verdict.folder.exists()
    assert verdict(check_mode=True, drill=a_drill())["path"] is None
    verdict(check_mode=True, observation={"id": "P3.5", "observed": "0", "passed": True})
    assert not verdict.folder.exists()


def test_what_is_seen_once_is_in_every_later_verdict(verdict):
    kept = verdict(observation={"id": "P3.5", "observed": "0", "passed": True})
    assert kept["checkpoint"]["outcome"] == "passed"
    (row,) = (row for row in verdict()["checkpoints"] if row["id"] == "P3.5")
    assert (row["outcome"], row["observed"]) == ("passed", "0")


def test_a_drill_that_saw_nothing_fails_with_its_reason_and_is_kept(verdict):
    result = verdict(run=RUN, drill=a_drill(reason="db2 was not reachable"))
    assert result["failed"]
    assert result["msg"] == "Cluster default: drill of db2 failed: db2 was not reachable"
    # The timeout was read before.
    rows = result["drill"]["checkpoints"]
    assert {row["id"] for row in rows if row["outcome"] == "passed"} == {"P6.0"}
    kept = json.loads((verdict.folder / RUN / "drill.json").read_text())
    assert kept["drills"] == [result["drill"]]


def test_the_drills_of_a_run_stand_beside_each_other_and_one_again_in_place_of_its_first(verdict):
    for replica in ("db2", "db3", "db2"):
        verdict(run=RUN, drill=a_drill(replica))
    kept = json.loads((verdict.folder / RUN / "drill.json").read_text())
    assert [drill["replica"] for drill in kept["drills"]] == ["db3", "db2"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"run": "../elsewhere"},
        {"drill": {"rows": []}},
        {"drill": a_drill(), "observation": {"id": "P3.5", "observed": "0", "passed": True}},
    ],
    ids=["no run's name", "a drill without its plan", "two things at once"],
)
def test_options_that_make_no_sense_are_refused_and_nothing_is_kept(verdict, arguments):
    with pytest.raises(AnsibleActionFail):
        verdict(**arguments)
    assert not verdict.folder.exists()
