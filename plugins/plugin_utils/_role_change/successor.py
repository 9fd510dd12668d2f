# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which replica to promote in place of a dead source, and which others can follow it."""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.module_utils._server import values
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    replicas_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    survivors,
    switchover_premises,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.survivors import Evidence


def unusable(evidence: Evidence, member: Member) -> str:
    """Why a replica that has everything cannot be promoted; empty if it can."""
    channel, info = member.link, member.facts
    looked = evidence.looks.get(member.host) or {}
    if looked.get("failed"):
        return f"what keeps it from applying could not be read: {looked['msg']}"
    if channel["last_sql_error"]:
        return f"its applier has stopped: {channel['last_sql_error']}"
    if channel["delay"]:
        return f"it is delayed by {channel['delay']} s"
    if looked.get("filters"):
        return f"it does not apply everything: {', '.join(looked['filters'])}"
    logs = info["names"]["log_updates"]
    if not all(values.same_value(info["variables"].get(name), "ON") for name in ("log_bin", logs)):
        return (
            f"log_bin is {info['variables'].get('log_bin')}, {logs} {info['variables'].get(logs)}"
        )
    plugin = info["names"]["source"]["plugin"]
    if plugin and info["plugins"].get(plugin) != "ACTIVE":
        return f"semi-sync's source side is not loaded (plugin {plugin})"
    return ""


def candidate_of(evidence: Evidence) -> Member | None:
    """The replica that takes over: of those that have everything and can, the one that is named;
    else one that enough others can follow, with least to apply.
    """
    wanted = evidence.settings["failover_to"]
    able = [
        member
        for member in survivors.supersets(evidence)
        if wanted in ("", member.host) and not unusable(evidence, member)
    ]
    able.sort(key=lambda member: len(followers_of(evidence, member)) < new_wait_count(member))
    return able[0] if able else None


def followers_of(evidence: Evidence, chosen: Member) -> list[Member]:
    """Who can follow it, and acknowledge."""
    return [
        member
        for member in survivors.readable(evidence.members)
        if member is not chosen and not stays_behind(evidence, member, chosen)
    ]


def stays_behind(evidence: Evidence, member: Member, chosen: Member) -> str:
    """Why a replica cannot follow the candidate; empty if it can."""
    looked, channel = evidence.looks.get(member.host) or {}, member.link
    error = (looked.get("reach") or {}).get(chosen.host, "it was not tried")
    if error:
        return f"it cannot log in to {chosen.host}: {error}"
    if switchover_premises.version(member)[:2] < switchover_premises.version(chosen)[:2]:
        return f"its version {member.facts['version']} is older than {chosen.facts['version']}"
    if channel["last_sql_error"]:
        return f"its applier has stopped: {channel['last_sql_error']}"
    if channel["delay"]:
        return f"it is delayed by {channel['delay']} s: it follows once it has applied everything"
    enabled = member.facts["semisync"]["replica"]["variables"].get("enabled")
    return "" if values.same_value(enabled, "ON") else "semi-sync's replica side is off"


def new_wait_count(chosen: Member) -> int:
    """How many acknowledgements a commit waits for on the candidate, as it runs."""
    running = chosen.facts["semisync"]["source"]["variables"]
    return int(running.get("wait_for_replica_count") or 1)


def left_behind(evidence: Evidence, chosen: Member) -> dict[str, str]:
    """Replicas that will not follow, and why."""
    gone = dict(survivors.unread(evidence))
    for member in replicas_of(evidence.members):
        if member.host not in gone and member is not chosen:
            words = stays_behind(evidence, member, chosen)
            if words:
                gone[member.host] = words
    return gone
