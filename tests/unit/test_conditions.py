# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions of roles are true or false. From ansible-core 2.19 on, a task whose condition is a
list, a text or a number fails, even an empty one (porting guide 2.19, "Broken conditionals").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.dbre.semisync.plugins.action.semisync_plan import ActionModule
from ansible_collections.dbre.semisync.tests.unit import samples
from ansible_collections.dbre.semisync.tests.unit.actions import runner
from ansible_collections.dbre.semisync.tests.unit.test_playbooks import PROJECT, load, mappings

jinja2 = pytest.importorskip("jinja2")
nativetypes = pytest.importorskip("jinja2.nativetypes")
meta = pytest.importorskip("jinja2.meta")

KEYS = ("when", "until", "failed_when", "changed_when", "that")
# The variable with a goal's plan, and the least number of conditions that ask it.
PLANS = {
    "apply": ("__semisync_plan", 30),
    "gtid": ("__semisync_gtid", 8),
    "remove": ("__semisync_removal", 8),
}
FILES = sorted([*PROJECT.glob("roles/*/tasks/**/*.yml"), *PROJECT.glob("playbooks/**/*.yml")])
ENVIRONMENT = nativetypes.NativeEnvironment()
# Ansible's own filter.
ENVIRONMENT.filters["bool"] = bool


def conditions(path: Path) -> Iterator[str]:
    """Every condition of a file, each item of a list by itself."""
    for one in mappings(load(path) or []):
        for key in KEYS:
            value = one.get(key, [])
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, str):
                    yield item


def role_variables(name: str) -> dict[str, str]:
    """The variables of roles that stand for a part of a plan: name -> expression."""
    found = {}
    for path in PROJECT.glob("roles/*/vars/main.yml"):
        for key, value in load(path).items():
            if isinstance(value, str) and re.fullmatch(rf"\{{\{{ {name}[\w.]* \}}\}}", value):
                found[key] = value.strip("{} ")
    return found


def names_in(condition: str) -> set[str]:
    """The variables of a condition; none if it has a filter or a test of Ansible's."""
    try:
        tree = ENVIRONMENT.parse(f"{{{{ {condition} }}}}")
        ENVIRONMENT.compile_expression(condition)
    except jinja2.TemplateAssertionError:
        return set()
    return set(meta.find_undeclared_variables(tree))


def asked_of(name: str) -> list[tuple[str, str]]:
    """(file, condition) of those that ask a plan, and nothing else."""
    parts = role_variables(name)
    found = []
    for path in FILES:
        for condition in conditions(path):
            words = condition
            for part, stands_for in parts.items():
                words = re.sub(rf"\b{part}\b", stands_for, words)
            if names_in(words) == {name}:
                found.append((str(path.relative_to(PROJECT)), words))
    return found


def value(condition: str, variables: dict[str, Any]) -> Any:
    return ENVIRONMENT.compile_expression(condition, undefined_to_none=False)(**variables)


@pytest.mark.parametrize("host", ["db1", "db2"])
@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
@pytest.mark.parametrize("goal", sorted(PLANS))
def test_what_a_plan_is_asked_is_true_or_false(goal, engine, host, monkeypatch, tmp_path):
    name, least = PLANS[goal]
    asked = asked_of(name)
    assert len(asked) >= least
    members = samples.pair(engine)
    plan = runner(ActionModule, monkeypatch, tmp_path)(
        host,
        {"goal": goal, "info_from": "info"},
        members=members,
        semisync_replication_password="x",
        semisync_allow_disruption=True,
    )
    assert not plan.get("failed"), plan
    wrong = {}
    for place, condition in asked:
        seen = value(condition, {name: plan})
        # Another role's plan may have a variable of this name, with other keys.
        if not isinstance(seen, (bool, ENVIRONMENT.undefined)):
            wrong[f"{place}: {condition}"] = seen
    assert wrong == {}


def test_a_list_would_be_found():
    assert value("plan.gone", {"plan": {"gone": []}}) == []
    assert value("plan.gone | length > 0", {"plan": {"gone": []}}) is False
