# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The premises C1 to C7 of "nothing that was confirmed is lost", judged by what is left of a
cluster whose source is dead.

A commit is confirmed when as many replicas as it waits for have it in their relay logs. So it is on
one of those that were read, if they were enough (C1), could not acknowledge anything later (C2),
are compared by what they received (C3), one has all of it and all that the source had at the last
look (C4), none has lost relay log since (C5), the candidate applies all of it (C6), and the source
did not confirm anything alone since (C7).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from ansible_collections.dbre.semisync.plugins.plugin_utils._checks import check
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Check
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import (
    FAILED,
    NOT_APPLICABLE,
    PASSED,
    UNKNOWN,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    last_look,
    relay_logs,
    source_log,
    survivors,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.survivors import Evidence


class Premise(NamedTuple):
    """A premise. A new one is a function that yields its rows, and a line in REGISTRY.

    Attributes:
        id: in certificates and on pages.
        title: in certificates.
        seen: what must be seen, for the table of docs/failover.md, which a test compares.
        rows: makes its rows of (what is known, the candidate or None).
        pending: whether only the failover itself shows it, so a plan is valid without it.
        applying: whether the target's part shows it as it applies what it has, as a point of this
            id.
        bounded: whether a failure says no more than that the source may have confirmed alone, in a
            window.
        of_receipt: whether it is about what the candidate received, and applies.
    """

    id: str
    title: str
    seen: str
    rows: Callable[[Evidence, Member | None], Iterable[Check]]
    pending: bool = False
    applying: bool = False
    bounded: bool = False
    of_receipt: bool = False

    @property
    def is_awaited(self) -> bool:
        """Whether every failover waits for the target to show it."""
        return self.pending and self.applying


def rows(evidence: Evidence, chosen: Member | None) -> list[Check]:
    """All premises with what was seen, and the statement to see it by hand."""
    return [row for one in REGISTRY for row in one.rows(evidence, chosen)]


def of(row: Check) -> Premise:
    """The premise that a row of rows() is about.

    Raises:
        KeyError: it is about no premise.
    """
    return BY_ID[row["id"]]


def pending(evidence: Evidence, all_rows: list[Check]) -> list[str]:
    """The ids of the premises that the failover itself must still show: with its own, also what
    the source's binary log decides when all of that is applied.
    """
    log = source_log.covers(evidence)
    return sorted(
        {
            row["id"]
            for row in all_rows
            if row["outcome"] == UNKNOWN and (of(row).pending or (log and of(row).bounded))
        }
    )


def wrong(
    all_rows: list[Check],
    awaited: Collection[str],
    window: bool,
) -> list[Check]:
    """The rows that stand in the way of a proof.

    Args:
        awaited: of pending().
        window: whether a window covers what is bounded.
    """
    return [
        row
        for row in all_rows
        if row["outcome"] not in (PASSED, NOT_APPLICABLE)
        and not (row["id"] in awaited and row["outcome"] == UNKNOWN)
        and not (of(row).bounded and row["outcome"] == FAILED and window)
    ]


def premise_text(row: Check) -> str:
    """A row among a verdict's reasons."""
    return f"{row['id']}, {row['host']}: {row['observed'] or row['reason']}"


def is_about_applying(reason: str) -> bool:
    """Whether a reason of premise_text() is about what the target shows when it applies all."""
    return any(reason.startswith(f"{one.id},") for one in REGISTRY if one.is_awaited)


def bars_a_moment(row: Check) -> bool:
    """Whether a row speaks against what a beat or a look shows: that the candidate has, once all is
    applied, what it received.
    """
    if of(row).of_receipt:
        return row["outcome"] == FAILED
    return False


def premise(
    point: str,
    host: str,
    expected: str,
    observed: str,
    good: bool | None,
    statement: str,
) -> Check:
    """One row; good is None if it could not be seen."""
    title = BY_ID[point].title
    row = (
        check.unseen(point, host, title, expected, observed)
        if good is None
        else check.row(point, host, title, expected, observed, good)
    )
    return {**row, "statement": statement}


def of_quorum(evidence: Evidence, _chosen: Member | None) -> Iterator[Check]:
    """C1: at least one replica that was read has each commit."""
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
        f"on each: {survivors.shown(evidence)}",
    )


