# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left of a cluster whose source is dead: who was read, what each has received, and what is
known of the source's last days.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils.replication import gtid, position
from ansible_collections.dbre.semisync.plugins.module_utils.server import values
from ansible_collections.dbre.semisync.plugins.module_utils.switchover import rules
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict import candidate

# An uptime is in whole seconds.
WHOLE_SECONDS = 2
# The tasks of semisync_hook_fence are still to end the source, or have run.
AHEAD, BEHIND = "ahead", "behind"


class Evidence(NamedTuple):
    """All that is known of a cluster without its source.

    Attributes:
        members: its hosts, each with what its server said last.
        source: what semisync_info said of the source.
        looks: host -> what was read of it beside that (module_utils/failover/witness.py).
        frozen: host -> what stopping its IO thread returned; None before that.
        last: what verify.yml kept of its last look at the source, or None.
        settings: what is wanted.
        now: the controller's clock, in seconds since 1970, no earlier than the source's end.
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


class Window(NamedTuple):
    """A time in which the source may have confirmed commits that no replica has.

    Attributes:
        begin, end: in seconds since 1970.
        known: whether it is known that it did, and not only that nothing rules it out.
        ended: whether its host says that its server had ended then. Where not, the end is when that
            was judged, and a server that lives behind a broken line goes on.
    """

    begin: float
    end: float
    known: bool
    ended: bool


def stamp(moment: float) -> str:
    """A time as results have it."""
    return datetime.datetime.fromtimestamp(moment, datetime.timezone.utc).strftime(
        "%Y-%m-%dT%H:%M:%SZ"
    )


def stamp_of(moment: float | None) -> str | None:
    """The same with milliseconds, of what may not be known."""
    if moment is None:
        return None
    at = datetime.datetime.fromtimestamp(moment, datetime.timezone.utc)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def moment_of(text: str) -> float:
    """The reverse."""
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z").timestamp()


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


def strangers(evidence: Evidence) -> int:
    """How many replicas acknowledged at the last look that this inventory does not have."""
    clients = int(look(evidence).get("clients") or 0)
    return max(0, clients - len(replicas_of(evidence.members)))


def waited_for(evidence: Evidence) -> int:
    """How many acknowledgements a commit waited for; one where nobody has seen it."""
    return int(look(evidence).get("wait_for_replica_count") or 1)


def missing(evidence: Evidence) -> dict[str, str]:
    """Who may have acknowledged what nobody else has: not read, or read without all of it."""
    gone = dict(unread(evidence))
    for member in readable(evidence.members):
        words = lost_relay_log(evidence, member)
        if words:
            gone[member.host] = f"counts as unread: {words}"
    return gone


def enough(evidence: Evidence) -> bool:
    """C1: whether one of those that were read has each commit that was confirmed."""
    return len(missing(evidence)) + strangers(evidence) < waited_for(evidence)


def is_mariadb(evidence: Evidence) -> bool:
    return any(member.info["engine"] == "mariadb" for member in readable(evidence.members))


# C5


def read_at(evidence: Evidence, member: Member) -> float:
    """When a replica was asked since when it runs, at the latest."""
    moment = (evidence.looks.get(member.host) or {}).get("read_at")
    return evidence.now if moment is None else float(moment)


def running_since(evidence: Evidence, member: Member) -> float:
    """When a replica's server was started, at the latest."""
    seconds = (evidence.looks.get(member.host) or {}).get("server_seconds")
    if seconds is None:
        return evidence.now - int(member.info["uptime"]["seconds"])
    return read_at(evidence, member) - int(seconds)


def lost_relay_log(evidence: Evidence, member: Member) -> str | None:
    """Why a replica may have lost what it acknowledged; empty where it has not, None where nothing
    tells.
    """
    if not evidence.last:
        return None
    since = moment_of(evidence.last["at"]) - WHOLE_SECONDS
    started = running_since(evidence, member)
    if started <= since:
        return ""
    variables = member.info["variables"]
    words = f"its server started at {stamp(started)}, after the last look"
    if member.info["engine"] == "mariadb":
        return f"{words}, and MariaDB throws relay logs away at a start by GTID (MDEV-4698)"
    if not values.same_value(variables.get("relay_log_recovery"), "OFF"):
        return f"{words}, and relay_log_recovery threw its relay log away"
    up = (evidence.looks.get(member.host) or {}).get("kernel_seconds")
    if up is None:
        return f"{words}, and nothing tells whether its machine did"
    up_since = read_at(evidence, member) - up
    if up_since > since and str(variables.get("sync_relay_log")) != "1":
        return (
            f"its machine started at {stamp(up_since)}, after the last look, and"
            f" sync_relay_log is {variables.get('sync_relay_log')}"
        )
    return ""


