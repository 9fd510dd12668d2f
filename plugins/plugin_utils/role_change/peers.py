# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the servers of a cluster listen, and which of them a replica reaches."""

from __future__ import annotations

from typing import TypedDict

from ansible_collections.dbre.semisync.plugins.module_utils.role_change.look_plan import Peer
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import Member, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import current_source
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change.records import (
    Try,
)


def where_they_listen(members: list[Member]) -> list[Peer]:
    """Where each member is reached; they were read."""
    return [Peer(one.host, one.address, one.port, bool(one.facts["tls"]["on"])) for one in members]


def peers_of(members: list[Member], asking: Member) -> list[Peer]:
    """Where a replica reaches each member that was read, and the source that was not: there where
    it follows that one. The controller may know it by another address, which does not answer here.
    """
    source = source_of(members)
    made = where_they_listen([member for member in members if member.info is not None])
    if source.info is None:
        channel = asking.channel if follows(asking, source, members) else None
        made.append(
            Peer(
                host=source.host,
                address=(channel["source_host"] if channel else None) or source.address,
                port=int((channel["source_port"] if channel else None) or 3306),
                # Asked whether it answers, and for nothing else: who demands TLS answers.
                tls=False,
            )
        )
    return made


def follows(member: Member, source: Member, members: list[Member]) -> bool:
    """Whether a member was read, and its channel is to the source."""
    return (
        member.info is not None and current_source.target_of(member, members, None) == source.host
    )


def untried(peers: list[Peer], tried: list[Try]) -> list[Peer]:
    """Those of a replica's peers that it has not tried where they are."""
    return [peer for peer in peers if try_of(peer, tried) is None]


def try_of(peer: Peer, tried: list[Try]) -> Try | None:
    """What became of the try of a peer, None if it was not tried: that without TLS says nothing
    against one that has it.
    """
    for one_try in tried:
        tells = one_try["tls"] or not (peer.tls and one_try["words"])
        if tells and (one_try["address"], one_try["port"]) == (peer.address, peer.port):
            return one_try
    return None


class PeersReached(TypedDict):
    """Whom a replica reaches.

    Attributes:
        reach: peer -> why the replication account cannot log in to it, empty if it can.
        answered: those that answered at all.
    """

    reach: dict[str, str]
    answered: list[str]


def reached(peers: list[Peer], tried: list[Try]) -> PeersReached:
    """What its tries say."""
    tries = {peer.host: try_of(peer, tried) for peer in peers}
    return {
        "reach": {host: one["words"] if one else "it was not tried" for host, one in tries.items()},
        "answered": sorted(host for host, one in tries.items() if one and one["answered"]),
    }
