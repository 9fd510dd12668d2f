# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What CHECK TABLE ... FOR UPGRADE says against tables."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils.server import (
    connection,
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
    """A server with some tables, of which some are locked, and prepared transactions."""

    def __init__(self, tables, locked=(), prepared=0):
        self.tables, self.locked, self.prepared = tables, locked, prepared
        self.said = []

    def execute(self, statement, _arguments=None):
        self.said.append(statement)
        if any(f"`{name}`" in statement for name in self.locked):
            raise ValueError(1205, "Lock wait timeout exceeded")

    def fetchall(self):
        last = self.said[-1]
        if last == "XA RECOVER":
            return [{"data": "x"}] * self.prepared
        if last == upgrade_check.TABLES:
            return [{"schema": "s", "name": name} for name in self.tables]
        return []


def test_every_table_is_checked_and_one_that_is_locked_is_named():
    names = [f"t{number}" for number in range(upgrade_check.MANY + 1)]
    cursor = Cursor(names, locked=["t7"])
    found = upgrade_check.ask(connection.Server(cursor))
    (wrong,) = found["wrong"]
    assert wrong.startswith("s.t7: ") and "Lock wait timeout" in wrong
    assert found["tables"] == len(names) and found["prepared"] == 0
    checks = " ".join(one for one in cursor.said if one.startswith("CHECK TABLE"))
    assert all(f"`s`.`{name}`" in checks for name in names)


def test_prepared_transactions_lock_tables_so_only_they_are_counted():
    cursor = Cursor(["t"], prepared=2)
    assert upgrade_check.ask(connection.Server(cursor))["prepared"] == 2
    assert cursor.said == ["XA RECOVER"]


def test_names_are_quoted_whatever_they_are():
    said = upgrade_check.statement([("a`b", "c"), ("d", "e f")])
    assert said == "CHECK TABLE `a``b`.`c`, `d`.`e f` FOR UPGRADE"
