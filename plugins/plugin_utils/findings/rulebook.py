# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of all findings, in their order: what is wrong, or will be, with a cluster whose
servers answer.

A checkpoint says whether a point of the procedure holds. A finding says what is dangerous, why, and
what to do.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.plugin_utils.findings import backlog, rules_events
from ansible_collections.dbre.semisync.plugins.plugin_utils.findings.kinds import finding
from ansible_collections.dbre.semisync.plugins.plugin_utils.findings.rules_lossless import (
    of_promise,
    without_what_is_promised,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.findings.rules_promotion import (
    of_target,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.findings.rules_replica import (
    of_applier,
    of_replica,
    of_skipping,
    of_way,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.findings.rules_server import (
    of_clocks,
    of_identities,
    of_plugins,
    of_restart,
    of_unread,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.findings.rules_source import of_source
from ansible_collections.dbre.semisync.plugins.plugin_utils.findings.rules_topology import of_sides
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import held
from ansible_collections.dbre.semisync.plugins.plugin_utils.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils.words import SEVERITIES


def evaluate(
    members: list[Member],
    past: dict[str, Any] | None = None,
    since: str | None = None,
    lag_limit: int = 60,
    ahead: dict[str, Any] | None = None,
    settings: Settings | None = None,
    failover_limit: float = 60,
    away: list[held.Held] | None = None,
) -> list[dict[str, Any]]:
    """All findings of a cluster, the worst first.

    Args:
        members: a Member for every host; of one without info nothing is known.
        past: result of history.compare(), or None.
        since: result of history.degraded_since(), or None.
        lag_limit: seconds a replica may be behind.
        failover_limit: seconds that a failover may wait for what is to be applied.
        ahead: result of clocks(); hosts that were not compared are left out.
        settings: what the inventory wants of the source; of what is not among them nothing is
            known but semisync_promise.
        away: hosts that a failover left behind.
    """
    read = [member for member in members if member.info is not None]
    replicas = [member for member in read if member.side == "replica"]
    count = len([member for member in members if member.side == "replica"])
    entries = of_unread(members)
    for one in away or []:
        name, seen = held.finding(one)
        entries.append(finding(name, one.member, seen))
    entries += [
        finding("follows_held", member, held.missed_words(missed))
        for member in replicas
        if (missed := held.missed(member, [*members, *(one.member for one in away or [])]))
    ]
    for member in read:
        entries += (
            of_plugins(member)
            + of_restart(member)
            + of_target(member, read, settings or Settings())
        )
        if member.side == "source":
            entries += of_source(member, replicas, count, past, since, settings or Settings())
            entries += rules_events.of_source(member)
        else:
            entries += of_replica(member, members) + of_applier(member, lag_limit)
            entries += of_way(member)
            entries += of_skipping(member) + rules_events.of_replica(member)
            entries += backlog.of_replica(member, failover_limit)
    entries += of_sides(members) + of_clocks(read, ahead or {}) + of_identities(read)
    wanted = settings or Settings()
    entries = without_what_is_promised(entries, wanted) + of_promise(members, wanted)
    return sorted(entries, key=lambda entry: SEVERITIES.index(entry["severity"]))
