# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The walls of the house: what runs on hosts imports nothing of the controller's, packages import
downward only, and a file keeps its name at every door.
"""

from __future__ import annotations

import ast
import functools
import importlib
from pathlib import Path

import pytest
from ansible.executor.module_common import ModuleDepFinder

PROJECT = Path(__file__).resolve().parents[2]
PLUGINS = PROJECT / "plugins"
PREFIX = "ansible_collections.dbre.semisync.plugins."

# From bottom to top: a package may import those before it.
HOST_PACKAGES = (
    "server",
    "host",
    "replication",
    "answer",
    "heartbeat",
    "binlog",
    "role_change",
    "rejoin",
    "canary",
    "seed",
    "facts",
    "bench/statistics",
    "bench/ping",
    "bench/netem",
    "bench/load",
    "bench/sampling",
)
# A single file counts as a package of its own; those of the first row know nothing of each other.
CONTROLLER_PACKAGES = (
    ("types",),
    ("setting_rows", "setting_keys", "figures", "closing", "progress"),
    ("settings", "results", "outcomes", "lifeline"),
    ("member",),
    ("refusal",),
    ("durability_mode",),
    ("plans",),
    ("checks",),
    ("findings",),
    ("verdict_store",),
    ("cluster",),
    ("inventory", "unreachable", "cluster_action", "canary_row"),
    ("role_change",),
    ("rolling",),
    ("plan_goals",),
    ("report",),
    ("bench",),
)
# The benchmarks have a room of their own: what they need is carried to no host for anything else.
BENCH_DOORS = {
    "action/semisync_advise.py",
    "action/semisync_benchmark.py",
    # It hands the core's page the benchmarks' chapter; the page itself knows nothing of them.
    "action/semisync_report.py",
    "modules/netem.py",
    "modules/semisync_advise.py",
    "modules/semisync_benchmark.py",
    "modules/semisync_environment.py",
    "modules/semisync_load.py",
    "modules/semisync_setting.py",
}
HOST_FILES = sorted((PLUGINS / "module_utils").rglob("*.py"))
CONTROLLER_FILES = sorted((PLUGINS / "plugin_utils").rglob("*.py"))
# Types that mypy alone reads: no playbook imports them, and no host gets them.
TYPES = PLUGINS / "plugin_utils" / "_types"
MODULES = sorted((PLUGINS / "modules").glob("*.py"))


@functools.cache
def imports(path: Path) -> list[tuple[str, ast.alias]]:
    """(module, imported name) of every import of the collection's own files."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PREFIX):
            found += [((node.module or "")[len(PREFIX) :], name) for name in node.names]
        elif isinstance(node, ast.Import):
            found += [
                (name.name[len(PREFIX) :], name)
                for name in node.names
                if name.name.startswith(PREFIX)
            ]
    return found


@functools.cache
def neighbours(path: Path) -> set[Path]:
    """The collection's own files that a file imports itself when it runs."""
    files = set()
    for module, name in imports(path):
        for dotted in (f"{module}.{name.name}", module):
            candidate = PLUGINS / (dotted.replace(".", "/") + ".py")
            if candidate.is_file():
                if TYPES not in candidate.parents:
                    files.add(candidate)
                break
        else:
            pytest.fail(f"{path}: {module}.{name.name} is no file of the collection")
    return files


def closure(path: Path) -> set[Path]:
    """All files that a file brings with it, as Ansible packs them for a host."""
    carried: set[Path] = set()
    waiting = [path]
    while waiting:
        for file in neighbours(waiting.pop()) - carried:
            carried.add(file)
            waiting.append(file)
    return carried


def room(path: Path) -> tuple[str, str]:
    """(module_utils or plugin_utils or another folder of plugins, the package or single file)."""
    parts = [one.lstrip("_") for one in path.relative_to(PLUGINS).with_suffix("").parts]
    if parts[:2] == ["module_utils", "bench"]:
        return parts[0], "/".join(parts[1:3])
    # Each file that is no package's own counts as one.
    return parts[0], parts[2 if parts[1] == "common" else 1]


def is_bench(path: Path) -> bool:
    """Whether a file is the benchmarks' own."""
    return "_bench" in path.relative_to(PLUGINS).parts[:2] or named(path) in BENCH_DOORS


def floor(path: Path) -> int:
    """How high a file's package lies in its own house."""
    house, package = room(path)
    if house == "module_utils":
        return HOST_PACKAGES.index(package)
    return next(level for level, names in enumerate(CONTROLLER_PACKAGES) if package in names)


def named(path: Path) -> str:
    return str(path.relative_to(PLUGINS))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_a_module_carries_no_controller_file_to_a_host(module):
    houses = {named(file): room(file)[0] for file in closure(module)}
    assert [name for name, house in houses.items() if house != "module_utils"] == []


