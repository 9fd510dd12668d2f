# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The accounts to copy with a dump, as SQL: a dump of schemas has none."""

from __future__ import annotations

from typing import NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._seed import copying, marker
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import quote
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import text

# Accounts that every server has.
OWN_ACCOUNTS = (
    "root",
    "mysql",
    "mysql.sys",
    "mysql.session",
    "mysql.infoschema",
    "mariadb.sys",
    "debian-sys-maint",
    "PUBLIC",
    "",
    marker.DONOR,
)


class Accounts(NamedTuple):
    """SQL of accounts and their privileges.

    Attributes:
        ahead: SQL before the data.
        behind: privileges on single tables and routines, which can only follow the data.
        left_out: such privileges on missing objects: a server keeps them after a DROP, but refuses
            to grant them.
    """

    ahead: list[str]
    behind: list[str]
    left_out: list[str]


NONE = Accounts([], [], [])


def read_accounts(server: Server, names: Names) -> Accounts:
    """All accounts of a server, except those that every server has."""
    # Names and texts are quoted as the replica's session will read them.
    server.rows(copying.PLAIN_MODE)
    if names.hashes_as_hex:
        server.rows("SET SESSION print_identified_with_as_hex = 1")
    creates, grants = [], []
    rows = [
        {key.lower(): text(value) for key, value in row.items() if value is not None}
        for row in server.rows("SELECT * FROM mysql.user")
    ]
    rows = [row for row in rows if row["user"] not in OWN_ACCOUNTS]
    # A role before the accounts that have it.
    for row in sorted(rows, key=lambda row: (row.get("is_role") != "Y", row["user"], row["host"])):
        user, host = row["user"], row["host"]
        if row.get("is_role") == "Y":
            creates.append(copying.create_role(user, names.if_not_exists))
            shown = server.rows(f"SHOW GRANTS FOR {quote(user)}")
        else:
            creates.append(copying.create_user(row, show_create(server, names, row), names))
            shown = server.rows("SHOW GRANTS FOR %s@%s", (user, host))
        grants += [
            copying.plain_grant(text(value), row) for grant in shown for value in grant.values()
        ]
    places = [(grant, copying.object_of(grant)) for grant in grants]
    ahead = copying.account_statements(creates, [grant for grant, place in places if not place])
    single = [(grant, exists(server, *place)) for grant, place in places if place]
    behind = [grant + ";\n" for grant, there in single if there]
    return Accounts(
        ahead,
        [f"\n{copying.PLAIN_MODE};\n", *behind] if behind else [],
        [grant for grant, there in single if not there],
    )


def exists(
    server: Server,
    kind: str,
    schema: str,
    name: str,
) -> bool:
    """Whether a table, or a routine of a kind, exists."""
    if kind:
        query = (
            "SELECT 1 FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = %s AND ROUTINE_NAME ="
            " %s AND ROUTINE_TYPE = %s"
        )
        return bool(server.rows(query, (schema, name, kind)))
    query = "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
    return bool(server.rows(query, (schema, name)))


def show_create(server: Server, names: Names, row: dict[str, str]) -> str:
    """What SHOW CREATE USER says of an account; empty if the server does not know it."""
    if not names.alter_user:
        return ""
    shown = server.rows("SHOW CREATE USER %s@%s", (row["user"], row["host"]))[0]
    return next(
        text(value) for column, value in shown.items() if column.upper().startswith("CREATE USER")
    )
