# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The newest beat of a dead source as a look at it, for all that asks the last look (C1, C5, C7).

Beat and look are compared by place, by what the source had: its GTIDs only grow. Of the two the
newer one counts, and neither is needed for the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._replication.ack_wait import released
from ansible_collections.dbre.semisync.plugins.module_utils._server import values
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import history
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    beats,
    last_look,
    survivors,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.beats import Sign
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.survivors import Evidence

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.beat_shapes import BeatFacts
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.look_shapes import (
        Identity,
        Look,
    )
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Values

# What a beat must say to be a look.
ASKED = (
    "enabled",
    "status",
    "timeout",
    "wait_no_replica",
    "wait_sessions",
    "clients",
    "yes_tx",
    "no_tx",
    "settings_row",
)
NOTHING = survivors.NO_LOOK
# Seconds by which a replica may lag: three beats at the longest interval. In a longer time in which
# nothing beat, one may have left and another come.
LAG = 180


def watched(evidence: Evidence) -> Evidence:
    """The same, with the newest beat for its last look if that is newer than what was kept."""
    seen = beats.signs(evidence)
    if not seen or kept_is_newer(evidence, seen[0]) or not tells(evidence, seen[0]):
        return evidence._replace(last=evidence.kept)
    return evidence._replace(last=as_look(evidence, seen))


def kept_of_same(evidence: Evidence) -> Look:
    """The look that was kept, if it was at the dead source; empty if it was not."""
    kept = evidence._replace(last=evidence.kept)
    return NOTHING if last_look.elsewhere(kept) else evidence.kept or NOTHING


def kept_is_newer(evidence: Evidence, sign: Sign) -> bool:
    """Whether the source had more at the look that was kept than at a beat; or as much, and it was
    later: a beat's own row may have waited then.
    """
    kept = kept_of_same(evidence)
    gtid = kept.get("gtid")
    if not gtid:
        return False
    kind = survivors.kind_of(survivors.readable(evidence.members)[0])
    at_look, at_beat = kind.parse(gtid).latest(), kind.parse(sign.beat["gtid"]).latest()
    if not at_beat.covers(at_look):
        return True
    # A look is kept by its whole second.
    return at_look.covers(at_beat) and survivors.moment_of(kept["at"]) + 1 > sign.at


def tells(evidence: Evidence, sign: Sign) -> bool:
    """Whether a beat says all that a look is asked for."""
    facts = sign.beat["facts"]
    said = {**facts}
    counted = survivors.is_mariadb(evidence) or facts["wait_count"] is not None
    return counted and bool(sign.beat["gtid"]) and all(said.get(key) is not None for key in ASKED)


# Since when no commit waits


def statuses(facts: BeatFacts) -> Values:
    """Semi-sync's statuses at a beat, as servers say them."""
    return {
        "status": facts["status"],
        "yes_tx": as_text(facts["yes_tx"]),
        "no_tx": as_text(facts["no_tx"]),
        "wait_sessions": as_text(facts["wait_sessions"]),
    }


def as_text(value: int | None) -> str | None:
    return None if value is None else str(value)


def same_settings(one: BeatFacts, other: BeatFacts) -> bool:
    """Whether nothing that ends a wait differs between two beats."""
    return (
        one["timeout"] == other["timeout"]
        and one["wait_no_replica"] == other["wait_no_replica"]
        and one["wait_count"] == other["wait_count"]
        and one["settings_row"] == other["settings_row"]
        and is_on(one)
        and is_on(other)
    )


def is_on(facts: BeatFacts) -> bool:
    """Whether the source was semi-synchronous."""
    return values.same_value(facts["enabled"], "ON") and values.same_value(facts["status"], "ON")


def ended_between(one: BeatFacts, other: BeatFacts) -> bool:
    """Whether the writer ended a beat of its own that waited, between two; or was started again, or
    does not say.
    """
    return one["killed"] is None or one["killed"] != other["killed"]


def calm(seen: Sequence[Sign]) -> float | None:
    """The latest beat since which every commit that waited has its acknowledgement: one that waits
    at the newest began to wait after that. None if no beat shows it.

    A beat of the writer's own that was ended while it waited counts as acknowledged on MariaDB, so
    nothing is concluded across one, nor across a new start of the writer.
    """
    newest = seen[0].beat["facts"]
    for sign in seen:
        facts = sign.beat["facts"]
        if not same_settings(facts, newest):
            return None
        if facts["wait_sessions"] == 0:
            return sign.at
        if ended_between(facts, newest):
            continue
        if released(statuses(facts), statuses(newest), facts["wait_point"]):
            return sign.at
    return None


# Who could acknowledge


class Clients(NamedTuple):
    """The semi-sync replicas that were connected.

    Attributes:
        known: those of the inventory, by host.
        strangers: how many more there were.
        named: whether each of them is known by its name.
    """

    known: dict[str, Identity]
    strangers: int
    named: bool


def clients(evidence: Evidence, seen: Sequence[Sign]) -> Clients:
    """Those of the newest beat. A replica that could not be read is known by the look that was
    kept. If that does not name it, it is taken for one of those that are not known, because C1
    counts each unread replica as one that may have acknowledged: only what is left over is a
    stranger. If the beat names none, as MariaDB's do not, replicas of the inventory are taken for
    them that were attached by all that is seen: assumptions.py says so.
    """
    sign = seen[0]
    number = sign.beat["facts"]["clients"] or 0
    if sign.beat["facts"]["acknowledgers"] is None:
        known = {
            member.host: history.who(member)
            for member in survivors.readable(evidence.members)
            if can_acknowledge(member)
            and not is_asynchronous(evidence, member)
            and was_attached(member, seen)
        }
        return Clients(known, left_over(evidence, number, known), False)
    named = {str(one) for one in sign.beat["facts"]["acknowledgers"] or ()}
    known = {
        host: who
        for host, who in (kept_of_same(evidence).get("acknowledgers") or {}).items()
        if named & names_of(who)
    }
    for member in survivors.readable(evidence.members):
        if can_acknowledge(member) and named & names_of(history.who(member)):
            known[member.host] = history.who(member)
    # Counted and named at two moments: neither may hide one that the other shows.
    others = named - {name for who in known.values() for name in names_of(who)}
    number = max(number, len(known) + len(others))
    left = left_over(evidence, number, known)
    return Clients(known, left, number == len(known) + left)


