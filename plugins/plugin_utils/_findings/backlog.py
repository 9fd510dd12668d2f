# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a replica would take to apply what it has received, which a failover waits for."""

from __future__ import annotations

from typing import NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._replication import position
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import INFO
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Finding
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kinds import finding


class Estimate(NamedTuple):
    """What is known of one replica.

    Attributes:
        left: what it has received and not applied; None if it could not be counted.
        unit: of that.
        seconds: how long it would take, by the rate seen; None if that is not known.
        rate: how much it applied per second, or None.
        exact: whether it was busy during the whole measurement; else it may be faster.
        unknown: why there are no seconds, as text; empty if there are.
    """

    left: int | None
    unit: str
    seconds: float | None
    rate: float | None
    exact: bool
    unknown: str


def of_member(member: Member) -> Estimate | None:
    """The estimate of a replica that was read and measured (semisync_info's measure_backlog), None
    of any other host.
    """
    seen = member.info.get("backlog") if member.info else None
    if not seen or not member.channel:
        return None
    left, unit = seen["left"], seen["unit"]
    if left == 0:
        return Estimate(0, unit, 0.0, None, True, "")
    unknown = position.stopped(member.channel)
    if not unknown and member.channel["delay"]:
        unknown = f"it is delayed by {member.channel['delay']} s"
    if not unknown and left is None:
        unknown = "what it has to apply is in several files"
    if not unknown and not seen["applied"]:
        unknown = f"it applied nothing in {seen['seconds']:.1f} s"
    applied, seconds = seen["applied"], seen["seconds"]
    if unknown or left is None or not applied or not seconds:
        return Estimate(left, unit, None, None, False, unknown)
    rate = applied / seconds
    return Estimate(left, unit, left / rate, rate, bool(seen["busy"]), "")


def estimate_text(estimate: Estimate) -> str:
    """An estimate for people."""
    if estimate.left == 0:
        return "nothing to apply"
    count = "an unknown number of" if estimate.left is None else str(estimate.left)
    if estimate.seconds is None:
        how_long = f"how long that takes is not known: {estimate.unknown}"
    else:
        roughly = "about" if estimate.exact else "at most"
        how_long = f"{roughly} {estimate.seconds:.1f} s at {estimate.rate:.0f} a second"
    return f"{count} {estimate.unit} to apply, {how_long}"


def line(members: list[Member]) -> str:
    """How long a failover would wait now for what each replica has to apply; empty if it was not
    measured.
    """
    parts = [
        f"{member.host}: {estimate_text(estimate)}"
        for member in members
        if member.side == "replica" and (estimate := of_member(member))
    ]
    if not parts:
        return ""
    return f"A failover now would have to apply first: {'; '.join(parts)}{needed(members)}"


def needed(members: list[Member]) -> str:
    """How many replicas it would have to read, if there are several and the source was read."""
    source, number = source_of(members), len(replicas_of(members))
    if source.info is None or number < 2:
        return ""
    running = source.info["semisync"]["source"]["variables"]
    count = int(running.get("wait_for_replica_count") or 1)
    least = max(1, number - count + 1)
    return f". It would have to read {least} of {number} replicas, as a commit waits for {count}"


def backlog_findings(member: Member, most: float) -> list[Finding]:
    """The finding of a replica for which a failover would wait too long.

    Args:
        most: seconds that it may take.
    """
    estimate = of_member(member)
    if estimate is None:
        return []
    if estimate.seconds is None:
        # A thread that stands still is a finding of its own.
        if position.stopped(member.channel):
            return []
        return [finding("failover_slow", member, estimate_text(estimate), INFO)]
    if estimate.seconds < most or not estimate.exact:
        return []
    return [finding("failover_slow", member, f"{estimate_text(estimate)} (limit {most:g} s)")]
