# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user reads, in documentation and in messages, is in the field's own words: "behind" is
said of lag, and the one who acts has a name.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"``?[^`]+``?|\]\([^)\s]+\)")
COMMENT = re.compile(r"^ *# ?(.*)$", re.MULTILINE)

PERSONS = re.compile(r"\b(?:nobody|whoever|somebody|anybody)\b", re.IGNORECASE)
# In documentation and in messages together.
MOST_PERSONS = 0
# In docstrings and comments of plugins and roles, but for names in the code.
MOST_PERSONS_IN_NOTES = 0
NAMES = re.compile(r"\bNOBODY\b|\banybody:")
# In messages, of something else than lag; none in documentation.
MOST_BEHIND = 0
BEHIND = re.compile(r"\bbehind\b", re.IGNORECASE)
LAG = re.compile(
    r"\b(?:seconds|s|lags?|lagging|falls|far) behind\b"
    r"|\b(?:applier|replica) (?:that )?is behind\b"
    r"|\bbehind (?:the|its|their) source\b"
    r"|\b(?:leaves?|left)(?: a process)? behind\b"
    r"|\bbehind HAProxy\b"
    r'|"behind"',
    re.IGNORECASE,
)
# A phrase that no manual of these servers has, and what to write.
DIALECT = {
    r"\b(?:stop|stops|stopped|ended) in order\b": "a clean shutdown",
    r"\bgo(?:es|ing)? over to\b": "migrates to",
    r"\bmend(?:s|ed|ing)?\b": "repairs, or fixes",
    r"\bchanges? of roles\b": "a role change",
    r"\bbroken line\b": "a network fault, or cut off",
    r"\bunder way\b": "in progress",
}


def page(path: Path) -> str:
    """A page's sentences, without blocks of code, words in backticks and targets of links."""
    return CODE.sub("", FENCE.sub("", path.read_text(encoding="utf-8")))


def comments(path: Path) -> str:
    return "\n".join(COMMENT.findall(path.read_text(encoding="utf-8")))


def descriptions(path: Path) -> str:
    """The descriptions of an argument spec: what follows a key, and lines without one."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return "\n".join(re.sub(r"^ *\w+:(?= |$)", "", line) for line in lines)


def documentation(path: Path) -> str:
    """A public module's page, as ansible-doc shows it; nothing of a module that is internal."""
    texts = [
        ast.literal_eval(node.value)
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign)
        and getattr(node.targets[0], "id", "") in {"DOCUMENTATION", "RETURN"}
    ]
    return (
        "" if any("short_description: (internal)" in text for text in texts) else "\n".join(texts)
    )


def is_page(node: ast.AST) -> bool:
    names = {"DOCUMENTATION", "EXAMPLES", "RETURN"}
    return isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in names


def joined(node: ast.JoinedStr) -> str:
    """An f-string with an ellipsis for each value that it puts in."""
    parts = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
    return "".join(map(str, parts))


def messages(text: str) -> list[str]:
    """The literals of a program that are sentences: no docstrings, pages or single words."""
    tree = ast.parse(text)
    passed_over: set[ast.AST] = set()
    sentences: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) or is_page(node):
            passed_over.add(node.value)  # type: ignore[attr-defined]
        elif isinstance(node, ast.JoinedStr):
            passed_over.update(node.values)
            sentences.append(joined(node))
        elif isinstance(node, ast.Constant) and node not in passed_over:
            sentences.append(str(node.value))
    return [sentence for sentence in sentences if " " in sentence]


