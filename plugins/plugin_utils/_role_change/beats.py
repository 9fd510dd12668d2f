# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the heartbeat of a dead source says of it.

A beat is a row that the source wrote into its own binary log. Its clocks were read first, then what
the source had, then the row was written. So a replica that has the row and the GTIDs in it lacks
nothing that was confirmed before those clocks, with semi-sync or without. And a beat is a look at
the source: it says what its semi-sync was at that place in its history.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import last_look, survivors
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.part_results import (
    HostClock,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.survivors import Evidence

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.beat_shapes import Beat

# Seconds by which two readings of one start may differ: an uptime is in whole seconds.
SAME_START = 2.5
# And by which the clocks of two healthy hosts may.
CLOCKS = 1.0


class Sign(NamedTuple):
    """A beat of the dead source that counts.

    Attributes:
        beat: the row.
        at: when its clocks were read, by the controller's clock and at the earliest.
        exact: whether that is by the monotonic clock of the source's host, which was asked again;
            otherwise the wall clocks of two hosts are taken to agree.
    """

    beat: Beat
    at: float
    exact: bool


# Which beats count


def followed(evidence: Evidence) -> str:
    """The one server that the replicas follow, by the name that beats have; empty if they follow
    several, or their channels do not say it.
    """
    mariadb = survivors.is_mariadb(evidence)
    links = [member.link for member in survivors.followers(evidence.members)]
    named = {link["source_server_id"] if mariadb else link["source_uuid"] for link in links}
    known = {str(one or "0") for one in named} - {"0"}
    return known.pop() if len(known) == 1 else ""


def contradiction(evidence: Evidence) -> str:
    """That two servers wrote one number of the heartbeat: two histories, a split brain."""
    seen: dict[int, tuple[str, Beat]] = {}
    for member in survivors.readable(evidence.members):
        for beat in evidence.beats.get(member.host) or ():
            host, other = seen.setdefault(beat["number"], (member.host, beat))
            if identity_of_beat(beat) != identity_of_beat(other):
                return f"{host} and {member.host} have different beats {beat['number']}"
    return ""


def identity_of_beat(beat: Beat) -> tuple[str, str, float]:
    """What two rows have in common that are one."""
    return beat["server"], beat["boot"], beat["monotonic"]


def told(evidence: Evidence) -> list[Beat]:
    """The newest beats that any replica has, newest first. The candidate has all that any other
    has, so it has their rows as well; none if two replicas contradict each other.
    """
    if contradiction(evidence):
        return []
    rows = {
        beat["number"]: beat
        for member in survivors.readable(evidence.members)
        for beat in evidence.beats.get(member.host) or ()
        if names_gtids(beat)
    }
    return [rows[number] for number in sorted(rows, reverse=True)]


def names_gtids(beat: Beat) -> bool:
    """Whether a row says in GTIDs what its server had; one that was edited by hand may not."""
    try:
        gtids.kind_by_text(beat["gtid"]).parse(beat["gtid"])
    except ValueError:
        return False
    return True


def started(beat: Beat) -> float | None:
    """When its server was started, by its host's monotonic clock."""
    return None if beat["uptime"] is None else beat["monotonic"] - beat["uptime"]


def same_start(one: Beat, other: Beat) -> bool:
    """Whether two beats are of one server that was not started in between."""
    first, second = started(one), started(other)
    if (one["server"], one["boot"]) != (other["server"], other["boot"]):
        return False
    return first is not None and second is not None and abs(first - second) <= SAME_START


def newest_start(rows: Sequence[Beat], server: str) -> list[Beat]:
    """The beats of a server's newest start, newest first. None if the newest beat is another
    server's, or if numbers and clocks contradict each other: then two servers beat.
    """
    if not rows or not server or rows[0]["server"] != server:
        return []
    run = [rows[0]]
    for number, beat in enumerate(rows[1:], 1):
        if not same_start(rows[0], beat):
            older = rows[number:]
            return [] if any(same_start(rows[0], one) for one in older) else run
        if beat["monotonic"] >= run[-1]["monotonic"]:
            return []
        run.append(beat)
    return run


def signs(evidence: Evidence) -> list[Sign]:
    """The beats of the dead source that count, newest first; none if its clock is known to be
    ahead, and nothing else says when they were.
    """
    rows = newest_start(told(evidence), followed(evidence))
    made = [sign_of(evidence, beat) for beat in rows]
    if made and not made[0].exact and is_ahead(evidence, rows):
        return []
    return made


def is_ahead(evidence: Evidence, rows: Sequence[Beat]) -> bool:
    """Whether the clock of the source's host is known to be ahead of the controller's: a beat was
    there before the time that it names. That it is not ahead, nothing shows.
    """
    return any(beat["wall"] > there_at(evidence, beat) + CLOCKS for beat in rows)


def there_at(evidence: Evidence, beat: Beat) -> float:
    """The earliest moment of the controller's clock at which a row is known to have been there: a
    replica had been read that had it, or the source had ended.
    """
    died = last_look.end_of(evidence)[0]
    known = [evidence.now] if died is None else [evidence.now, died]
    for host, looked in evidence.looks.items():
        stopped = (evidence.frozen or {}).get(host) or {}
        for rows, at in (
            (looked.get("beats") or (), looked.get("read_at")),
            (evidence.beats.get(host) or (), stopped.get("answered_at")),
        ):
            if at is not None and any(
                identity_of_beat(beat) == identity_of_beat(row) for row in rows
            ):
                known.append(at)
    return min(known)


def sign_of(evidence: Evidence, beat: Beat) -> Sign:
    """When a beat was. Of a host that answers, or answered before it was fenced, its monotonic
    clock tells; if its wall clock tells more, as after a sleep of the host, that counts. So does an
    earlier time in the beat: both clocks stand still while a virtual machine is paused. And one
    that was late may be set forward, which ends waits for acknowledgements before their time.
    """
    known = host_clock(evidence, beat)
    if known is None:
        died = last_look.end_of(evidence)[0]
        return Sign(beat, min(beat["wall"], evidence.now if died is None else died), False)
    ago = known["monotonic"] - beat["monotonic"]
    wall = known["wall"]
    # A host that slept after it was asked beat later than its monotonic clock says.
    if wall is not None and ago > 0:
        ago = max(ago, wall - beat["wall"])
    return Sign(beat, min(known["asked_at"] - ago, beat["wall"]), True)


def host_clock(evidence: Evidence, beat: Beat) -> HostClock | None:
    """The clocks of the source's host, if it was asked in this run and not started since the beat;
    None if it was not.
    """
    seen = evidence.looks.get(source_of(evidence.members).host) or {}
    boot, monotonic = seen.get("boot"), seen.get("monotonic")
    if boot == beat["boot"] and monotonic is not None and monotonic >= beat["monotonic"]:
        asked_at = last_look.asked(evidence)[0]
        return HostClock(boot=boot, monotonic=monotonic, wall=seen.get("wall"), asked_at=asked_at)
    before = evidence.host_clock
    return before if monotonic is None and before and before["boot"] == beat["boot"] else None


# Proven until


def spoiled(evidence: Evidence) -> Iterator[str]:
    """Why no beat proves that nothing before it is missing, in words."""
    read = survivors.readable(evidence.members)
    if not all(survivors.by_gtid(member) for member in read):
        yield "a replica follows by file and position"
    for member in read:
        if survivors.own_writes(evidence, member):
            yield f"{member.host} has transactions that it wrote itself"


def filters(evidence: Evidence, seen: Sequence[Sign]) -> list[str] | None:
    """What keeps rows out of the source's binary log, which only a start can change. If no beat
    could ask, filters that the look before has seen; None if it is not known: that there were none
    then says nothing of now.
    """
    said = [sign.beat["facts"]["binlog_filters"] for sign in seen]
    known = next((one for one in said if one is not None), None)
    if known is not None:
        return known
    before = last_look.look_at_source(evidence._replace(last=evidence.kept))
    return before.get("binlog_filters") or None


def unsynced(evidence: Evidence) -> str | None:
    """A sync_binlog other than 1 that any beat of the source says; None if none does. One before
    its newest start counts: a power cut in between may have taken transactions.
    """
    server = followed(evidence)
    said = [str(one["facts"]["sync_binlog"]) for one in told(evidence) if one["server"] == server]
    return next((one for one in said if one != "1"), None)


def had(evidence: Evidence, salvaged: str = "") -> Sign | None:
    """The newest beat of the source that says nothing that the best replica lacks: nothing that was
    confirmed before it is missing. None if there is none.

    Args:
        salvaged: GTIDs that the candidate is given from the source's binary log.
    """
    has = last_look.received_by_best(evidence, salvaged)
    if has is None or next(spoiled(evidence), None):
        return None
    seen = signs(evidence)
    if filters(evidence, seen):
        return None
    for sign in seen:
        if sign.beat["gtid"] and has.covers(has.parse(sign.beat["gtid"])):
            return sign
    return None
