# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a replica still has what it acknowledged (C5), and whether enough replicas have it (C1).

This is not about what was acknowledged before the last look: the source's GTIDs had it then, and
the candidate is compared with those (last_look.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ansible_collections.dbre.semisync.plugins.module_utils._server import values
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import current_source
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    interrupted_switchover,
    last_look,
    survivors,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.survivors import Evidence

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Variables

Uptime = Literal["server_seconds", "kernel_seconds"]
# An uptime is in whole seconds.
WHOLE_SECONDS = 2


# C1


def strangers(evidence: Evidence) -> list[str]:
    """Servers outside this inventory that may have acknowledged: at the last look, or later by the
    dead server's error log.
    """
    last = last_look.look_at_source(evidence)
    if not last:
        return []
    replicas = {member.host for member in replicas_of(evidence.members)}
    gone = [
        f"{host}, which acknowledged at the last look and has left the inventory"
        for host in sorted(set(last.get("acknowledgers") or {}) - replicas)
    ]
    if last.get("strangers") is None:
        # A look by an older version counted them all.
        number = max(0, int(last.get("clients") or 0) - len(replicas))
    else:
        number = int(last["strangers"])
    others = ["one that this inventory does not have, at the last look"] * number
    known = {str(one.get("server_id")) for one in (last.get("acknowledgers") or {}).values()}
    known |= {
        str(member.facts["variables"].get("server_id"))
        for member in survivors.readable(evidence.members)
    }
    told = last_look.log(evidence).get("dumps") or []
    later = sorted({str(number) for number in told} - known)
    return (
        gone
        + others
        + [f"a replica with server_id {number}, after the last look" for number in later]
    )


def waited_for(evidence: Evidence) -> int:
    """How many acknowledgements a commit waited for; one if that is not known."""
    return int(last_look.look_at_source(evidence).get("wait_for_replica_count") or 1)


def missing(evidence: Evidence) -> dict[str, str]:
    """Replicas that may have acknowledged what no other has: they were not read, or lost some of
    it.
    """
    gone = dict(survivors.unread(evidence))
    for member in survivors.readable(evidence.members):
        words = lost(evidence, member)
        if words:
            gone[member.host] = f"counts as unread: {words}"
    return gone


def enough(evidence: Evidence) -> bool:
    """C1: whether one of those that were read has each commit that was confirmed."""
    return len(missing(evidence)) + len(strangers(evidence)) < waited_for(evidence)


# C5


def running_since(evidence: Evidence, member: Member) -> float:
    """The latest time at which a replica's server can have started, by the controller's clock. It
    counts its uptime by its host's wall clock, which may have been set forward since; its machine
    does not, and started first.
    """
    read_at, seconds = uptime(evidence, member, "server_seconds")
    if seconds is None:
        since = evidence.now - int(member.facts["uptime"]["seconds"])
    else:
        since = read_at - int(seconds)
    machine = kernel_since(evidence, member)
    return since if machine is None else max(since, machine)


def kernel_since(evidence: Evidence, member: Member) -> float | None:
    """The same for its machine; None if that is not known."""
    read_at, seconds = uptime(evidence, member, "kernel_seconds")
    return None if seconds is None else read_at - float(seconds)


def uptime(
    evidence: Evidence,
    member: Member,
    name: Uptime,
) -> tuple[float, float | None]:
    """(when a replica was asked since when it runs, by the controller's clock at the latest; what
    it said): what was read after its IO thread stopped counts before what was read first.
    """
    stopped = (evidence.frozen or {}).get(member.host) or {}
    first = evidence.looks.get(member.host) or {}
    for asked, seconds, at in (
        (name in stopped, stopped.get(name), stopped.get("answered_at")),
        (name in first, first.get(name), first.get("read_at")),
    ):
        # What was asked last and could not be said is not known.
        if asked:
            return (evidence.now if at is None else float(at)), seconds
    return evidence.now, None


def lost(evidence: Evidence, member: Member) -> str | None:
    """Why a replica may have lost what it acknowledged after the last look; empty if it has not,
    None if there is no last look.
    """
    if not last_look.look_at_source(evidence):
        return None
    return (
        pointed_elsewhere(evidence, member)
        or has_less(evidence, member)
        or lost_by_start(evidence, member)
        or lost_by_reset(evidence, member)
    )


def pointed_elsewhere(evidence: Evidence, member: Member) -> str:
    """That it follows another member than the source, as after a failover that was interrupted: it
    threw away what it had received and not applied when it was pointed there. The replicas of an
    interrupted switchover had applied everything.
    """
    members, source = evidence.members, source_of(evidence.members)
    row = current_source.decide(members).row
    following = current_source.target_of(member, members, row)
    if following in (None, source.host) or interrupted_switchover.moved(members, row, following):
        return ""
    return (
        f"it follows {following}, and discarded its unapplied relay log when it was pointed there"
    )


def has_less(evidence: Evidence, member: Member) -> str:
    """Whether it has less than when this run first read it."""
    first = evidence.first.get(member.host)
    if not first or not survivors.by_gtid(member):
        return ""
    before = survivors.received_of(survivors.kind_of(member), first["gtid"], first["channel"])
    gone = before.minus(survivors.received(member))
    return f"it had {gone} when this run first read it, and has lost it" if gone else ""


def is_restarted(evidence: Evidence, member: Member) -> bool:
    """Whether its server started after the last look."""
    since = survivors.moment_of((evidence.last or survivors.NO_LOOK)["at"]) - WHOLE_SECONDS
    return running_since(evidence, member) > since


def lost_by_start(evidence: Evidence, member: Member) -> str:
    """What a restart of its server, or of its machine, may have discarded."""
    since = survivors.moment_of((evidence.last or survivors.NO_LOOK)["at"]) - WHOLE_SECONDS
    if not is_restarted(evidence, member):
        return ""
    variables = member.facts["variables"]
    started = survivors.stamp(running_since(evidence, member))
    words = f"its server started at {started}, after the last look"
    if member.facts["engine"] == "mariadb" and not received_applied(evidence, member):
        return f"{words}, and MariaDB discards relay logs at a start by GTID (MDEV-4698)"
    if not values.same_value(variables.get("relay_log_recovery"), "OFF"):
        return f"{words}, and relay_log_recovery discarded its relay log"
    up_since = kernel_since(evidence, member)
    if up_since is None:
        return f"{words}, and it is not known whether its machine was started too"
    if up_since > since and str(variables.get("sync_relay_log")) != "1":
        return (
            f"its machine started at {survivors.stamp(up_since)}, after the last look, and"
            f" sync_relay_log is {variables.get('sync_relay_log')}"
        )
    return ""


def received_applied(evidence: Evidence, member: Member) -> bool:
    """Whether a MariaDB replica applied all that it had received when its server started, before it
    started its threads by GTID (roles/received), and its applier runs since then. What was read
    after its IO thread stopped decides.
    """
    stopped = (evidence.frozen or {}).get(member.host)
    first = evidence.looks.get(member.host) or {}
    return bool((stopped or first).get("received_applied"))


def applier_since(evidence: Evidence, member: Member) -> float | None:
    """The latest time at which a replica's applier can have started, by the controller's clock;
    None if that is not known. What was read before its IO thread stopped does not cover the time
    after that.
    """
    stopped = (evidence.frozen or {}).get(member.host)
    first = evidence.looks.get(member.host) or {}
    seconds = stopped.get("applier_seconds") if stopped else first.get("applier_seconds")
    read_at = stopped.get("answered_at") if stopped else first.get("read_at")
    if seconds is None:
        return None
    return (evidence.now if read_at is None else read_at) - seconds


def starts(evidence: Evidence) -> list[float]:
    """When the servers, machines and appliers of the replicas were started, as far as that is
    known.
    """
    known: list[float | None] = []
    for member in survivors.readable(evidence.members):
        known += [
            running_since(evidence, member),
            kernel_since(evidence, member),
            applier_since(evidence, member),
        ]
    return [moment for moment in known if moment is not None]


def lost_by_reset(evidence: Evidence, member: Member) -> str:
    """What STOP and START of both its threads discarded (MariaDB, MDEV-4698), or a RESET or CHANGE
    in between. The applier's thread says since when it runs. If it does not, connection numbers
    only grow while a server runs: an applier whose number is lower than one that was given before
    the source was asked at the last look has not been started since.
    """
    if is_restarted(evidence, member):
        # Numbers started again from 1; assumptions.py says what is taken for granted.
        return ""
    since = applier_since(evidence, member)
    last_at = survivors.moment_of((evidence.last or survivors.NO_LOOK)["at"])
    if since is not None and since <= last_at - WHOLE_SECONDS:
        return ""
    stopped = (evidence.frozen or {}).get(member.host) or {}
    running = stopped.get("applier_ids", member.facts.get("applier_ids"))
    seen = ((evidence.last or survivors.NO_LOOK).get("replicas") or {}).get(member.host)
    before = seen.get("before") if seen else None
    if before is None:
        return "no two looks have seen it: it is not known whether its applier was restarted"
    if running is None:
        return "the start time of its applier could not be read"
    if not running:
        return "its applier does not run: it is not known whether its relay log was reset"
    # Numbers start again from 1 with the server, a thread's age does not show a wrong clock.
    started_later = since is not None and since > last_at + WHOLE_SECONDS
    if max(running) < int(before) and not started_later:
        return ""
    words = "its applier was restarted after the last look"
    if member.facts["engine"] == "mariadb":
        return f"{words}, and MariaDB discards relay logs then (MDEV-4698)"
    return f"{words}: it is not known whether its relay log was reset before"


def channel_words(evidence: Evidence, member: Member) -> str:
    """What was seen of a replica's server, as text."""
    variables: Variables = member.facts["variables"]
    return (
        f"its server has been up since {survivors.stamp(running_since(evidence, member))},"
        " sync_relay_log"
        f" {variables.get('sync_relay_log')}, relay_log_recovery"
        f" {variables.get('relay_log_recovery')}"
    )
