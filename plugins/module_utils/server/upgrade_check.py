# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a MySQL server itself finds before an upgrade: tables that a newer version could not use,
and prepared XA transactions (MySQL 8.4 manual, "Preparing Your Installation for Upgrade").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils.server import sql
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils.server.values import text

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import Server
    from ansible_collections.dbre.semisync.plugins.types.shapes import UpgradeCheck

TABLES = (
    "SELECT TABLE_SCHEMA AS `schema`, TABLE_NAME AS name FROM information_schema.TABLES WHERE"
    " TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA NOT IN ('information_schema',"
    " 'performance_schema') ORDER BY 1, 2"
)
# Tables in one statement.
MANY = 100
# Seconds for which others may lock a table, and the error after that (ER_LOCK_WAIT_TIMEOUT).
PATIENCE = 5
LOCKED = 1205
# Kinds of messages of CHECK TABLE that say nothing against a table (MySQL manual, "CHECK TABLE").
HARMLESS = ("note", "info", "warning")
FINE = ("OK", "Table is already up to date")


def ask(server: Server) -> UpgradeCheck:
    """The prepared XA transactions, and if there is none, as they lock tables, the check of every
    table, which reads no rows.

    Raises:
        ServerError: the login may not ask.
    """
    prepared = len(server.rows("XA RECOVER"))
    if prepared:
        return {"tables": 0, "wrong": [], "prepared": prepared}
    server.rows(f"SET SESSION lock_wait_timeout = {PATIENCE}")
    tables = [(text(row["schema"]), text(row["name"])) for row in server.rows(TABLES)]
    wrong = [
        words
        for start in range(0, len(tables), MANY)
        for words in checked(server, tables[start : start + MANY])
    ]
    return {"tables": len(tables), "wrong": wrong, "prepared": 0}


def checked(server: Server, tables: Sequence[tuple[str, str]]) -> list[str]:
    """What the server says against some tables; one that others have locked fails them all, so they
    are then asked for one by one.
    """
    try:
        return problems(server.rows(statement(tables)))
    except ServerError as error:
        if error.number != LOCKED:
            raise
        if len(tables) == 1:
            return [f"{'.'.join(tables[0])}: {error}"]
        return [words for table in tables for words in checked(server, [table])]


def statement(tables: Sequence[tuple[str, str]]) -> str:
    """The statement that checks tables, each with its schema."""
    names = ", ".join(f"{sql.quote(schema)}.{sql.quote(name)}" for schema, name in tables)
    return f"CHECK TABLE {names} FOR UPGRADE"


def problems(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """What the rows of CHECK TABLE say against tables, a text for each message."""
    messages: dict[str, None] = {}
    for row in rows:
        kind, words = text(row["Msg_type"]).lower(), text(row["Msg_text"])
        if kind not in HARMLESS and words not in FINE:
            messages[f"{text(row['Table'])}: {words}"] = None
    return list(messages)
