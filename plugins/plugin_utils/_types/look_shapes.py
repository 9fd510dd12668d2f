# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shapes of a look at a source: what state.json keeps of it, and what two of them show. mypy
reads this, and nothing that runs imports it, as with shapes.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NotRequired, TypedDict

    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        ErrorLog,
        EventState,
    )
else:
    TypedDict = dict


class EarlierLook(TypedDict):
    """When a look was, and which GTIDs the source had."""

    at: str
    gtid: str


class Identity(TypedDict):
    """What a replica is known by to its source."""

    server_id: str | None
    uuid: str | None


class Connection(TypedDict):
    """Numbers that a replica's server has given to connections.

    Attributes:
        connection_id: the newest at a look, which may read a replica seconds after its source.
        asked_at: when it was asked for that, by the controller's clock.
        before: one that was given before the source was asked, by an earlier look; None if that
            was at another start of the server, or there is none.
    """

    connection_id: int | None
    asked_at: float | None
    before: int | None


class BinaryLogFiles(TypedDict):
    """Where a binary log is, and what shows that its server has ended."""

    basename: str | None
    datadir: str | None
    pid_file: str | None
    basedir: str | None
    program: str | None


class LookByBeat(TypedDict):
    """Which beat a look was made of; whether its time is by its own host's monotonic clock, and
    whether it named the replicas that it counted.
    """

    number: int
    exact: bool
    named: bool


class Counters(TypedDict):
    """Semi-sync's counters on a source."""

    yes_tx: int
    no_tx: int
    no_times: int


class Rise(Counters):
    """How far the counters rose since the last run.

    Attributes:
        since: when the last run was.
        reset: whether they began anew since; then what they show is the least that happened.
    """

    since: str
    reset: bool


class Snapshot(Counters):
    """What a look sees of a source; a failover asks for it when the source is dead.

    Attributes:
        server: what identifies it (checkpoints.identity()).
        at: when, as results have times.
        clock: the same by the server, in seconds since 1970.
        counting_since: when the counters began, by the server; None if that is not known.
        status, clients, wait_sessions: semi-sync's statuses.
        timeout, wait_no_replica, wait_for_replica_count, wait_point: semi-sync's variables.
        calm_since: since when no commit waited, by the server.
        events: scheduled events, which a replica does not know to have run.
        settings_row: the newest row of settings in the journal that the look covers.
    """

    server: str
    at: str
    clock: float
    counting_since: float | None
    status: str | None
    clients: str | None
    wait_sessions: str | None
    timeout: str | None
    wait_no_replica: str | None
    wait_for_replica_count: str | None
    wait_point: str | None
    calm_since: float | None
    unit: str | None
    server_id: str | None
    files: BinaryLogFiles
    sync_binlog: str | None
    gtid_strict_mode: str | None
    gtid: str
    error_log: ErrorLog | None
    events: list[EventState] | None
    binlog_filters: list[str] | None
    settings_row: int


class Look(Snapshot):
    """A look as state.json keeps it; one that an older version kept may lack keys.

    Attributes:
        host: inventory name of the source.
        degraded_since: when a run first saw that it replicates asynchronously.
        calm_at: see calm_at().
        acknowledgers: replicas of the inventory that may be semi-sync clients.
        strangers: how many more clients the source counted.
        replicas: those that were read.
        read_by: when all that it rests on had been read.
        past: earlier looks.
        unsynced: a sync_binlog other than 1 that a look at this server has seen.
        spent_at, spent_why: when and why the look became void.
        beat: of which beat it was made; state.json has none such.
    """

    host: NotRequired[str]
    degraded_since: NotRequired[str | None]
    calm_at: NotRequired[str | None]
    acknowledgers: NotRequired[dict[str, Identity]]
    strangers: NotRequired[int]
    replicas: NotRequired[dict[str, Connection]]
    read_by: NotRequired[str]
    past: NotRequired[list[EarlierLook]]
    unsynced: NotRequired[str | None]
    spent_at: NotRequired[str]
    spent_why: NotRequired[str]
    beat: NotRequired[LookByBeat]
