# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left of a cluster whose source is dead: who was read, and what each has received."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils.host import clock
from ansible_collections.dbre.semisync.plugins.module_utils.replication import gtid, position
from ansible_collections.dbre.semisync.plugins.module_utils.switchover import rules
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import sides
from ansible_collections.dbre.semisync.plugins.plugin_utils.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict import candidate

# The tasks of semisync_hook_fence are still to end the source, or have run.
AHEAD, BEHIND = "ahead", "behind"


class Evidence(NamedTuple):
    """All that is known of a cluster without its source.

    Attributes:
        members: its hosts, each with what its server said last.
        source: what semisync_info said of the source.
        looks: host -> what was read of it beside that (module_utils/failover/witness.py).
        first: host -> GTIDs and channel of a replica when this run first read it; the members have
            those read after its IO thread stopped, once it was.
        frozen: host -> what stopping its IO thread returned; None before that.
        last: what was kept of the last look at the source (history.look_back), or None.
        settings: what is wanted.
        now: the controller's clock, in seconds since 1970, after everything was read.
        salvage: what was found of the source's binary log, or in it; None where nobody looked.
        fence: AHEAD or BEHIND, or empty where no hook ends the source.
        unfenced: hosts on which a task of that hook failed, or that one did not reach.
    """

    members: list[Member]
    source: dict[str, Any]
    looks: dict[str, Any]
    frozen: dict[str, Any] | None
    last: dict[str, Any] | None
    settings: Settings
    now: float
    salvage: dict[str, Any] | None = None
    fence: str = ""
    unfenced: Sequence[str] = ()
    first: Mapping[str, Any] = MappingProxyType({})


def stamp(moment: float) -> str:
    """A time as results have it."""
    return clock.utc(moment)


def stamp_of(moment: float | None) -> str | None:
    """The same with milliseconds, of what may not be known."""
    return None if moment is None else clock.utc_milliseconds(moment)


def moment_of(text: str) -> float:
    """The reverse."""
    return clock.moment_of(text)


# Who was read


def readable(members: list[Member]) -> list[Member]:
    """Replicas that were read and follow somebody."""
    return [member for member in replicas_of(members) if member.info is not None and member.channel]


def unread(evidence: Evidence) -> dict[str, str]:
    """Replicas of which nothing is known, and why."""
    read = readable(evidence.members)
    return {
        member.host: member.error or "it follows nobody"
        for member in replicas_of(evidence.members)
        if member not in read
    }


def is_mariadb(evidence: Evidence) -> bool:
    return any(member.info["engine"] == "mariadb" for member in readable(evidence.members))


# C3 and C4


def received(member: Member) -> str:
    """The GTIDs that a replica has received, applied or not."""
    return received_of(member.info["engine"] == "mariadb", member.info["gtid"], member.channel)


def received_of(mariadb: bool, gtids: dict[str, Any], channel: dict[str, Any]) -> str:
    """The same, of what was read of a server at one moment."""
    if mariadb:
        return rules.merged(gtids.get("gtid_slave_pos") or "", channel["retrieved"])
    return gtid.subtract(",".join(filter(None, [gtids["gtid_executed"], channel["retrieved"]])), "")


def union(mariadb: bool, has: str, more: str) -> str:
    """GTIDs of two texts together; on MariaDB the last of each domain."""
    if mariadb:
        return rules.merged(has, more)
    return gtid.subtract(",".join(filter(None, [has, more])), "")


def by_gtid(member: Member) -> bool:
    """Whether a replica can be compared, and can follow another source."""
    if not member.channel["gtid"]:
        return False
    if member.info["engine"] == "mariadb":
        return bool(received(member))
    return bool(candidate.Sets.usable(member.info))


def lacking(member: Member, other: Member) -> str:
    """What another has received and this one has not, as GTIDs."""
    return less(member.info["engine"] == "mariadb", received(member), received(other))


def less(mariadb: bool, has: str, wanted: str) -> str:
    """What of some GTIDs is not among others, as GTIDs."""
    if not mariadb:
        return gtid.subtract(wanted, has)
    mine, theirs = gtid.latest(has), gtid.latest(wanted)
    parts = []
    for domain, (server, sequence) in sorted(theirs.items()):
        own_server, own = mine.get(domain, (server, 0))
        if sequence > own:
            parts.append(f"{domain}-{server}-{sequence}")
        elif sequence == own and server != own_server:
            # The same place in two histories.
            parts.append(f"{domain}-{server}-{sequence}")
    return ",".join(parts)


def supersets(evidence: Evidence) -> list[Member]:
    """The replicas that have all that any other has, the one with least to apply first."""
    read = [member for member in readable(evidence.members) if by_gtid(member)]
    best = [member for member in read if not any(lacking(member, other) for other in read)]
    return sorted(best, key=to_apply)


def to_apply(member: Member) -> int:
    """How many transactions a replica has received and not applied."""
    mariadb = member.info["engine"] == "mariadb"
    name = "gtid_slave_pos" if mariadb else "gtid_executed"
    return position.missing(mariadb, received(member), member.info["gtid"].get(name) or "")


def differences(evidence: Evidence) -> list[str]:
    """What each replica lacks of each other's, in words."""
    read = [member for member in readable(evidence.members) if by_gtid(member)]
    pairs = ((one, other, lacking(one, other)) for one in read for other in read)
    return [f"{one.host} lacks {words} of {other.host}" for one, other, words in pairs if words]


def own_writes(evidence: Evidence, member: Member) -> str:
    """What a replica wrote itself: GTIDs of its own that neither the source had at the last look
    nor another replica has.
    """
    others = [one for one in readable(evidence.members) if one is not member]
    last = str((evidence.last or {}).get("gtid") or "")
    variables = member.info["variables"]
    if member.info["engine"] != "mariadb":
        uuid = str(variables["server_uuid"]).lower()
        known = ",".join(filter(None, [last, *(received(other) for other in others)]))
        more = gtid.subtract(received(member), known)
        return ",".join(part for part in more.split(",") if part.partition(":")[0] == uuid)
    states = [last, *(other.info["gtid"].get("gtid_binlog_state") or "" for other in others)]
    more = gtid.ahead(member.info["gtid"].get("gtid_binlog_state"), ",".join(filter(None, states)))
    number = int(variables["server_id"] or 0)
    return ",".join(part for part in more.split(",") if part and int(part.split("-")[1]) == number)


def followers(members: list[Member]) -> list[Member]:
    """Those that were read and follow the source; all that were read if none does. Within a
    switchover that was interrupted one may follow the other of its two servers.
    """
    source = source_of(members).host
    read = readable(members)
    return [one for one in read if sides.target_of(one, members, None) == source] or read


def shown(evidence: Evidence) -> str:
    """What a replica's channel is asked by."""
    read = readable(evidence.members)
    return str(read[0].info["names"]["show_channels"]) if read else "SHOW SLAVE STATUS"
