# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Named locks on the servers, by which the parts of a role change tell each other their progress.

Any account may take and ask for them, and a lock ends with its connection, so that no part waits
for one that has ended. Each lock has its own connection, because MySQL 5.6 allows one lock per
connection.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._role_change.lock_holder import (
    RUN_LOCK,
    holder,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server, close
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import quote, quote_text
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import (
    canonical_value,
    text,
)

# Seconds in which those that queue for the run's lock are ended, one after another.
PATIENCE = 5


def flag_name(token: str, flag: str) -> str:
    """The name of the lock that a part holds to show its progress."""
    return f"dbre.semisync.{token}.{flag}"


class Locks:
    """The flags that this part holds on one server.

    Args:
        connect: opens one more connection to that server.
        token: of this role change.
    """

    def __init__(self, connect: Callable[[], Server], token: str) -> None:
        self.connect, self.token = connect, token
        self.spares: list[Server] = []
        self.connections: list[Server] = []

    def prepare(self, number: int) -> None:
        """Open connections in advance, for steps that must be short.

        Raises:
            ServerError: the server accepts no more connections.
        """
        self.spares += [self.connect() for _number in range(number)]

    def acquire(self, flag: str) -> None:
        """Hold a flag.

        Raises:
            ServerError: the server is gone.
        """
        server = self.spares.pop() if self.spares else self.connect()
        take(server, flag_name(self.token, flag), 0)
        self.connections.append(server)

    def release_all(self) -> None:
        """Release all flags."""
        for server in self.connections + self.spares:
            close(server)
        self.connections, self.spares = [], []


class Seen(NamedTuple):
    """The state of another part's server at one moment.

    Attributes:
        flags: for each flag that was asked for, whether it is held.
        runs: whether a part holds the run's lock there.
        read_only: whether that server is.
        position: the GTIDs of its binary log.
    """

    flags: dict[str, bool]
    runs: bool
    read_only: bool
    position: str


def take(server: Server, name: str, seconds: float) -> bool:
    """Whether a lock could be had within some seconds.

    Raises:
        ServerError: the server is gone.
    """
    row = server.rows("SELECT GET_LOCK(%s, %s) AS got", (name, seconds))[0]
    return bool(row["got"] == 1)


def flags_of_part(
    server: Server,
    token: str,
    flags: tuple[str, ...],
    position: str,
) -> Seen:
    """Read the state of another part's server.

    Args:
        flags: those that are asked for.
        position: the variable with the GTIDs of its binary log.

    Raises:
        ServerError: it cannot be asked.
    """
    asked = [
        f"IS_USED_LOCK({quote_text(flag_name(token, flag))}) IS NOT NULL AS {quote('flag_' + flag)}"
        for flag in flags
    ]
    asked.append(f"IS_USED_LOCK({quote_text(RUN_LOCK)}) IS NOT NULL AS run")
    row = server.rows(
        f"SELECT {', '.join(asked)},"
        f" @@GLOBAL.read_only AS read_only, @@GLOBAL.{position} AS position"
    )[0]
    return Seen(
        flags={flag: bool(row["flag_" + flag]) for flag in flags},
        runs=bool(row["run"]),
        read_only=canonical_value(text(row["read_only"])) != "0",
        position="".join(text(row["position"] or "").split()),
    )


def alive(server: Server) -> bool:
    try:
        server.rows("SELECT 1")
    except ServerError:
        return False
    return True


def take_run_lock(
    server: Server,
    seconds: float,
    ours: str,
    ends_any: bool = False,
) -> bool:
    """Whether the lock of the one run that may change a server's role was taken.

    Any account may take a lock of any name. A holder that is neither ours nor an administrator
    changes no role: its connection is ended, so that it cannot block a failover.

    Args:
        server: a connection of an administrator.
        seconds: how long a run that holds the lock may take to end.
        ours: the replication account.
        ends_any: whether the operator has confirmed by name that no other run is in progress:
            then any holder is ended.

    Raises:
        ServerError: the server is gone.
    """
    deadline = time.monotonic() + PATIENCE
    while not take(server, RUN_LOCK, seconds):
        has = holder(server, ours)
        if time.monotonic() >= deadline or (has and not (has.stranger or ends_any)):
            return False
        if has:
            with contextlib.suppress(ServerError):  # it may have gone by itself
                server.rows(f"KILL {has.number}")
            seconds = 1
    return True