def of_freeze(evidence: Evidence, _chosen: Member | None) -> Iterator[Check]:
    """C2: nothing can be acknowledged after the reading."""
    expected = "stopped, then read; the SQL thread goes on"
    statement = f"{survivors.shown(evidence)} before and after"
    for member in survivors.readable(evidence.members):
        if evidence.frozen is None:
            yield premise(
                "C2", member.host, expected, "it has not been stopped yet", None, statement
            )
            continue
        stopped = evidence.frozen.get(member.host) or {}
        good = bool(stopped.get("stopped"))
        yield premise(
            "C2",
            member.host,
            expected,
            f"stopped at {survivors.stamp(stopped['at'])}"
            if good
            else str(stopped.get("msg") or "it runs"),
            good,
            statement,
        )


def of_measure(evidence: Evidence, _chosen: Member | None) -> Iterator[Check]:
    """C3: all of it is compared, and in one measure."""
    read = survivors.readable(evidence.members)
    wrong = [member.host for member in read if not survivors.by_gtid(member)]
    names = (
        "gtid_slave_pos and Gtid_IO_Pos"
        if survivors.is_mariadb(evidence)
        else "gtid_executed and Retrieved_Gtid_Set"
    )
    yield premise(
        "C3",
        source_of(evidence.members).host,
        f"{names} together, of every replica",
        f"not by GTID: {', '.join(wrong)}" if wrong else f"compared by GTID, {len(read)} replicas",
        bool(read) and not wrong,
        f"SELECT @@GLOBAL.{names.split()[0]}; {survivors.shown(evidence)}",
    )


def of_candidate(evidence: Evidence, chosen: Member | None) -> Iterator[Check]:
    """C4: one replica has all of it."""
    read = [member for member in survivors.readable(evidence.members) if survivors.by_gtid(member)]
    lacks = not chosen or any(survivors.lacking(chosen, other) for other in read)
    own = {member.host: survivors.own_writes(evidence, member) for member in read}
    errant = [f"{host} has the errant transactions {words}" for host, words in own.items() if words]
    gone = source_log.gone(evidence)
    good: bool | None = not lacks and not errant and not gone
    if good and gone is None and not last_look.unwatched(evidence):
        good = None
    same = "all have received the same" if read else "no replica was read"
    seen = [gone_words(evidence, gone)] if gone else []
    yield premise(
        "C4",
        chosen.host if chosen else source_of(evidence.members).host,
        "it has all that another replica has or the source had; no replica has errant transactions",
        "; ".join(survivors.differences(evidence) + errant + seen)
        or (same if good is not None else "what the source had at the last look is not known"),
        good,
        "SELECT GTID_SUBTRACT('OTHER', 'CANDIDATE')"
        if not survivors.is_mariadb(evidence)
        else "compare by domain",
    )


def gone_words(evidence: Evidence, gone: str) -> str:
    """The message about what the source had and no replica has."""
    at = last_look.look_at_source(evidence)["at"]
    return (
        f"{source_of(evidence.members).host} had {gone} at the last look ({at}), and no replica has"
    )


def of_relay_logs(evidence: Evidence, _chosen: Member | None) -> Iterator[Check]:
    """C5: what was acknowledged is still there."""
    for member in survivors.readable(evidence.members):
        lost = relay_logs.lost(evidence, member)
        seen = relay_logs.channel_words(evidence, member)
        since = (evidence.last or survivors.NO_LOOK).get("at")
        row = premise(
            "C5",
            member.host,
            f"neither its server nor its applier started since the last look ({since}), or nothing"
            " was discarded",
            f"{seen}; there is no last look" if lost is None else lost or seen,
            None if lost is None else not lost,
            "SHOW GLOBAL STATUS LIKE 'Uptime'; SHOW PROCESSLIST; SELECT @@GLOBAL.sync_relay_log,"
            " @@GLOBAL.relay_log_recovery",
        )
        if lost and relay_logs.enough(evidence):
            reason = "it counts as unread, and the others are enough (C1)"
            row = {**row, "outcome": NOT_APPLICABLE, "reason": reason}
        yield row


def of_applier(evidence: Evidence, chosen: Member | None) -> Iterator[Check]:
    """C6: all that was received is applied."""
    if not chosen:
        return
    expected, statement = "everything, nothing skipped", survivors.shown(evidence)
    filters = last_look.look_at_source(evidence).get("binlog_filters")
    if filters:
        source = source_of(evidence.members).host
        seen = f"what {', '.join(filters)} leaves out of its binary log is on no replica"
        yield premise("C6", source, "nothing filtered", seen, False, "SHOW MASTER STATUS")
    skips = (evidence.looks.get(chosen.host) or {}).get("filters") or []
    if skips:
        yield premise("C6", chosen.host, expected, ", ".join(skips), False, statement)
        return
    left = f"{survivors.to_apply(chosen)} transactions are still to be applied"
    yield premise("C6", chosen.host, expected, left, None, statement)


