# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the parts of a switchover tell each other how far they are: by named locks on the servers.

Any account may take and ask for them, and they are gone with the connection that held them, so that
nobody waits for a part that has ended. Each is held on a connection of its own, because MySQL 5.6
has one lock a connection.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.role_change.role_statements import (
    RUN_LOCK,
    flag_name,
)
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils.server.sql import quote, quote_text
from ansible_collections.dbre.semisync.plugins.module_utils.server.values import (
    canonical_value,
    text,
)


class Flags:
    """The flags that this part holds on one server.

    Args:
        connect: opens one more connection to that server.
        token: of this switchover.
    """

    def __init__(self, connect: Callable[[], Server], token: str) -> None:
        self.connect, self.token = connect, token
        self.spares: list[Server] = []
        self.held: list[Server] = []

    def prepare(self, number: int) -> None:
        """Open connections beforehand, for moments that must be short.

        Raises:
            ServerError: the server lets no more in.
        """
        self.spares += [self.connect() for _number in range(number)]

    def hoist(self, flag: str) -> None:
        """Hold a flag.

        Raises:
            ServerError: the server is gone.
        """
        server = self.spares.pop() if self.spares else self.connect()
        take(server, flag_name(self.token, flag), 0)
        self.held.append(server)

    def drop(self) -> None:
        """Hold none any more."""
        for server in self.held + self.spares:
            close(server)
        self.held, self.spares = [], []


def take(server: Server, name: str, seconds: float) -> bool:
    """Whether a lock could be had within some seconds.

    Raises:
        ServerError: the server is gone.
    """
    return server.rows("SELECT GET_LOCK(%s, %s) AS got", (name, seconds))[0]["got"] == 1


def close(server: Server) -> None:
    """Let a connection go, and with it its lock."""
    with contextlib.suppress(Exception):  # it may be gone already
        server.cursor.connection.close()


def look(server: Server, token: str, flags: tuple[str, ...], position: str) -> dict[str, Any]:
    """What another part's server says at one moment.

    Args:
        flags: those that are asked for.
        position: the variable with the GTIDs of its binary log.

    Returns:
        each flag as True or False; run, whether its part lives; read_only; position.

    Raises:
        ServerError: it cannot be asked.
    """
    asked = [
        f"IS_USED_LOCK({quote_text(flag_name(token, flag))}) IS NOT NULL AS {quote('flag_' + flag)}"
        for flag in flags
    ]
    row = server.rows(
        f"SELECT {', '.join([*asked, f'IS_USED_LOCK({quote_text(RUN_LOCK)}) IS NOT NULL AS run'])},"
        f" @@GLOBAL.read_only AS read_only, @@GLOBAL.{position} AS position"
    )[0]
    seen: dict[str, Any] = {flag: bool(row["flag_" + flag]) for flag in flags}
    seen.update(
        run=bool(row["run"]),
        read_only=canonical_value(text(row["read_only"])) != "0",
        position="".join(text(row["position"] or "").split()),
    )
    return seen


def alive(server: Server) -> bool:
    try:
        server.rows("SELECT 1")
    except ServerError:
        return False
    return True