def left_over(evidence: Evidence, number: int, known: Mapping[str, Identity]) -> int:
    """How many of so many clients are neither known nor an unread replica."""
    unread = set(survivors.unread(evidence)) - set(known)
    return max(0, number - len(known) - len(unread))


def was_attached(member: Member, seen: Sequence[Sign]) -> bool:
    """Whether a replica has received something after a beat since which the source counted as many
    at each beat. It need not be the newest one: a replica may lag. One that left later would have
    been missing at a beat, unless another came between the same two beats.
    """
    newest = seen[0].beat

    def is_like_newest(one: Sign) -> bool:
        return (
            one.beat["facts"]["clients"] == newest["facts"]["clients"]
            and newest["monotonic"] - one.beat["monotonic"] <= LAG
        )

    return any(has_more_than(member, one) for one in itertools.takewhile(is_like_newest, seen))


def has_more_than(member: Member, sign: Sign) -> bool:
    """Whether a replica has received what the source had at a beat, and something that it wrote
    later, as the beat's own row. All that it had at the beat is not enough: without writes, one
    that has left before has that, too.
    """
    if not survivors.by_gtid(member):
        return False
    has = survivors.received(member)
    had = has.parse(sign.beat["gtid"])
    later = has.minus(had).of_server(sign.beat["server"])
    # A domain of MariaDB that the source has deleted does not count.
    return has.covers(had) and bool(later.same_places(had))


def names_of(who: Identity) -> set[str]:
    """What a replica may be called in a beat."""
    return {str(one) for one in (who["server_id"], who["uuid"]) if one}


def is_asynchronous(evidence: Evidence, member: Member) -> bool:
    """Whether a replica was seen to be connected without semi-sync: the variable counts from the
    thread's next start on. Of one that is not connected the status is not relied on.
    """
    first = evidence.first.get(member.host)
    channel = first["channel"] if first else member.link
    said = (member.facts["semisync"]["replica"].get("status") or {}).get("status")
    return channel["io_running"] == "Yes" and said is not None and not values.same_value(said, "ON")


def can_acknowledge(member: Member) -> bool:
    """Whether a replica's semi-sync is on: another one must not hide a stranger."""
    running = member.facts["semisync"]["replica"].get("variables") or {}
    return values.same_value(running.get("enabled"), "ON")


# The look


def as_look(evidence: Evidence, seen: Sequence[Sign]) -> Look:
    """What a look at the source would have kept at its newest beat. What no beat says, as where its
    files are, is of the look that was kept.
    """
    sign, kept = seen[0], kept_of_same(evidence)
    facts, attached = sign.beat["facts"], clients(evidence, seen)
    since = calm(seen)
    mariadb = survivors.is_mariadb(evidence)
    made: Look = {
        "host": source_of(evidence.members).host,
        "server": sign.beat["server"],
        "server_id": sign.beat["server"] if mariadb else kept.get("server_id"),
        "at": survivors.stamp(sign.at),
        "clock": sign.beat["wall"],
        "counting_since": None,
        "status": "ON" if is_on(facts) else "OFF",
        "clients": as_text(facts["clients"]),
        "wait_sessions": as_text(facts["wait_sessions"]),
        "timeout": as_text(facts["timeout"]),
        "wait_no_replica": facts["wait_no_replica"],
        "wait_for_replica_count": as_text(facts["wait_count"]),
        "wait_point": facts["wait_point"],
        "calm_since": None,
        "calm_at": survivors.stamp_of(since),
        "yes_tx": facts["yes_tx"] or 0,
        "no_tx": facts["no_tx"] or 0,
        "no_times": facts["no_times"] or 0,
        "unit": kept.get("unit"),
        "files": kept.get("files") or history.NO_FILES,
        "sync_binlog": facts["sync_binlog"],
        "unsynced": beats.unsynced(evidence) or kept.get("unsynced"),
        "gtid_strict_mode": kept.get("gtid_strict_mode"),
        "gtid": sign.beat["gtid"],
        "error_log": kept.get("error_log"),
        "events": kept.get("events"),
        "binlog_filters": beats.filters(evidence, seen),
        "settings_row": facts["settings_row"] or 0,
        "degraded_since": None,
        "acknowledgers": attached.known,
        "strangers": attached.strangers,
        "replicas": kept.get("replicas") or {},
        "past": history.earlier(kept, {**kept, "gtid": sign.beat["gtid"]}) if kept else [],
        "beat": {
            "number": sign.beat["number"],
            "exact": sign.exact,
            "named": attached.named,
        },
    }
    return spent_as(made, kept, sign)


def spent_as(made: Look, kept: Look, sign: Sign) -> Look:
    """The same look, void from the moment on at which a playbook of this controller changed what
    the source waits for, unless the beat is seen to be later.
    """
    spent = kept.get("spent_at")
    if not spent or (sign.exact and sign.at > survivors.moment_of(spent) + 1):
        return made
    return {**made, "spent_at": spent, "spent_why": kept.get("spent_why") or ""}
