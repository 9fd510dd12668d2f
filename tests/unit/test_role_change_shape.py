# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the code of role changes on hosts is built: a class has one parent of ours at most, a name
says where it is, and reading a host carries little to it.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest
from ansible_collections.dbre.semisync.tests.unit import test_walls

PLUGINS = test_walls.PLUGINS
HOST_FILES = test_walls.HOST_FILES
PACKAGES = ("_binlog", "_role_change", "_rejoin")
OURS = [path for path in HOST_FILES if path.parent.name in PACKAGES]
README = PLUGINS / "module_utils" / "_role_change" / "README.md"
TESTS = PLUGINS.parent / "tests"
# netem/ has a plan of its own, and is no part of a role change.
TWICE = {"plan.py"}


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


CLASSES = {
    node.name: [base.id for base in node.bases if isinstance(base, ast.Name)]
    for path in OURS
    for node in ast.walk(tree(path))
    if isinstance(node, ast.ClassDef)
}


def depth(name: str) -> int:
    """How many of our own classes stand above one another, with this one the lowest."""
    return 1 + max((depth(base) for base in CLASSES[name] if base in CLASSES), default=0)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_class_has_no_grandparent(name):
    assert depth(name) <= 2


def test_a_file_s_name_is_found_once():
    names = Counter(path.name for path in HOST_FILES if path.stem != "__init__")
    assert {path.name for path in OURS if names[path.name] > 1} <= TWICE


def test_no_plan_is_poured_over_a_module_s_parameters():
    code = [*HOST_FILES, *test_walls.MODULES]
    assert [path.name for path in code if "params.update(" in path.read_text("utf-8")] == []


def carried(name: str) -> int:
    """How many lines a module and what it brings have on a host."""
    files = {PLUGINS / "modules" / name, *test_walls.closure(PLUGINS / "modules" / name)}
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)


def test_what_a_role_change_reads_of_a_host_is_read_with_little():
    # The steps look and reach, of a switchover and of a failover.
    assert carried("semisync_role_look.py") <= 3740


def test_how_a_server_ended_is_read_with_little():
    assert carried("semisync_last_words.py") <= 2400


def test_a_look_at_a_replica_brings_nothing_that_only_other_hosts_need():
    files = test_walls.closure(PLUGINS / "modules" / "semisync_role_look.py")
    others = {"last_words.py", "unit_exit.py", "log_access.py", "process.py", "option_files.py"}
    assert others & {path.name for path in files} == set()


def test_a_look_carries_no_part_of_a_role_change():
    files = test_walls.closure(PLUGINS / "modules" / "semisync_role_look.py")
    parts = {"participant.py", "part_run.py", "watchdog.py", "freeze.py", "log_transactions.py"}
    assert parts & {path.name for path in files} == set()


def test_every_invariant_names_a_test_that_is_there():
    bullets = re.findall(r"^- .*(?:\n  .*)*", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(bullets) >= 10
    texts = "\n".join(path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py"))
    for bullet in bullets:
        names = re.findall(r"`(test_\w+|make protocol)`", bullet)
        assert names, bullet
        for name in names:
            assert name == "make protocol" or f"def {name}(" in texts, name
