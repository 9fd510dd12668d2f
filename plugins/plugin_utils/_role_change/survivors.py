# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left of a cluster whose source is dead: which hosts were read, what each received."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, cast

from ansible_collections.dbre.semisync.plugins.module_utils._host import clock
from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtid_type import Gtids
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import current_source
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.part_results import (
    HostClock,
    HostLook,
    Received,
    Salvage,
    Stopped,
    Unread,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.beat_shapes import Beat
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.look_shapes import Look
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        Channel,
        Gtid,
        Info,
    )

# The tasks of semisync_hook_fence are still to end the source, or have run.
FENCE_PENDING, FENCE_DONE = "ahead", "behind"
NO_LOOK = cast("Look", {})


class Evidence(NamedTuple):
    """All that is known of a cluster without its source.

    Attributes:
        members: its hosts, each with what its server said last.
        source: what semisync_info said of the source.
        looks: host -> what was read of it beside that (module_utils/_role_change/failover_facts).
        first: host -> GTIDs and channel of a replica when this run first read it; the members have
            those read after its IO thread stopped, once it was.
        frozen: host -> what stopping its IO thread returned; None before that.
        last: the last look at the source: what was kept of it (history.look_back), or what its
            newest beat says (beats.watched), whichever is newer; None if there is neither.
        settings: what is wanted.
        now: the controller's clock, in seconds since 1970, after everything was read.
        salvage: what was found of the source's binary log, or in it; None if it was not looked for.
        fence: FENCE_PENDING or FENCE_DONE, or empty if no hook ends the source.
        unfenced: hosts on which a task of that hook failed, or that one did not reach.
        fence_ended: when its tasks had ended on every host, by the controller's clock and at the
            latest; None if they have not run.
        host_clock: what the clocks of the source's host said before that hook, if it answered.
        kept: what was kept of the last look alone.
        beats: host -> the newest rows of the heartbeat that a replica has.
    """

    members: list[Member]
    source: Unread
    looks: dict[str, HostLook]
    frozen: dict[str, Stopped] | None
    last: Look | None
    settings: Settings
    now: float
    salvage: Salvage | None = None
    fence: str = ""
    unfenced: Sequence[str] = ()
    first: Mapping[str, Received] = MappingProxyType({})
    kept: Look | None = None
    beats: Mapping[str, Sequence[Beat]] = MappingProxyType({})
    fence_ended: float | None = None
    host_clock: HostClock | None = None


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
    """Replicas that were read and follow a source."""
    return [member for member in replicas_of(members) if member.info is not None and member.channel]


def unread(evidence: Evidence) -> dict[str, str]:
    """Replicas of which nothing is known, and why."""
    read = readable(evidence.members)
    return {
        member.host: member.error or "it follows no source"
        for member in replicas_of(evidence.members)
        if member not in read
    }


def is_mariadb(evidence: Evidence) -> bool:
    return any(member.facts["engine"] == "mariadb" for member in readable(evidence.members))


def answers(evidence: Evidence) -> str:
    """What shows that the source lives, in words; empty if nothing does."""
    source = source_of(evidence.members)
    reached = [
        host
        for host, looked in evidence.looks.items()
        if source.host in (looked.get("answered") or [])
    ]
    if reached:
        return f"it answers {' and '.join(reached)}"
    return "it was read" if source.info is not None else ""


def unsure(evidence: Evidence) -> bool:
    """Whether the source's host could not be reached, and yet its kernel has responded to a
    replica, although no server has.
    """
    source = source_of(evidence.members).host
    there = any(source in (looked.get("there") or []) for looked in evidence.looks.values())
    return bool(evidence.source.get("unreachable")) and there and not answers(evidence)


def starting(evidence: Evidence) -> str:
    """The state of the dead source's unit, if systemd starts its server again; else empty."""
    host = source_of(evidence.members).host
    return (evidence.looks.get(host) or {}).get("starting") or ""


def seen_dead(evidence: Evidence) -> bool:
    """Whether the source was seen dead: its host is unreachable, or no server runs or starts."""
    said = evidence.source
    gone = bool(said.get("unreachable")) or said.get("reason") == "stopped"
    return gone and not answers(evidence) and not starting(evidence)


# C3 and C4


def kind_of(member: Member) -> type[Gtids]:
    """The GTIDs of a server that was read."""
    return gtids.kind_of(member.facts["engine"])


def received(member: Member) -> Gtids:
    """The position up to which a replica has received, applied or not."""
    return received_of(kind_of(member), member.facts["gtid"], member.link)


def received_of(
    kind: type[Gtids],
    said: Gtid,
    channel: Channel,
) -> Gtids:
    """The same, of what was read of a server at one moment."""
    return gtids.position(kind, said.get(kind.APPLIED), channel["retrieved"])


def by_gtid(member: Member) -> bool:
    """Whether a replica can be compared, and can follow another source."""
    if not member.link["gtid"]:
        return False
    if member.facts["engine"] == "mariadb":
        return bool(received(member))
    return names_all(member.facts)


def names_all(info: Info) -> bool:
    """Whether a MySQL server's GTIDs name all that it has."""
    return info["variables"].get("gtid_mode") == "ON" and bool(info["gtid"].get("gtid_executed"))


def lacking(member: Member, other: Member) -> Gtids:
    """What another has received and this one has not."""
    return received(other).minus(received(member))


def supersets(evidence: Evidence) -> list[Member]:
    """The replicas that have all that any other has, the one with least to apply first."""
    read = [member for member in readable(evidence.members) if by_gtid(member)]
    best = [member for member in read if not any(lacking(member, other) for other in read)]
    return sorted(best, key=to_apply)


def to_apply(member: Member) -> int:
    """How many transactions a replica has received and not applied."""
    kind = kind_of(member)
    return kind.parse(member.facts["gtid"].get(kind.APPLIED)).missing_of(received(member))


def differences(evidence: Evidence) -> list[str]:
    """What each replica lacks of each other's, in words."""
    read = [member for member in readable(evidence.members) if by_gtid(member)]
    pairs = ((one, other, lacking(one, other)) for one in read for other in read)
    return [f"{one.host} lacks {words} of {other.host}" for one, other, words in pairs if words]


def own_writes(evidence: Evidence, member: Member) -> Gtids:
    """What a replica wrote itself: GTIDs of its own that neither the source had at the last look
    nor another replica has.
    """
    kind = kind_of(member)
    known = kind.parse((evidence.last or NO_LOOK).get("gtid"))
    for other in readable(evidence.members):
        if other is not member:
            known = known.union(state_of(other))
    server = kind.server_of(member.facts["variables"])
    return state_of(member).beyond(known).of_server(server)


def state_of(member: Member) -> Gtids:
    """All that a replica has, by the servers that wrote it: of what it has received on MariaDB only
    what is in its own log, for the position of the rest does not tell.
    """
    if member.facts["engine"] != "mariadb":
        return received(member)
    kind = kind_of(member)
    return kind.parse(member.facts["gtid"].get(kind.STATE))


def followers(members: list[Member]) -> list[Member]:
    """Those that were read and follow the source; all that were read if none does. Within a
    switchover that was interrupted one may follow the other of its two servers.
    """
    source = source_of(members).host
    read = readable(members)
    return [one for one in read if current_source.target_of(one, members, None) == source] or read


def shown(evidence: Evidence) -> str:
    """What a replica's channel is asked by."""
    read = readable(evidence.members)
    return str(read[0].facts["names"]["show_channels"]) if read else "SHOW SLAVE STATUS"
