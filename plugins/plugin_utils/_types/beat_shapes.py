# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shapes of the heartbeat: its rows, and what is read from them. mypy reads this, and nothing
that runs imports it, as with shapes.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypedDict
else:
    TypedDict = dict


class BeatFacts(TypedDict):
    """What a source knew of itself at a beat; None for what could not be read.

    Attributes:
        enabled, status: of semi-sync.
        timeout: in milliseconds.
        clients: how many semi-sync replicas were connected.
        acknowledgers: server_ids or UUIDs of connected replicas, as far as they could be seen.
        yes_tx, no_tx, no_times, wait_sessions: semi-sync's counters.
        killed: how many waiting beats of its own the writer has ended since it started.
        settings_row: the newest row `settings` of the journal, as a look keeps it.
        flush_log: innodb_flush_log_at_trx_commit.
    """

    enabled: str | None
    status: str | None
    timeout: int | None
    wait_point: str | None
    wait_count: int | None
    wait_no_replica: str | None
    clients: int | None
    acknowledgers: list[str] | None
    yes_tx: int | None
    no_tx: int | None
    no_times: int | None
    wait_sessions: int | None
    killed: int | None
    server_id: int | None
    settings_row: int | None
    binlog_filters: list[str] | None
    sync_binlog: str | None
    flush_log: str | None


class Beat(TypedDict):
    """A row of the heartbeat: what the source wrote of itself into its own binary log. The clocks
    were read before the facts and the GTIDs, and these before the row was written.

    Attributes:
        number: of the row; it grows.
        server: server_uuid, or server_id on MariaDB.
        boot: the boot_id of the source's host.
        monotonic: its monotonic clock, in seconds.
        wall: its clock, in seconds since 1970.
        uptime: for how many seconds the server had run; None if it did not say.
        gtid: what the source had.
    """

    number: int
    server: str
    boot: str
    monotonic: float
    wall: float
    uptime: int | None
    facts: BeatFacts
    gtid: str


class BeatGap(TypedDict):
    """A time without a beat of a server that beat before and after, in seconds since 1970."""

    server: str
    begin: float
    end: float


class BeatSpan(TypedDict):
    """A time in which one start of a server beat without a gap, in seconds since 1970."""

    server: str
    begin: float
    end: float
    rows: int


class DegradedTime(TypedDict):
    """A time in which semi-sync was on and its status OFF, by a server's beats.

    Attributes:
        begin, end: the last beat before it and the first after it; None if there is none.
        first, last: its own first and last beat.
        no_tx: the counter of unacknowledged commits at its begin.
        alone: how far that rose until its end; None if it is not known.
    """

    server: str
    begin: float | None
    first: float
    last: float
    end: float | None
    no_tx: int | None
    alone: int | None


class Beats(TypedDict):
    """What the newest rows of the heartbeat on one server say (heartbeat/summary.py).

    Attributes:
        server, number, wall: of the newest row; None if there is none.
        age: seconds from that to the server's clock; on a replica its lag and up to one interval.
        rows, unreadable: how many were read, and how many more could not be parsed.
    """

    rows: int
    unreadable: int
    server: str | None
    number: int | None
    wall: float | None
    age: float | None
    spans: list[BeatSpan]
    gaps: list[BeatGap]
    degraded: list[DegradedTime]


class KeptBeats(Beats):
    """The same in the results, with what beats call the host's own server."""

    identity: str
