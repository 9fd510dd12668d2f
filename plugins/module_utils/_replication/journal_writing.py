# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes rows of the journal; journal.py reads them."""

from __future__ import annotations

from typing import NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._replication.journal import (
    NOT_THERE,
    SETTINGS,
    TABLE,
    open_ones,
    table_name,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import filled, quote
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import text


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
    """Takes the fields of an Entry as its arguments. The time is always UTC."""
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
