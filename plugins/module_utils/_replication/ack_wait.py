# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Since when no commit has waited for its acknowledgement on a source: a commit that waits now
began later, and gives up no earlier than its timeout after that.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._server import login, sessions
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import (
    Server,
    identify,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import (
    ServerError,
    answers_within,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import SOURCE
from ansible_collections.dbre.semisync.plugins.module_utils._server.read import by_key
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import text

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        Calm,
        State,
        Values,
    )

# How long, and how often, to look for acknowledgements, in seconds.
LONGEST, PAUSE = 1.0, 0.02
# Seconds for a statement that may wait for a lock of commits.
ANSWER = 3
AFTER_SYNC = "AFTER_SYNC"


def released(
    first: Values,
    now: Values,
    wait_point: str | None,
) -> bool:
    """Whether all commits that waited at the first of two looks had their acknowledgement by the
    second; False if the server lacks one of the counters.

    An acknowledgement covers a position in the binary log and all before it. Under AFTER_SYNC
    commits begin to wait in the log's order (MySQL: the leader of a group, holding the lock of its
    stage; MariaDB: the holder of LOCK_after_binlog_sync), so the next confirmed ones, as many as
    waited then, are these. Under AFTER_COMMIT a commit that is before them in the log may begin to
    wait later.

    Args:
        first: semi-sync's statuses on the source, by our keys.
        now: the same later.
        wait_point: as the server reports it; None before MySQL 5.7.2, which knows only
            AFTER_COMMIT.
    """
    read = (first["no_tx"], now["no_tx"], first["yes_tx"], now["yes_tx"], first["wait_sessions"])
    known = [int(value) for value in read if value is not None]
    if now["status"] != "ON" or len(known) < len(read):
        return False
    no_before, no_now, yes_before, yes_now, waited = known
    if no_before != no_now:
        return False
    return not waited or (wait_point == AFTER_SYNC and yes_now - yes_before >= waited)


def measure(
    server: Server,
    wait_point: str | None,
    sleep: Callable[[float], None] = time.sleep,
) -> float | None:
    """Since when, by the server's clock; None if a commit still waits, or if unknown."""
    statuses = identify(server).statuses(SOURCE)
    # Before the statuses, so that they are of this moment or later.
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


def read_ack_wait(module: AnsibleModule, info: State) -> Calm:
    """`calm_since` and `binlog_filters` of the module's server, which has been read; the first is
    None if semi-sync is not active on it as a source.

    Its GTIDs were read before, and calm is measured after that: if it is calm, all of those
    transactions were acknowledged, or given up. On MySQL gtid_executed has a transaction only when
    its wait is over (under AFTER_SYNC); MariaDB's gtid_binlog_state has it before, and of a group
    that commits together only the first waits, and is counted. So there the end of the binary log,
    asked after the GTIDs, must have been committed as well.

    Reading the binary log's end needs a lock that commits hold while they wait, and no timeout ends
    that: so it is read only if the source's commits are seen to proceed, and on a separate
    connection.
    """
    source = info["semisync"]["source"]
    facts: Calm = {"calm_since": None, "binlog_filters": None}
    at_work = source["status"]["status"] == "ON" and source["status"]["wait_sessions"] is not None
    point = source["variables"].get("wait_point")
    try:
        cursor = login.connect(module)
    except ServerError:
        return facts
    try:
        server = Server(cursor)
        since = measure(server, point) if at_work else None
        if since is None and (at_work or int(source["status"]["wait_sessions"] or 0)):
            return facts
        with answers_within(ANSWER):
            names = identify(server)
            rows = sessions.if_allowed(server, names.show_binary_log_status)
            facts["binlog_filters"] = sessions.binlog_filters(rows)
            if since is not None and names.mariadb and point == AFTER_SYNC:
                since = since if committed(server, rows) else None
            facts["calm_since"] = since
    except ServerError:
        pass
    finally:
        cursor.connection.close()
    return facts


def committed(
    server: Server,
    rows: list[dict[str, Any]] | None,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Whether a MariaDB server has committed all that its binary log held.

    A consistent snapshot's position in the binary log is after the last transaction that is
    committed in the engine (MariaDB documentation, "Binlog_snapshot_position").

    Args:
        rows: of SHOW MASTER STATUS at that time.
    """
    if not rows:
        return False
    end = (text(rows[0]["File"]), int(rows[0]["Position"]))
    for _turn in range(round(LONGEST / PAUSE)):
        server.rows("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        seen = server.pairs("SHOW STATUS LIKE 'Binlog\\_snapshot\\_%'")
        server.rows("COMMIT")
        place = (text(seen["binlog_snapshot_file"]), int(seen["binlog_snapshot_position"] or 0))
        if later(place, end):
            return True
        sleep(PAUSE)
    return False


def later(place: tuple[str, int], end: tuple[str, int]) -> bool:
    """Whether a position in the binary log is the other or after it. Files are numbered, with as
    many digits as needed.
    """
    numbers = [(int(name.rpartition(".")[2]), at) for name, at in (place, end)]
    return numbers[0] >= numbers[1]
