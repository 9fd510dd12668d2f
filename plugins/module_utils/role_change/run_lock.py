# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock of the one run that may change a server's role, and whose connection holds it.

Any account may take a lock of any name. One that is neither ours nor an administrator's changes no
role: its connection is ended, so that it cannot block a failover.
"""

from __future__ import annotations

import contextlib
import time

from ansible_collections.dbre.semisync.plugins.module_utils.role_change import (
    lock_holder,
    locks,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.lock_holder import holder
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError

# How long those that queue for it are ended, one after another.
PATIENCE = 5


def take(
    server: Server,
    seconds: float,
    ours: str,
    anybody: bool = False,
) -> bool:
    """Whether the lock was taken; a holder that changes no roles is ended.

    Args:
        server: a connection of an administrator.
        seconds: for a run that has it to end.
        ours: the replication account.
        anybody: whether the operator has confirmed by name that no other run is in progress:
            then any holder is ended.

    Raises:
        ServerError: the server is gone.
    """
    deadline = time.monotonic() + PATIENCE
    while not locks.take(server, lock_holder.RUN_LOCK, seconds):
        has = holder(server, ours)
        if time.monotonic() >= deadline or (has and not (has.stranger or anybody)):
            return False
        if has:
            with contextlib.suppress(ServerError):  # it may have gone by itself
                server.rows(f"KILL {has.number}")
            seconds = 1
    return True
