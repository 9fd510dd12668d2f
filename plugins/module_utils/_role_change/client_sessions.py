# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Client sessions: those with a long open transaction, and those that may write to a read-only
server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import filled
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import text

if TYPE_CHECKING:
    from typing import TypedDict
else:
    TypedDict = dict

# A transaction that has been open for this many seconds is a long one.
LONG = 1
# The privileges that let an account write to a read-only server.
PRIVILEGED = ("SUPER", "READ_ONLY ADMIN", "READ ONLY ADMIN")
# Sessions without an account, or that replicas depend on.
NEVER_ENDED = ("system user", "event_scheduler", "unauthenticated user")


class Session(TypedDict):
    """A client session: its connection number, its account's name, and its duration in seconds."""

    id: int
    user: str
    seconds: int


def long_transactions(server: Server, seconds: float = LONG) -> list[Session]:
    """Transactions that have been open for some time: id and user of the session, seconds."""
    return [
        {"id": int(row["id"]), "user": text(row["user"]), "seconds": int(row["seconds"])}
        for row in server.rows(
            "SELECT t.trx_mysql_thread_id AS id, p.USER AS user,"
            " TIMESTAMPDIFF(SECOND, t.trx_started, NOW()) AS seconds"
            " FROM information_schema.INNODB_TRX t JOIN information_schema.PROCESSLIST p"
            " ON p.ID = t.trx_mysql_thread_id"
            " WHERE t.trx_started <= NOW() - INTERVAL %s SECOND AND p.USER NOT IN"
            " ('system user', 'event_scheduler') ORDER BY t.trx_started",
            (int(seconds),),
        )
    ]


def sessions_text(sessions: list[Session]) -> str:
    """Sessions as text for a message, without their statements."""
    return ", ".join(
        f"session {one['id']} of {one['user']} for {one['seconds']} s" for one in sessions[:10]
    )


def privileged_users(server: Server) -> list[str]:
    """The names of the accounts that may write to a read-only server."""
    asked = filled(
        "SELECT DISTINCT GRANTEE AS grantee FROM information_schema.USER_PRIVILEGES WHERE"
        " PRIVILEGE_TYPE IN ({privileged})",
        privileged=list(PRIVILEGED),
    )
    rows = server.rows(asked)
    return sorted({text(row["grantee"]).rpartition("@")[0].strip("'") for row in rows})
