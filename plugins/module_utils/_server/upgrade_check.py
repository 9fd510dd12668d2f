# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a MySQL server itself finds before an upgrade: tables that a newer version could not use,
and prepared XA transactions (MySQL 8.4 manual, "Preparing Your Installation for Upgrade").
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Tuple

from ansible_collections.dbre.semisync.plugins.module_utils._server import login, sql
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import text

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
    from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import TableCheck

TABLES = (
    "SELECT TABLE_SCHEMA AS `schema`, TABLE_NAME AS name FROM information_schema.TABLES WHERE"
    " TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA NOT IN ('information_schema',"
    " 'performance_schema') ORDER BY 1, 2"
)
# CHECK TABLE locks a table that was not checked before, and everyone else who wants it waits as
# long as it waits for the lock. Its messages are compared with the server's own English.
SESSION = "SET SESSION lock_wait_timeout = 1, lc_messages = 'en_US'"
# ER_LOCK_WAIT_TIMEOUT, ER_LOCK_DEADLOCK; and the same as messages of CHECK TABLE, if it could not
# open the table (sql_admin.cc).
LOCKED, WAITED = (1205, 1213), ("Lock wait timeout exceeded", "Deadlock found")
# ER_OPTION_PREVENTS_STATEMENT: the server is super_read_only, and would note that it was checked.
READ_ONLY = 1290
# Kinds of messages of CHECK TABLE that say nothing against a table (MySQL manual, "CHECK TABLE").
HARMLESS = ("note", "info", "warning")
FINE = ("OK", "Table is already up to date")
# Seconds between two readings of prepared transactions.
PAUSE = 3.0

Table = Tuple[str, str]


def tables(server: Server, seconds: float) -> TableCheck:
    """Ask about every table, one after another; no rows are read. At the first that is not checked,
    it ends: each costs the clients that wait for the same table a second.

    Args:
        seconds: for all together.

    Raises:
        ServerError: the server is gone.
    """
    server.rows(SESSION)
    end, listed = time.monotonic() + seconds, every_table(server)
    wrong: list[str] = []
    number, why = 0, ""
    for table in listed:
        if time.monotonic() >= end:
            why = f"{seconds:g} s (semisync_restart_timeout) were not enough"
        else:
            wrong_here, why = checked(server, table)
            wrong += wrong_here
        if why:
            break
        number += 1
    there = of_tables(wrong, every_table(server)) if wrong else []
    return {"tables": number, "of": len(listed), "wrong": there, "unchecked": why}


def every_table(server: Server) -> list[Table]:
    return [(text(row["schema"]), text(row["name"])) for row in server.rows(TABLES)]


def checked(server: Server, table: Table) -> tuple[list[str], str]:
    """(what the server says against a table, why it was not checked).

    Raises:
        ServerError: the server is gone.
    """
    try:
        said = problems(server.rows(statement(table)))
    except ServerError as error:
        if error.number in LOCKED:
            return [], f"{dotted(table)} is in use: {error}"
        if error.number == READ_ONLY or error.number in login.NOT_ALLOWED:
            return [], f"{dotted(table)}: {error}"
        raise
    waited = [words for words in said if any(one in words for one in WAITED)]
    if waited:
        return [], f"{waited[0]}; it is in use, or a backup locks the server"
    return said, ""


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


def stop_without_prepared(server: Server, names: Names, applies: bool, seconds: float) -> int:
    """Stop a replica's applier in a moment without a prepared XA transaction, so that none comes
    before the server stops; 0, or how many there still are, and then it applies as before.

    Args:
        applies: whether its applier runs.
    """
    stop, start = (f"{word} {names.replica_word} SQL_THREAD" for word in ("STOP", "START"))
    end = time.monotonic() + seconds
    while True:
        left = len(xids(server))
        if not left and applies:
            server.rows(stop)
            left = len(xids(server))
            if left:
                server.rows(start)
        if not left or time.monotonic() >= end:
            return left
        time.sleep(0.1)
