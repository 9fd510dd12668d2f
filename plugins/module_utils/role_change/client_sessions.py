# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sessions of clients: those whose transaction has been open for long, and those that may write to
a server that is read_only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils.server.sql import filled
from ansible_collections.dbre.semisync.plugins.module_utils.server.values import text

if TYPE_CHECKING:
    from typing import TypedDict
else:
    TypedDict = dict

# A transaction that has been open so long is a long one, in seconds.
LONG = 1
# Which privileges let an account write to a server that is read_only.
PRIVILEGED = ("SUPER", "READ_ONLY ADMIN", "READ ONLY ADMIN")
# Sessions of no account, or that replicas live by.
NEVER_ENDED = ("system user", "event_scheduler", "unauthenticated user")


class Session(TypedDict):
    """A session of a client: its number, its account's name, and for how long."""

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


def in_words(sessions: list[Session]) -> str:
    """Sessions for people, without their statements."""
    return ", ".join(
        f"session {one['id']} of {one['user']} for {one['seconds']} s" for one in sessions[:10]
    )


def privileged_users(server: Server) -> list[str]:
    """Names of accounts that may write to a server that is read_only."""
    asked = filled(
        "SELECT DISTINCT GRANTEE AS grantee FROM information_schema.USER_PRIVILEGES WHERE"
        " PRIVILEGE_TYPE IN ({privileged})",
        privileged=list(PRIVILEGED),
    )
    rows = server.rows(asked)
    return sorted({text(row["grantee"]).rpartition("@")[0].strip("'") for row in rows})
