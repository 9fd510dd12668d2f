# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of all findings, in their order: what is wrong, or will be, with a cluster whose
servers answer.

A checkpoint says whether a point of the procedure holds. A finding says what is dangerous, why, and
what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import SEVERITIES
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import backlog, rules_events
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Finding
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kinds import finding
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.next_version import (
    next_version_findings,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.rules_heartbeat import (
    heartbeat_findings,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.rules_lossless import (
    lossless_findings,
    without_what_is_promised,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.rules_promotion import (
    promotion_findings,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.rules_replica import (
    applier_findings,
    replica_findings,
    skipping_findings,
    verification_findings,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.rules_server import (
    Ahead,
    clock_findings,
    disk_findings,
    identity_findings,
    plugin_findings,
    restart_findings,
    unread_findings,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.rules_source import (
    source_findings,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.rules_topology import (
    topology_findings,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import quarantined_hosts

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.look_shapes import Rise


def evaluate(
    members: list[Member],
    past: Rise | None = None,
    since: str | None = None,
    lag_limit: int = 60,
    ahead: Ahead | None = None,
    settings: Settings | None = None,
    failover_limit: float = 60,
    away: list[quarantined_hosts.QuarantinedHost] | None = None,
) -> list[Finding]:
    """All findings of a cluster, the worst first.

    Args:
        members: a Member for every host; nothing is known of one without info.
        past: result of history.compare(), or None.
        since: result of history.degraded_since(), or None.
        lag_limit: seconds that a replica may lag.
        ahead: result of rules_server.clocks(); hosts that were not compared are left out.
        settings: what the inventory wants of the source, and semisync_promise; a value that is not
            among them is not compared.
        failover_limit: seconds that a failover may spend on applying the backlog.
        away: hosts in quarantine since a failover.
    """
    wanted = settings or Settings()
    read = [member for member in members if member.info is not None]
    replicas = [member for member in read if member.side == "replica"]
    count = len([member for member in members if member.side == "replica"])
    entries = disk_findings(members) + unread_findings(members)
    entries += quarantine_findings(members, replicas, away or [])
    for member in read:
        entries += plugin_findings(member) + restart_findings(member)
        entries += next_version_findings(member)
        entries += promotion_findings(member, read, wanted)
        if member.side == "source":
            entries += source_findings(member, replicas, count, past, since, wanted)
            entries += rules_events.event_findings_of_source(member)
        else:
            entries += all_replica_findings(member, lag_limit, failover_limit)
    entries += topology_findings(members) + clock_findings(read, ahead or {})
    entries += identity_findings(read)
    if "heartbeat_seconds" in wanted:
        last = past["since"] if past else ""
        entries += heartbeat_findings(read, wanted["heartbeat_seconds"], last)
    entries = without_what_is_promised(entries, wanted) + lossless_findings(members, wanted)
    return sorted(entries, key=lambda entry: SEVERITIES.index(entry["severity"]))


def all_replica_findings(member: Member, lag_limit: int, failover_limit: float) -> list[Finding]:
    """What is wrong with one replica."""
    return (
        replica_findings(member)
        + applier_findings(member, lag_limit)
        + verification_findings(member)
        + skipping_findings(member)
        + rules_events.event_findings_of_replica(member)
        + backlog.backlog_findings(member, failover_limit)
    )


def quarantine_findings(
    members: list[Member], replicas: list[Member], away: list[quarantined_hosts.QuarantinedHost]
) -> list[Finding]:
    """Former sources, and replicas that still follow one.

    Args:
        replicas: those that were read.
        away: hosts in quarantine; they are not among the members.
    """
    entries = []
    for former in away:
        name, evidence = quarantined_hosts.finding(former)
        entries.append(finding(name, former.member, evidence))
    everyone = [*members, *(former.member for former in away)]
    for member in replicas:
        row = quarantined_hosts.missed(member, everyone)
        if row:
            entries.append(finding("follows_held", member, quarantined_hosts.missed_words(row)))
    return entries
