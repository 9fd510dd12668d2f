# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The heartbeat's table and rows. The source writes a row each few seconds, which replicates, so
that each member's log says what the source knew of itself at that place in its history.

A row's clocks are read before its facts and its GTIDs: whatever was confirmed to a client before
them is in `gtid`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import filled, quote
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import text

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import (
        Server,
        Step,
    )
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.beat_shapes import (
        Beat,
        BeatFacts,
    )

TABLE = "semisync_heartbeat"
# Its newest row under the names of pt-heartbeat's table, which exporters read.
VIEW = "semisync_heartbeat_newest"
COLUMNS = ("server", "boot", "monotonic", "wall", "uptime", "facts", "gtid")
# MySQL's numbers for a schema and for a table that is not there.
NOT_THERE = (1049, 1146)
# Facts by the type of their values; each may be null.
TEXTS = ("enabled", "status", "wait_point", "wait_no_replica", "sync_binlog", "flush_log")
NUMBERS = (
    "timeout",
    "wait_count",
    "clients",
    "yes_tx",
    "no_tx",
    "no_times",
    "wait_sessions",
    "killed",
    "server_id",
    "settings_row",
)
LISTS = ("acknowledgers", "binlog_filters")
# Beyond this a clock names no time (the year 9999), and a number is of no server.
LAST_SECOND, LARGEST = 253402300799.0, 2**64


class Reading(NamedTuple):
    """What was read of the table.

    Attributes:
        beats: the newest first.
        unreadable: rows among them that are not what the writer writes, and were left out.
    """

    beats: list[Beat]
    unreadable: int


def table_name(schema: str, name: str = TABLE) -> str:
    return f"{quote(schema)}.{quote(name)}"


def create_statements(schema: str) -> list[str]:
    return [
        f"CREATE DATABASE IF NOT EXISTS {quote(schema)}",
        (
            f"CREATE TABLE IF NOT EXISTS {table_name(schema)} (number BIGINT UNSIGNED NOT NULL"
            " AUTO_INCREMENT PRIMARY KEY, server VARCHAR(64) NOT NULL, boot VARCHAR(64) NOT NULL,"
            " monotonic DOUBLE NOT NULL, wall DOUBLE NOT NULL, uptime BIGINT, facts TEXT"
            " NOT NULL, gtid MEDIUMTEXT NOT NULL) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"
        ),
    ]


def view_statement(schema: str) -> str:
    """Creates the view. `server_id` is 0 if the writer did not know it.

    Servers before MySQL 5.7 and MariaDB 10.2 have no functions for JSON.
    """
    return filled(
        "CREATE OR REPLACE SQL SECURITY INVOKER VIEW {view} AS SELECT FROM_UNIXTIME(wall) AS ts,"
        " CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(facts, '\"server_id\": ', -1), ',', 1) AS UNSIGNED)"
        " AS server_id, number, server FROM {table} ORDER BY number DESC LIMIT 1",
        view=(schema, VIEW),
        table=(schema, TABLE),
    )


def drop_view(schema: str) -> Step:
    return (f"DROP VIEW IF EXISTS {table_name(schema, VIEW)}", ())


def insert_statement(schema: str) -> str:
    """Takes the values of COLUMNS as its arguments."""
    return filled(
        "INSERT INTO {table} (server, boot, monotonic, wall, uptime, facts, gtid) VALUES (%s, %s,"
        " %s, %s, %s, %s, %s)",
        table=(schema, TABLE),
    )


def newest(server: Server, schema: str, limit: int) -> list[Beat]:
    """The newest rows, at most so many, the newest first; none if there is no table. A row that is
    not what the writer writes is left out.

    Raises:
        ServerError: the table is there, and cannot be read.
    """
    return read(server, schema, limit).beats


def read(server: Server, schema: str, limit: int) -> Reading:
    """The same with the number of rows that were left out."""
    asked = filled("FROM {table} ORDER BY number DESC LIMIT %s", table=(schema, TABLE))
    columns = ", ".join(quote(name) for name in COLUMNS)
    try:
        rows = server.rows(f"SELECT number, {columns} {asked}", (limit,))
    except ServerError as error:
        if error.number in NOT_THERE:
            return Reading([], 0)
        raise
    parsed = [parse(row) for row in rows]
    beats = [beat for beat in parsed if beat is not None]
    return Reading(beats, len(parsed) - len(beats))


def parse(row: Mapping[str, object]) -> Beat | None:
    """One row as a beat; None if it is not what the writer writes."""
    try:
        facts = facts_of(json.loads(text(row["facts"])))
        beat: Beat = {
            "number": int(text(row["number"])),
            "server": text(row["server"]),
            "boot": text(row["boot"]),
            "monotonic": float(text(row["monotonic"])),
            "wall": float(text(row["wall"])),
            "uptime": None if row["uptime"] is None else int(text(row["uptime"])),
            "facts": facts,
            "gtid": text(row["gtid"]),
        }
    except (KeyError, ValueError, RecursionError):
        return None
    timed = all(0 <= clock <= LAST_SECOND for clock in (beat["monotonic"], beat["wall"]))
    return beat if beat["server"] and beat["boot"] and timed else None


def facts_of(facts: object) -> BeatFacts:
    """The facts of a row, None for a key that it lacks.

    Raises:
        ValueError: a value is not of its type.
    """
    if not isinstance(facts, dict):
        raise ValueError("the facts are no object")
    checked: dict[str, object] = {}
    kinds = (
        (str, TEXTS),
        (int, NUMBERS),
        (list, LISTS),
    )
    for kind, keys in kinds:
        for key in keys:
            value = facts.get(key)
            # A bool is an int to Python, and none of these.
            if isinstance(value, bool) or not isinstance(value, (kind, type(None))):
                raise ValueError(f"{key} is {value!r}")
            if isinstance(value, int) and abs(value) > LARGEST:
                raise ValueError(f"{key} is too large")
            checked[key] = value
    for key in LISTS:
        if not all(isinstance(one, str) for one in facts.get(key) or ()):
            raise ValueError(f"{key} is {facts[key]!r}")
    return cast("BeatFacts", checked)
