# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbooks and roles keep their form: fifteen commands that begin alike, entry points that are
specified, short files, and decisions in Python.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

jinja2 = pytest.importorskip("jinja2")

PROJECT = Path(__file__).resolve().parents[2]
PLAYBOOKS = PROJECT / "playbooks"
COMMANDS = [
    "site",
    "verify",
    "drill",
    "benchmark",
    "advise",
    "procedure",
    "rejoin",
    "rotate",
    "gtid",
    "remove",
    "candidate",
    "switchover",
    "restart",
    "upgrade",
    "failover",
]
PARTS = sorted((PLAYBOOKS / "parts").glob("*.yml"))
IMPORT = "ansible.builtin.import_playbook"
ROLE_ACTIONS = ("ansible.builtin.include_role", "ansible.builtin.import_role")
LONGEST_TASK_FILE = 100


def load(path: Path) -> Any:
    """A YAML file's content; an empty mapping if there is no such file."""
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}


def mappings(value: Any) -> Iterator[dict[str, Any]]:
    """Every mapping in a YAML document, at any depth."""
    if isinstance(value, dict):
        yield value
    for child in value.values() if isinstance(value, dict) else value:
        if isinstance(child, (dict, list)):
            yield from mappings(child)


def entry_points() -> set[tuple[str, str]]:
    """(role, entry point) of all that a playbook or a role calls by tasks_from."""
    files = [*PLAYBOOKS.rglob("*.yml"), *PROJECT.glob("roles/*/tasks/*.yml")]
    return {
        (task[action]["name"].rpartition(".")[2], task[action]["tasks_from"].removesuffix(".yml"))
        for path in files
        for task in mappings(load(path))
        for action in ROLE_ACTIONS
        if "tasks_from" in (task.get(action) or {})
    }


