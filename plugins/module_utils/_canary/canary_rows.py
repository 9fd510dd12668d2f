# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The canary's table and rows: the statements, and the counters that a row raises."""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import filled, quote

COLUMNS = ("id", "details", "happened")
MARK = "dbre.semisync canary"
# What a row raises, by our keys; net_waits only if the server has it.
COUNTERS = ("yes_tx", "no_tx", "no_times", "net_waits")


def table_name(schema: str, table: str) -> str:
    return f"{quote(schema)}.{quote(table)}"


def create_statements(schema: str, table: str) -> list[str]:
    """The procedure's table important.stuff: id, details, happened."""
    return [
        f"CREATE DATABASE IF NOT EXISTS {quote(schema)}",
        (
            f"CREATE TABLE IF NOT EXISTS {table_name(schema, table)} (id BIGINT UNSIGNED NOT NULL"
            " AUTO_INCREMENT PRIMARY KEY, details VARCHAR(255) NOT NULL, happened TIMESTAMP NOT"
            " NULL DEFAULT CURRENT_TIMESTAMP) ENGINE=InnoDB"
        ),
    ]


def missing_columns(columns: list[str]) -> list[str]:
    return [name for name in COLUMNS if name not in [column.lower() for column in columns]]


def row_text(token: str, number: int, rows: int) -> str:
    """The text that marks one row as ours and tells it from every other."""
    return f"{MARK} {token} {number}/{rows}"


def prune_statement(schema: str, table: str) -> str:
    """Removes our own old rows, by primary key, and no others; arguments: last id to keep from,
    mark, limit.
    """
    return filled(
        "DELETE FROM {table} WHERE id <= %s AND details LIKE %s ORDER BY id LIMIT 1000",
        table=(schema, table),
    )


def insert(server: Server, schema: str, table: str, text: str) -> None:
    """Write one row; returns when the server has confirmed it.

    Raises:
        ServerError: the server refuses it.
    """
    into = filled("INSERT INTO {table} (details) VALUES (%s)", table=(schema, table))
    server.rows(into, (text,))