def notes(text: str) -> str:
    """The docstrings and comments of a program."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    found = [token.string for token in tokens if token.type == tokenize.COMMENT]
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, kinds):
            found.append(ast.get_docstring(node) or "")
    return NAMES.sub("", "\n".join(found))


def programs() -> list[Path]:
    return sorted([*PROJECT.glob("plugins/**/*.py"), *PROJECT.glob("roles/*/files/*.py")])


def said() -> dict[str, list[str]]:
    """File -> the messages of a program that runs on a host or on the controller."""
    return {
        str(path.relative_to(PROJECT)): messages(path.read_text(encoding="utf-8"))
        for path in programs()
    }


def read() -> dict[str, str]:
    """File -> what a user reads of it, on one line."""
    kinds = [
        (page, ["README.md", "CONTRIBUTING.md", "SECURITY.md", "monitoring/README.md"]),
        (page, ["docs/*.md", "docs/evidence/*.md", "roles/*/README.md"]),
        (comments, ["roles/*/defaults/*.yml", "roles/*/tasks/*.yml", "roles/*/vars/*.yml"]),
        (comments, ["playbooks/**/*.yml"]),
        (descriptions, ["roles/*/meta/argument_specs.yml", "monitoring/*.rules.yml"]),
        (documentation, ["plugins/modules/*.py"]),
    ]
    return {
        str(path.relative_to(PROJECT)): " ".join(reader(path).split())
        for reader, patterns in kinds
        for pattern in patterns
        for path in sorted(PROJECT.glob(pattern))
    }


READ = read()
SAID = said()


def around(text: str, match: re.Match[str]) -> str:
    return text[max(0, match.start() - 40) : match.end() + 40]


def not_of_lag(text: str) -> list[str]:
    """Each "behind" that is said of something else than lag, with the words around it."""
    allowed = [match.span() for match in LAG.finditer(text)]
    return [
        around(text, match)
        for match in BEHIND.finditer(text)
        if not any(begin <= match.start() < end for begin, end in allowed)
    ]


@pytest.mark.parametrize(
    ("sentence", "count"),
    [
        ("The replica is 10 seconds behind the source.", 0),
        ("It lags behind by a minute.", 0),
        ("A host that a failover left behind.", 0),
        ("The task runs behind the certificate.", 1),
        ("Behind step 2 it waits.", 1),
    ],
)
def test_what_counts_as_said_of_lag(sentence, count):
    assert len(not_of_lag(sentence)) == count


def test_what_a_user_reads_is_found():
    assert {"README.md", "docs/failover.md", "playbooks/parts/apply.yml"} <= set(READ)
    assert {"docs/findings.md", "docs/backlog.md"} <= set(READ)
    assert READ["plugins/modules/semisync_info.py"]
    assert not READ["plugins/modules/semisync_plan.py"]
    assert "Seconds that the target may lag" in READ["roles/switchover/meta/argument_specs.yml"]


def test_behind_is_said_of_lag_only():
    assert {name: said for name, text in READ.items() if (said := not_of_lag(text))} == {}


def test_what_counts_as_a_message():
    program = '''"""No docstring."""
DOCUMENTATION = "no page of a module"
word = "word"
told = f"{word} lags by {2} seconds"
raise ValueError("it has " "no replica")
'''
    assert messages(program) == ["… lags by … seconds", "it has no replica"]


def test_a_message_says_behind_of_lag_and_of_little_else():
    wrong = [
        (name, sentence)
        for name, sentences in SAID.items()
        for sentence in sentences
        if not_of_lag(sentence)
    ]
    assert len(wrong) <= MOST_BEHIND, wrong


def test_the_one_who_acts_has_a_name():
    texts = list(READ.items())
    texts += [(name, sentence) for name, sentences in SAID.items() for sentence in sentences]
    found = [
        (name, around(text, match)) for name, text in texts for match in PERSONS.finditer(text)
    ]
    assert len(found) <= MOST_PERSONS, (len(found), found)


def test_what_counts_as_a_note():
    program = '''"""Waits for nobody."""
NOBODY = "whoever"  # somebody's, not NOBODY's
def wait(anybody):
    """Args: anybody: whether to wait."""
'''
    assert PERSONS.findall(notes(program)) == ["somebody", "nobody"]


def test_a_docstring_or_comment_says_who_acts():
    found = [
        (str(path.relative_to(PROJECT)), around(text, match))
        for path in programs()
        for text in [notes(path.read_text(encoding="utf-8"))]
        for match in PERSONS.finditer(text)
    ]
    assert len(found) <= MOST_PERSONS_IN_NOTES, (len(found), found)


@pytest.mark.parametrize(("phrase", "better"), DIALECT.items(), ids=list(DIALECT.values()))
def test_the_fields_term_is_used(phrase, better):
    said = {
        name: around(text, match)
        for name, text in READ.items()
        for match in re.finditer(phrase, text, re.IGNORECASE)
    }
    assert said == {}, f"write: {better}"
