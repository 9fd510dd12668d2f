# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal of a cluster: a table with a row for every change of roles, which replicates with the
data. Rows are only inserted: a new state of an operation is a new row, and the newest one counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils.server.sql import filled, quote
from ansible_collections.dbre.semisync.plugins.module_utils.server.values import text

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.types.shapes import (
        HeldRow,
        JournalRow,
        Past,
        SettingsRows,
        Variables,
    )

TABLE = "semisync_journal"
SWITCHOVER, FAILOVER, REJOIN = "switchover", "failover", "rejoin"
# Not of a change of roles: a playbook changes what a source waits for. Every reader of roles passes
# over it; a look that is older than the row `done` proves nothing any more.
SETTINGS = "settings"
BEGUN, DONE, UNDONE = "begun", "done", "undone"
# What became of an operation, or of a part of it, that has no row of its own.
REFUSED, UNKNOWN = "refused", "unknown"
# MySQL's numbers for a schema and for a table that is not there.
NOT_THERE = (1049, 1146)


class Entry(NamedTuple):
    """One row, as it is written; its number and its time are the server's.

    Attributes:
        operation: switchover, failover, rejoin or settings.
        run: token of the operation; its rows have it in common.
        state: begun, done or undone.
        from_host: inventory name of the source before; with rejoin, of the host that comes back.
        to_host: inventory name of the source afterwards.
        from_id, to_id: their server_uuid where the server has one, else their server_id.
        position: GTID set or position of the change.
        verdict, details: what is known of it, in words.
    """

    operation: str
    run: str
    state: str
    from_host: str
    to_host: str
    from_id: str
    to_id: str
    position: str = ""
    verdict: str = ""
    details: str = ""


def table_name(schema: str) -> str:
    return f"{quote(schema)}.{quote(TABLE)}"


def identity(variables: Variables) -> str:
    """What the journal knows a server by, from its variables."""
    return str(variables.get("server_uuid") or variables.get("server_id") or "")


def ends(row: JournalRow) -> tuple[tuple[str, str], tuple[str, str]]:
    """(identity, inventory name) of the source afterwards, and of the one before."""
    return (row.get("to_id", ""), row["to_host"]), (row.get("from_id", ""), row["from_host"])


def create_statements(schema: str) -> list[str]:
    return [
        f"CREATE DATABASE IF NOT EXISTS {quote(schema)}",
        (
            f"CREATE TABLE IF NOT EXISTS {table_name(schema)} (number INT UNSIGNED NOT NULL"
            " AUTO_INCREMENT PRIMARY KEY, operation VARCHAR(16) NOT NULL, run VARCHAR(64) NOT NULL,"
            " state VARCHAR(16) NOT NULL, from_host VARCHAR(255) NOT NULL, to_host VARCHAR(255) NOT"
            " NULL, from_id VARCHAR(64) NOT NULL, to_id VARCHAR(64) NOT NULL, happened DATETIME NOT"
            " NULL, position TEXT NOT NULL, verdict VARCHAR(64) NOT NULL, details TEXT NOT NULL)"
            " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"
        ),
    ]


def insert_statement(schema: str) -> str:
    """Takes the fields of an Entry as its arguments. The time is UTC, whoever reads it where."""
    columns = ", ".join(quote(name) for name in Entry._fields)
    places = ", ".join("%s" for _name in Entry._fields)
    into = filled("INSERT INTO {table}", table=(schema, TABLE))
    return f"{into} ({columns}, happened) VALUES ({places}, UTC_TIMESTAMP())"


def insert(server: Server, schema: str, entry: Entry) -> None:
    """Write one row; returns when the server has confirmed it.

    Raises:
        ServerError: the server refuses it.
    """
    server.rows(insert_statement(schema), tuple(entry))


def newest(server: Server, schema: str) -> JournalRow | None:
    """The newest row, its number as a number and everything else as text; None if no change of
    roles was ever written.

    Raises:
        ServerError: it is there, and cannot be read.
    """
    columns = ", ".join(quote(name) for name in Entry._fields)
    rest = filled(
        "FROM {table} WHERE operation <> %s ORDER BY number DESC LIMIT 1", table=(schema, TABLE)
    )
    try:
        rows = server.rows(f"SELECT number, {columns}, happened {rest}", (SETTINGS,))
    except ServerError as error:
        if error.number in NOT_THERE:
            return None
        raise
    if not rows:
        return None
    row = {name: text(value) for name, value in rows[0].items()}
    number = int(row["number"])
    happened = row["happened"].replace(" ", "T") + "Z"
    return cast("JournalRow", dict(row, number=number, happened=happened))


def past(server: Server, schema: str) -> Past:
    """`held`, the servers that a failover took the source's role from, and that are not back (see
    left_by_failover()), `settings_row` and `settings_open` (see of_settings()).

    Raises:
        ServerError: the journal is there, and cannot be read.
    """
    asked = filled(
        "SELECT number, operation, run, state, from_host, to_host, from_id, to_id, happened FROM"
        " {table} WHERE state = %s OR operation = %s ORDER BY number",
        table=(schema, TABLE),
    )
    try:
        answer = server.rows(asked, (DONE, SETTINGS))
    except ServerError as error:
        if error.number in NOT_THERE:
            return {"held": [], **of_settings([])}
        raise
    rows = [{name: text(value) for name, value in row.items()} for row in answer]
    changes = [row for row in rows if row["operation"] != SETTINGS]
    return {
        "held": left_by_failover(changes),
        **of_settings([row for row in rows if row["operation"] == SETTINGS]),
    }


def of_settings(rows: list[dict[str, str]]) -> SettingsRows:
    """`settings_row`, the number of the newest row of settings, and `settings_open`, that of the
    oldest change that was begun and neither done nor undone; each 0 if there is none.

    Args:
        rows: all of settings, the oldest first.
    """
    return {
        "settings_row": max((int(row["number"]) for row in rows), default=0),
        "settings_open": min((int(row["number"]) for row in open_ones(rows)), default=0),
    }


def open_ones(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows of operations that were begun and neither done nor undone."""
    over = {row["run"] for row in rows if row["state"] != BEGUN}
    return [row for row in rows if row["run"] not in over]


def unfinished(server: Server, schema: str) -> dict[str, int]:
    """The changes of settings that are still open: token to age in seconds, by the server's clock.

    Raises:
        ServerError: the journal is there, and cannot be read.
    """
    asked = filled(
        "SELECT number, run, state, TIMESTAMPDIFF(SECOND, happened, UTC_TIMESTAMP()) AS age FROM"
        " {table} WHERE operation = %s ORDER BY number",
        table=(schema, TABLE),
    )
    try:
        answer = server.rows(asked, (SETTINGS,))
    except ServerError as error:
        if error.number in NOT_THERE:
            return {}
        raise
    rows = [{name: text(value) for name, value in row.items()} for row in answer]
    return {row["run"]: int(row["age"]) for row in open_ones(rows)}


def left_by_failover(rows: list[dict[str, str]]) -> list[HeldRow]:
    """Who was the source before a failover, and has had no part in a change of roles since.

    Args:
        rows: all of roles that are done, the oldest first.

    Returns:
        list of host (its inventory name then), id, to_host and happened.
    """
    away: dict[str, HeldRow] = {}
    for row in rows:
        for number in (row["from_id"], row["to_id"]):
            away.pop(number, None)
        if row["operation"] == FAILOVER:
            away[row["from_id"]] = {
                "host": row["from_host"],
                "id": row["from_id"],
                "to_host": row["to_host"],
                "happened": row["happened"].replace(" ", "T") + "Z",
            }
    return list(away.values())
