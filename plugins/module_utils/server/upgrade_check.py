# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a MySQL server itself finds before an upgrade: tables that a newer version could not use,
and prepared XA transactions (MySQL 8.4 manual, "Preparing Your Installation for Upgrade").
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils.server import connection, login, sql
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils.server.values import text

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import Server
    from ansible_collections.dbre.semisync.plugins.types.shapes import TableCheck

TABLES = (
    "SELECT TABLE_SCHEMA AS `schema`, TABLE_NAME AS name FROM information_schema.TABLES WHERE"
    " TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA NOT IN ('information_schema',"
    " 'performance_schema') ORDER BY 1, 2"
)
# CHECK TABLE locks a table that was not checked before, and everyone else who wants it waits as
# long as it waits for the lock.
PATIENCE = "SET SESSION lock_wait_timeout = 1"
# ER_LOCK_WAIT_TIMEOUT, ER_LOCK_DEADLOCK; then ER_OPTION_PREVENTS_STATEMENT, for super_read_only.
LOCKED, READ_ONLY = (1205, 1213), 1290
# Kinds of messages of CHECK TABLE that say nothing against a table (MySQL manual, "CHECK TABLE").
HARMLESS = ("note", "info", "warning")
FINE = ("OK", "Table is already up to date")
# Seconds between two readings of prepared transactions.
PAUSE = 3.0

Table = tuple[str, str]


def tables(server: Server, seconds: float) -> TableCheck:
    """Ask about every table, one after another; no rows are read. At the first that others use, it
    ends: each costs those who wait behind it a second.

    Args:
        seconds: for all together.
    """
    server.rows(PATIENCE)
    end, listed = time.monotonic() + seconds, every_table(server)
    number, wrong, why = 0, list[str](), ""
    with contextlib.ExitStack() as opened:
        for table in listed:
            if time.monotonic() >= end:
                why = f"{seconds:g} s were not enough"
            else:
                wrong_here, why = checked(server, table, opened)
                wrong += wrong_here
            if why:
                break
            number += 1
    there = of_tables(wrong, every_table(server)) if wrong else []
    return {"tables": number, "of": len(listed), "wrong": there, "unchecked": why}


def every_table(server: Server) -> list[Table]:
    return [(text(row["schema"]), text(row["name"])) for row in server.rows(TABLES)]


def checked(server: Server, table: Table, opened: contextlib.ExitStack) -> tuple[list[str], str]:
    """(what the server says against a table, why it was not checked). To note that a table was
    checked, a server that is super_read_only must not be so for a moment.

    Raises:
        ServerError: the server is gone.
    """
    try:
        try:
            return problems(server.rows(statement(table))), ""
        except ServerError as error:
            if error.number != READ_ONLY:
                raise
            opened.enter_context(connection.open_to_root(server))
            return problems(server.rows(statement(table))), ""
    except ServerError as error:
        if error.number in LOCKED:
            return [], f"{dotted(table)} is in use: {error}"
        if error.number in login.NOT_ALLOWED:
            return [], f"the login lacks a privilege on {dotted(table)}, SELECT: {error}"
        if error.number == READ_ONLY:
            return [], f"{dotted(table)}: {error}"
        raise


def dotted(table: Table) -> str:
    return ".".join(table)


def statement(table: Table) -> str:
    """The statement that checks a table, given as its schema and its name."""
    return f"CHECK TABLE {'.'.join(sql.quote(name) for name in table)} FOR UPGRADE"


def problems(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """What the rows of CHECK TABLE say against tables, a text for each message."""
    messages: dict[str, None] = {}
    for row in rows:
        kind, words = text(row["Msg_type"]).lower(), text(row["Msg_text"])
        if kind not in HARMLESS and words not in FINE:
            messages[f"{text(row['Table'])}: {words}"] = None
    return list(messages)


def of_tables(wrong: Sequence[str], listed: Sequence[Table]) -> list[str]:
    """What is said of tables that are there; a client or the applier may have dropped others."""
    there = tuple(f"{dotted(table)}: " for table in listed)
    return [words for words in wrong if words.startswith(there)]


def stuck(server: Server) -> int:
    """How many XA transactions were prepared all the time between two readings; a transaction
    manager has some prepared at each moment.
    """
    first = xids(server)
    if not first:
        return 0
    time.sleep(PAUSE)
    return len(first & xids(server))


def xids(server: Server) -> set[tuple[str, ...]]:
    """The prepared XA transactions."""
    return {tuple(str(value) for value in row.values()) for row in server.rows("XA RECOVER")}


def wait_for_none(server: Server, seconds: float) -> int:
    """Wait for a moment without a prepared XA transaction; 0, or how many there still are."""
    end = time.monotonic() + seconds
    while True:
        left = len(xids(server))
        if not left or time.monotonic() >= end:
            return left
        time.sleep(0.1)
