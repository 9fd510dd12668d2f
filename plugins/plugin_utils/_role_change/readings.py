# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence for a step of failover.yml, from what modules returned and earlier runs stored. It
is a pure function of these: tests/model/ calls it in every state of its world.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import Peer
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import history
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    beat_looks,
    interrupted_failover,
    peers,
    survivors,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.part_results import (
    HostClock,
    HostLook,
    Reached,
    Received,
    Salvage,
    Salvaged,
    Stopped,
    Try,
    Unread,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.records import Certificate
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.survivors import Evidence

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.beat_shapes import Beat
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.look_shapes import Look
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Info

# The module advises to start a server that does not run, which must not be done now.
STOPPED = "its server does not run, or does not listen at the expected place"


class Read(NamedTuple):
    """What the modules returned of each host, by its name; empty for a step that did not run.

    Attributes:
        info: of the first look; with `look`, what was read beside semisync_info's.
        reach: of the tries at servers that listen elsewhere than was thought.
        frozen: of stopping the IO thread; None before that step.
        salvage: of reading the source's binary log.
    """

    info: Mapping[str, Unread]
    reach: Mapping[str, Reached] = {}
    frozen: Mapping[str, Stopped] | None = None
    salvage: Mapping[str, Salvaged] = {}


class Fence(NamedTuple):
    """What is known of the tasks of semisync_hook_fence.

    Attributes:
        state, failed, ended, host_clock: fence, unfenced, fence_ended and host_clock of Evidence.
    """

    state: str = ""
    failed: Sequence[str] = ()
    ended: float | None = None
    host_clock: HostClock | None = None


NO_FENCE = Fence()


class Judged(NamedTuple):
    """What a step knows.

    Attributes:
        evidence: for the judge.
        opened: a failover that was interrupted after its opening, or None.
    """

    evidence: Evidence
    opened: interrupted_failover.Opened | None


def read_members(
    members: Sequence[Member],
    read: Read,
    kept: Look | None,
    begun: Certificate | None,
) -> tuple[list[Member], interrupted_failover.Opened | None]:
    """The hosts as they were read, and a failover that was interrupted after its opening.

    Args:
        members: hosts of the cluster as the inventory and the first look have them, each with its
            side; none of them is changed.
        read: what the modules returned.
        kept: state.json, the last look that this controller has kept, or None.
        begun: the certificate that a run left which did not come to its report, or None.
    """
    every = [with_failover_reason(member, read.info.get(member.host) or {}) for member in members]
    opened = interrupted_failover.find(every, begun, kept)
    if not opened:
        return every, None
    every = [after_opening(member, every, opened) for member in every]
    target = next(one for one in every if one.host == opened.target.host)
    return every, opened._replace(target=target)


def of_results(
    members: Sequence[Member],
    read: Read,
    kept: Look | None,
    begun: Certificate | None,
    settings: Settings,
    now: float,
    fence: Fence = NO_FENCE,
) -> Judged:
    """All of it.

    Args:
        members, read, kept, begun: of read_members.
        settings, now: what is wanted, and the controller's clock.
        fence: what is known of the user's own fence.
    """
    every, opened = read_members(members, read, kept, begun)
    first = {
        member.host: Received(gtid=member.facts["gtid"], channel=member.link)
        for member in survivors.readable(every)
    }
    every = [as_frozen(member, (read.frozen or {}).get(member.host) or {}) for member in every]
    source = source_of(every)
    living = source.info if not opened else None
    last = history.look_back(kept, every, survivors.stamp(now))[0] if living else None
    evidence = Evidence(
        members=every,
        source={**(read.info.get(source.host) or {})},
        looks={member.host: looked(member, every, read) for member in every},
        first=first,
        frozen=None if read.frozen is None else dict(read.frozen),
        last=None,
        kept=last or kept,
        beats={member.host: beats_of(member.host, read) for member in every},
        settings=settings,
        now=now,
        salvage=salvage_of(source.host, read),
        fence=fence.state,
        unfenced=fence.failed,
        fence_ended=fence.ended,
        host_clock=fence.host_clock,
    )
    if opened:
        return Judged(evidence._replace(last=evidence.kept), opened)
    return Judged(beat_looks.watched(evidence), None)


def with_failover_reason(member: Member, result: Unread) -> Member:
    """A member; if its server does not run, with a failover's own message about that."""
    if member.info is None and result.get("reason") == "stopped":
        return member.but(error=STOPPED)
    return member.but()


def after_opening(
    member: Member, members: list[Member], opened: interrupted_failover.Opened
) -> Member:
    """Its side after a failover whose target accepts writes already: the dead host is the source
    or, once the journal names the target, the target is.
    """
    known = opened.source in [one.host for one in members]
    dead = opened.source if known else opened.target.host
    return member.but(side="source" if member.host == dead else "replica")


def as_frozen(member: Member, stopped: Stopped) -> Member:
    """A member as it was read after its IO thread stopped, if it was."""
    if member.info is None or "gtid" not in stopped:
        return member
    info: Info = {**member.info, "gtid": stopped["gtid"], "channel": stopped["channel"]}
    return member.but(info=info)


def tried(host: str, read: Read) -> list[Try]:
    """The places at which a replica has tried to log in, with what became of it."""
    looks = (read.info.get(host) or {}).get("look") or {}
    return [*looks.get("tried", ()), *(read.reach.get(host) or {}).get("tried", ())]


def others_of(members: Sequence[Member], asking: Member) -> list[Peer]:
    """Where a replica reaches the others."""
    every = peers.peers_of(list(members), asking)
    return [peer for peer in every if peer.host != asking.host]


def looked(
    member: Member,
    members: list[Member],
    read: Read,
) -> HostLook:
    """What was read of a host beside its state: of a replica that was read, by the others' names;
    of the source, how it ended, and between which moments it was asked.
    """
    seen = (read.info.get(member.host) or {}).get("look") or {}
    if member in survivors.readable(members):
        reached = peers.reached(others_of(members, member), tried(member.host, read))
        source = source_of(members)
        stopped = (read.frozen or {}).get(member.host) or {}
        if stopped.get("source_answered") and peers.follows(member, source, members):
            reached["answered"] = sorted({*reached["answered"], source.host})
        return {**seen, **reached}
    return {
        "boot": seen.get("boot"),
        "monotonic": seen.get("monotonic"),
        "wall": seen.get("wall"),
        "ended": seen.get("ended"),
        "starting": seen.get("starting") or "",
        "log": seen.get("log"),
        "asked_at": seen.get("asked_at"),
        "read_at": seen.get("read_at"),
    }


def beats_of(host: str, read: Read) -> list[Beat]:
    """The newest rows of the heartbeat that a replica had when it was read last."""
    looks = (read.info.get(host) or {}).get("look") or {}
    stopped = (read.frozen or {}).get(host) or {}
    return [*stopped.get("beats", looks.get("beats") or ())]


def salvage_of(source: str, read: Read) -> Salvage | None:
    """What was found in the source's binary log, or of it."""
    looks = (read.info.get(source) or {}).get("look") or {}
    seen = (read.salvage.get(source) or {}).get("salvage") or looks.get("salvage")
    return {**seen} if seen else None
