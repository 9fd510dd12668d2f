# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What AWX imports: no field and no value that AWX does not have, names that lead somewhere, no
cluster cut in two, and nothing moves a role before a check and an approval.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import settings

PROJECT = Path(__file__).resolve().parents[2]
AWX = PROJECT / "extensions" / "awx"
ASSETS = yaml.safe_load((AWX / "assets.yml").read_text(encoding="utf-8"))
KNOWN = json.loads(
    (Path(__file__).parent / "fixtures" / "awx-24.6.1.json").read_text(encoding="utf-8")
)
TYPES = {"string": str, "boolean": bool, "integer": int, "id": dict}
# What awxkit takes for itself.
OURS = {"natural_key", "related"}
EDGES = ("success_nodes", "failure_nodes", "always_nodes")
TEMPLATES = {one["name"]: one for one in ASSETS["job_templates"]}
WORKFLOWS = {one["name"]: one for one in ASSETS["workflow_job_templates"]}
SLICED = ("semisync verify all", "semisync site all")
CHANGES = ("semisync failover", "semisync switchover")
PREPARED = {("organization", "Default"), ("project", "semisync"), ("inventory", "semisync")}


def nodes_of(name):
    """Identifier -> node of a workflow."""
    return {one["identifier"]: one for one in WORKFLOWS[name]["related"]["workflow_nodes"]}


def assets():
    """(kind of AWX's fields, what has them) for everything in the file."""
    for kind in ("job_templates", "workflow_job_templates"):
        for one in ASSETS[kind]:
            yield kind, one
    for name in WORKFLOWS:
        for node in nodes_of(name).values():
            yield "workflow_nodes", node
            approval = node.get("related", {}).get("create_approval_template")
            if approval:
                yield "create_approval_template", approval


def keys(value):
    """Every natural key within a value."""
    if isinstance(value, dict):
        if "type" in value and value["type"] in KNOWN["natural_keys"]:
            yield value
        for one in value.values():
            yield from keys(one)
    elif isinstance(value, list):
        for one in value:
            yield from keys(one)


def wrong_with(name, value, field):
    """What is wrong with a value of a field, or None."""
    if field["type"] == "choice":
        return None if value in field["choices"] else f"{name}: {value!r} is no choice"
    wanted = TYPES[field["type"]]
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        return f"{name}: {value!r} is no {field['type']}"
    if isinstance(value, str) and len(value) > field.get("max_length", 10000):
        return f"{name}: longer than {field['max_length']}"
    return None


def complaints(kind, one):
    fields = KNOWN["fields"][kind]
    given = {name: value for name, value in one.items() if name not in OURS}
    wrong = [f"{name}: no field of {kind}" for name in given if name not in fields]
    wrong += [
        f"{name}: missing"
        for name, field in fields.items()
        if field["required"] and name not in given
    ]
    wrong += filter(
        None,
        (wrong_with(name, value, fields[name]) for name, value in given.items() if name in fields),
    )
    return wrong


def test_every_field_and_value_is_one_of_awx():
    assert [words for kind, one in assets() for words in complaints(kind, one)] == []
    assert set(ASSETS) == {"job_templates", "workflow_job_templates"}


@pytest.mark.parametrize(
    "change",
    [{"playbok": "site.yml"}, {"job_type": "scan"}, {"forks": "50"}, {"name": "x" * 513}],
    ids=lambda change: next(iter(change)),
)
def test_a_field_or_value_that_awx_does_not_have_is_seen(change):
    assert complaints("job_templates", {**ASSETS["job_templates"][0], **change}) != []


def test_every_natural_key_is_whole_and_leads_somewhere():
    there = set(PREPARED)
    there |= {("job_template", name) for name in TEMPLATES}
    there |= {("workflow_job_template", name) for name in WORKFLOWS}
    there |= {
        ("workflow_job_template_node", f"{name}: {node}")
        for name in WORKFLOWS
        for node in nodes_of(name)
    }
    for key in keys(ASSETS):
        assert set(key) == {"type", *KNOWN["natural_keys"][key["type"]]}, key
        name = key.get("name") or f"{key['workflow_job_template']['name']}: {key['identifier']}"
        assert (key["type"], name) in there, key


def test_each_thing_has_its_own_natural_key():
    for one in (*TEMPLATES.values(), *WORKFLOWS.values()):
        assert one["natural_key"]["name"] == one["name"]
    for name in WORKFLOWS:
        for identifier, node in nodes_of(name).items():
            assert node["natural_key"]["identifier"] == identifier
            assert node["natural_key"]["workflow_job_template"]["name"] == name
            assert node["workflow_job_template"]["name"] == name


def test_every_playbook_is_in_the_project_and_is_one_of_ours():
    for template in TEMPLATES.values():
        (play,) = yaml.safe_load(
            (AWX / "project" / template["playbook"]).read_text(encoding="utf-8")
        )
        imported = play["ansible.builtin.import_playbook"].removeprefix("dbre.semisync.")
        assert f"{imported}.yml" == template["playbook"]
        assert (PROJECT / "playbooks" / template["playbook"]).is_file()