def of_source(evidence: Evidence, _chosen: Member | None) -> Iterator[Check]:
    """C7: nothing was confirmed that no replica has."""
    blind, lapse = last_look.unwatched(evidence), source_log.window(evidence)
    unknown = "" if source_log.covers(evidence) else last_look.since_unknown(evidence)
    last = evidence.last or survivors.NO_LOOK
    observed = blind
    if not blind:
        observed = (
            f"at {last['at']} status {last['status']}, timeout {last['timeout']} ms,"
            f" wait_no_replica {last['wait_no_replica']}, {last['wait_sessions']} sessions waited;"
            f" {end_words(evidence)}; {unknown or lapse_words(evidence, lapse)}"
        )
    yield premise(
        "C7",
        source_of(evidence.members).host,
        "semi-sync ON at the last look, and the source ended before its timeout was over",
        observed,
        # What is in its log is still to be applied.
        None if blind or source_log.covers(evidence) else lapse is None and not unknown,
        "its error log: 'switched OFF'; state.json of this cluster's results",
    )


def lapse_words(evidence: Evidence, lapse: last_look.Window | None) -> str:
    """When the source may have confirmed without a replica, in words."""
    if lapse is None:
        return source_log.log_text(evidence) or "it could not fall back before its end"
    begin, end = survivors.stamp(lapse.begin), survivors.stamp(lapse.end)
    if last_look.look_at_source(evidence)["status"] != "ON":
        return f"degraded; what it confirmed before {begin} is not missing"
    if lapse.known:
        return f"its error log says that semi-sync was off after {begin}"
    why = spent_words(evidence)
    return f"{why}may have confirmed commits without a replica from {begin} to {end}" + (
        "" if lapse.ended else ", or until its server is dead"
    )


def spent_words(evidence: Evidence) -> str:
    """Why the last look proves nothing from some moment on; empty if it does."""
    if last_look.changed_elsewhere(evidence):
        return "a playbook of another controller changed its semi-sync after that; "
    last = last_look.look_at_source(evidence)
    if last.get("spent_at"):
        return f"{last.get('spent_why') or 'its semi-sync was changed'} at {last['spent_at']}; "
    return ""


def end_words(evidence: Evidence) -> str:
    """How the source's server ended."""
    seen, died = last_look.ended(evidence), last_look.end_of(evidence)[0]
    moment = survivors.stamp(evidence.now if died is None else died)
    if not seen:
        fence = f"the tasks of semisync_hook_fence had ended it at {moment}"
        return "it is not known how its server ended" if died is None else fence
    if last_look.orderly(evidence):
        return f"its server ended by itself, or was shut down cleanly, at {moment}"
    return f"its server was killed by signal {seen['status']} at {moment}"


REGISTRY = (
    Premise(
        "C1",
        "Enough of the replicas that could acknowledge were read",
        "enough of the replicas that could acknowledge were read: if a commit waits for one, "
        "all of them",
        of_quorum,
    ),
    Premise(
        "C2",
        "Their IO threads, and only those, were stopped before they were read",
        "their IO threads, and only those, were stopped before the replicas were read: nothing"
        " can be acknowledged later",
        of_freeze,
        pending=True,
        of_receipt=True,
    ),
    Premise(
        "C3",
        "What was received is compared, not what was applied",
        "the comparison covers what was received, applied or not",
        of_measure,
        of_receipt=True,
    ),
    Premise(
        "C4",
        "The candidate has all that any other has, and what the source had at the last look",
        "the candidate has everything that any other replica has, and everything that the"
        " source had at the last look; no replica has errant transactions",
        of_candidate,
    ),
    Premise(
        "C5",
        "No relay log was lost",
        "no relay log was lost: neither a replica's server nor its applier started since the "
        "last look, or what the start discarded is known",
        of_relay_logs,
    ),
    Premise(
        "C6",
        "The candidate applied everything that it received",
        "the candidate applied everything that it received, and skips or filters nothing; the"
        " source's binary log left nothing out",
        of_applier,
        pending=True,
        applying=True,
        of_receipt=True,
    ),
    Premise(
        "C7",
        "The source was not degraded before its end",
        "the source was not degraded between the last look at it and its end",
        of_source,
        applying=True,
        bounded=True,
    ),
)
BY_ID = {one.id: one for one in REGISTRY}
