# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host and its cluster are in replication and semi-sync, before anything is planned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._host import option_files
from ansible_collections.dbre.semisync.plugins.module_utils._server import channels, values
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import option_lines

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Channel, Info


def sets_replication_up(member: Member) -> bool:
    """Whether our file has lines of P0, or had them before it was lost: only the collection
    generates that server_id.
    """
    files, variables = member.facts["option_files"], member.facts["variables"]
    if any(
        name in option_files.parse_ours(files["ours"])
        for name in ("server_id", member.facts["names"]["log_updates"])
    ):
        return True
    ours = member.explicit_id or option_lines.made_up_id(member.host)
    return "server_id" not in files["options"] and int(variables["server_id"] or 0) == ours > 1


def is_fresh(member: Member, members: list[Member]) -> bool:
    """Whether the collection manages P0 here: the host does not replicate, or our file already sets
    P0.
    """
    if sets_replication_up(member):
        return True
    if member.side == "replica":
        return member.channel is None
    return all(other.channel is None for other in members if other.side == "replica")


def wanted_id(member: Member, members: list[Member]) -> int:
    return option_lines.server_id(
        member.host, member.explicit_id, member.facts, is_fresh(member, members)
    )


def channel_step(member: Member, members: list[Member]) -> str:
    """configure, start or none: what the replica's channel needs."""
    if member.side != "replica":
        return "none"
    if member.channel is None or never_connected(member.channel):
        return "configure"
    return "none" if channels.running(member.channel) else "start"


def never_connected(channel: Channel) -> bool:
    """Whether a channel is configured but has never connected to its source: a run was interrupted,
    or it cannot log in.
    """
    return (
        not channel["source_uuid"]
        and not channel["source_server_id"]
        and not channels.running(channel)
    )


def has_to_catch_up(side: str, step: str, info: Info) -> bool:
    """Whether a replica is expected to lag: its channel begins in this run, or no run has
    waited since it was seeded.
    """
    if side != "replica" or not info["names"]["gtid"]:
        return False
    if step == "configure":
        return True
    seeded = info.get("seed")
    waiting = bool(seeded and seeded.get("state") == "done" and seeded.get("caught_up") is False)
    return bool(info["channel"] and info["channel"]["gtid"] and (step == "start" or waiting))


def followers(member: Member, members: list[Member]) -> list[str]:
    """Replicas of this source, which lose it when it restarts."""
    return [
        other.host
        for other in replicas_of(members)
        if member.side == "source" and other.channel and other.channel["io_running"] == "Yes"
    ]


def fell_back(info: Info) -> bool:
    """Whether a source has semi-sync enabled but replicates asynchronously now.

    Its next acknowledged commit switches semi-sync on again; without one it stays off (MariaDB on
    an idle server).
    """
    source = info["semisync"]["source"]
    return source["variables"]["enabled"] == "ON" and source["status"]["status"] == "OFF"


def must_wait(members: list[Member]) -> bool:
    """Whether semi-sync on the source would hold the next commit for the timeout: no replica could
    acknowledge it.

    A source that is already semi-synchronous, or will be at its next start, stays so.
    """
    source = source_of(members)
    name = source.facts["names"]["source"]["variables"]["enabled"]
    on = source.facts["semisync"]["source"]["variables"]["enabled"] == "ON"
    return (
        not on
        and not option_lines.switches_on(
            name, option_files.parse_ours(source.facts["option_files"]["ours"]).get(name, 0)
        )
        and any(channel_step(other, members) != "none" for other in replicas_of(members))
    )


def turn(member: Member, members: list[Member]) -> int:
    """The host's turn: replicas one after another in inventory order, then the source."""
    order = [other.host for other in replicas_of(members)] + [source_of(members).host]
    return order.index(member.host)


def connected(members: list[Member]) -> int:
    """Replicas whose channel exists, so that a restarted source can expect them back."""
    return len(
        [
            member
            for member in replicas_of(members)
            if member.channel is not None and not never_connected(member.channel)
        ]
    )


def semisync_is_on(members: list[Member]) -> bool:
    """Whether semi-sync is enabled anywhere in the cluster, running or in the option files: then
    there is no baseline any more.
    """
    for member in members:
        name = member.facts["names"][member.side]["variables"]["enabled"]
        running = member.facts["semisync"][member.side]["variables"]["enabled"]
        configured = member.facts["option_files"]["options"].get(name, "0")
        if running == "ON" or values.canonical_value(configured) != "0":
            return True
    return False


def no_replica_is_semisync(members: list[Member]) -> bool:
    return all(
        values.canonical_value(
            member.facts["semisync"]["replica"]["variables"].get("enabled") or "OFF"
        )
        == "0"
        for member in replicas_of(members)
    )


def clients_after(member: Member, members: list[Member]) -> int:
    """The least number of semi-sync replicas on the source after this one's turn: those it had, and
    this one.
    """
    return len(
        [
            other
            for other in replicas_of(members)
            if channels.running(other.channel)
            and (other is member or other.facts["semisync"]["replica"]["status"]["status"] == "ON")
        ]
    )
