# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rulebooks lead to a plan and to a person, and to nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

PROJECT = Path(__file__).resolve().parents[2]
EDA = PROJECT / "extensions" / "eda"
RULEBOOKS = sorted((EDA / "rulebooks").glob("*.yml"))
# What a rulebook may run, and what else a playbook of it may do; neither connects to a host.
TASKS = {"assert", "file", "command", "copy", "debug"}


def load(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def actions(rulebook):
    """(kind, arguments) of every action of a rulebook."""
    return [
        (kind, arguments)
        for ruleset in rulebook
        for rule in ruleset["rules"]
        for action in rule["actions"]
        for kind, arguments in action.items()
    ]


def unchecked(playbook):
    """The commands of a playbook that are not an ansible-playbook with --check, and the tasks that
    may do something else.
    """
    found = []
    for task in (task for play in playbook for task in play.get("tasks", [play])):
        modules = [key.removeprefix("ansible.builtin.") for key in task if "." in key]
        found += [module for module in modules if module not in TASKS]
        command = task.get("ansible.builtin.command", {"argv": ["ansible-playbook", "--check"]})
        argv = command["argv"] if isinstance(command, dict) else [command]
        if argv[0] != "ansible-playbook" or "--check" not in argv:
            found.append(argv)
    return found


def checks_before_it_asks(workflow):
    """Whether a workflow of AWX begins with checks, and runs nothing before an approval."""
    nodes = {node["identifier"]: node for node in workflow["related"]["workflow_nodes"]}
    after = {
        name: [
            link["identifier"]
            for kind in ("success_nodes", "always_nodes", "failure_nodes")
            for link in node.get("related", {}).get(kind, [])
        ]
        for name, node in nodes.items()
    }
    waiting = set(nodes) - {name for names in after.values() for name in names}
    while waiting:
        node = nodes[name := waiting.pop()]
        if "create_approval_template" in node.get("related", {}):
            continue
        if node.get("job_type") != "check":
            return False
        waiting |= set(after[name])
    return True


def test_there_is_a_rulebook_for_a_file_and_one_for_awx():
    kinds = {path.stem: {kind for kind, _its in actions(load(path))} for path in RULEBOOKS}
    assert kinds == {
        "failover_plan": {"run_playbook"},
        "failover_plan_awx": {"run_workflow_template"},
    }


@pytest.mark.parametrize("path", RULEBOOKS, ids=lambda path: path.stem)
def test_no_rulebook_runs_a_playbook_that_does_not_only_check(path):
    for kind, arguments in actions(load(path)):
        if kind == "run_playbook":
            assert unchecked(load(EDA / arguments["name"])) == []


def test_the_workflow_that_a_rulebook_launches_waits_for_an_approval():
    assets = load(PROJECT / "extensions" / "awx" / "assets.yml")
    workflows = {one["name"]: one for one in assets["workflow_job_templates"]}
    ((_kind, launched),) = actions(load(EDA / "rulebooks" / "failover_plan_awx.yml"))
    assert checks_before_it_asks(workflows[launched["name"]])


@pytest.mark.parametrize(
    "task",
    [
        {"ansible.builtin.command": {"argv": ["ansible-playbook", "dbre.semisync.failover"]}},
        {"ansible.builtin.command": "ansible-playbook dbre.semisync.failover --check"},
        {"ansible.builtin.shell": "true"},
        {"ansible.builtin.import_playbook": "dbre.semisync.failover"},
        {"ansible.builtin.command": {"argv": ["systemctl", "--check"]}},
    ],
)
def test_a_playbook_that_does_more_than_check_is_seen(task):
    assert unchecked([{"hosts": "localhost", "tasks": [task]}]) != []


@pytest.mark.parametrize(
    "nodes",
    [
        [{"identifier": "run", "job_type": "run"}],
        [
            {
                "identifier": "check",
                "job_type": "check",
                "related": {"success_nodes": [{"identifier": "run"}]},
            },
            {"identifier": "run", "job_type": "run"},
        ],
    ],
)
def test_a_workflow_that_runs_without_an_approval_is_seen(nodes):
    assert not checks_before_it_asks({"related": {"workflow_nodes": nodes}})


@pytest.mark.parametrize("path", RULEBOOKS, ids=lambda path: path.stem)
def test_a_rulebook_answers_only_who_has_the_token_and_only_an_alert_that_there_is(path):
    rules = load(PROJECT / "monitoring" / "semisync.rules.yml")["groups"][0]["rules"]
    alerts = {rule["alert"] for rule in rules if "alert" in rule}
    for ruleset in load(path):
        for source in ruleset["sources"]:
            # No default: without a token the rulebook does not start.
            assert source["eda.builtin.webhook"]["token"] == "{{ SEMISYNC_EDA_TOKEN }}"
        for rule in ruleset["rules"]:
            named = rule["condition"].partition('alertname == "')[2].partition('"')[0]
            assert named in alerts


def test_what_comes_from_the_network_is_judged_before_it_is_a_pattern_of_hosts():
    tasks = load(EDA / "playbooks" / "failover_plan.yml")[0]["tasks"]
    assert "plan_cluster is match('[A-Za-z0-9_][A-Za-z0-9_.-]*$')" in str(tasks[0])
