# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Since when no commit has waited for its acknowledgement on a source: who waits now began later,
and gives up no earlier than its timeout after that.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.server import login
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import (
    Server,
    identify,
)
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import SOURCE
from ansible_collections.dbre.semisync.plugins.module_utils.server.read import by_key

# For how long, and how often, acknowledgements are waited for, in seconds.
LONGEST, PAUSE = 1.0, 0.02
AFTER_SYNC = "AFTER_SYNC"


def released(first: dict[str, Any], now: dict[str, Any], wait_point: str | None) -> bool:
    """Whether all commits that waited at the first of two looks had their acknowledgement by the
    second.

    An acknowledgement is of a place in the binary log and of all before it. Under AFTER_SYNC
    commits come to the wait in the log's order (MySQL: the leader of a group, holding the lock of
    its stage; MariaDB: the holder of LOCK_after_binlog_sync), so as many confirmed ones as waited
    then are these. Under AFTER_COMMIT one that stands before them in the log may come later.

    Args:
        first: semi-sync's statuses on the source, by our keys.
        now: the same later.
        wait_point: as the server says it; None before MySQL 5.7.2, which knows AFTER_COMMIT alone.
    """
    if now["status"] != "ON" or int(first["no_tx"]) != int(now["no_tx"]):
        return False
    waited = int(first["wait_sessions"])
    if not waited:
        return True
    return wait_point == AFTER_SYNC and int(now["yes_tx"]) - int(first["yes_tx"]) >= waited


def measure(
    server: Server, wait_point: str | None, sleep: Callable[[float], None] = time.sleep
) -> float | None:
    """Since when, by the server's clock; None where a commit waits on, or nothing tells."""
    statuses = identify(server).statuses(SOURCE)
    # Before the statuses: they are of this moment or later.
    clock = float(server.rows("SELECT UNIX_TIMESTAMP(NOW(6)) AS now")[0]["now"])
    first = now = by_key(statuses, server.semisync_status())
    for _turn in range(round(LONGEST / PAUSE)):
        if released(first, now, wait_point):
            return clock
        if wait_point != AFTER_SYNC:
            break
        sleep(PAUSE)
        now = by_key(statuses, server.semisync_status())
    return None


def read(module: Any, info: dict[str, Any]) -> float | None:
    """The same of the module's server, which has been read; None where semi-sync is not at work on
    it as a source.
    """
    source = info["semisync"]["source"]
    if source["status"]["status"] != "ON" or source["status"]["wait_sessions"] is None:
        return None
    try:
        cursor = login.connect(module)
    except ServerError:
        return None
    try:
        return measure(Server(cursor), source["variables"].get("wait_point"))
    except ServerError:
        return None
    finally:
        cursor.connection.close()
