# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal of a cluster: a table with a row for every role change, which replicates with the
data. Rows are only inserted: a new state of an operation is a new row, and the newest one counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import filled, quote
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import text

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        HeldRow,
        JournalRow,
        Past,
        SettingsRows,
        Variables,
    )

TABLE = "semisync_journal"
SWITCHOVER, FAILOVER, REJOIN = "switchover", "failover", "rejoin"
# Not a role change: a playbook changes what a source waits for. Readers of role changes skip it; a
# look that is older than the row `done` no longer proves anything.
SETTINGS = "settings"
BEGUN, DONE, UNDONE = "begun", "done", "undone"
# The outcome of an operation, or of a part of it, that has no row of its own.
REFUSED, UNKNOWN = "refused", "unknown"
# Of a row, as it is written: the fields of journal_writing.Entry.
COLUMNS = (
    "operation",
    "run",
    "state",
    "from_host",
    "to_host",
    "from_id",
    "to_id",
    "position",
    "verdict",
    "details",
)
# MySQL's numbers for a schema and for a table that is not there.
NOT_THERE = (1049, 1146)


def table_name(schema: str) -> str:
    return f"{quote(schema)}.{quote(TABLE)}"


def identity(variables: Variables) -> str:
    """A server's identity in the journal, from its variables."""
    return str(variables.get("server_uuid") or variables.get("server_id") or "")


def ends(row: JournalRow) -> tuple[tuple[str, str], tuple[str, str]]:
    """(identity, inventory name) of the source afterwards, and of the one before."""
    return (row.get("to_id", ""), row["to_host"]), (row.get("from_id", ""), row["from_host"])


def newest(server: Server, schema: str) -> JournalRow | None:
    """The newest row, its number as a number and everything else as text; None if no role change
    was ever written.

    Raises:
        ServerError: it is there, and cannot be read.
    """
    columns = ", ".join(quote(name) for name in COLUMNS)
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
    """`held`, the servers that lost the source's role in a failover and have not rejoined (see
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


def left_by_failover(rows: list[dict[str, str]]) -> list[HeldRow]:
    """Servers that were the source before a failover, and are in no role change since.

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
