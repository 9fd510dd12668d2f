# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which replica received the most: failover's own ranking, shown without deciding anything.

An acknowledgement means that a replica's relay log has the transaction, not that it is applied
(MySQL manual, "Semisynchronous Replication"), so what is compared is what was received. By GTID
if every replica has them, by the source's file and position otherwise: a failover refuses those.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtid_type import Gtids
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import backlog
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    last_look,
    relay_logs,
    survivors,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.survivors import Evidence

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.look_shapes import Look

GTIDS, BYTES = "transaction(s)", "byte(s) of the source's binary log"


class LogPosition(NamedTuple):
    """A position in the source's binary log: comparable only among replicas of one source.

    Attributes:
        file: its number.
        offset: in bytes.
    """

    file: int
    offset: int

    def missing_of(self, whole: LogPosition) -> int | None:
        """How many bytes it lacks of another; None if that is in a later file, as the length of
        this one is not known here.
        """
        if whole <= self:
            return 0
        return whole.offset - self.offset if whole.file == self.file else None


def log_position(file: str | None, offset: str | int | None) -> LogPosition:
    """A position by a file's name: binlog.000012 is 12."""
    match = re.search(r"\.(\d+)$", file or "")
    return LogPosition(int(match.group(1)) if match else 0, int(offset or 0))


class Standing(TypedDict):
    """How far one replica is, compared with what any replica received.

    Attributes:
        lacks, to_apply: in `unit`; None if it is more than the rest of a file.
        how_long: what it has to apply, and for how long; empty if that was not measured.
        missing: the GTIDs that it lacks.
        receives: whether its IO thread runs.
    """

    host: str
    lacks: int | None
    to_apply: int | None
    how_long: str
    unit: str
    missing: str
    receives: bool
    sql_running: str | None
    last_sql_error: str
    acknowledges: bool


class Ranked(TypedDict):
    """The replicas of a cluster.

    Attributes:
        candidates: hosts that have all that any has.
        ranking: the one that received most first.
        unread: host -> why it is not compared.
        measured: False if they cannot be compared, None if none was read.
        statement: sentences.
    """

    candidates: list[str]
    ranking: list[Standing]
    unread: dict[str, str]
    measured: bool | None
    statement: list[str]


def rank(
    members: list[Member],
    needed: int,
    doubtful: Sequence[str] = (),
) -> Ranked:
    """The ranking of a cluster.

    Args:
        members: its hosts; the source is not looked at.
        needed: acknowledgements that a commit waits for.
        doubtful: hosts of may_lack().
    """
    evidence = Evidence(members, {}, {}, None, None, Settings(), 0.0)
    read = survivors.readable(members)
    kinds = {survivors.kind_of(member) for member in read}
    if len(kinds) < 2 and all(survivors.by_gtid(member) for member in read):
        best = [member.host for member in survivors.supersets(evidence)]
        ranking = by_gtid(read)
    else:
        ranking = by_position(read)
        best = [one["host"] for one in ranking if one["lacks"] == 0]
    ranked: Ranked = {
        "candidates": best,
        "ranking": ranking,
        "unread": survivors.unread(evidence),
        "measured": bool(ranking) if read else None,
        "statement": [],
    }
    ranked["statement"] = sentences(ranked, needed, doubtful)
    return ranked


def by_gtid(read: list[Member]) -> list[Standing]:
    """The replicas by what they have received, as a failover compares them."""
    received = {member.host: survivors.received(member) for member in read}
    whole: Gtids | None = None
    for position in received.values():
        whole = position if whole is None else whole.union(position)
    standings = []
    for member in read:
        mine = received[member.host]
        lacks, missing = (mine.missing_of(whole), str(whole.minus(mine))) if whole else (0, "")
        to_apply = survivors.to_apply(member)
        standings.append(standing(member, lacks, to_apply, GTIDS, missing))
    return in_order(standings)


def by_position(read: list[Member]) -> list[Standing]:
    """The same by file and position; none if they follow different sources."""
    channels = [member.link for member in read]
    sources = {(channel["source_host"], channel["source_port"]) for channel in channels}
    if len(sources) != 1 or not all(channel["read_file"] for channel in channels):
        return []
    received = [log_position(one["read_file"], one["read_position"]) for one in channels]
    whole = max(received)
    standings = []
    for member, mine in zip(read, received, strict=True):
        channel = member.link
        applied = log_position(channel["applied_file"], channel["applied_position"])
        lacks, to_apply = mine.missing_of(whole), applied.missing_of(mine)
        standings.append(standing(member, lacks, to_apply, BYTES, ""))
    return in_order(standings)


def standing(
    member: Member,
    lacks: int | None,
    to_apply: int | None,
    unit: str,
    missing: str,
) -> Standing:
    """How one replica stands."""
    channel = member.link
    enabled = member.facts["semisync"]["replica"]["variables"].get("enabled")
    return {
        "host": member.host,
        "lacks": lacks,
        "to_apply": to_apply,
        # A stopped applier has its own words.
        "how_long": how_long(member) if channel["sql_running"] == "Yes" else "",
        "unit": unit,
        "missing": missing,
        "receives": channel["io_running"] == "Yes",
        "sql_running": channel["sql_running"],
        "last_sql_error": channel["last_sql_error"],
        "acknowledges": enabled == "ON",
    }


def in_order(standings: list[Standing]) -> list[Standing]:
    """The one that lacks least first; what lies in another file is more than what lies in one."""

    def amounts(one: Standing) -> tuple[bool, int, bool, int]:
        lacks, to_apply = one["lacks"], one["to_apply"]
        return lacks is None, lacks or 0, to_apply is None, to_apply or 0

    return sorted(standings, key=amounts)


