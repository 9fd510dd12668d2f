# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host's state of replication: whether it is new, what its channel needs, and whether it is
expected to be behind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils.host import option_files
from ansible_collections.dbre.semisync.plugins.module_utils.server import channels
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import option_lines

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.types.shapes import Channel, Info


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
    """Whether a replica is expected to be behind: its channel begins in this run, or no run has
    waited since it was seeded.
    """
    if side != "replica" or not info["names"]["gtid"]:
        return False
    if step == "configure":
        return True
    seeded = info.get("seed")
    waiting = bool(seeded and seeded.get("state") == "done" and seeded.get("caught_up") is False)
    return bool(info["channel"] and info["channel"]["gtid"] and (step == "start" or waiting))
