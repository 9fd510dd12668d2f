# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages of the modules: which are public, and that each names every key that it returns."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import (
    apply,
    drill,
    gtid,
    removal,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import ranking
from ansible_collections.dbre.semisync.tests.unit import samples

PROJECT = Path(__file__).resolve().parents[2]
FILES = sorted((PROJECT / "plugins" / "modules").glob("*.py"))
PUBLIC = {
    "netem",
    "semisync_account",
    "semisync_candidate",
    "semisync_canary",
    "semisync_channel",
    "semisync_info",
    "semisync_load",
    "semisync_plugin",
    "semisync_report",
    "semisync_verdict",
}
# What Ansible itself makes of these.
COMMON = {"changed", "failed", "msg", "skipped", "skip_reason", "diff", "warnings", "rc"}


def text(path: Path, name: str) -> str:
    """A module's DOCUMENTATION or RETURN."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name:
            return ast.literal_eval(node.value)
    return ""


def page(name: str) -> dict:
    return yaml.safe_load(text(PROJECT / "plugins" / "modules" / f"{name}.py", "DOCUMENTATION"))


def documented(name: str) -> set[str]:
    """The keys of a module's RETURN."""
    path = PROJECT / "plugins" / "modules" / f"{name}.py"
    return set(yaml.safe_load(text(path, "RETURN")) or {})


def is_internal(name: str) -> bool:
    return "dbre.semisync.internal" in page(name)["extends_documentation_fragment"]


def test_there_are_ten_doors_to_the_street():
    names = {path.stem for path in FILES}
    assert len(names) <= 30
    assert {name for name in names if not is_internal(name)} == PUBLIC


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_plumbing_says_so_in_the_list_of_modules(path):
    assert page(path.stem)["short_description"].startswith("(internal) ") == is_internal(path.stem)


def test_the_readme_lists_what_is_public():
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", readme, re.MULTILINE)) == PUBLIC


def captured_plans() -> set[str]:
    """Every key that a plan can have, from the captured pairs."""
    keys = {"cluster", "remains", "refused_with", "problems", "drills"}
    for engine in ("mysql", "mariadb"):
        members = samples.pair(engine)
        for member in members:
            keys |= set(apply.set_up_plan(member, members, samples.SETTINGS))
            keys |= set(removal.removal_plan(member, members)) | set(
                gtid.gtid_plan(member, members)
            )
    return keys


def test_the_page_of_the_plan_names_every_key_and_no_other():
    assert documented("semisync_plan") == captured_plans()


def test_the_page_of_the_drill_names_every_part_of_a_drill():
    members = samples.pair("mysql")
    (planned,) = drill.drill_plan(members, samples.SETTINGS, {})
    words = text(PROJECT / "plugins" / "modules" / "semisync_plan.py", "RETURN")
    assert [key for key in planned if key not in words] == []


def test_the_page_of_the_candidate_names_every_key_and_no_other():
    ranked = ranking.rank(samples.pair("mysql"), 1)
    assert documented("semisync_candidate") == {*ranked, "cluster"}
    words = text(PROJECT / "plugins" / "modules" / "semisync_candidate.py", "RETURN")
    assert [key for key in ranked["ranking"][0] if key not in words] == []


def test_the_page_of_the_info_names_what_a_server_said():
    # The captured results are whole ones of this module.
    for engine in ("mysql", "mariadb"):
        for member in samples.pair(engine):
            assert set(member.info) - COMMON - {"invocation"} <= documented("semisync_info")


def keys_of(node: ast.AST) -> set[str]:
    """The literal keys of dict(...) calls, dict literals and keyword arguments in an expression."""
    if isinstance(node, ast.Dict):
        return {str(key.value) for key in node.keys if isinstance(key, ast.Constant)}
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "dict":
        return keys_of_call(node)
    return set()


def keys_of_call(node: ast.Call) -> set[str]:
    """The keyword arguments of a call, and what keys_of() finds in the others."""
    keys = {keyword.arg for keyword in node.keywords if keyword.arg}
    for argument in node.args:
        keys |= keys_of(argument)
    return keys


def literal_results(path: Path) -> set[str]:
    """Keys that a module or action gives to exit_json(), fail_json() or result.update(), as far as
    they stand there literally, and those of a variable called result.
    """
    keys: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = getattr(node.func.value, "id", "")
            if node.func.attr in ("exit_json", "fail_json") or (
                node.func.attr == "update" and owner == "result"
            ):
                keys |= keys_of_call(node)
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "result":
            keys |= keys_of(node.value)
    return keys


def whole_results(path: Path) -> set[str]:
    """Keys of the dictionaries in a file that say whether something changed: results."""
    keys: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        named = keys_of(node)
        keys |= named if "changed" in named else set()
    return keys


def imported(path: Path) -> set[Path]:
    """The files of module_utils that a module imports itself, where its results may be made."""
    files = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and ".module_utils" in (node.module or ""):
            folder = "module_utils" + (node.module or "").partition(".module_utils")[2]
            for dotted in (folder, *(f"{folder}.{name.name}" for name in node.names)):
                file = PROJECT / "plugins" / (dotted.replace(".", "/") + ".py")
                files |= {file} if file.is_file() else set()
    return files


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_page_names_every_key_that_stands_in_its_code(path):
    action = PROJECT / "plugins" / "action" / path.name
    own = [path, action] if action.exists() else [path]
    keys = set().union(*map(literal_results, own), *map(whole_results, [*own, *imported(path)]))
    assert keys - COMMON - documented(path.stem) == set()


def versions() -> list[str]:
    """The collection's versions that its changelog has, the newest last."""
    changelog = PROJECT / "changelogs" / "changelog.yaml"
    released = yaml.safe_load(changelog.read_text(encoding="utf-8"))["releases"]
    return sorted(released, key=lambda version: [int(number) for number in version.split(".")])


def test_the_changelog_ends_with_the_version_that_is_built():
    galaxy = yaml.safe_load((PROJECT / "galaxy.yml").read_text(encoding="utf-8"))
    assert versions()[-1] == galaxy["version"]


def test_what_was_added_was_added_in_a_version_that_the_changelog_has():
    pages = [*(PROJECT / "plugins").rglob("*.py"), *(PROJECT / "roles").glob("*/meta/*.yml")]
    added = {
        version
        for path in pages
        for version in re.findall(
            r"^ *version_added: \"?([^\s\"]+)", path.read_text(encoding="utf-8"), re.MULTILINE
        )
    }
    assert added <= set(versions())
    assert versions()[-1] in added
