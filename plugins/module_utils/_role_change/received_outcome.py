# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the service that applies what a MariaDB replica had received did at its server's start."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from ansible_collections.dbre.semisync.plugins.module_utils._host.files import read_text
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.received_shapes import (
        ReceivedOutcome,
    )
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        RoleState,
        Variables,
    )

APPLIERS = "SELECT TID AS tid FROM information_schema.PROCESSLIST WHERE COMMAND = 'Slave_SQL'"
SETTINGS = "/etc/dbre-semisync/received-%s.json"
# Seconds after a server's start in which the service is waited for, and for how long.
YOUNG, PATIENCE, POLL = 600, 15.0, 0.2
BOOT = "/proc/sys/kernel/random/boot_id"


def outcome_path(server_port: int) -> str:
    """Where the service keeps what it did at the last start."""
    return f"/var/lib/dbre-semisync-received-{server_port}/outcome.json"


def read_outcome(server_port: int) -> ReceivedOutcome | None:
    """What the service did; None if it has done nothing, or is not done."""
    try:
        with open(outcome_path(server_port), encoding="utf-8") as stream:
            kept = json.load(stream)
        return cast("ReceivedOutcome", kept) if {*kept} >= {"outcome", "applier"} else None
    except (OSError, ValueError, TypeError):
        return None


def at_work(info: RoleState) -> bool:
    """Whether the service is there and has not said yet what it did at the server's start."""
    port, uptime = int(info["variables"].get("port") or 0), info["uptime"]["seconds"]
    if info["engine"] != "mariadb" or uptime > YOUNG or not os.path.exists(SETTINGS % port):
        return False
    kept = read_outcome(port)
    return kept is None or kept["at"] < info["clock"] - uptime - 2


def settled(read: Callable[[], RoleState]) -> RoleState:
    """The state of a server, read again until the service has done its work, for a while."""
    end = time.monotonic() + PATIENCE
    while True:
        info = read()
        if not at_work(info) or time.monotonic() > end:
            return info
        time.sleep(POLL)


def received_applied(server: Server, names: Names, variables: Variables) -> bool:
    """Whether a replica's applier is the one that began when all it had received was applied."""
    kept = read_outcome(int(variables.get("port") or 0)) if names.mariadb else None
    if not kept or kept["outcome"]["complete"] is not True or not kept["applier"]:
        return False
    # Not at the top: every run on MariaDB imports this file for its paths.
    from ansible_collections.dbre.semisync.plugins.module_utils._role_change import traces
    from ansible_collections.dbre.semisync.plugins.module_utils._server import sessions

    tids = [int(row["tid"]) for row in sessions.if_allowed(server, APPLIERS) or []]
    if len(tids) != 1:
        return False
    try:
        boot = read_text(BOOT).strip()
        ticks = int(traces.fields_of(tids[0])[traces.STARTED])
    except (OSError, ValueError, IndexError):
        return False
    return kept["applier"] == {"boot": boot, "tid": tids[0], "ticks": ticks}
