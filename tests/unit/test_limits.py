# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits of the code in plugins/ that no linter counts: types that say nothing, long functions,
packed lines, and files of one name.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.dbre.semisync.tests.unit.test_style import PLUGINS, tokens_and_lines

ROOT = Path(__file__).resolve().parents[2] / "plugins"
UTILS = ("module_utils", "plugin_utils")
# dict[str, Any] in plugins/, and the share of functions with Any in the signature.
UNTYPED, ANY_SHARE = 61, 0.055
LONG_FUNCTION, LONG_FUNCTIONS = 40, 25
# Lines; what is shorter and has one importer belongs in that.
SMALL_FILE = 60
# In how many files a public function's name may be. Ansible calls main() of every module.
FILES_OF_A_NAME, ANSIBLES_OWN = 4, {"main"}
# The callback is one file, which Ansible shapes.
DENSEST, SHAPED_BY_ANSIBLE = 7.78, {"callback"}
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in PLUGINS}
# An alias hides what it stands for.
ALIAS = re.compile(r"^\w+(?:: TypeAlias)? = (?:list\[)?dict\[str, Any\]", re.MULTILINE)


def functions() -> Iterator[ast.FunctionDef]:
    for tree in TREES.values():
        yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def signature(function: ast.FunctionDef) -> str:
    arguments = [*function.args.args, *function.args.kwonlyargs]
    hints = [one.annotation for one in arguments] + [function.returns]
    return " ".join(ast.unparse(hint) for hint in hints if hint)


def test_dictionaries_say_what_they_have() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in PLUGINS)
    assert text.count("dict[str, Any]") <= UNTYPED


def test_no_alias_hides_a_dictionary_of_anything() -> None:
    assert [path.name for path in PLUGINS if ALIAS.search(path.read_text("utf-8"))] == []


def test_signatures_say_what_they_take_and_return() -> None:
    every = [signature(function) for function in functions()]
    loose = [one for one in every if re.search(r"\bAny\b", one)]
    assert len(loose) / len(every) <= ANY_SHARE


def test_few_functions_are_long() -> None:
    long = [
        function.name
        for function in functions()
        if (function.end_lineno or 0) - function.lineno >= LONG_FUNCTION
    ]
    assert len(long) <= LONG_FUNCTIONS, long


def package(path: Path) -> str:
    return "/".join(path.relative_to(ROOT).parts[:-1][:2])


def test_lines_are_not_packed_in_any_package() -> None:
    counted: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for path in PLUGINS:
        tokens, lines = tokens_and_lines(path.read_text(encoding="utf-8"))
        counted[package(path)][0] += tokens
        counted[package(path)][1] += lines
    dense = {
        name: tokens / lines
        for name, (tokens, lines) in counted.items()
        if lines and name not in SHAPED_BY_ANSIBLE
    }
    assert {name: round(value, 2) for name, value in dense.items() if value > DENSEST} == {}


@pytest.mark.parametrize("folder", UTILS)
def test_a_file_of_utils_has_a_name_of_its_own(folder: str) -> None:
    names = Counter(path.name for path in (ROOT / folder).rglob("*.py"))
    assert {name for name, count in names.items() if count > 1} <= {"__init__.py"}


def importers() -> dict[Path, set[Path]]:
    """Each file of plugins/, and which of the others import it."""
    base = "ansible_collections.dbre.semisync.plugins"
    paths = {
        ".".join([base, *path.relative_to(ROOT).with_suffix("").parts]): path for path in TREES
    }
    found: dict[Path, set[Path]] = {path: set() for path in TREES}
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(base):
                for name in [node.module, *(f"{node.module}.{one.name}" for one in node.names)]:
                    if name in paths:
                        found[paths[name]].add(path)
    return found


def test_a_small_file_has_more_than_one_importer() -> None:
    small = [
        path.name
        for path, by in importers().items()
        if len(by) == 1 and len(path.read_text(encoding="utf-8").splitlines()) < SMALL_FILE
    ]
    assert [name for name in small if name != "__init__.py"] == []


def test_a_public_function_s_name_is_in_few_files() -> None:
    names = Counter(
        name
        for tree in TREES.values()
        for name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        if not name.startswith("_") and name not in ANSIBLES_OWN
    )
    assert {name: count for name, count in names.items() if count > FILES_OF_A_NAME} == {}