def how_long(member: Member) -> str:
    """What the replica has to apply, and for how long; empty if it was not measured."""
    estimate = backlog.of_member(member)
    return backlog.estimate_text(estimate) if estimate else ""


def amount(count: int | None, unit: str) -> str:
    return "more than a file" if count is None else f"{count} {unit}"


def line(replica: Standing) -> str:
    """One replica in a line."""
    parts = [
        (
            "has everything that any replica has received"
            if replica["lacks"] == 0
            else f"lacks {amount(replica['lacks'], replica['unit'])}"
            + (f" ({replica['missing']})" if replica["missing"] else "")
        )
    ]
    parts.append(
        "all applied"
        if replica["to_apply"] == 0
        else replica["how_long"] or f"{amount(replica['to_apply'], replica['unit'])} to apply"
    )
    if replica["sql_running"] != "Yes":
        parts.append(
            "its SQL thread is"
            f" stopped{': ' + replica['last_sql_error'] if replica['last_sql_error'] else ''}"
        )
    if not replica["acknowledges"]:
        parts.append("semi-sync is off there")
    return f"{replica['host']}: {'; '.join(parts)}"


def sentences(
    ranked: Ranked,
    needed: int,
    doubtful: Sequence[str],
) -> list[str]:
    """The ranking for the operator, what to do first, and what it cannot know."""
    lines = [line(replica) for replica in ranked["ranking"]]
    lines += [f"{host} is not compared: {why}" for host, why in sorted(ranked["unread"].items())]
    best = next((replica for replica in ranked["ranking"] if replica["lacks"] == 0), None)
    if not best:
        return lines
    receiving = [replica["host"] for replica in ranked["ranking"] if replica["receives"]]
    if receiving:
        lines.append(
            f"{' and '.join(receiving)} received from a source while this was read: the ranking is"
            " true of that moment only. Stop the writers, or the source, and run this again."
        )
    if best["to_apply"] != 0:
        lines.append(f"Let {best['host']} apply what it has before clients write to it.")
    return [*lines, of_acknowledged(best["host"], ranked["unread"], needed, doubtful)]


def of_acknowledged(
    best: str,
    unread: Mapping[str, str],
    needed: int,
    doubtful: Sequence[str],
) -> str:
    """Whether the best replica has all that was acknowledged, in words."""
    gone = sorted({*unread, *doubtful})
    if len(gone) < needed:
        return (
            f"Every commit that a replica of this inventory acknowledged is on {best}: a"
            f" commit waits for {needed}, and {len(unread)} could not be read. What was committed"
            " while the source was degraded may be on none. If the source is alive and only cut"
            " off, it may still get acknowledgements: failover.yml stops the IO threads before it"
            " reads."
        )
    if len(unread) < needed:
        return (
            f"A commit that only {' or '.join(gone)} acknowledged may be on no replica: each could"
            " not be read, or may have lost what it acknowledged."
        )
    return (
        f"A commit may have been acknowledged only by {' or '.join(sorted(unread))}, which"
        " could not be read: try to bring it back before you promote another."
    )


def why_none(ranked: Ranked) -> str:
    """Why there is no candidate."""
    if ranked["measured"] is None:
        return "no replica can be compared: " + "; ".join(
            f"{host}: {why}" for host, why in sorted(ranked["unread"].items())
        )
    if not ranked["measured"]:
        return (
            "the replicas follow different sources without GTIDs: it cannot be known which"
            " received the most"
        )
    return (
        "no replica has everything: each lacks what another has. Compare what is missing before you"
        " promote one"
    )


def past(
    members: list[Member],
    last: Look | None,
    now: float,
) -> list[str]:
    """What the last look at the source says, in words, if any replica was read: which may lack what
    it acknowledged, and what the source may have confirmed alone.

    Args:
        last: what verify.yml kept of it, or None.
        now: the controller's clock.
    """
    if not survivors.readable(members):
        return []
    lost = may_lack(members, last, now)
    lines = [f"{host} may lack what it acknowledged: {words}." for host, words in lost.items()]
    return [*lines, past_of_source(Evidence(members, {}, {}, None, last, Settings(), now))]


def may_lack(
    members: list[Member],
    last: Look | None,
    now: float,
) -> dict[str, str]:
    """The replicas that may lack what they acknowledged since the last look, and why; see past()
    for the arguments.
    """
    evidence = Evidence(members, {}, {}, None, last, Settings(), now)
    lost = {
        member.host: relay_logs.lost(evidence, member) for member in survivors.readable(members)
    }
    return {host: words for host, words in lost.items() if words}


def past_of_source(evidence: Evidence) -> str:
    """Whether the source may have confirmed a commit without a replica."""
    host = source_of(evidence.members).host
    blind, lapse = last_look.unwatched(evidence), last_look.window(evidence)
    if blind:
        return f"{host}: it is not known whether it confirmed commits without a replica: {blind}."
    unknown = last_look.since_unknown(evidence)
    if unknown:
        return f"{host} may have confirmed commits without a replica: {unknown}."
    if not lapse:
        return (
            f"{host} has confirmed nothing without a replica: its timeout has not passed since the"
            " last look. A clean shutdown, or semi-sync that was changed by hand, is not seen."
        )
    begin = survivors.stamp(lapse.begin)
    if lapse.known:
        return (
            f"{host} was degraded at the last look: what it confirmed from {begin} on may be on no"
            " replica."
        )
    return (
        f"{host} confirmed nothing without a replica before {begin}; after that its timeout may"
        " have passed."
    )
