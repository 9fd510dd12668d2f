# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the connection that holds the run lock: only its run may change a server's role.

Any account may take a lock of any name; one that is neither ours nor an administrator's is told
from the others here, and locks.py ends its connection.
"""

from __future__ import annotations

from typing import NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._role_change import client_sessions
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import quote_text
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import text

# Held by every run on the server of the old and of the new source, on the connection that opens
# and freezes: a run without it can do neither.
RUN_LOCK = "dbre.semisync.switchover"
# Accounts with roles, which may make them administrators: MySQL 8.0 and later, MariaDB.
ROLES = (
    "SELECT COUNT(*) AS roles FROM mysql.role_edges WHERE TO_USER = %s",
    "SELECT COUNT(*) AS roles FROM mysql.roles_mapping WHERE User = %s",
)
NO_SUCH_TABLE = 1146


class Holder(NamedTuple):
    """Who has the lock.

    Attributes:
        number: of the connection.
        words: the same with its account, if that is visible.
        stranger: whether its account is known not to change roles.
    """

    number: int
    words: str
    stranger: bool


def holder(server: Server, ours: str) -> Holder | None:
    """The holder of the lock; None if it is free.

    Args:
        server: a connection of an administrator.
        ours: the replication account, which parts on other hosts use to take the lock.

    Raises:
        ServerError: the server is gone.
    """
    row = server.rows(
        f"SELECT IS_USED_LOCK({quote_text(RUN_LOCK)}) AS id, CURRENT_USER() AS login"
    )[0]
    if row["id"] is None:
        return None
    number, login = int(row["id"]), text(row["login"]).rpartition("@")[0]
    for session in server.rows("SHOW PROCESSLIST"):
        if int(session["Id"]) == number:
            user, host = text(session["User"]), text(session["Host"] or "")
            words = f"connection {number} of {user}@{host}"
            return Holder(number, words, stranger(server, user, (login, ours)))
    return Holder(number, f"connection {number}", False)


def stranger(server: Server, user: str, ours: tuple[str, ...]) -> bool:
    """Whether an account is known to be neither ours nor an administrator's."""
    try:
        return not (
            user in ours
            or user in client_sessions.NEVER_ENDED
            or user in client_sessions.privileged_users(server)
            or any(has_roles(server, statement, user) for statement in ROLES)
        )
    except ServerError:
        return False


def has_roles(server: Server, statement: str, user: str) -> bool:
    try:
        return bool(int(server.rows(statement, (user,))[0]["roles"]))
    except ServerError as error:
        if error.number == NO_SUCH_TABLE:
            return False
        raise
