# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The heartbeat: whether the source beats, and only it, and what its rows say of the time between
two runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._heartbeat import beat_place
from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import utc
from ansible_collections.dbre.semisync.plugins.module_utils._replication import journal
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Finding
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kinds import finding

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.beat_shapes import (
        Beats,
        DegradedTime,
        KeptBeats,
    )

# A row that is older than so many intervals and seconds is not of now.
INTERVALS, SECONDS = 3, 10.0


def heartbeat_findings(read: Sequence[Member], interval: int, since: str = "") -> list[Finding]:
    """What is wrong with the heartbeat of a cluster; none if it has none.

    Args:
        read: the members that could be read.
        interval: seconds between two beats; 0 for none.
        since: when the last run was; empty if there was none.
    """
    if not interval:
        return []
    limit = INTERVALS * interval + SECONDS
    entries = [entry for member in read for entry in service_findings(member)]
    source = next((member for member in read if member.side == "source"), None)
    # A run that does not ask for the rows says nothing of them.
    if source is None or "beats" not in source.facts:
        return entries
    entries += stopped_findings(source, limit) + degraded_findings(source, since)
    own = journal.identity(source.facts["variables"])
    return entries + [entry for one in read for entry in elsewhere_findings(one, own, limit)]


def beats_of(member: Member) -> Beats | None:
    return member.facts.get("beats")


def kept(members: Sequence[Member]) -> dict[str, KeptBeats]:
    """Host -> what the rows on it say, for the results."""
    read = [member for member in members if member.info is not None]
    return {
        member.host: {**beats, "identity": journal.identity(member.facts["variables"])}
        for member in read
        if (beats := beats_of(member))
    }


def line(members: Sequence[Member]) -> str:
    """How old the newest row is on each host; empty if there is none."""
    ages = {host: beats["age"] for host, beats in kept(members).items()}
    if not ages:
        return ""
    parts = [f"{host}: {'none' if age is None else f'{age:.1f} s'}" for host, age in ages.items()]
    return f"The heartbeat's newest row, by age (on a replica its lag): {', '.join(parts)}"


def service_findings(member: Member) -> list[Finding]:
    now = member.facts.get("heartbeat")
    if now is None:
        words = "it is not there"
    elif now["said"].startswith(beat_place.REFUSED):
        words = now["said"]
    elif now["active"] and now["enabled"]:
        return []
    else:
        words = "it is not enabled" if now["active"] else "it does not run"
    return [finding("heartbeat_service", member, words)]


def stopped_findings(source: Member, limit: float) -> list[Finding]:
    beats, service = beats_of(source), source.facts.get("heartbeat")
    own = journal.identity(source.facts["variables"])
    if beats is None:
        words = "its rows could not be read"
    elif beats["age"] is None:
        words = "it has written no row"
    elif beats["server"] == own and beats["age"] <= limit:
        return []
    else:
        words = f"the newest row is {beats['age']:.0f} s old"
        if beats["server"] != own:
            words += f" and of another server ({beats['server']})"
    if service and service["said"]:
        words += f"; its service says: {service['said']}"
    return [finding("heartbeat_stopped", source, words)]


def elsewhere_findings(member: Member, source: str, limit: float) -> list[Finding]:
    """A fresh row of another server than the source.

    Args:
        source: what the source is known by.
        limit: seconds after which a row is not of now.
    """
    beats = beats_of(member)
    if not beats or beats["age"] is None or beats["server"] in (None, source):
        return []
    if abs(beats["age"]) > limit:
        return []
    words = f"{beats['server']} wrote a row {beats['age']:.0f} s ago, and the source is {source}"
    return [finding("heartbeat_elsewhere", member, words)]


def degraded_findings(source: Member, since: str) -> list[Finding]:
    """Degraded times that have ended since the last run; one that goes on is found otherwise."""
    beats = beats_of(source)
    if beats is None:
        return []
    over = [time for time in beats["degraded"] if time["end"] is not None]
    recent = [time for time in over if utc(time["end"] or 0.0) > since]
    if not recent:
        return []
    return [finding("heartbeat_degraded", source, "; ".join(map(words_of, recent)))]


def words_of(time: DegradedTime) -> str:
    """A degraded time as text: its bounds are the beats around it."""
    begin = "at the latest " + utc(time["first"]) if time["begin"] is None else utc(time["begin"])
    count = "an unknown number of" if time["alone"] is None else str(time["alone"])
    return (
        f"from {begin} to {utc(time['end'] or time['last'])}, {count} commits without an"
        " acknowledgement"
    )