@pytest.mark.parametrize("path", HOST_FILES + CONTROLLER_FILES, ids=named)
def test_packages_import_downward_only(path):
    house, package = room(path)
    for file in neighbours(path):
        other_house, other_package = room(file)
        if house == "plugin_utils" and other_house == "module_utils":
            continue
        assert other_house == house, f"{named(path)} imports {named(file)}"
        assert other_package == package or floor(file) < floor(path), (
            f"{named(path)} imports {named(file)}, which lies above it or beside it"
        )


@pytest.mark.parametrize("path", sorted(PLUGINS.rglob("*.py")), ids=named)
def test_types_are_imported_for_mypy_alone(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_mypy = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for one in node.body
        for inner in ast.walk(one)
    }
    assert [
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and f"{node.module}.".startswith(f"{PREFIX}plugin_utils._types.")
        and node not in for_mypy
    ] == []


@pytest.mark.parametrize("name", sorted(path.stem for path in TYPES.glob("*.py")))
def test_types_can_be_imported_all_the_same(name):
    # Tests and models do; what mypy takes for a TypedDict is a plain dictionary there.
    assert importlib.import_module(f"{PREFIX}plugin_utils._types.{name}")


@pytest.mark.parametrize("path", HOST_FILES + MODULES, ids=named)
def test_ansible_packs_what_is_counted_here(path):
    finder = ModuleDepFinder(f"{PREFIX}modules.any", ast.parse(path.read_text(encoding="utf-8")))
    ours = tuple(PREFIX.rstrip(".").split("."))
    packed = [found[len(ours) :] for found in finder.submodules if found[: len(ours)] == ours]
    files = {PLUGINS.joinpath(*name).with_suffix(".py") for name in packed}
    holders = {PLUGINS.joinpath(*name[:-1]).with_suffix(".py") for name in packed}
    assert {file for file in files | holders if file.is_file()} == neighbours(path)


@pytest.mark.parametrize("path", HOST_FILES + CONTROLLER_FILES, ids=named)
def test_no_file_imports_itself_by_way_of_others(path):
    assert path not in closure(path)


@pytest.mark.parametrize("path", sorted(PLUGINS.rglob("*.py")), ids=named)
def test_no_file_of_ours_is_renamed_at_the_door(path):
    assert [
        f"{module}.{name.name} as {name.asname}" for module, name in imports(path) if name.asname
    ] == []


@pytest.mark.parametrize("path", HOST_FILES + CONTROLLER_FILES, ids=named)
def test_every_package_has_its_place_and_its_line_in_the_readme(path):
    house, package = room(path)
    if path.stem == "__init__":
        return
    assert floor(path) >= 0
    readme = (PLUGINS / house / "README.md").read_text(encoding="utf-8")
    assert f"| `{package}" in readme or f"| `_{package}" in readme


@pytest.mark.parametrize(
    "path", [path for path in sorted(PLUGINS.rglob("*.py")) if not is_bench(path)], ids=named
)
def test_nothing_outside_the_benchmarks_brings_a_file_of_theirs(path):
    assert [named(file) for file in sorted(closure(path)) if is_bench(file)] == []


def test_every_door_of_the_benchmarks_is_a_file_of_theirs():
    assert {name for name in BENCH_DOORS if not (PLUGINS / name).is_file()} == set()


def imported_at_once(path: Path) -> set[Path]:
    """All files that importing one imports, and itself: neither for mypy nor inside functions."""
    found: set[Path] = set()
    waiting = [path]
    while waiting:
        found.add(file := waiting.pop())
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            if isinstance(node, ast.ImportFrom) and module.startswith(PREFIX):
                stem = PLUGINS.joinpath(*module[len(PREFIX) :].split("."))
                every = [stem.with_suffix(".py"), *(stem / f"{one.name}.py" for one in node.names)]
                waiting += [one for one in every if one.is_file() and one not in found]
    return found


def test_a_run_that_changes_nothing_imports_little_on_the_controller():
    # Ansible keeps no compiled code of a collection: each line costs every run, some 0.03 ms.
    doors = [f"action/semisync_{name}.py" for name in ("info", "plan", "verdict")]
    files = set().union(*(imported_at_once(PLUGINS / door) for door in doors))
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files) <= 11_800
    assert {"connection.py", "login.py", "drill_outcome.py"} & {
        file.name for file in files
    } == set()


def test_a_channel_is_started_with_few_files():
    # It carried the planner of the whole cluster once.
    assert len(closure(PLUGINS / "modules" / "semisync_channel.py")) <= 15


@pytest.mark.parametrize("path", HOST_FILES + MODULES, ids=lambda path: path.name)
def test_a_commands_output_is_read_to_its_end(path):
    if path.name != "command.py":
        assert ".run_command(" not in path.read_text(encoding="utf-8")
