# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The canary's table and rows: the statements, and what counters and times say about a row."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

COLUMNS = ("id", "details", "happened")
MARK = "dbre.semisync canary"


def quote(name):
    """An identifier in backticks, whatever is in it."""
    return "`%s`" % name.replace("`", "``")


def table_name(schema, table):
    return "%s.%s" % (quote(schema), quote(table))


def create_statements(schema, table):
    """The document's table important.stuff: id, details, happened."""
    return [
        "CREATE DATABASE IF NOT EXISTS %s" % quote(schema),
        "CREATE TABLE IF NOT EXISTS %s (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,"
        " details VARCHAR(255) NOT NULL, happened TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP) ENGINE=InnoDB"
        % table_name(schema, table),
    ]


def missing_columns(columns):
    return [name for name in COLUMNS if name not in [column.lower() for column in columns]]


def details(token, number, rows):
    """The text that marks one row as ours and tells it from every other."""
    return "%s %s %d/%d" % (MARK, token, number, rows)


def prune_statement(schema, table):
    """Removes our own old rows, by primary key, and nobody else's; arguments: last id to keep from, mark, limit."""
    return "DELETE FROM %s WHERE id <= %%s AND details LIKE %%s ORDER BY id LIMIT 1000" % table_name(schema, table)


def delta(before, after):
    """How far each counter rose; a counter that the server does not show stays out."""
    return dict((key, int(after[key]) - int(before[key])) for key in ("yes_tx", "no_tx", "no_times", "net_waits")
                if before.get(key) is not None and after.get(key) is not None)