@pytest.mark.parametrize("name", CHANGES)
def test_every_answer_of_a_survey_is_a_value_that_we_take(name):
    survey = WORKFLOWS[name]["related"]["survey_spec"]
    assert set(survey) == set(KNOWN["survey"]["required"])
    for question in survey["spec"]:
        rules = KNOWN["survey"]
        assert set(rules["question"]) <= set(question) <= {*rules["question"], *rules["optional"]}
        assert question["type"] in rules["types"]
        assert isinstance(question["default"], str) and isinstance(question["required"], bool)
        answers = question["choices"] or [question["default"]]
        assert question["default"] in answers or not question["choices"]
        for answer in answers:
            wrong = settings.read({question["variable"]: answer})[1]
            assert wrong == [], question["variable"]


@pytest.mark.parametrize("name", CHANGES)
def test_nothing_changes_before_a_check_that_went_well_and_an_approval(name):
    nodes, playbook = nodes_of(name), name.split()[1]
    after = {
        identifier: {
            edge: [key["identifier"] for key in node.get("related", {}).get(edge, [])]
            for edge in EDGES
        }
        for identifier, node in nodes.items()
    }
    begins = set(nodes) - {
        way for edges in after.values() for ways in edges.values() for way in ways
    }
    assert begins == {"check"}
    assert nodes["check"]["job_type"] == "check"
    assert after["check"] == {"success_nodes": ["approve"], "failure_nodes": [], "always_nodes": []}
    assert "unified_job_template" not in nodes["approve"]
    assert nodes["approve"]["related"]["create_approval_template"]["timeout"] > 0
    assert after["approve"]["success_nodes"] == [playbook]
    assert after["approve"]["always_nodes"] == after["approve"]["failure_nodes"] == []
    assert nodes[playbook]["job_type"] == "run"
    for identifier in ("check", playbook):
        assert nodes[identifier]["unified_job_template"]["name"] == name
    # Both have the limit and the answers that the workflow was launched with.
    assert WORKFLOWS[name]["ask_limit_on_launch"] and TEMPLATES[name]["ask_limit_on_launch"]
    assert not any("limit" in node for node in nodes.values())


def test_what_can_change_something_only_shows_it_unless_a_workflow_says_otherwise():
    for name, template in TEMPLATES.items():
        verifies = name == "semisync verify"
        assert template["job_type"] == ("run" if verifies else "check")
        # A node's kind of job counts only if the template asks for it.
        assert template["ask_job_type_on_launch"] is not verifies


def test_no_template_is_sliced_by_host():
    for template in TEMPLATES.values():
        assert template["job_slice_count"] == 1
        assert not template["ask_job_slice_count_on_launch"]


def slices(folder: Path) -> dict[str, list[str]]:
    """Slice -> its hosts, as Ansible reads an inventory."""
    listed = subprocess.run(
        ["ansible-inventory", "-i", str(folder), "--list"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true"},
    )
    groups = json.loads(listed.stdout)
    return {name: groups[name]["hosts"] for name in groups if name.startswith("semisync_slice_")}


def test_a_cluster_is_in_one_slice_whole_and_every_slice_has_its_nodes(tmp_path):
    hosts = {
        f"db{number}-{letter}": {"semisync_cluster": f"shop{number}"}
        for number in range(40)
        for letter in "abc"
    }
    # One cluster has its name from group_vars, one none at all.
    file = {
        "all": {
            "hosts": {**hosts, "alone1": {}, "alone2": {}},
            "children": {"crm": {"hosts": {"crm1": {}, "crm2": {}}}},
        }
    }
    (tmp_path / "hosts.json").write_text(json.dumps(file), encoding="utf-8")
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars" / "crm.yml").write_text("semisync_cluster: crm\n", encoding="utf-8")
    rules = AWX / "project" / "inventory" / "zz_slices.yml"
    (tmp_path / rules.name).write_text(rules.read_text(encoding="utf-8"), encoding="utf-8")
    made = slices(tmp_path)
    where = {host: name for name, listed in made.items() for host in listed}
    assert sum(map(len, made.values())) == len(where) == len(hosts) + 4
    for cluster in {host.split("-")[0] for host in hosts}:
        assert len({where[f"{cluster}-{letter}"] for letter in "abc"}) == 1
    assert where["crm1"] == where["crm2"] and where["alone1"] == where["alone2"]
    for name in SLICED:
        assert not WORKFLOWS[name]["ask_limit_on_launch"]
        jobs = [node for node in nodes_of(name).values() if "unified_job_template" in node]
        kinds = {node.get("job_type") for node in jobs}
        for kind in kinds:
            limits = [node["limit"] for node in jobs if node.get("job_type") == kind]
            assert sorted(limits) == sorted(made), (name, kind)
        assert all(
            TEMPLATES[node["unified_job_template"]["name"]]["ask_limit_on_launch"] for node in jobs
        )


def test_site_is_approved_once_behind_all_its_checks():
    nodes = nodes_of("semisync site all")
    checks = {name for name, node in nodes.items() if node.get("job_type") == "check"}
    runs = {name for name, node in nodes.items() if node.get("job_type") == "run"}
    assert nodes["approve"]["all_parents_must_converge"]
    assert {key["identifier"] for key in nodes["approve"]["related"]["success_nodes"]} == runs
    for name in checks:
        assert [key["identifier"] for key in nodes[name]["related"]["always_nodes"]] == ["approve"]
    assert {*checks, *runs, "approve"} == set(nodes)
