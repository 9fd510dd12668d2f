# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a source does for some seconds: two readings of its counters, and what was seen meanwhile.

It only reads, and takes no lock that a client could wait for.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._bench.load import validity
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.load_shapes import Snapshot
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.snapshot import (
    take_snapshot,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.ping import Trip
from ansible_collections.dbre.semisync.plugins.module_utils._bench.statistics import percentile
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import rises, text

if TYPE_CHECKING:
    from typing import Optional, TypedDict

    Counts = Optional[dict[str, int]]
else:
    TypedDict = Counts = dict

PAUSE = 0.2
PICOSECONDS = 1e12
# Threads of the server itself, by their command in the process list.
SERVERS_OWN = ("Binlog Dump", "Daemon", "Slave", "Connect")
BINARY_LOG = (
    "SELECT COUNT_MISC AS syncs, SUM_TIMER_WRITE + SUM_TIMER_MISC AS busy,"
    " SUM_NUMBER_OF_BYTES_WRITE AS bytes FROM performance_schema.file_summary_by_event_name"
    " WHERE EVENT_NAME = 'wait/io/file/sql/binlog'"
)
# Threads of the server itself have transactions too, but no user.
WRITERS = (
    "SELECT THREAD_ID AS name, COUNT_READ_WRITE AS value FROM"
    " performance_schema.events_transactions_summary_by_thread_by_event_name"
    " JOIN performance_schema.threads USING (THREAD_ID)"
    " WHERE EVENT_NAME = 'transaction' AND COUNT_READ_WRITE > 0"
    " AND PROCESSLIST_USER IS NOT NULL"
)


class Spread(TypedDict):
    """Times in milliseconds."""

    p50: float
    p99: float


class Sample(TypedDict):
    """What a source did; RETURN of the module semisync_advise says what each key means."""

    seconds: float
    commits: int
    groups: int | None
    bytes: int | None
    lock_waits: int | None
    writers: int | None
    sessions: int
    working: float
    log_busy: float | None
    answer_ms: Spread
    cpus: int
    idle: float | None
    semisync: str | None
    trips: dict[str, Trip]


class Reading(TypedDict):
    """The counters at one moment; those of performance_schema are None if it does not tell."""

    snapshot: Snapshot
    binary_log: Counts
    writers: Counts
    cpu: tuple[int, int]


class Seen(TypedDict):
    """The sessions at one moment: those that wait for their client no longer than a second, how
    many of these are at work, and how long the server took to answer.
    """

    sessions: list[int]
    working: int
    answer_ms: float


def counts(server: Server, statement: str) -> Counts:
    """A table of performance_schema as name -> value; None if the server does not have it."""
    try:
        rows = server.rows(statement)
    except ServerError:
        return None
    if rows and "name" in rows[0]:
        return {text(row["name"]): int(row["value"]) for row in rows}
    return {name: int(value) for row in rows for name, value in row.items()} or None


def cpu_time(stat: str) -> tuple[int, int]:
    """(ticks in which the host's processors idled, all ticks) in /proc/stat's text."""
    ticks = [int(word) for word in stat.partition("\n")[0].split()[1:9]]
    return sum(ticks[3:5]), sum(ticks)


def read_counters(server: Server, names: Names) -> Reading:
    with open("/proc/stat") as stream:
        cpu = cpu_time(stream.read())
    return {
        "snapshot": take_snapshot(server, names),
        "binary_log": counts(server, BINARY_LOG),
        "writers": counts(server, WRITERS),
        "cpu": cpu,
    }


def look(server: Server) -> Seen:
    """The sessions of clients now, but for this one."""
    before = time.perf_counter()
    mine = int(server.rows("SELECT CONNECTION_ID() AS id")[0]["id"])
    answer = (time.perf_counter() - before) * 1000
    numbers, working = sessions_in(server.rows("SHOW PROCESSLIST"), mine)
    return {"sessions": numbers, "working": working, "answer_ms": answer}


def sessions_in(listed: Iterable[Mapping[str, object]], mine: int) -> tuple[list[int], int]:
    """(the sessions in a process list, how many are at work); see Seen."""
    numbers: list[int] = []
    working = 0
    for row in listed:
        command, number = text(row["Command"]), int(text(row["Id"]))
        own = command.startswith(SERVERS_OWN) or text(row["User"]) in ("system user", "")
        recent = float(text(row["Time"] or 0)) <= 1
        if own or number == mine or (command == "Sleep" and not recent):
            continue
        numbers.append(number)
        working += command != "Sleep"
    return numbers, working


def watch(server: Server, seconds: float) -> list[Seen]:
    """The sessions, several times a second."""
    until = time.monotonic() + seconds
    seen = [look(server)]
    while time.monotonic() < until:
        time.sleep(PAUSE)
        seen.append(look(server))
    return seen


def spread(values: Sequence[float]) -> Spread:
    return {
        "p50": round(percentile(values, 50), 3),
        "p99": round(percentile(values, 99), 3),
    }


def risen(before: Counts, after: Counts) -> dict[str, int]:
    """How far each counter of a table rose; one that the first reading lacks began at 0."""
    if before is None or after is None:
        return {}
    rose = {name: value - before.get(name, 0) for name, value in after.items()}
    return {name: value for name, value in rose.items() if value > 0}


def make_sample(
    before: Reading,
    after: Reading,
    seen: Sequence[Seen],
    trips: dict[str, Trip],
) -> Sample:
    """Two readings, and what was seen between them, as one sample."""
    first, last = before["snapshot"], after["snapshot"]
    seconds = last["at"] - first["at"]
    status = rises(
        first["status"],
        last["status"],
        (
            "binlog_commits",
            "binlog_group_commits",
            "binlog_bytes_written",
            "innodb_row_lock_waits",
        ),
    )
    log = risen(before["binary_log"], after["binary_log"])
    idle, ticks = (after["cpu"][place] - before["cpu"][place] for place in (0, 1))
    return {
        "seconds": round(seconds, 3),
        "commits": status.get("binlog_commits", validity.committed(first, last)),
        # A synchronous write is of a whole group.
        "groups": status.get("binlog_group_commits", log.get("syncs")),
        "bytes": status.get("binlog_bytes_written", log.get("bytes")),
        "lock_waits": status.get("innodb_row_lock_waits"),
        "writers": len(risen(before["writers"], after["writers"])) or None,
        "sessions": len({one for look in seen for one in look["sessions"]}),
        "working": round(sum(one["working"] for one in seen) / len(seen), 2),
        "log_busy": round(log["busy"] / PICOSECONDS / seconds, 4) if "busy" in log else None,
        "answer_ms": spread([one["answer_ms"] for one in seen]),
        "cpus": len(os.sched_getaffinity(0)),
        "idle": round(idle / ticks, 3) if ticks else None,
        "semisync": last["semisync"].get("status"),
        "trips": trips,
    }
