# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A source at one moment: what is read before and after a load, and whether it replicates as a
measurement requires.
"""

from __future__ import annotations

import time

from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.load_shapes import (
    Mode,
    Snapshot,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import SOURCE, Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.read import by_key

# Uptime has whole seconds, and is read a moment before or after the clock.
UPTIME_TOLERANCE = 2


def take_snapshot(server: Server, names: Names) -> Snapshot:
    """The values of a source that change while it works.

    Returns:
        status: all statuses. uptime: in seconds, and at: by this host's monotonic clock. senders:
        to how many replicas it sends its binary
        log. semisync: semi-sync's statuses by our keys. gtid: the GTIDs in its binary log, None on
        a server without.
    """
    status = server.pairs("SHOW GLOBAL STATUS")
    gtids = server.pairs("SHOW GLOBAL VARIABLES LIKE 'gtid\\_%'")
    return {
        "status": status,
        "uptime": int(status["uptime"] or 0),
        "at": time.monotonic(),
        "senders": len(server.senders()),
        "semisync": by_key(names.statuses(SOURCE), status),
        "gtid": gtids.get("gtid_binlog_pos", gtids.get("gtid_executed")),
    }


def restarted(before: Snapshot, after: Snapshot) -> bool:
    """Whether the server was started between two snapshots: it is younger than it was, or has not
    grown older by the time that passed.
    """
    lived, passed = after["uptime"] - before["uptime"], after["at"] - before["at"]
    return lived < 0 or lived < passed - UPTIME_TOLERANCE


def unready(wanted: Mode, snapshot: Snapshot) -> str:
    """Why a source is not in the wanted replication mode; empty if it is.

    Args:
        wanted: replication (none, async, semisync or None for any) and replicas, how many are
            wanted.
        snapshot: of take_snapshot().
    """
    mode, status, replicas = (
        wanted.get("replication"),
        snapshot["semisync"].get("status"),
        wanted.get("replicas") or 0,
    )
    if mode == "semisync":
        clients = int(snapshot["semisync"].get("clients") or 0)
        if status != "ON":
            return f"semi-sync's status is {status}"
        if clients < max(replicas, 1):
            return f"{clients} semi-sync replicas are connected, {max(replicas, 1)} are wanted"
    elif mode in ("async", "none") and status == "ON":
        return "semi-sync's status is ON"
    if mode == "async" and snapshot["senders"] < replicas:
        return f"{snapshot['senders']} replicas are connected, {replicas} are wanted"
    if mode == "none" and snapshot["senders"]:
        return f"{snapshot['senders']} replicas are connected, none is wanted"
    return ""
