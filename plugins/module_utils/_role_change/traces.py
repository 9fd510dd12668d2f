# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a replica shows of its source's last moments: the source's newest beats, and how long its
own applier has run, which stops for everything that discards a relay log.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._heartbeat import rows
from ansible_collections.dbre.semisync.plugins.module_utils._host.files import read_text
from ansible_collections.dbre.semisync.plugins.module_utils._server import sessions
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.beat_shapes import Beat

# How many of the newest beats are read: a judge needs the last few.
NEWEST = 60
UPTIME = "/proc/uptime"
# Of the fields behind a thread's name in /proc/PID/stat, when it was started (proc(5)).
STARTED = 19
# Connections with their threads by the machine, by whether the server is MariaDB.
THREADS = {
    False: "SELECT PROCESSLIST_ID AS id, THREAD_OS_ID AS tid FROM performance_schema.threads"
    " WHERE PROCESSLIST_ID IS NOT NULL",
    True: "SELECT ID AS id, TID AS tid FROM information_schema.PROCESSLIST",
}
SERVERS = ("mysqld", "mariadbd")


def newest_beats(server: Server, schema: str) -> list[Beat]:
    """The newest rows of the heartbeat; none if there is no table, or it cannot be read."""
    try:
        return rows.newest(server, schema, NEWEST) if schema else []
    except ServerError:
        return []


def kernel_seconds() -> float | None:
    """Seconds since this machine was started; None if that is not known."""
    try:
        return float(read_text(UPTIME).split()[0])
    except (OSError, ValueError, IndexError):
        return None


def applier_seconds(server: Server, names: Names, ids: list[int] | None) -> float | None:
    """For how long the applier's thread has run, by the machine; None if it does not run, or the
    machine does not show it.

    Args:
        ids: the connection numbers of the applier.
    """
    if not ids or len(ids) != 1:
        return None
    listed = sessions.if_allowed(server, THREADS[names.mariadb]) or []
    threads = [row["tid"] for row in listed if row["id"] == ids[0] and row["tid"]]
    return thread_seconds(int(threads[0])) if len(threads) == 1 else None


def fields_of(tid: int) -> list[str]:
    """The fields of a thread's state after its name, which may contain spaces and brackets."""
    return read_text(f"/proc/{tid}/stat").rpartition(")")[2].split()


def thread_seconds(tid: int) -> float | None:
    """How long a thread of a database server has run, in seconds; None if it is not a thread of
    this machine.
    """
    now = kernel_seconds()
    try:
        leader = next(
            line.split()[1]
            for line in read_text(f"/proc/{tid}/status").splitlines()
            if line.startswith("Tgid:")
        )
        name = read_text(f"/proc/{leader}/comm").strip()
        started = int(fields_of(tid)[STARTED]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, StopIteration):
        return None
    if now is None or not name.startswith(SERVERS):
        return None
    return max(0.0, now - started)
