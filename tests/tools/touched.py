"""The pre-commit hook for tests: run, for a few seconds, the unit tests that changed files touch.

Usage: touched.py FILE... A changed test runs itself. A changed source file runs the test that has
its name, or else the tests that import it. Tests that take longer than the hook may are left to
`make unit`.
"""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
SUITES = ("tests/unit", "tests/lab")
COLLECTION = "ansible_collections.dbre.semisync."
# A hook that takes longer than 20 s is switched off by its users; the linters need the rest.
SECONDS = 12
MOST_FILES = 6
# They start searches or programs that take minutes.
SLOW = {"test_protocol.py", "test_model.py", "test_playbooks.py"}
# What a page's author breaks.
OF_PAGES = ("tests/unit/test_docs.py", "tests/unit/test_words.py")


@functools.cache
def tests() -> list[Path]:
    """Every file of unit tests, below PROJECT."""
    return sorted(path for suite in SUITES for path in (PROJECT / suite).rglob("test_*.py"))


@functools.cache
def imported(path: Path) -> set[str]:
    """The names of modules that a file imports, without the collection's own name in front."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return {name.replace(COLLECTION, "") for name in names}


def module_of(changed: Path) -> str:
    """The name under which tests import a file; changed is relative to PROJECT."""
    parts = changed.with_suffix("").parts
    on_the_path = parts[0] == "lab" or (parts[0] == "tests" and parts[1] != "unit")
    return ".".join(parts[1:] if on_the_path else parts)


def of_source(changed: Path) -> list[Path]:
    """The tests of a source file: the one with its name in a folder of the same name, or else those
    that import it, or else those with its name.
    """
    named = [path for path in tests() if path.name == f"test_{changed.stem}.py"]
    beside = [path for path in named if path.parent.name == changed.parent.name]
    if beside:
        return beside
    module = module_of(changed)
    return [path for path in tests() if module in imported(path)] or named


def chosen(changed: Iterable[str]) -> list[str]:
    """The files of tests that a commit runs, relative to PROJECT; at most MOST_FILES.

    Args:
        changed: the files of the commit, relative to PROJECT.
    """
    found: dict[str, None] = {}
    for name in changed:
        path = Path(name)
        is_test = path.name.startswith("test_") and name.startswith(SUITES)
        if path.suffix == ".md":
            found.update(dict.fromkeys(OF_PAGES))
        elif is_test and (PROJECT / path).exists():
            found[name] = None
        elif path.suffix == ".py":
            related = [str(test.relative_to(PROJECT)) for test in of_source(path)]
            found.update(dict.fromkeys(related))
    quick = [name for name in found if Path(name).name not in SLOW]
    return quick[:MOST_FILES]


def main(changed: list[str]) -> int:
    """Run them; 0 if none failed in the time that there is."""
    files = chosen(changed)
    if not files:
        return 0
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files]
    try:
        # The first failure ends pytest, so nothing had failed when the time was up.
        return subprocess.run(command, cwd=PROJECT, check=False, timeout=SECONDS).returncode
    except subprocess.TimeoutExpired:
        print(f"touched: {SECONDS} s are over, and nothing failed; `make unit` runs the rest")
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
