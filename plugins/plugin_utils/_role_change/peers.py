# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the servers of a cluster listen, and which of them a replica reaches."""

from __future__ import annotations

from typing import TypedDict

from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import Peer
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import current_source
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.part_results import Try


def where_they_listen(members: list[Member]) -> list[Peer]:
    """The address of each member that was read."""
    return [Peer(one.host, one.address, one.port, bool(one.facts["tls"]["on"])) for one in members]


def peers_of(members: list[Member], asking: Member) -> list[Peer]:
    """Where a replica reaches each member that was read. It reaches an unread source at the address
    of its channel: the controller may know another one, which does not respond from here.
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
                # It is only asked whether it responds; a server that requires TLS does.
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
    """The peers that a replica has not tried at their address."""
    return [peer for peer in peers if try_of(peer, tried) is None]


def try_of(peer: Peer, tried: list[Try]) -> Try | None:
    """The result of trying a peer; None if it was not tried. A try without TLS does not count
    against a peer that has TLS.
    """
    for one_try in tried:
        tells = one_try["tls"] or not (peer.tls and one_try["words"])
        if tells and (one_try["address"], one_try["port"]) == (peer.address, peer.port):
            return one_try
    return None


class PeersReached(TypedDict):
    """The members that a replica reaches.

    Attributes:
        reach: peer -> why the replication account cannot log in to it, empty if it can.
        answered: those of which a server answered at all.
        there: those of which at least the host's kernel responded.
    """

    reach: dict[str, str]
    answered: list[str]
    there: list[str]


def reached(peers: list[Peer], tried: list[Try]) -> PeersReached:
    """The result of its tries."""
    tries = {peer.host: try_of(peer, tried) for peer in peers}
    return {
        "reach": {host: one["words"] if one else "it was not tried" for host, one in tries.items()},
        "answered": sorted(host for host, one in tries.items() if one and one["answered"]),
        "there": sorted(host for host, one in tries.items() if one and one["there"]),
    }
