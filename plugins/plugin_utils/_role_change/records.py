# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The types of what is kept of a role change, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import CaseRow, Check
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.part_results import (
    Ahead,
    HostClock,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.look_shapes import Look


class Line(TypedDict):
    """A line of a timeline: milliseconds since its beginning, or None if that is not known."""

    at_ms: float | None
    host: str
    event: str
    words: str


class Statement(TypedDict):
    """A statement, and the host it runs on."""

    host: str
    statement: str


class Fenced(TypedDict):
    """What is known of the tasks of semisync_hook_fence.

    Attributes:
        case: the one that was accepted of a source that might live; None if it was dead.
        words: what was found.
        dead_at: when the source was seen dead.
        failed: hosts on which a task failed, or that one did not reach.
        ended_at: when they had ended on every host, at the latest; None if they have not run.
    """

    case: str | None
    words: str
    dead_at: str | None
    failed: list[str]
    ended_at: str | None


class AppliedAhead(Ahead):
    """The same in a certificate; `careful_again` is None if nothing was relaxed."""

    careful_again: bool | None


class LogSummary(TypedDict):
    """What was read of a dead source's binary log."""

    transactions: int
    first: str | None
    last: str | None
    gtids: str
    files: list[str]
    end: int
    torn_bytes: int
    torn_gtid: str | None


# `from` is a Python keyword.
Window = TypedDict(
    "Window",
    {"from": str, "to": str, "known": bool, "ended": bool, "commits": None},
)


class ProvingBeat(TypedDict):
    """The beat by which `proven_until` is known.

    Attributes:
        number: its row in the table.
        at: when it was; `exact` if by the monotonic clock of the source's host, else by its wall
            clock.
    """

    number: int
    at: str
    exact: bool


class Verdict(TypedDict):
    """What is proven; see certificate.failover_verdict()."""

    verdict: str
    window: Window | None
    reasons: list[str]
    pending: list[str]
    proven_until: str | None
    proven_by_beat: ProvingBeat | None
    seconds_before_end: float | None
    ended_by: str | None
    assumes: list[str]


Judgement = TypedDict(
    "Judgement",
    {
        "operation": str,
        "cluster": str,
        "token": str,
        "at": str,
        "from": str,
        "to": str | None,
        "why": str,
        "verdict": str,
        "window": Window | None,
        "reasons": list[str],
        "pending": list[str],
        "proven_until": str | None,
        "assumes": list[str],
        "premises": list[Check],
        "cases": list[CaseRow],
        "accepted": list[str],
        "received": dict[str, str],
        "differences": list[str],
        "salvage": LogSummary | None,
        "left_behind": dict[str, str],
        "last_look": "Look | None",
        "outcome": str,
        "reason": str,
        "timeline": list[Line],
        "statements": list[Statement],
    },
)


class Certificate(Judgement, total=False):
    """certificate.json; certificate_schema.json describes it. What has no row in a Judgement is
    known of a run of our own only, or once it is done.
    """

    proven_by_beat: ProvingBeat | None
    seconds_before_end: float | None
    ended_by: str | None
    fenced: Fenced | None
    source_seen_at: str | None
    source_ended_at: str | None
    frozen_at: str | None
    points: list[Check]
    applied_ahead: AppliedAhead | None
    begun_at: str | None
    opened_at: str | None
    opened_after_ms: float | None
    first_commit_after_ms: float | None


class FailoverPlanned(TypedDict, total=False):
    """What a failover's plan returned.

    Attributes:
        unsure: whether the hosts are to be read once more before anything is judged.
    """

    unsure: bool
    certificate: Certificate
    lives: bool
    host_clock: HostClock | None


class JudgeResult(TypedDict, total=False):
    """What a failover's judgement returned."""

    go: bool
    hosts: dict[str, dict[str, object]]
    certificate: Certificate


class Span(TypedDict):
    """When a host accepted writes, in milliseconds of the timeline; None for what began before it,
    or has not ended.
    """

    host: str
    from_ms: float | None
    to_ms: float | None


class SwitchoverPremise(TypedDict):
    """A premise of a switchover; see switchover_premises.plan_row()."""

    premise: str
    host: str
    good: bool
    observed: str
    remedy: str


class ListensAt(TypedDict):
    """Where a member listens; see plan.Peer."""

    host: str
    address: str
    port: int
    tls: bool


class PartPlan(TypedDict, total=False):
    """A host's plan, as far as the controller reads it again; see plan.SwitchoverPlan."""

    members: list[ListensAt]


class Changes(TypedDict, total=False):
    """What is left to change on a server; of semisync_plan's result."""

    server_changes: bool


SwitchoverRun = TypedDict(
    "SwitchoverRun",
    {
        "mode": str,
        "cluster": str,
        "from": str,
        "to": str,
        "token": str,
        "hosts": dict[str, PartPlan],
        "statements": list[Statement],
        "premises": list[SwitchoverPremise],
    },
)

# How a switchover ended, of this run or of an earlier one.
SwitchoverOutcome = TypedDict(
    "SwitchoverOutcome",
    {
        "mode": str,
        "from": str,
        "to": str,
        "token": str,
        "outcome": str,
        "reason": str,
        "froze_at": str | None,
        "writers_waited_ms": float | None,
    },
)


class SwitchoverDone(SwitchoverOutcome):
    """switchover.json, but for what is there only after an interrupted run."""

    format: int
    cluster: str
    writable: list[Span]
    position: str
    premises: list[SwitchoverPremise]
    points: list[Check]
    timeline: list[Line]
    statements: list[Statement]


class SwitchoverRecord(SwitchoverDone, total=False):
    """switchover.json, with what the same run completed or rolled back before."""

    mended: list[SwitchoverOutcome]
