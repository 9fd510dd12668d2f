# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a server itself finds before an upgrade: its tables, and prepared transactions."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._server import (
    connection,
    errors,
    upgrade_check,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names


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
    assert cursor.said[0].startswith("SET SESSION lock_wait_timeout = 1")
    assert len(cursor.checks) == 2


@pytest.mark.parametrize("number", [1205, 1213])
def test_the_first_table_that_others_use_ends_it(number):
    cursor = Cursor(["a", "b", "c"], {"b": [number]})
    answer = ask(cursor)
    assert (answer["tables"], answer["of"]) == (1, 3)
    assert answer["unchecked"].startswith("s.b is in use: ")
    # It is not asked twice, and nor are those after it: each costs its clients a second.
    assert len(cursor.checks) == 2


def test_it_ends_in_time():
    cursor = Cursor(["a", "b"])
    assert ask(cursor, 0)["unchecked"].startswith("0 s (semisync_restart_timeout)")
    assert not cursor.checks


@pytest.mark.parametrize(
    "rows",
    [
        [
            row("s.b", "Error", "Lock wait timeout exceeded; try restarting transaction"),
            row("s.b", "status", "Operation failed"),
        ],
        [row("s.b", "Error", "Deadlock found when trying to get lock")],
    ],
)
def test_a_lock_that_is_told_as_a_message_says_nothing_against_a_table(rows):
    # So it is under LOCK INSTANCE FOR BACKUP, and if others hold LOCK TABLES ... WRITE.
    answer = ask(Cursor(["a", "b", "c"], says={"b": rows}))
    assert (answer["tables"], answer["wrong"]) == (1, [])
    assert "a backup locks the server" in answer["unchecked"]


@pytest.mark.parametrize("number", [1290, 1142])
def test_what_the_server_refuses_is_said_in_its_words(number):
    # super_read_only stays: to switch it on again may have to wait for the applier.
    cursor = Cursor(["a"], {"a": [number]})
    answer = ask(cursor)
    assert answer["unchecked"].startswith("s.a: ") and "the server's words" in answer["unchecked"]
    assert not any("GLOBAL" in one for one in cursor.said)


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


@pytest.mark.parametrize(
    "prepared,left,said",
    [
        ([()], 0, ["STOP"]),
        ([("a",), ()], 0, ["STOP"]),
        # One came before the applier had stopped.
        ([(), ("a",), (), ()], 0, ["STOP", "START", "STOP"]),
        ([("a", "b")], 2, []),
    ],
)
def test_an_applier_stops_in_a_moment_without_prepared_transactions(prepared, left, said):
    cursor, names = Cursor([], prepared=prepared), Names("mysql", (8, 0, 45), {})
    server = connection.Server(cursor)
    assert upgrade_check.stop_without_prepared(server, names, True, 0.3) == left
    threads = [one for one in cursor.said if "SQL_THREAD" in one]
    assert threads == [f"{word} REPLICA SQL_THREAD" for word in said]


def test_an_applier_that_does_not_run_is_left_alone():
    cursor, names = Cursor([]), Names("mysql", (8, 0, 45), {})
    assert not upgrade_check.stop_without_prepared(connection.Server(cursor), names, False, 0)
    assert cursor.said == ["XA RECOVER"]


def test_names_are_quoted_whatever_they_are():
    assert upgrade_check.statement(("a`b", "c d")) == "CHECK TABLE `a``b`.`c d` FOR UPGRADE"
