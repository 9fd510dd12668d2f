# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A failover that was interrupted after its target was opened. It cannot be undone, only completed;
the certificate that was judged then still holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids, journal
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtid_type import Gtids
from ansible_collections.dbre.semisync.plugins.module_utils._server import values
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Check
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import PASSED, UNKNOWN
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import current_source
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    certificate,
    interrupted_switchover,
    premises,
    successor,
    survivors,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.records import Certificate
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.survivors import Evidence

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.look_shapes import Look
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import JournalRow

# Of a certificate whose failover reported no outcome.


class Opened(NamedTuple):
    """Such a failover.

    Attributes:
        target: the host that accepts writes.
        source: the inventory name of the dead source.
        source_id: its identity in the journal.
        kept: the certificate of what was judged, if this controller has it.
    """

    target: Member
    source: str
    source_id: str
    kept: Certificate | None


def find(
    members: list[Member], begun: Certificate | None, last: Look | None = None
) -> Opened | None:
    """The failover that was interrupted after its opening; None if there is none.

    Args:
        members: hosts of the cluster.
        begun: the certificate that a run left which did not come to its report.
        last: the last look that was kept.
    """
    row, _differ = current_source.newest_row(members)
    for member in members:
        if member.info is None:
            continue
        if begun and row and (row["run"], row["state"]) == (begun["token"], journal.DONE):
            # It did everything but could not report it; a restart may have made it read-only again.
            if current_source.identity(member) == row["to_id"]:
                return Opened(member, begun["from"], row["from_id"], begun)
        elif is_open(member):
            number = str(member.link["source_uuid"] or member.link["source_server_id"] or "")
            if begun and begun["to"] == member.host and is_of(begun, member, members, last):
                return Opened(member, begun["from"], number, begun)
            before = current_source.target_of(member, members, row)
            if (
                before
                and waits(member)
                and next(one for one in members if one.host == before).info is None
            ):
                return Opened(member, before, number, None)
    moved = interrupted_switchover.opened(members, row)
    if moved and row:
        return Opened(moved[1], moved[0].host, row["from_id"], None)
    return closed_again(members, row)


def closed_again(members: list[Member], row: JournalRow | None) -> Opened | None:
    """A completed role change whose target was restarted with the option file of its old role, so
    that it is read-only. It only has to be opened again. None otherwise, and if another member
    accepts writes, or the previous source was read.
    """
    roles = (journal.FAILOVER, journal.SWITCHOVER)
    if row is None or row["operation"] not in roles or row["state"] != journal.DONE:
        return None
    ends = interrupted_switchover.ends(members, row)
    target, read = ends.target, [one for one in members if one.info is not None]
    if target is None or target not in read or ends.source in read:
        return None
    if any(current_source.takes_writes(one) for one in read) or current_source.target_of(
        target, read, row
    ):
        return None
    # It may have been made read-only on purpose, beside a source that is lost by now.
    if interrupted_switchover.closed_by_hand(members, row):
        return None
    return Opened(target, row["from_host"], row["from_id"], None)


def is_of(
    begun: Certificate,
    member: Member,
    members: list[Member],
    last: Look | None,
) -> bool:
    """Whether an open server is the target of an unfinished certificate, in the same state: it has
    no more of the source than was judged, no other replica is unread, and the source was not seen
    alive since.
    """
    if last and last.get("host") in (None, begun["from"]) and last["at"] > begun["at"]:
        return False
    read = [one.host for one in members if one.info is not None]
    if any(host not in read for host in begun["received"]):
        return False
    return not foreign(begun, member)


def foreign(begun: Certificate, member: Member) -> Gtids:
    """What a server has that was not judged and that it did not write itself."""
    kind = gtids.kind_of(member.facts["engine"])
    salvage = begun.get("salvage")
    salvaged = salvage["gtids"] if salvage else None
    known = kind.of(begun["received"].get(member.host), salvaged)
    own = kind.server_of(member.facts["variables"])
    return kind.parse(member.facts["gtid"].get(kind.STATE)).not_of_server(own).minus(known)


