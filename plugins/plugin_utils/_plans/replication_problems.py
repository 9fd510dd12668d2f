# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reasons to leave a replica's channel alone, as problems.py has them of everything else: whom it
follows, whether it can follow the source from the beginning, and its password.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import current_source, seed

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import HeldRow


def channel_problems(member: Member, source: Member, members: list[Member]) -> list[str]:
    """A replica that follows another server."""
    channel = member.channel
    if channel is None:
        return []
    if member.missed:
        return [missed_words(member, source, member.missed)]
    uuid, number = channel["source_uuid"], int(channel["source_server_id"] or 0)
    right_uuid, right_number = (
        source.facts["variables"]["server_uuid"],
        int(source.facts["variables"]["server_id"] or 0),
    )
    if uuid and right_uuid:
        named, right, known_by = uuid, right_uuid, "server_uuid"
    elif number and not right_uuid:
        named, right, known_by = str(number), str(right_number), "server_id"
    else:
        return []
    if named == right:
        return []
    row = next((row for row in current_source.held_rows(members) if row["id"] == named), None)
    if row:
        # It is no longer in the inventory, and rejoin.yml needs every host of that failover.
        return [
            f"{missed_words(member, source, row)}; first put {row['host']} back into the inventory"
        ]
    return [
        f"{member.host} replicates from another source:"
        f" {channel['source_host']}:{channel['source_port']} ({known_by} {named}), not from"
        f" {source.host} ({right}); correct the inventory, or attach it to that source yourself"
    ]


def missed_words(member: Member, source: Member, row: HeldRow) -> str:
    """What to do about a replica that missed a failover."""
    return (
        f"{member.host} was away when {row['host']} lost its role, and still follows it: run"
        f" rejoin.yml with semisync_rejoin={member.host}, which says whether it has what"
        f" {source.host} lacks, and attaches it to {source.host}"
    )


def new_replica_problems(
    member: Member, source: Member, members: list[Member], settings: Settings
) -> list[str]:
    """A replica without a working channel: can it safely follow the source from the beginning?"""
    reasons = []
    for server in (source, member):
        if not server.facts["names"]["gtid"]:
            reasons.append(
                f"{server.host}: {server.facts['engine']} {server.facts['version']} has no GTIDs,"
                " without which the collection does not set up replication; let"
                f" {member.host} replicate by file and position first"
            )
    if not settings["replication_password"]:
        reasons.append(
            f"{member.host}: semisync_replication_password is empty, and replication has to be set"
            f" up; give the account {settings['replication_user']} a password, best from a vault"
        )
    too_long = password_too_long(member, settings)
    if too_long:
        reasons.append(f"{member.host}: {too_long}")
    reasons += data_problems(member, source, members, settings)
    return reasons


def password_too_long(member: Member, settings: Settings) -> str:
    """Why a server could not log in with the replication password; empty if it can."""
    limit, length = (
        member.facts["names"]["longest_source_password"],
        len(settings["replication_password"]),
    )
    if not limit or length <= limit:
        return ""
    return (
        f"semisync_replication_password has {length} characters; a MySQL replica takes at most"
        f" {limit}"
    )


def rotation_problem(member: Member, settings: Settings) -> str:
    """Why a host cannot be given the new replication password; empty if it can."""
    if not settings["replication_password"]:
        return "semisync_replication_password is empty; set it to the new password"
    too_long = password_too_long(member, settings)
    if too_long or member.side == "source":
        return too_long
    channel = member.channel
    if channel is None:
        return "it has no replication channel; run site.yml first"
    if channel["source_user"] != settings["replication_user"]:
        return f"its channel logs in as {channel['source_user']}; set semisync_replication_user"
    if channel["last_sql_error"]:
        return f"its applier has stopped: {channel['last_sql_error']}; repair it first"
    return ""


def data_problems(
    member: Member, source: Member, members: list[Member], settings: Settings
) -> list[str]:
    """A new replica must have the source's data, or be seeded; its own data are never
    overwritten.
    """
    if seed.needed(member, members, settings):
        reason = seed.problem(member, members, settings)
        return [reason] if reason else []
    own = seed.strangers(member, source)
    if own:
        return [
            f"{member.host} holds data that the source {source.host} does not have: {own}. It is"
            " not overwritten. Move it away, set semisync_seed_overwrite=true to have it replaced"
            " with a copy of the source, or make the host such a copy (a restored backup with its"
            " GTID set)"
        ]
    missing = seed.missing_history(member, source, members, settings)
    if missing:
        return [
            f"{member.host}: {missing}, and semisync_seed_method is none. A replica that starts"
            " empty would lack it: restore a backup of the source with its GTID set on this host"
            " first"
        ]
    if seed.by_position(source, members):
        return [
            f"{member.host}: the source {source.host} replicates by file and position (gtid_mode"
            f" {source.facts['variables']['gtid_mode']}), and a new replica follows by GTID: set"
            " this replica up yourself"
        ]
    return []