def test_the_commands_are_these_fifteen_and_nothing_else():
    assert sorted(path.name for path in PLAYBOOKS.iterdir()) == sorted(
        [f"{name}.yml" for name in COMMANDS] + ["parts"]
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_begins_with_the_check(name):
    assert load(PLAYBOOKS / f"{name}.yml")[0][IMPORT] == "parts/check.yml"


def test_what_changes_no_value_or_cannot_wait_asks_nothing_back():
    checks = {name: load(PLAYBOOKS / f"{name}.yml")[0].get("vars") for name in COMMANDS}
    silent = {name for name, given in checks.items() if given == {"_semisync_asks_back": False}}
    assert silent == {"advise", "candidate", "failover", "remove", "verify"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_ends_by_seeing_that_it_has_read_a_host(name):
    last = load(PLAYBOOKS / f"{name}.yml")[-1]
    while IMPORT in last:
        last = load(PLAYBOOKS / last[IMPORT])[-1]
    imported = last["tasks"][-1]["ansible.builtin.import_tasks"]
    assert Path(imported).name == "read_back.yml"


def test_no_choice_of_tags_passes_the_checks_by():
    checks = [task for play in load(PLAYBOOKS / "parts/check.yml") for task in play["tasks"]]
    ends = load(PLAYBOOKS / "parts/read_back.yml")
    assert [task["tags"] for task in [*checks, *ends]] == [["always"]] * 3


def test_the_inventory_is_looked_at_whatever_limit_leaves():
    (look, *_rest) = load(PLAYBOOKS / "parts/check.yml")
    assert look["hosts"] == "localhost:all" and look["tasks"][0]["run_once"]


def test_what_ends_a_play_early_does_so_with_any_tags():
    plays = [play for path in [*PLAYBOOKS.glob("*.yml"), *PARTS] for play in load(path)]
    ends = [
        task for task in mappings(plays) if task.get("ansible.builtin.meta", "").startswith("end_")
    ]
    assert len(ends) == 2
    assert [task for task in ends if task.get("tags") != ["always"]] == []


def test_the_playbook_at_the_top_is_the_command_of_its_name():
    assert [play[IMPORT] for play in load(PROJECT / "site.yml")] == ["playbooks/site.yml"]


@pytest.mark.skipif(not shutil.which("ansible-playbook"), reason="there is no ansible-playbook")
def test_ansible_understands_every_command(tmp_path):
    files = [str(PROJECT / "site.yml"), *(str(PLAYBOOKS / f"{name}.yml") for name in COMMANDS)]
    collections = os.environ.get("ANSIBLE_COLLECTIONS_PATH", "~/.ansible/collections")
    folder = tmp_path / "ansible_collections" / "dbre"
    folder.mkdir(parents=True)
    (folder / "semisync").symlink_to(PROJECT)
    (tmp_path / "ansible.cfg").touch()
    environment = dict(
        os.environ,
        ANSIBLE_CONFIG=str(tmp_path / "ansible.cfg"),
        ANSIBLE_COLLECTIONS_PATH=f"{tmp_path}{os.pathsep}{collections}",
    )
    checked = subprocess.run(
        ["ansible-playbook", "--syntax-check", "-i", "localhost,", *files],
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("role,entry", sorted(entry_points()))
def test_every_entry_point_that_is_used_has_a_specification(role, entry):
    assert (PROJECT / "roles" / role / "tasks" / f"{entry}.yml").exists()
    specs = load(PROJECT / "roles" / role / "meta/argument_specs.yml")["argument_specs"]
    assert specs.get(entry, {}).get("short_description")


@pytest.mark.parametrize(
    "path",
    sorted(PROJECT.glob("roles/*/tasks/*.yml")),
    ids=lambda path: str(path.relative_to(PROJECT / "roles")),
)
def test_a_task_file_is_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_TASK_FILE


def branches(text: str) -> int:
    """The most branches that a conditional expression in a template has; 1 without any."""

    def count(node: Any) -> int:
        if not isinstance(node, jinja2.nodes.CondExpr):
            return 1
        return count(node.expr1) + count(node.expr2)

    conditionals = jinja2.Environment().parse(text).find_all(jinja2.nodes.CondExpr)
    return max([1, *map(count, conditionals)])


@pytest.mark.parametrize(
    "text,most",
    [
        ("{{ a }}", 1),
        ("{{ a if b else c }}", 2),
        ("{{ a if b else c if d else e }}", 3),
        ("{{ (a if b else c) if d else e }}", 3),
        ("{{ (a if b else c) ~ (d if e else f) }}", 2),
    ],
)
def test_how_branches_are_counted(text, most):
    assert branches(text) == most


def texts(value: Any) -> Iterator[str]:
    """Every text in a YAML document, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for child in value.values() if isinstance(value, dict) else value:
            yield from texts(child)


def most_branches(value: Any) -> int:
    """Of all templates and conditions in a YAML document."""
    conditions = [
        f"{{{{ {text} }}}}"
        for task in mappings(value)
        for key in ("when", "until", "failed_when", "changed_when")
        for text in texts(task.get(key))
    ]
    templates = [text for text in texts(value) if "{{" in text or "{%" in text]
    return max([1, *map(branches, conditions + templates)])


def test_where_branches_are_looked_for():
    nested = "a if b else c if d else e"
    assert most_branches([{"vars": {"x": [f"{{{{ {nested} }}}}"]}}]) == 3
    assert most_branches([{"block": [{"when": ["a", nested]}]}]) == 3
    assert most_branches([{"name": nested, "when": "a and b"}]) == 1


YAML_FILES = sorted(
    path
    for pattern in ("playbooks/**/*.yml", "roles/*/vars/*.yml", "roles/*/tasks/*.yml")
    for path in PROJECT.glob(pattern)
)


@pytest.mark.parametrize("path", YAML_FILES, ids=lambda path: str(path.relative_to(PROJECT)))
def test_yaml_decides_between_two_things_at_most(path):
    assert most_branches(load(path) or {}) <= 2


def test_no_variable_carries_a_decision_from_one_play_to_the_next_that_a_plan_has_made():
    carried = re.compile(r"\b_(semisync_)?(apply|settings|settled|drifted|turns|remove_lost)\b")
    assert {
        (str(path.relative_to(PROJECT)), match[0])
        for path in YAML_FILES
        for match in carried.finditer(path.read_text(encoding="utf-8"))
    } == set()


def test_one_file_of_tasks_stops_where_a_host_of_the_cluster_failed():
    asserting = [
        str(path.relative_to(PROJECT))
        for path in YAML_FILES
        for task in mappings(load(path) or {})
        if "_semisync_lost | length == 0"
        in str((task.get("ansible.builtin.assert") or {}).get("that"))
    ]
    assert asserting == ["roles/common/tasks/lost.yml"]


INCLUDE = "ansible.builtin.include_tasks"


def included(path: Path, task: dict[str, Any]) -> Path:
    """The task file that a task includes."""
    given = task[INCLUDE]
    return path.parent / (given["file"] if isinstance(given, dict) else given)


def registered(path: Path) -> set[str]:
    """The variables that a task file sets by register or set_fact, what it includes too."""
    names: set[str] = set()
    for task in mappings(load(path)):
        names |= {task["register"]} if "register" in task else set()
        names |= set(task.get("ansible.builtin.set_fact") or {})
        if INCLUDE in task:
            names |= registered(included(path, task))
    return names


LOOPS = [
    pytest.param(path, task, id=f"{path.relative_to(PROJECT)}:{task.get('name')}")
    for path in sorted(PROJECT.glob("roles/*/tasks/*.yml"))
    for task in mappings(load(path))
    if INCLUDE in task and "loop" in task
]


@pytest.mark.parametrize("path,task", LOOPS)
def test_a_loop_of_files_asks_for_nothing_that_its_rounds_find_out(path, task):
    """Its condition is asked for all rounds before the first begins: it cannot end the loop."""
    when = task.get("when", [])
    asked = " ".join(map(str, when if isinstance(when, list) else [when]))
    assert not [name for name in registered(included(path, task)) if name in asked]


@pytest.mark.parametrize(
    "path",
    [
        "playbooks/verify.yml",
        "playbooks/candidate.yml",
        "roles/switchover/tasks/plan.yml",
        "roles/rejoin/tasks/main.yml",
    ],
)
def test_who_looks_at_hosts_that_may_be_dead_uses_no_connection_that_was_kept(path: str) -> None:
    (its,) = [
        mapping["vars"]
        for mapping in mappings(load(PROJECT / path))
        if "ansible_control_path" in (mapping.get("vars") or {})
    ]
    assert its["ansible_control_path"] == "none"


def test_verify_looks_at_a_host_that_is_gone_to_the_end() -> None:
    """Of a host that left the play, the verdict would only know that something failed on it."""
    for name in ("canary", "read"):
        for task in load(PROJECT / f"roles/verify/tasks/{name}.yml"):
            assert task.get("ignore_unreachable") is True, task["name"]


def test_a_failover_gives_up_a_host_that_loses_its_power_meanwhile() -> None:
    (block,) = load(PROJECT / "roles/failover/tasks/main.yml")
    assert "semisync_run" in block["vars"]["ansible_control_path"], "connections of its own"
    assert "ServerAliveInterval" in block["vars"]["ansible_ssh_extra_args"]


def test_a_run_with_nothing_to_do_loads_only_the_role_that_reads() -> None:
    """Ansible loads an imported role, and what it imports, even if the play ends before it."""
    parts = ("apply", "baseline")
    tasks = [one for part in parts for one in mappings(load(PLAYBOOKS / "parts" / f"{part}.yml"))]
    imported = [one for task in tasks if (one := task.get(ROLE_ACTIONS[1]))]
    assert [one["name"].rpartition(".")[2] for one in imported] == ["preflight", "verify"]
    assert imported[1]["tasks_from"] == "verdict"


def test_no_configuration_lets_a_host_go_ahead_of_its_cluster():
    # With ansible.cfg's strategy free, two replicas would be restarted at a time.
    plays = [play for path in [*PLAYBOOKS.glob("*.yml"), *PARTS] for play in load(path)]
    found = [play.get("strategy") for play in plays if "semisync_" in play.get("hosts", "")]
    assert len(found) >= 20 and set(found) == {"linear"}