def is_open(member: Member) -> bool:
    """Whether a server is no longer a replica: it accepts writes, and its channel is stopped."""
    return (
        current_source.takes_writes(member)
        and member.channel is not None
        and not current_source.active(member)
    )


def waits(member: Member) -> bool:
    """Whether a server's commits wait for acknowledgements, as those of a source do."""
    enabled = member.facts["semisync"]["source"]["variables"].get("enabled")
    return values.same_value(enabled, "ON")


def lacks(opened: Opened, member: Member) -> Gtids:
    """What a replica received that the target lacks; empty if nothing, or if it follows the target
    already.
    """
    kind, has = survivors.kind_of(member), opened.target.facts["gtid"]
    if follows(opened, member):
        return kind.parse("")
    return survivors.received(member).beyond(kind.of(has.get(kind.STATE), has.get(kind.APPLIED)))


def follows(opened: Opened, member: Member) -> bool:
    """Whether a host is the target, or follows it already."""
    target = opened.target
    return (
        member.host == target.host
        or current_source.target_of(member, [member, target], None) == target.host
    )


def not_frozen(opened: Opened, evidence: Evidence) -> list[str]:
    """Replicas that could still acknowledge to the dead source, in words."""
    frozen = evidence.frozen or {}
    return [
        f"{member.host}: its IO thread did not stop"
        f" ({(frozen.get(member.host) or {}).get('msg') or 'it was not stopped'}). Run this again"
        for member in survivors.readable(evidence.members)
        if not follows(opened, member)
        and member.host != opened.source
        and not (frozen.get(member.host) or {}).get("stopped")
    ]


def finish_problems(opened: Opened, members: list[Member]) -> list[str]:
    """Why it cannot be completed."""
    return [
        f"{member.host} has received what {opened.target.host}, which is writable, lacks:"
        f" {lacks(opened, member)}. Find out what it is before {member.host} follows it"
        for member in members
        if member is not opened.target
        and member.host != opened.source
        and member.info is not None
        and member.channel
        and lacks(opened, member)
    ]


def of_unknown_run(
    opened: Opened,
    cluster: str,
    token: str,
    now: float,
) -> Certificate:
    """If this controller has no certificate of the run that opened the target."""
    target = opened.target
    return {
        "operation": "failover",
        "cluster": cluster,
        "token": token,
        "at": survivors.stamp(now),
        "from": opened.source,
        "to": target.host,
        "why": "it takes writes already",
        "verdict": certificate.NOT_PROVEN,
        "window": None,
        "reasons": [
            f"{target.host} was made writable by hand, or by a run of which this controller has no"
            " record"
        ],
        "pending": [],
        "proven_until": None,
        "assumes": [],
        "premises": [],
        "cases": [],
        "accepted": [],
        "differences": [],
        "received": {},
        "left_behind": {},
        "last_look": None,
        "salvage": None,
        "outcome": "planned",
        "reason": "",
        "timeline": [],
        "statements": [],
    }


def certificate_of(
    opened: Opened,
    cluster: str,
    token: str,
    now: float,
) -> Certificate:
    """What is proven about it: what was judged then, and that the target has what it had received.

    Args:
        cluster, token, now: of this run, if nothing is known of the one that opened it.
    """
    target, kept = opened.target, opened.kept
    if kept is None:
        return of_unknown_run(opened, cluster, token, now)
    kind, own = survivors.kind_of(target), target.facts["gtid"]
    # gtid_binlog_pos is MariaDB's: gtid_slave_pos has nothing that a server wrote itself.
    has = gtids.position(kind, own.get(kind.APPLIED), own.get("gtid_binlog_pos"))
    if not has.covers(kind.parse(kept["received"].get(target.host))):
        return kept
    seen = f"read when an interrupted run was completed: it has {has}"
    rows: list[Check] = [
        {**row, "observed": seen, "outcome": PASSED, "reason": ""}
        if premises.of(row).is_awaited and row["outcome"] == UNKNOWN
        else row
        for row in kept["premises"]
    ]
    return {**kept, "premises": rows}


def followers_of(opened: Opened, evidence: Evidence) -> list[Member]:
    """The replicas that can follow the target."""
    able = successor.followers_of(evidence, opened.target)
    return [member for member in able if member.host != opened.source]
