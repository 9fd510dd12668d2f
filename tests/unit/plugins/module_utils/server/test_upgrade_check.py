# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a server itself finds before an upgrade: its tables, and prepared transactions."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils.server import (
    connection,
    errors,
    upgrade_check,
)


def row(table, kind, words):
    return {"Table": table, "Op": "check", "Msg_type": kind, "Msg_text": words}


@pytest.mark.parametrize(
    "rows,found",
    [
        ([row("s.t", "status", "OK")], []),
        ([row("s.t", "status", "Table is already up to date")], []),
        ([row("s.t", "note", "The storage engine for the table doesn't support check")], []),
        ([row("s.t", b"status", b"OK")], []),
        (
            [
                row("s.t", "Error", "Tablespace is missing"),
                row("s.t", "status", "Operation failed"),
            ],
            ["s.t: Tablespace is missing", "s.t: Operation failed"],
        ),
        ([row("s.t", "error", "Table rebuild required.")] * 2, ["s.t: Table rebuild required."]),
    ],
)
def test_only_what_is_said_against_a_table_counts(rows, found):
    assert upgrade_check.problems(rows) == found


class Cursor:
    """A server with some tables, of which some answer with errors, and prepared transactions.

    Args:
        errors: table -> the errors of its next statements.
        prepared: what each XA RECOVER returns, the last one again and again.
    """

    def __init__(self, tables, errors=None, prepared=((),), says=None, variables=None):
        self.tables, self.errors, self.prepared = tables, errors or {}, list(prepared)
        self.says, self.variables, self.said = says or {}, variables or {}, []

    def execute(self, statement, _arguments=None):
        self.said.append(statement)
        for name, numbers in self.errors.items():
            if f"`{name}` FOR" in statement and numbers:
                raise ValueError(numbers.pop(0), "the server's words")

    def fetchall(self):
        last = self.said[-1]
        if last == "XA RECOVER":
            now = self.prepared.pop(0) if len(self.prepared) > 1 else self.prepared[0]
            return [{"formatID": 1, "data": name} for name in now]
        if last == upgrade_check.TABLES:
            return [{"schema": "s", "name": name} for name in self.tables]
        if last == "SHOW GLOBAL VARIABLES":
            return [
                {"Variable_name": name, "Value": value} for name, value in self.variables.items()
            ]
        return [row for name, rows in self.says.items() if f"`{name}` FOR" in last for row in rows]

    @property
    def checks(self):
        return [one for one in self.said if one.startswith("CHECK TABLE")]


def ask(cursor, seconds=60):
    return upgrade_check.tables(connection.Server(cursor), seconds)


def test_every_table_is_checked_with_a_short_wait_for_its_lock():
    cursor = Cursor(["a", "b"], says={"b": [row("s.b", "error", "Table rebuild required.")]})
    assert ask(cursor) == {
        "tables": 2,
        "of": 2,
        "wrong": ["s.b: Table rebuild required."],
        "unchecked": "",
    }
    assert cursor.said[0] == "SET SESSION lock_wait_timeout = 1"
    assert len(cursor.checks) == 2


@pytest.mark.parametrize("number", [1205, 1213])
def test_the_first_table_that_others_use_ends_it(number):
    cursor = Cursor(["a", "b", "c"], {"b": [number]})
    answer = ask(cursor)
    assert (answer["tables"], answer["of"]) == (1, 3)
    assert answer["unchecked"].startswith("s.b is in use: ")
    # It is not asked twice, and nor are those after it: whoever waits behind it waits a second.
    assert len(cursor.checks) == 2


def test_it_ends_in_time():
    cursor = Cursor(["a", "b"])
    assert ask(cursor, 0)["unchecked"] == "0 s were not enough"
    assert not cursor.checks


def test_super_read_only_is_off_only_while_tables_are_checked():
    cursor = Cursor(["a", "b"], {"b": [1290]}, variables={"super_read_only": "ON"})
    assert ask(cursor)["unchecked"] == ""
    sets = [one for one in cursor.said if one.startswith("SET GLOBAL")]
    assert sets == ["SET GLOBAL super_read_only = OFF", "SET GLOBAL super_read_only = ON"]
    assert cursor.said.index(sets[0]) > cursor.said.index(cursor.checks[0])


@pytest.mark.parametrize("numbers,words", [([1290, 1290], "s.a: "), ([1142], "lacks a privilege")])
def test_what_the_server_refuses_is_said_in_its_words(numbers, words):
    answer = ask(Cursor(["a"], {"a": numbers}, variables={"super_read_only": "OFF"}))
    assert words in answer["unchecked"] and "the server's words" in answer["unchecked"]


def test_a_server_that_is_gone_is_an_error():
    with pytest.raises(errors.ServerError):
        ask(Cursor(["a"], {"a": [2013]}))


def test_a_table_that_was_dropped_meanwhile_is_not_wrong():
    cursor = Cursor(["a", "b"], says={"b": [row("s.b", "Error", "Table 's.b' doesn't exist")]})
    before = cursor.fetchall

    def fetchall():
        rows = before()
        if cursor.checks and cursor.said[-1] == upgrade_check.TABLES:
            return rows[:1]
        return rows

    cursor.fetchall = fetchall
    assert ask(cursor)["wrong"] == []


@pytest.mark.parametrize(
    "prepared,number",
    [
        ([()], 0),
        # A transaction manager has one prepared at each moment, and never the same.
        ([("a",), ("b",)], 0),
        ([("a", "b"), ("b", "c")], 1),
    ],
)
def test_only_transactions_that_stay_prepared_count(prepared, number, monkeypatch):
    monkeypatch.setattr(upgrade_check, "PAUSE", 0)
    assert upgrade_check.stuck(connection.Server(Cursor([], prepared=prepared))) == number


@pytest.mark.parametrize("prepared,left", [([("a",), ()], 0), ([("a", "b")], 2)])
def test_a_server_is_stopped_in_a_moment_without_prepared_transactions(prepared, left):
    server = connection.Server(Cursor([], prepared=prepared))
    assert upgrade_check.wait_for_none(server, 0.3) == left


def test_names_are_quoted_whatever_they_are():
    assert upgrade_check.statement(("a`b", "c d")) == "CHECK TABLE `a``b`.`c d` FOR UPGRADE"
