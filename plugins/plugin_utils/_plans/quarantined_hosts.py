# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts that no longer belong to their cluster, though the inventory has them: failed sources,
which may have errant transactions. The journal lists them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import current_source

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import HeldRow


class QuarantinedHost(NamedTuple):
    """One such host.

    Attributes:
        member: its present state.
        row: what the journal says: host, id, to_host, happened.
    """

    member: Member
    row: HeldRow


def apart(
    members: list[Member], given_up: Collection[str] = ()
) -> tuple[list[Member], list[QuarantinedHost]]:
    """(the members of a cluster, those that are held).

    A read-only host that follows a member which is not held was brought back by hand, and is not
    held either.

    Args:
        members: the inventory's.
        given_up: hosts whose data may be replaced, which therefore need not be held.
    """
    rows = current_source.held_rows(members)
    known = [
        QuarantinedHost(member, row)
        for member in members
        for row in rows
        if is_it(member, row) and not came_back(member, members)
    ]
    away = [one for one in known if one.member.host not in given_up]
    gone = [one.member for one in away]
    left = [member for member in members if member not in gone]
    for member in left:
        member.missed = missed(member, members)
    for one in known:
        # Whatever the inventory says, it is no longer the source. If it takes writes it claims to
        # be, and is refused for that before its data are replaced.
        if one in away or not current_source.takes_writes(one.member):
            one.member.group = one.member.side = "replica"
    if left and known and not any(member.group == "source" for member in left):
        # The inventory's source group is empty now; the failover's row names another source.
        heirs = [member for member in left if member.host == known[-1].row["to_host"]]
        (heirs or left)[0].group = (heirs or left)[0].side = "source"
    return (left, away) if left else (members, [])


def is_it(member: Member, row: HeldRow) -> bool:
    """Whether a member is the server of a row; a member that was not read is compared by name."""
    number = current_source.identity(member)
    return number == row["id"] if number else member.host == row["host"]


def came_back(member: Member, members: list[Member]) -> bool:
    """Whether a server that lost the source's role follows the cluster again. An old channel does
    not count: one that is stopped, or follows another server that lost the role.
    """
    channel = current_source.channel_of(member)
    if channel and channel["io_running"] == "No":
        return False
    rows, by_host = current_source.held_rows(members), {one.host: one for one in members}
    followed, seen = member, {member.host}
    while True:
        if followed.info is None or current_source.takes_writes(followed):
            return False
        target = current_source.target_of(followed, members, None)
        if target is None or target in seen:
            return False
        followed = by_host[target]
        seen.add(target)
        if not any(is_it(followed, row) for row in rows):
            return True


def missed(member: Member, members: list[Member]) -> HeldRow | None:
    """The journal's row of the failover that a replica has missed: it still follows the server that
    lost the role then. None if it follows another, or none.

    Args:
        members: all of the inventory's, also those that are held.
    """
    target, channel = (
        current_source.target_of(member, members, None),
        current_source.channel_of(member),
    )
    followed = next((other for other in members if other.host == target), None)
    # A channel that has connected knows its source's identity; one that never did does not.
    known = (channel["source_uuid"] or channel["source_server_id"]) if channel else None
    number = str(known or "")
    return next(
        (
            row
            for row in current_source.held_rows(members)
            if followed and is_it(followed, row) and number in ("", row["id"])
        ),
        None,
    )


def missed_words(row: HeldRow) -> str:
    """What a replica has missed, as evidence."""
    return (
        f"its channel is to {row['host']}, whose role went to {row['to_host']} at {row['happened']}"
    )


def held_reason(one: QuarantinedHost) -> str:
    """Why nothing is done with a host."""
    return (
        f"{one.member.host} lost the source's role to {one.row['to_host']} at"
        f" {one.row['happened']} (failover). It may have transactions that no other host has, and"
        " is held: nothing is started, attached or written there. rejoin.yml says whether it may"
        " come back, and how"
    )


def finding(one: QuarantinedHost) -> tuple[str, Any]:
    """(the finding's name, its evidence)."""
    said = f"its role went to {one.row['to_host']} at {one.row['happened']}"
    if one.member.info is None:
        return "held", f"{said}; {one.member.error or 'it was not read'}"
    if current_source.takes_writes(one.member):
        return "held_takes_writes", f"{said}; its server runs, and takes writes"
    return "held", f"{said}; its server runs, and is read-only"
