# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The types of what the parts of a role change return, and of what is read of hosts for one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.beat_shapes import Beat
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        Channel,
        Gtid,
        ScheduledEvent,
    )


class PartEvent(TypedDict):
    """What happened in a part; `at` is by its host's clock, in seconds since 1970."""

    at: float
    event: str
    words: str


class PartPoint(TypedDict):
    """A checkpoint, or a premise, that a part has seen."""

    id: str
    expected: str
    observed: str
    good: bool


class Ahead(TypedDict):
    """How a target applied its backlog before its part ran; `relaxed` has variables and values."""

    transactions: int
    seconds: float
    relaxed: dict[str, int]


class PartResult(TypedDict, total=False):
    """A part's result, as Ansible registers it; a failed one has only `msg`.

    Attributes:
        outcome: done, undone, refused or unknown.
        reason: why, in words.
        settings_row: the newest row of settings, once the target has applied everything.
        beats: the newest rows of the heartbeat, then.
        writers_waited_ms: from the freeze until a server took writes again.
    """

    outcome: str
    reason: str
    msg: str
    points: list[PartPoint]
    timeline: list[PartEvent]
    statements: list[str]
    ahead: Ahead | None
    settings_row: int | None
    beats: list[Beat] | None
    position: str
    writers_waited_ms: float | None
    scheduler_was_on: bool


Parts = Mapping[str, PartResult]


class Round(TypedDict, total=False):
    """A target's round of applying its backlog.

    Attributes:
        gone: whether no process waits there; then the other keys are absent.
        left, applied: how many transactions.
        seconds: how long the round took.
        stopped: why the applier does not run, in words; empty if it does.
    """

    gone: bool
    left: int
    applied: int
    seconds: float
    stopped: str


class RoundResult(TypedDict, total=False):
    """What a round returned; a failed one has only `msg`."""

    round: Round
    msg: str


class Stopped(TypedDict, total=False):
    """What stopping a replica's IO thread returned; a failed one has only `msg`.

    Attributes:
        stopped: whether the thread is stopped.
        changed: whether this run stopped it.
        at: when, in seconds since 1970 by the host's clock.
        answered_at: when the host had answered, by the controller's.
        server_seconds, kernel_seconds: for how long the server and the machine have run.
        gtid, channel, applier_ids, applier_seconds, received_applied, beats: read after that.
        source_answered: whether the server that it followed answered it after that.
    """

    stopped: bool
    changed: bool
    at: float
    msg: str
    answered_at: float
    server_seconds: int
    kernel_seconds: float | None
    gtid: Gtid
    channel: Channel
    applier_ids: list[int] | None
    applier_seconds: float | None
    received_applied: bool
    beats: list[Beat]
    source_answered: bool


class Salvage(TypedDict, total=False):
    """What reading a dead source's binary log found, or what prevents it.

    Attributes:
        case, words: what is in the way; `case` is empty if nothing is.
        count, gtids: the transactions that the candidate lacks; absent before they were read.
        files, end: what was read, and where the last transaction ends.
        torn, torn_gtid: bytes after that, and the transaction that they are of.
    """

    case: str
    words: str
    count: int
    gtids: list[str]
    files: list[str]
    end: int
    torn: int
    torn_gtid: str


class Ended(TypedDict):
    """How a server ended, as systemd remembers it; times in seconds before it was asked."""

    how: str
    status: int
    ended_ago: float
    started_ago: float
    stopping_ago: float | None


class LastWords(TypedDict, total=False):
    """What a dead server's error log has since the last look.

    Attributes:
        shutdown: that it was asked to end.
        off: that semi-sync was switched off.
        started: that it started again.
        dumps: server_ids of replicas that connected.
        whole: whether all of it was read.
    """

    shutdown: bool
    off: bool
    started: bool
    dumps: list[str]
    whole: bool


class Try(TypedDict):
    """A login at an address: why it failed, or empty; whether a server answered, and at least the
    kernel of its host.
    """

    address: str
    port: int
    tls: bool
    words: str
    answered: bool
    there: bool


class Reached(TypedDict, total=False):
    """What the step reach returned."""

    tried: list[Try]


class Salvaged(TypedDict, total=False):
    """What the step salvage returned."""

    salvage: Salvage


class LogsBegin(TypedDict, total=False):
    """Where a MariaDB server's binary logs begin; None on MySQL, which has a variable for it."""

    first_gtids: str | None


class SwitchoverLook(LogsBegin, total=False):
    """What was read of a host before a switchover (modules/semisync_role_look.py).

    Attributes:
        running, lock_of, reach, filters: as of a HostLook.
        events: its scheduled events.
        event_scheduler: the variable's value.
        failed, msg: that it could not be read, and why.
    """

    running: bool
    lock_of: str
    reach: dict[str, str]
    filters: list[str]
    events: list[ScheduledEvent]
    event_scheduler: str
    failed: bool
    msg: str


# host -> what was read of it.
SwitchoverLooks = Mapping[str, SwitchoverLook]


class HostLook(LogsBegin, total=False):
    """What was read of a host beside its server's state (module_utils/_role_change).

    Attributes:
        reach: peer -> why the replication account cannot log in there; empty if it can.
        answered: peers that answered at all.
        there: peers of which at least the host's kernel responded.
        running: whether another run has the lock of this server, which is `lock_of`.
        filters: what keeps transactions from being applied.
        tried: the places at which a replica has tried to log in.
        salvage: what is in the way of reading the dead source's log.
        kernel_seconds, server_seconds: for how long the machine and the server have run.
        applier_seconds: for how long the applier's thread has run.
        received_applied: whether all that it had received when its server started last is applied.
        beats: the newest rows of the heartbeat that it has.
        ended, log, asked_at, read_at: of the dead source: how it ended, what its error log says,
            and between which moments its host was asked.
        starting: of the dead source: the state of its unit, if systemd starts it again.
        boot, monotonic, wall: of the dead source's host: its boot_id and its clocks, then.
        failed, msg: that it could not be read, and why.
    """

    reach: dict[str, str]
    answered: list[str]
    there: list[str]
    running: bool
    lock_of: str
    filters: list[str]
    kernel_seconds: float | None
    server_seconds: int
    applier_seconds: float | None
    received_applied: bool
    beats: list[Beat]
    tried: list[Try]
    salvage: Salvage | None
    ended: Ended | None
    starting: str
    log: LastWords | None
    asked_at: float | None
    read_at: float | None
    boot: str | None
    monotonic: float | None
    wall: float | None
    failed: bool
    msg: str


class HostClock(TypedDict):
    """The clocks of the source's host, and when it was asked for them by the controller's."""

    boot: str
    monotonic: float
    wall: float | None
    asked_at: float


class Unread(TypedDict, total=False):
    """What semisync_info returned on a host that it could not read."""

    failed: bool
    unreachable: bool
    reason: str
    msg: str
    look: HostLook


class Received(TypedDict):
    """What was read of a replica when this run first read it."""

    gtid: Gtid
    channel: Channel
