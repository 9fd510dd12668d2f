# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The premises C1 to C7 of "nothing that was confirmed is lost", from what is left of a cluster
whose source is dead.

A commit is confirmed when as many replicas as it waits for have it in their relay logs. So it is on
one of those that were read, if they were enough (C1), could not acknowledge anything later (C2),
are compared by what they received (C3), one has all of it and all that the source had at the last
look (C4), none has lost relay log since (C5), the candidate applies all of it (C6), and the source
did not confirm anything alone since (C7).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible_collections.dbre.semisync.plugins.plugin_utils.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict import (
    checkpoints,
    past,
    relay_logs,
    remains,
    salvaged,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict.remains import Evidence
from ansible_collections.dbre.semisync.plugins.plugin_utils.words import NOT_APPLICABLE

TITLES = {
    "C1": "Enough of the replicas that could acknowledge were read",
    "C2": "Their IO threads were stopped, alone, before they were read",
    "C3": "What was received is compared, not what was applied",
    "C4": "The candidate has all that any other has, and what the source had at the last look",
    "C5": "No relay log was lost",
    "C6": "The candidate applied everything that it received",
    "C7": "The source was not degraded before its end",
}


def rows(evidence: Evidence, chosen: Member | None) -> list[dict[str, Any]]:
    """All premises with what was seen, and the statement to see it by hand."""
    return [
        *of_quorum(evidence),
        *of_freeze(evidence),
        *of_measure(evidence),
        *of_candidate(evidence, chosen),
        *of_relay_logs(evidence),
        *of_applier(evidence, chosen),
        *of_source(evidence),
    ]


def premise(
    point: str,
    host: str,
    expected: str,
    observed: str,
    good: bool | None,
    statement: str,
) -> dict[str, Any]:
    """One row; good is None where nobody could see."""
    title = TITLES[point]
    row = (
        checkpoints.unseen(point, host, title, expected, observed)
        if good is None
        else checkpoints.row(point, host, title, expected, observed, good)
    )
    return dict(row, statement=statement)


def of_quorum(evidence: Evidence) -> Iterator[dict[str, Any]]:
    """C1: one of those that were read has each commit."""
    gone, others, count = (
        relay_logs.missing(evidence),
        relay_logs.strangers(evidence),
        relay_logs.waited_for(evidence),
    )
    number = len(replicas_of(evidence.members)) + len(others)
    listed = "; ".join([*(f"{host}: {why}" for host, why in sorted(gone.items())), *others])
    read = number - len(gone) - len(others)
    yield premise(
        "C1",
        source_of(evidence.members).host,
        f"at least {max(1, number - count + 1)} of {number}, as a commit waits for {count}",
        f"{read} of {number}" + (f" ({listed})" if listed else ""),
        relay_logs.enough(evidence),
        f"on each: {remains.shown(evidence)}",
    )


def of_freeze(evidence: Evidence) -> Iterator[dict[str, Any]]:
    """C2: nothing can be acknowledged after the reading."""
    expected = "stopped, then read; the SQL thread goes on"
    statement = f"{remains.shown(evidence)} before and after"
    for member in remains.readable(evidence.members):
        if evidence.frozen is None:
            yield premise("C2", member.host, expected, "it is still to be stopped", None, statement)
            continue
        stopped = evidence.frozen.get(member.host) or {}
        good = bool(stopped.get("stopped"))
        yield premise(
            "C2",
            member.host,
            expected,
            f"stopped at {remains.stamp(stopped['at'])}"
            if good
            else str(stopped.get("msg") or "not so"),
            good,
            statement,
        )


def of_measure(evidence: Evidence) -> Iterator[dict[str, Any]]:
    """C3: in one measure, and all of it."""
    read = remains.readable(evidence.members)
    wrong = [member.host for member in read if not remains.by_gtid(member)]
    names = (
        "gtid_slave_pos and Gtid_IO_Pos"
        if remains.is_mariadb(evidence)
        else "gtid_executed and Retrieved_Gtid_Set"
    )
    yield premise(
        "C3",
        source_of(evidence.members).host,
        f"{names} together, of every replica",
        f"not by GTID: {', '.join(wrong)}" if wrong else f"so, of {len(read)} replicas",
        bool(read) and not wrong,
        f"SELECT @@GLOBAL.{names.split()[0]}; {remains.shown(evidence)}",
    )


def of_candidate(evidence: Evidence, chosen: Member | None) -> Iterator[dict[str, Any]]:
    """C4: one has it all."""
    read = [member for member in remains.readable(evidence.members) if remains.by_gtid(member)]
    lacks = not chosen or any(remains.lacking(chosen, other) for other in read)
    own = {member.host: remains.own_writes(evidence, member) for member in read}
    errant = [f"{host} wrote {words} itself" for host, words in own.items() if words]
    gone = salvaged.gone(evidence)
    good: bool | None = not lacks and not errant and not gone
    if good and gone is None and not past.unwatched(evidence):
        good = None
    same = "all have received the same" if read else "no replica was read"
    seen = [gone_words(evidence, gone)] if gone else []
    yield premise(
        "C4",
        chosen.host if chosen else source_of(evidence.members).host,
        "it lacks nothing that another has or the source had, and none has transactions of its own",
        "; ".join(remains.differences(evidence) + errant + seen)
        or (same if good is not None else "what the source had at the last look is not known"),
        good,
        "SELECT GTID_SUBTRACT('OTHER', 'CANDIDATE')"
        if not remains.is_mariadb(evidence)
        else "compare by domain",
    )


def gone_words(evidence: Evidence, gone: str) -> str:
    """That the source had what no replica has."""
    at = past.look(evidence)["at"]
    return (
        f"{source_of(evidence.members).host} had {gone} at the last look ({at}), and no replica has"
    )


def of_relay_logs(evidence: Evidence) -> Iterator[dict[str, Any]]:
    """C5: what was acknowledged is still there."""
    for member in remains.readable(evidence.members):
        lost = relay_logs.lost(evidence, member)
        seen = relay_logs.channel_words(evidence, member)
        since = (evidence.last or {}).get("at")
        row = premise(
            "C5",
            member.host,
            f"neither its server nor its applier started since the last look ({since}), or nothing"
            " was thrown away",
            f"{seen}; there is no last look" if lost is None else lost or seen,
            None if lost is None else not lost,
            "SHOW GLOBAL STATUS LIKE 'Uptime'; SHOW PROCESSLIST; SELECT @@GLOBAL.sync_relay_log,"
            " @@GLOBAL.relay_log_recovery",
        )
        if lost and relay_logs.enough(evidence):
            reason = "it counts as unread, and the others are enough (C1)"
            row = dict(row, outcome=NOT_APPLICABLE, reason=reason)
        yield row


def of_applier(evidence: Evidence, chosen: Member | None) -> Iterator[dict[str, Any]]:
    """C6: nothing that was received is left."""
    if not chosen:
        return
    expected, statement = "everything, nothing skipped", remains.shown(evidence)
    filters = past.look(evidence).get("binlog_filters")
    if filters:
        source = source_of(evidence.members).host
        seen = f"what {', '.join(filters)} leaves out of its binary log is on no replica"
        yield premise("C6", source, "nothing filtered", seen, False, "SHOW MASTER STATUS")
    skips = (evidence.looks.get(chosen.host) or {}).get("filters") or []
    if skips:
        yield premise("C6", chosen.host, expected, ", ".join(skips), False, statement)
        return
    left = f"{remains.to_apply(chosen)} transactions are still to be applied"
    yield premise("C6", chosen.host, expected, left, None, statement)


def of_source(evidence: Evidence) -> Iterator[dict[str, Any]]:
    """C7: nothing was confirmed that no replica has."""
    blind, lapse = past.unwatched(evidence), salvaged.window(evidence)
    unknown = "" if salvaged.covers(evidence) else past.since_unknown(evidence)
    last = evidence.last or {}
    observed = blind
    if not blind:
        observed = (
            f"at {last['at']} status {last['status']}, timeout {last['timeout']} ms, waits without"
            f" replicas {last['wait_no_replica']}, {last['wait_sessions']} sessions waited;"
            f" {end_words(evidence)}; {unknown or lapse_words(evidence, lapse)}"
        )
    yield premise(
        "C7",
        source_of(evidence.members).host,
        "semi-sync ON at the last look, and its timeout longer than what was left of its life",
        observed,
        # What is in its log is still to be applied.
        None if blind or salvaged.covers(evidence) else lapse is None and not unknown,
        "its error log: 'switched OFF'; state.json of this cluster's results",
    )


def lapse_words(evidence: Evidence, lapse: past.Window | None) -> str:
    """When it may have confirmed alone."""
    if lapse is None:
        return salvaged.in_words(evidence) or "it could not fall back before its end"
    begin, end = remains.stamp(lapse.begin), remains.stamp(lapse.end)
    if past.look(evidence)["status"] != "ON":
        return f"degraded; what it confirmed before {begin} is not missing"
    if lapse.known:
        return f"its error log says that semi-sync was off after {begin}"
    why = spent_words(evidence)
    return f"{why}may have confirmed alone from {begin} to {end}" + (
        "" if lapse.ended else ", or until its server is dead"
    )


def spent_words(evidence: Evidence) -> str:
    """Why the last look proves nothing from some moment on; empty if it does."""
    if past.changed_elsewhere(evidence):
        return "a playbook of another controller changed its semi-sync after that; "
    last = past.look(evidence)
    if last.get("spent_at"):
        return f"{last.get('spent_why') or 'its semi-sync was changed'} at {last['spent_at']}; "
    return ""


def end_words(evidence: Evidence) -> str:
    """How the source's server ended."""
    seen = past.ended(evidence)
    if not seen:
        return "how its server ended is not known"
    moment = remains.stamp(past.ended_at(evidence) or evidence.now)
    if past.orderly(evidence):
        return f"its server ended by itself, or was stopped in order, at {moment}"
    return f"its server was killed by signal {seen['status']} at {moment}"
