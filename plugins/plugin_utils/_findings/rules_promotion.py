# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a replica lacks to become the source, and a source to come back as a replica.

Otherwise it is noticed on the night of the promotion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._server import values
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import DURABILITY
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import CRITICAL
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Finding
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kinds import finding
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.next_start import at_start
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import option_lines

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Side


def promotion_findings(member: Member, read: list[Member], settings: Settings) -> list[Finding]:
    """The findings of one host in the place it does not have today.

    Args:
        read: the Members of its cluster that could be read; checks that need the source are left
            out if that is not among them.
        settings: what the inventory wants of the source; a value that is not among them is not
            compared.
    """
    if member.side == "source":
        missing = missing_side_findings(member, "replica", "source_without_replica_side", [])
        return missing + answer_findings(member)
    source = next((other for other in read if other.side == "source"), None)
    differing = [
        f"{name} is {running}, {variable} is {wanted}"
        for variable, name, running, wanted in option_lines.differing_from_inventory(
            member.facts, settings
        )
    ]
    entries = address_findings(member) + binary_log_findings(member)
    entries += missing_side_findings(member, "source", "target_without_source_side", differing)
    entries += start_findings(member) + answer_findings(member)
    if source:
        entries += account_findings(member, source, read) + durability_findings(member, source)
    return entries


def address_findings(member: Member) -> list[Finding]:
    info = member.facts
    if info["variables"].get("skip_networking") == "ON":
        return [finding("target_loopback_only", member, "skip_networking is ON")]
    if not option_lines.listens_on_loopback_only(info):
        return []
    running = info["variables"]["bind_address"]
    after = info["option_files"]["options"].get("bind_address")
    evidence = f"bind_address is {running}"
    if after is not None and not values.same_value(running, after):
        evidence += f", after a restart it is {after}"
    return [finding("target_loopback_only", member, evidence)]


def account_findings(member: Member, source: Member, read: list[Member]) -> list[Finding]:
    """The accounts that the replicas log in with, which must be on the next source too.

    One that the source does not show either (it has more privileges than replication needs) is not
    judged.
    """
    users = {
        other.channel["source_user"] for other in read if other.side == "replica" and other.channel
    }
    have = [(account["user"], account["host"]) for account in member.facts["accounts"]]
    missing = [
        f"{account['user']}@{account['host']}"
        for account in source.facts["accounts"]
        if account["user"] in users and (account["user"], account["host"]) not in have
    ]
    if not missing:
        return []
    return [
        finding(
            "target_without_account",
            member,
            f"{', '.join(missing)} of {source.host} is not on {member.host}",
        )
    ]


def answer_findings(member: Member) -> list[Finding]:
    """A host's HTTP answer for routers, if it is wrong."""
    now = member.facts.get("answer")
    if now is None:
        return []
    said, is_source = now["said"], member.side == "source"
    if said["status"] is not None and said["yes"] is is_source:
        return []
    status = "no response" if said["status"] is None else said["status"]
    return [
        finding(
            "answer_wrong",
            member,
            f"GET /source of this {member.side}: {status} ({said['why']})",
            CRITICAL if said["yes"] else None,
        )
    ]


def binary_log_findings(member: Member) -> list[Finding]:
    variables, updates = member.facts["variables"], member.facts["names"]["log_updates"]
    off = [name for name in ("log_bin", updates) if variables.get(name) != "ON"]
    if not off:
        return []
    return [
        finding(
            "target_without_binary_log",
            member,
            ", ".join(f"{name} is {variables.get(name)}" for name in off),
        )
    ]


def missing_side_findings(
    member: Member, side: Side, kind: str, differing: list[str]
) -> list[Finding]:
    """The side of semi-sync that a host does not need today: loaded, configured, and off.

    Args:
        differing: what is set otherwise, in words.
    """
    names = member.facts["names"][side]
    plugin = names["plugin"]
    if plugin and member.facts["plugins"].get(plugin) != "ACTIVE":
        return [finding(kind, member, f"the plugin {plugin} is not loaded")]
    on = values.canonical_value(member.facts["semisync"][side]["variables"]["enabled"] or "OFF")
    if on != "0":
        differing = [f"{names['variables']['enabled']} is ON on a {member.side}", *differing]
    return [finding(kind, member, "; ".join(differing))] if differing else []


def durability_findings(member: Member, source: Member) -> list[Finding]:
    """Whether the replica, unlike the source, would confirm commits that are not on its own
    disk.
    """
    mine, theirs = member.facts["variables"], source.facts["variables"]
    differing = [
        f"{name} is {mine[name]}, on {source.host} {theirs[name]}"
        for name in DURABILITY
        if mine.get(name) not in (None, "1") and theirs.get(name) not in (None, mine[name])
    ]
    return [finding("target_durability_differs", member, ", ".join(differing))] if differing else []


def start_findings(member: Member) -> list[Finding]:
    value, origin = at_start(member.facts, "read_only")
    if value is None or values.canonical_value(value) != "0":
        return []
    return [
        finding(
            "target_writable_at_start", member, f"after a restart read_only is {value} ({origin})"
        )
    ]
