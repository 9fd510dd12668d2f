# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a drill was planned to do, what was seen of it, and what drill.json keeps.

All of it is JSON: a host reports it, or a report reads it.
"""

from __future__ import annotations

from typing import TypedDict

from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Check


class PulseRow(TypedDict):
    """One insert of the pulse; see module_utils/_canary/pulse.py.

    Attributes:
        at: when it began, in seconds since 1970 by the source's clock.
        latency_ms: how long it took.
        status, clients: of semi-sync on the source, after it.
        yes_tx, no_tx, no_times: how far these rose since the row before.
    """

    at: float
    latency_ms: float
    status: str
    clients: int
    yes_tx: int
    no_tx: int
    no_times: int


class PhasedRow(PulseRow):
    """An insert with its phase: before, stopped, recovering or after."""

    phase: str


class Times(TypedDict):
    """When systemd began and ended to stop and to start a unit, in seconds since 1970, or None."""

    stopping: float | None
    stopped: float | None
    starting: float | None
    started: float | None


class UnitResult(TypedDict, total=False):
    """The result of semisync_unit; without `active` the call says nothing about the unit."""

    changed: bool
    running: bool
    active: str
    sub: str
    main_pid: int
    times: Times


class DrillEvent(TypedDict):
    """What happened, and at which second of the drill."""

    t: float | None
    what: str


class Insert(TypedDict):
    """An insert as drill.json has it; t is the second of the drill at which it began."""

    t: float
    latency_ms: float
    yes_tx: int
    no_tx: int
    phase: str
    status: str
    clients: int


class Drill(TypedDict):
    """One drill as drill.json has it.

    Attributes:
        outcome: passed or failed.
        reason: why it failed, or empty.
        blocked_ms: how long the insert waited that met the fallback; 0 if there was none.
        longest_ms: the longest insert since the stop.
        unprotected: transactions that were confirmed without an acknowledgement.
        recovery_seconds: from the start of the replica's server to the first acknowledged row.
        stopped_at, started_at: seconds since the drill began.
    """

    replica: str
    source: str
    timeout_ms: int
    outcome: str
    reason: str
    expected_fallback: bool
    blocked_ms: float
    longest_ms: float
    unprotected: int
    recovery_seconds: float | None
    stopped_at: float | None
    started_at: float | None
    events: list[DrillEvent]
    inserts: list[Insert]
    checkpoints: list[Check]