# C3 and C4


def received(member: Member) -> str:
    """The GTIDs that a replica has received, applied or not."""
    channel, gtids = member.channel, member.info["gtid"]
    if member.info["engine"] == "mariadb":
        return rules.merged(gtids.get("gtid_slave_pos") or "", channel["retrieved"])
    return gtid.subtract(",".join(filter(None, [gtids["gtid_executed"], channel["retrieved"]])), "")


def by_gtid(member: Member) -> bool:
    """Whether a replica can be compared, and can follow another source."""
    if not member.channel["gtid"]:
        return False
    if member.info["engine"] == "mariadb":
        return bool(received(member))
    return bool(candidate.Sets.usable(member.info))


def lacking(member: Member, other: Member) -> str:
    """What another has received and this one has not, as GTIDs."""
    if member.info["engine"] != "mariadb":
        return gtid.subtract(received(other), received(member))
    mine, theirs = gtid.latest(received(member)), gtid.latest(received(other))
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


# C7


def window(evidence: Evidence) -> Window | None:
    """When the source may have confirmed commits alone; None where it cannot have, or where nothing
    tells (see unwatched()).
    """
    last = evidence.last
    if unwatched(evidence) or not last:
        return None
    at = moment_of(last["at"])
    if last["status"] != "ON":
        since = last.get("degraded_since")
        begin = moment_of(since) if since else at
        return Window(begin, evidence.now, True, bool(ended(evidence)))
    begin, end = at, evidence.now
    calm = last.get("calm_at")
    if values.same_value(last["wait_no_replica"], "ON") and calm:
        begin = max(at, moment_of(calm) + int(last["timeout"]) / 1000)
    seen = ended(evidence)
    if seen:
        end -= seen["ended_ago"]
        if evidence.now - seen["started_ago"] > at + WHOLE_SECONDS:
            # It was started again since: nobody knows how it ended before.
            begin = at
        elif seen["how"] != "killed":
            # Stopped in order it confirmed what waited.
            begin = min(begin, evidence.now - (seen["stopping_ago"] or seen["ended_ago"]))
    there = end > begin or orderly(seen)
    return Window(begin, max(begin, end), False, bool(seen)) if there else None


def ended(evidence: Evidence) -> dict[str, Any] | None:
    """How the source's server ended, where its host could say; None where nothing tells."""
    host = source_of(evidence.members).host
    seen: dict[str, Any] | None = (evidence.looks.get(host) or {}).get("ended")
    return seen


def ended_at(evidence: Evidence) -> float | None:
    """When it did, by the controller's clock."""
    seen = ended(evidence)
    return None if not seen else evidence.now - seen["ended_ago"]


def frozen_at(evidence: Evidence) -> float | None:
    """When the last of the IO threads had been stopped, by the replicas' clocks; None before."""
    stopped = (evidence.frozen or {}).values()
    moments = [one["at"] for one in stopped if one.get("stopped") and one.get("at") is not None]
    return max(moments, default=None)


def orderly(seen: dict[str, Any] | None) -> bool:
    """Whether a server was, or may have been, stopped in order."""
    return bool(seen and seen["how"] != "killed")


def unwatched(evidence: Evidence) -> str:
    """Why nothing is known of the source's last days; empty where something is."""
    last, source = evidence.last, source_of(evidence.members).host
    if not last:
        return f"no run of verify.yml has kept a look at {source}"
    if any(last.get(key) is None for key in ("status", "timeout", "wait_no_replica")):
        return f"the last look at {source}, at {last.get('at')}, has not all that is asked for"
    return elsewhere(evidence)


def elsewhere(evidence: Evidence) -> str:
    """That the last look was at another server than the dead source, as behind a failover of the
    same night; empty where it was not, or where nobody can tell.
    """
    last = evidence.last or {}
    mariadb = is_mariadb(evidence)
    key, kept = (
        ("source_server_id", last.get("server_id"))
        if mariadb
        else ("source_uuid", last.get("server"))
    )
    followed = {str(member.channel[key]) for member in readable(evidence.members)}
    if last and followed and str(kept) not in followed:
        return (
            f"the last look, at {last['at']}, was at another server ({kept}) than the replicas"
            f" follow ({', '.join(sorted(followed))})"
        )
    return ""


def look(evidence: Evidence) -> dict[str, Any]:
    """The last look at the dead source; empty where there is none, or one at another server: who
    acknowledged that one says nothing of this one.
    """
    return {} if elsewhere(evidence) else evidence.last or {}


def shown(evidence: Evidence) -> str:
    """What a replica's channel is asked by."""
    read = readable(evidence.members)
    return str(read[0].info["names"]["show_channels"]) if read else "SHOW SLAVE STATUS"
