# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One mechanism for one thing: what the plugins do in one place only."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
SOURCES = {
    str(path.relative_to(PLUGINS)): path.read_text(encoding="utf-8")
    for path in sorted(PLUGINS.rglob("*.py"))
}


@functools.cache
def trees() -> dict[str, ast.Module]:
    return {name: ast.parse(text) for name, text in SOURCES.items()}


def places(pattern: str) -> list[str]:
    """The file of each place where the pattern is found."""
    return [name for name, text in SOURCES.items() for _match in re.finditer(pattern, text)]


@pytest.mark.parametrize(
    "pattern,place",
    [
        # A timer that undoes something on a host.
        (r"def arm_command\(", "module_utils/_host/timer.py"),
        (r"--on-active", "module_utils/_host/timer.py"),
        (r'"list-units"', "module_utils/_host/timer.py"),
        # An option file with which the servers' programs log in.
        (r"def client_options\(", "module_utils/_server/client_login.py"),
        (r"\[client\]\"", "module_utils/_server/client_login.py"),
        (r"def secret_file\(", "module_utils/_server/client_login.py"),
        # What goes into the text of a statement.
        (r"def set_statement\(", "module_utils/_server/sql.py"),
        (r"def quote\(", "module_utils/_server/sql.py"),
        (r"def quote_text\(", "module_utils/_server/sql.py"),
        (r"replace\(.`., .``.\)", "module_utils/_server/sql.py"),
        (r"def canonical_value\(", "module_utils/_server/values.py"),
        # What says whether a commit is on the disk.
        (
            r'"sync_binlog",\s+"innodb_flush_log_at_trx_commit"[\])]',
            "module_utils/_server/names.py",
        ),
        # The drivers' exceptions.
        (r"share no exception class", "module_utils/_server/errors.py"),
        # Waiting until something is so.
        (r"def wait_until\(", "module_utils/_host/clock.py"),
        # How long something still takes.
        (r"\} left\"", "plugin_utils/_common/progress.py"),
        # Counters and figures.
        (r"def rises\(", "module_utils/_server/values.py"),
        (r"def median\(", "module_utils/_bench/statistics.py"),
        (r"def stdev\(", "module_utils/_bench/statistics.py"),
        # A canary row.
        (r"INSERT INTO \{table\} \(details", "module_utils/_canary/canary_rows.py"),
        # A row of the journal.
        (
            r"INSERT INTO \{table\}\", table=\(schema, TABLE",
            "module_utils/_replication/journal_writing.py",
        ),
        # A process that outlives its module.
        (r"os\.setsid\(", "module_utils/_host/detached.py"),
        (r"os\.devnull, os\.O_RDWR", "module_utils/_host/detached.py"),
        (r"syslog\.openlog\(", "module_utils/_host/detached.py"),
        # A list of statements.
        (
            r"for statement, arguments in \w+:\s+(self\.)?\w+\.rows\(statement, arguments\)",
            "module_utils/_server/connection.py",
        ),
        # A login to another member.
        (r"connect_to\(\s+there\.host", "module_utils/_role_change/log_in.py"),
        # The state of a change of roles, and what became of it.
        (r'"begun", "done", "undone"', "module_utils/_replication/journal.py"),
        (r'"refused"', "module_utils/_replication/journal.py"),
        # A time as text, and back.
        (r"%Y-%m-%dT%H:%M:%SZ", "module_utils/_host/clock.py"),
        (r"%Y-%m-%dT%H:%M:%S\.%f", "module_utils/_host/clock.py"),
        (r"%Y-%m-%dT%H%M%S", "plugin_utils/_common/results.py"),
        (r"\.strptime\(words", "module_utils/_host/clock.py"),
        # Round trips.
        (r"def parse_ping\(", "module_utils/_bench/ping.py"),
    ],
)
def test_it_is_done_in_one_place(pattern: str, place: str) -> None:
    assert places(pattern) == [place]


def test_what_became_of_a_change_of_roles_is_called_by_its_constant() -> None:
    words = "(done|undone|refused|unknown|begun)"
    for pattern in (rf'"(outcome|state)"\] [!=]?= "{words}"', rf'outcome="{words}"'):
        # A seeding's marker has states of its own.
        assert [name for name in places(pattern) if "/seed/" not in name] == []


def test_no_waiting_goes_by_a_clock_that_somebody_may_set() -> None:
    assert places(r"time\.time\(\) *[<>]|[<>]=? *time\.time\(\)|time\.time\(\) - \w+ *[<>]") == []
    assert places(r"\b(until|end|deadline) = time\.time\(\)") == []


def test_exceptions_end_in_error() -> None:
    """By the name of what they inherit from, which is an exception's where it ends like one."""
    named = [
        f"{name}: {node.name}"
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and any(
            isinstance(base, ast.Name) and re.search(r"(Error|Exception)\Z", base.id)
            for base in node.bases
        )
        and not node.name.endswith("Error")
    ]
    assert named == []


ENGINES = ("mariadb", "is_mariadb", "mysql", "is_mysql", "percona")
GTIDS = "module_utils/_replication/gtids.py"
# What cuts a text at a colon beside it: addresses with a port, and a qdisc's handle.
COLONS = {
    GTIDS,
    "module_utils/_answer/answer_layout.py",
    "plugin_utils/_plans/answer.py",
    "module_utils/_bench/netem/safeguards.py",
    "module_utils/_server/connection.py",
}


def cuts(tree: ast.AST, separator: str) -> bool:
    """Whether it cuts a text at a separator."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("split", "rsplit", "partition", "rpartition")
        and any(
            isinstance(part, ast.Constant) and part.value in (separator, separator.encode())
            for part in [*node.args, *(keyword.value for keyword in node.keywords)]
        )
        for node in ast.walk(tree)
    )


def test_gtids_are_read_and_written_in_one_place() -> None:
    assert {name for name, tree in trees().items() if cuts(tree, ":")} == COLONS
    assert {name for name, tree in trees().items() if cuts(tree, "-")} == {GTIDS}
    assert set(places(r"\{\w+\}-\{\w+\}-\{\w+\}|\{\w+\}:\{\w+\}-\{\w+\}")) == {GTIDS}
    assert places(r"import gtid\b(?! as)") == []


def test_no_engine_is_handed_on_as_a_boolean() -> None:
    """Code that compares GTIDs gets values of them, all other code the engine or the server's
    names.
    """
    handed = [
        f"{name}:{node.lineno}"
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.arg) and node.arg in ENGINES)
        or (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and node.target.id in ENGINES
        )
        if getattr(node.annotation, "id", "") == "bool"
    ]
    assert handed == []


# Shapes of what was observed: the one of checks, the one of a host's part, which becomes a check on
# the controller, and two that files of results keep.
OBSERVED = {"Judged", "PartPoint", "SwitchoverPremise", "Observation"}


def classes_with(field: str) -> set[str]:
    """The names of the classes that declare a field."""
    return {
        node.name
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for each in node.body
        if isinstance(each, ast.AnnAssign) and ast.unparse(each.target) == field
    }


def test_what_was_checked_has_one_shape() -> None:
    assert classes_with("observed") == OBSERVED
    assert classes_with("acceptable") == {"Case", "CaseRow"}
