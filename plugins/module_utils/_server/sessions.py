# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who works with a server's logs: sessions that read its binary log, replicas that have registered,
and the thread that applies its relay log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import (
    Server,
    readers_in,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import filled
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import text

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        Channel,
        Reader,
        Registered,
        Sessions,
        Variables,
    )

# The applier's thread in the performance schema, until and since MySQL 8.0.26 (its release notes).
# With several workers it is the one that coordinates them, and these live and die with it on MySQL;
# MariaDB's workers are a pool of the server's, so their ids say nothing of one applier.
APPLIERS = ("thread/sql/slave_sql", "thread/sql/replica_sql")
# The same in MariaDB's process list (sql/slave.cc, COM_SLAVE_SQL).
APPLIES = "Slave_SQL"


def read_sessions(
    server: Server, names: Names, variables: Variables, channels: list[Channel]
) -> Sessions:
    """`readers` and `applier_ids` of the RETURN section of semisync_info."""
    readers, ids = seen(server, names, variables.get("performance_schema") == "ON")
    return {"readers": readers, "applier_ids": of_default_channel(ids, channels)}


def seen(server: Server, names: Names, schema: bool) -> tuple[list[Reader], list[int]]:
    """(sessions that read the binary log, ids of appliers), by one statement where one knows both.

    Args:
        schema: whether there is a performance schema.
    """
    if schema and names.shows_connection_types:
        asked = filled(
            "SELECT NAME AS name, PROCESSLIST_ID AS id, PROCESSLIST_USER AS user, PROCESSLIST_HOST"
            " AS host, CONNECTION_TYPE AS type FROM performance_schema.threads WHERE"
            " PROCESSLIST_COMMAND LIKE 'Binlog Dump%' OR NAME IN ({appliers})",
            appliers=list(APPLIERS),
        )
        rows = server.rows(asked)
        appliers = [row for row in rows if text(row["name"]) in APPLIERS]
        readers: list[Reader] = [
            {"user": text(row["user"]), "host": text(row["host"]), "tls": row["type"] == "SSL/TLS"}
            for row in rows
            if row not in appliers
        ]
        return readers, [int(row["id"]) for row in appliers if row["id"]]
    listed = server.rows("SHOW PROCESSLIST")
    readers = readers_in(listed)
    if schema and not names.mariadb:
        asked = filled(
            "SELECT PROCESSLIST_ID AS id FROM performance_schema.threads WHERE NAME IN"
            " ({appliers})",
            appliers=list(APPLIERS),
        )
        return readers, [int(row["id"]) for row in if_allowed(server, asked) or () if row["id"]]
    return readers, [int(row["Id"]) for row in listed if text(row["Command"]) == APPLIES]


def of_default_channel(ids: list[int], channels: list[Channel]) -> list[int] | None:
    """Of the appliers that were seen, the default channel's: none if it does not run, None if
    it was not seen, or nothing tells it from another channel's.
    """
    default = next((channel for channel in channels if channel["name"] == ""), None)
    if not default or default["sql_running"] == "No":
        return []
    return ids if len(channels) == 1 and len(ids) == 1 else None


def registered(server: Server, names: Names) -> list[Registered] | None:
    """The replicas that have registered with this server, for as long as they are connected; None
    if the login may not ask. MariaDB, and MySQL before 5.6, know no UUID.
    """
    rows = if_allowed(server, names.show_registered)
    if rows is None:
        return None
    named = [{key.lower(): value for key, value in row.items()} for row in rows]
    return [
        {
            "server_id": int(row["server_id"]),
            "uuid": text(row.get("replica_uuid") or row.get("slave_uuid") or "") or None,
        }
        for row in named
    ]


def binlog_filters(rows: list[dict[str, Any]] | None) -> list[str] | None:
    """What keeps changes out of a server's own binary log, as name and value; None if it was not
    asked.

    Args:
        rows: of Names.show_binary_log_status.
    """
    if rows is None:
        return None
    return [
        f"{name.lower()} = {text(value)}"
        for row in rows
        for name, value in row.items()
        if value and name.lower() in ("binlog_do_db", "binlog_ignore_db")
    ]


def if_allowed(server: Server, statement: str) -> list[dict[str, Any]] | None:
    """The rows of a statement; None if the server refuses it.

    Raises:
        ServerError: the server is gone, which is the client library's word (2000 to 2999).
    """
    try:
        return server.rows(statement)
    except ServerError as error:
        if error.number is None or 2000 <= error.number < 3000:
            raise
        return None
