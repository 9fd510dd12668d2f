# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The style that docs/development.md asks for, as far as no linter asks for it: short files, lines
that are not packed, one spelling of texts, names that say what they hold.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest
import yaml
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import OUTCOMES

PROJECT = Path(__file__).resolve().parents[2]
PLUGINS = sorted((PROJECT / "plugins").rglob("*.py"))
CODE = [*PLUGINS, *sorted((PROJECT / "lab").rglob("*.py")), *PROJECT.glob("roles/*/files/*.py")]
LONGEST = 600
PAGES = {"DOCUMENTATION", "EXAMPLES", "RETURN"}
SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
# Pronouns: each has been a list, a dictionary, a host and a boolean.
PRONOUNS = {"found", "its", "it", "noticed"}


def named(path: Path) -> str:
    return str(path.relative_to(PROJECT))


def is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def is_page(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in PAGES


def prose(tree: ast.AST) -> set[int]:
    """The lines of docstrings and of modules' pages."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and (is_text(node) or is_page(node)):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


# The path of a from-import; it stays on one line.
PATH = re.compile(r"^( *from )[\w.]+(?= import )", re.MULTILINE)


def tokens_and_lines(text: str) -> tuple[int, int]:
    """How many tokens on how many lines: comments, docstrings and pages are left out. The path of
    an import is one token: it is as deep as its folder.
    """
    left_out, count = prose(ast.parse(text)), 0
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(PATH.sub(r"\1x", text)).readline):
        if token.type not in SILENT and token.start[0] not in left_out:
            count += 1
            last = token.end[0] if token.type == tokenize.STRING else token.start[0]
            lines.update(range(token.start[0], last + 1))
    return count, len(lines)


def test_how_tokens_are_counted():
    # a, =, 1 and b, =, 2; neither the docstring nor the comment.
    assert tokens_and_lines('"""What it is."""\n\na = 1  # why\nb = 2\n') == (6, 2)
    # from, a path, import, c.
    assert tokens_and_lines("from a.b import c\n") == (4, 1)


@pytest.mark.parametrize("path", CODE, ids=named)
def test_a_file_is_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


@pytest.mark.parametrize("path", CODE, ids=named)
def test_texts_are_put_together_one_way(path):
    formatted = [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Mod)
            and isinstance(node.left, ast.Constant)
            and isinstance(node.left.value, str)
        )
        or (isinstance(node, ast.Attribute) and node.attr == "format" and is_literal(node.value))
    ]
    assert formatted == []


def is_fork(node: ast.AST) -> bool:
    """A use of os.fork or os.forkpty, or an import of one by its name."""
    names = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []
    return bool({"fork", "forkpty"} & {getattr(node, "attr", None), *names})


def test_processes_are_forked_by_hand_in_two_files_at_most():
    """What is wrong with a process that outlives its parent shows late, and on others' hosts."""
    code = [*CODE, *sorted((PROJECT / "molecule").rglob("*.py"))]
    forks = [
        named(path)
        for path in code
        if any(is_fork(node) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    ]
    assert "plugins/module_utils/_host/detached.py" in forks and len(forks) <= 2, forks


def is_literal(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


@pytest.mark.parametrize("path", CODE, ids=named)
def test_nothing_is_left_of_python_2(path):
    assert not re.search(r"__metaclass__|\(object\):|unicode_literals", path.read_text("utf-8"))


@pytest.mark.parametrize("path", PLUGINS, ids=named)
def test_names_are_no_pronouns(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    keys = {
        field.target
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and "TypedDict" in map(ast.unparse, node.bases)
        for field in node.body
        if isinstance(field, ast.AnnAssign)
    }
    names = {
        getattr(node, "id", None) or getattr(node, "arg", None)
        for node in ast.walk(tree)
        # A key of a file that others read keeps its name.
        if node not in keys
        and (
            (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
            or isinstance(node, ast.arg)
        )
    }
    assert names & PRONOUNS == set()


def glossary() -> dict[str, str]:
    """Word -> its meaning, of docs/development.md."""
    text = (PROJECT / "docs" / "development.md").read_text(encoding="utf-8")
    section = text.partition("\n## Words\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", section, re.MULTILINE)
    return {word: meaning for word, meaning in rows if word != "word"}


def test_the_glossary_has_every_word_once_and_every_outcome():
    words = [word for row in glossary() for word in row.split(", ")]
    assert len(words) == len(set(words)) >= 20
    for outcome in OUTCOMES:
        assert outcome.replace("_", " ") in glossary()["checkpoint"]


def test_make_lint_and_the_workflow_ask_for_all_that_commit_hooks_do():
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)[1]
    hooks = yaml.safe_load((PROJECT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    entries = " ".join(hook["entry"] for repo in hooks["repos"] for hook in repo["hooks"])
    for tool in ("yamllint", "check_roles.py", "ruff check", "ruff format --check"):
        assert tool in recipe and tool in entries, tool
    # These take minutes, and a commit 20 seconds.
    assert "ansible-lint" in recipe and "$(MAKE) types" in recipe
    typed = re.search(r"^typed = (?:.*\\\n)*.*", makefile, re.MULTILINE)[0]
    assert all(folder in typed for folder in ("/plugins", "lab", "tests/"))
    workflow = yaml.safe_load((PROJECT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    assert "lint" in workflow["jobs"]["quick"]["strategy"]["matrix"]["step"]
