# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The outcome of a failover, from the results of its parts: it completes the certificate."""

from __future__ import annotations

from typing import TypedDict

from ansible_collections.dbre.semisync.plugins.module_utils._replication.journal import (
    DONE,
    REFUSED,
    UNDONE,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Case, Check
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import results
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import (
    FAILED,
    PASSED,
    UNKNOWN,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    certificate,
    premises,
    survivors,
    switchover_outcome,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.part_results import (
    PartEvent,
    PartResult,
    Parts,
    Stopped,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.records import (
    AppliedAhead,
    Certificate,
    Line,
    Window,
)


class NoBeat(TypedDict):
    """The fields of a certificate if no beat counts."""

    proven_by_beat: None
    seconds_before_end: None


# Of a moment that no beat shows.
NO_BEAT: NoBeat = {"proven_by_beat": None, "seconds_before_end": None}
TITLES = {
    "S6": "Enough replicas acknowledge before it opens",
    "S7": "The first commit is acknowledged",
}


def not_frozen(evidence: survivors.Evidence) -> list[Case]:
    """Replicas whose IO thread could not be stopped, and which may still acknowledge."""
    frozen = evidence.frozen or {}
    return [
        Case(
            f"not_stopped:{member.host}",
            f"{member.host}: its IO thread did not stop: {why_not(frozen.get(member.host))}",
            "run this again; every IO thread that was stopped is started again",
        )
        for member in survivors.readable(evidence.members)
        if not (frozen.get(member.host) or {}).get("stopped")
    ]


def why_not(stopped: Stopped | None) -> str:
    """Why an IO thread runs that should have been stopped."""
    if not stopped:
        return "its step did not run, because one of your own tasks failed there (see above)"
    return str(stopped.get("msg") or "it runs")


def completed(
    kept: Certificate,
    parts: Parts,
    accepted: list[str],
    run: str,
    beginning: str | float | None = None,
) -> Certificate:
    """The certificate with what the parts have shown.

    Args:
        kept: certificate.record() of what was judged.
        parts: host -> result of its part.
        run: the run's name, which is the moment at which it began; or empty.
        beginning: when this failover did, in seconds since 1970; the folder may be another run's.
    """
    if kept["outcome"] == REFUSED:
        return kept
    target = parts.get(kept["to"] or "") or {}
    reasons = {host: switchover_outcome.reason_of(result) for host, result in parts.items()}
    begin = results.begun_at(run) if beginning is None else float(beginning)
    events = events_of(parts)
    lines = [line_of(host, event, begin) for host, event in events]
    opened = [event["at"] for _host, event in events if event["event"] == "open"]
    done: Certificate = {
        **kept,
        "outcome": target.get("outcome") or UNKNOWN,
        "reason": "; ".join(f"{host}: {words}" for host, words in reasons.items() if words),
        "premises": [shown(row, target) for row in kept["premises"]],
        "points": switchover_outcome.points(parts, TITLES),
        "applied_ahead": ahead_of(target),
        "begun_at": survivors.stamp_of(begin),
        "timeline": lines,
        "opened_after_ms": first_at(lines, "open"),
        "first_commit_after_ms": first_at(lines, "first_commit"),
        "opened_at": survivors.stamp_of(opened[0]) if opened else None,
        "statements": switchover_outcome.statements_run(parts),
    }
    return judged(changed_elsewhere(done, target))


def events_of(parts: Parts) -> list[tuple[str, PartEvent]]:
    """The events of all parts in one order, with their hosts."""
    every = [
        (host, event)
        for host, result in parts.items()
        for event in (result or {}).get("timeline", [])
    ]
    return sorted(every, key=lambda one: one[1]["at"])


def line_of(host: str, event: PartEvent, begin: float | None) -> Line:
    """An event's line of the timeline.

    Args:
        begin: when the failover began, in seconds since 1970; None if that is not known.
    """
    at_ms = None if begin is None else round(1000 * (event["at"] - begin))
    return {"at_ms": at_ms, "host": host, "event": event["event"], "words": event["words"]}


def first_at(lines: list[Line], event: str) -> float | None:
    """When an event happened first, in milliseconds; None if it did not."""
    return next((line["at_ms"] for line in lines if line["event"] == event), None)


def changed_elsewhere(done: Certificate, target: PartResult) -> Certificate:
    """The certificate, if a row that only showed once all was applied says that a playbook of
    another controller changed the source's semi-sync after the last look: that proves nothing from
    its own moment on. A source that was degraded at that look had confirmed commits alone before.
    """
    last, row = done.get("last_look"), target.get("settings_row")
    if not last or done.get("salvage") or target.get("outcome") != DONE:
        return done
    # What the journal had at the look, the target has by now, and no more if nothing changed.
    if row is not None and int(row) == int(last.get("settings_row") or 0):
        return done
    words = (
        "whether a playbook of another controller changed its semi-sync could not be read"
        if row is None
        else "a playbook of another controller changed its semi-sync after the last look"
    )
    rows: list[Check] = [
        {**one, "outcome": FAILED, "observed": f"{one['observed']}; {words}"}
        if premises.of(one).bounded
        else one
        for one in done["premises"]
    ]
    until, proven = done.get("proven_until"), done["verdict"] == certificate.PROVEN
    # A look is kept by its whole second, a beat by its thousandth.
    if until and int(survivors.moment_of(until)) > survivors.moment_of(last["at"]):
        done = {**done, "proven_until": last["at"], **NO_BEAT}
    return {
        **done,
        "verdict": certificate.WINDOW if proven else done["verdict"],
        "premises": rows,
        "window": wider(done, last["at"]),
    }


def wider(done: Certificate, at: str) -> Window:
    """The degraded window of a certificate, which begins at the last look or before."""
    before, ended = done["window"], done.get("source_ended_at")
    return {
        "known": before["known"] if before else False,
        "commits": None,
        "from": min(at, before["from"]) if before else at,
        "ended": bool(ended),
        "to": before["to"] if before else until_second(ended) or done["at"],
    }


def until_second(moment: str | None) -> str | None:
    """The whole second after a moment of a certificate."""
    if not moment:
        return None
    return survivors.stamp(survivors.moment_of(moment) + 1)


def ahead_of(target: PartResult) -> AppliedAhead | None:
    """How the target applied its backlog, and whether its durability settings were restored before
    it accepted writes; None if the backlog was small.
    """
    ahead = target.get("ahead")
    if not ahead:
        return None
    events = [event["event"] for event in target.get("timeline", [])]
    again = "careful_again" in events if ahead["relaxed"] else None
    return {**ahead, "careful_again": again}


def ahead_words(kept: Certificate) -> list[str]:
    """The same for people."""
    ahead = kept.get("applied_ahead")
    if not ahead:
        return []
    words = f"  {kept['to']} applied {ahead['transactions']} transactions in {ahead['seconds']} s"
    if ahead["relaxed"]:
        listed = ", ".join(f"{name} = {value}" for name, value in ahead["relaxed"].items())
        end = (
            "restored before it accepted writes"
            if ahead["careful_again"]
            else "NOT CONFIRMED AS RESTORED"
        )
        words += f", with {listed} (semisync_failover_fast_apply), {end}"
    return [words]


def shown(row: Check, target: PartResult) -> Check:
    """What the target's part has shown, as it has seen it; every other premise as it was."""
    premise = premises.of(row)
    if not premise.applying or row["outcome"] != UNKNOWN:
        return row
    seen = [point for point in target.get("points", []) if point["id"] == row["id"]]
    if not seen:
        return row
    outcome = PASSED if seen[0]["good"] else FAILED
    observed = seen[0]["observed"]
    if premise.bounded:
        observed = f"{row['observed']}; {observed}"
    return {**row, "observed": observed, "outcome": outcome, "reason": ""}


def judged(done: Certificate) -> Certificate:
    """The verdict again, now that the pending premises were shown, or failed."""
    awaited = [
        row
        for row in done["premises"]
        if premises.of(row).is_awaited or row["id"] in done["pending"]
    ]
    left = [
        f"{row['id']}, {row['host']}: not shown" for row in awaited if row["outcome"] == UNKNOWN
    ]
    failed = [
        f"{row['id']}, {row['host']}: {row['observed']}"
        for row in awaited
        if row["outcome"] == FAILED
    ]
    kept = [words for words in done["reasons"] if not premises.is_about_applying(words)]
    reasons = [*kept, *left, *failed]
    verdict = certificate.NOT_PROVEN if reasons else done["verdict"]
    until = None if left or failed else done.get("proven_until")
    if reasons and done["verdict"] != certificate.NOT_PROVEN:
        until = None
    if until is None:
        done = {**done, **NO_BEAT}
    return {
        **done,
        "reasons": reasons,
        "pending": [],
        "verdict": verdict,
        "proven_until": until,
    }


def failover_lines(kept: Certificate) -> list[str]:
    """The final certificate as text."""
    first = certificate.until_words(kept) if kept["outcome"] == DONE else ""
    lines = [first] if first else []
    lines += [
        f"Failover of cluster {kept['cluster']} from {kept['from']} to"
        f" {kept['to'] or 'no replica'}: {kept['outcome']}"
        + (f" ({kept['reason']})" if kept["reason"] else "")
    ]
    if kept["outcome"] == REFUSED:
        return lines
    lines += switchover_outcome.table(kept["timeline"]) + ahead_words(kept)
    lines += [
        f"  {row['id']}  {row['outcome']}  {row['host']}  {row['title']}: {row['observed']}"
        for row in [*kept["premises"], *kept.get("points", [])]
    ]
    lines += [f"  {host} is left out: {words}" for host, words in kept["left_behind"].items()]
    lines.append(
        f"  {kept['from']} is held: it may have commits that no other host has. Do not"
        " start it, and keep writers away from it"
    )
    return [*lines, f"  VERDICT {certificate.verdict_line(kept)}"]


def way_of(kept: Certificate) -> str:
    return f"failover from {kept['from']} to {kept['to'] or 'no replica'}"


def first_lines(kept: Certificate, refused: list[Case]) -> tuple[list[str], str]:
    """What was judged before a failover in two lines, and the playbook to run next."""
    way = way_of(kept)
    verdict = f"VERDICT {certificate.verdict_line(kept)}"
    if not refused:
        return [f"{way}: possible, nothing was changed", verdict], "failover"
    first = refused[0]
    more = f", and {len(refused) - 1} more" if refused[1:] else ""
    lines = [f"{way}: refused{more}: {first.name}: {first.words}", f"do: {first.remedy}"]
    return lines, "failover --check"


def begun_lines(kept: Certificate) -> tuple[list[str], str]:
    """What a run ends with that fails before it reports, and the playbook to run next."""
    return [f"{way_of(kept)}: begun, and what became of it was not reported"], "failover"


def last_lines(kept: Certificate) -> tuple[list[str], str]:
    """The final certificate in a few lines, and the playbook to run next."""
    lines = [
        f"{way_of(kept)}: {kept['outcome']}" + (f" ({kept['reason']})" if kept["reason"] else "")
    ]
    if kept["outcome"] == REFUSED:
        return lines, "failover --check"
    lines.append(f"VERDICT {certificate.verdict_line(kept)}")
    if kept["outcome"] != DONE:
        return lines, "failover --check"
    lines.append(f"{kept['from']} is held: do not start it, and keep writers away from it")
    return lines, "verify"


def failover_failure(kept: Certificate, parts: Parts) -> str:
    """Why the run fails; empty if the replica took over, and all others follow it."""
    where, target = f"Cluster {kept['cluster']!r}", kept["to"]
    if kept["outcome"] == REFUSED and not target:
        return (
            "Every IO thread that was stopped is started again, by this run or within a minute by"
            f" its own host. {kept['reason']}"
        )
    if kept["outcome"] in (UNDONE, REFUSED):
        return f"{where}: everything was rolled back, no replica took over: {kept['reason']}"
    if kept["outcome"] != DONE:
        return (
            f"{where}: it is not known whether {target} took over: {kept['reason']}. First check"
            f" read_only on {target}"
        )
    left = switchover_outcome.left_over(parts)
    if left:
        return (
            f"{where}: {target} took over, but {', '.join(left)} did not follow: {kept['reason']}"
        )
    failed = [point for point in kept.get("points", []) if point["outcome"] == FAILED]
    if failed or kept["reason"]:
        words = "; ".join(point["observed"] for point in failed) or kept["reason"]
        return f"{where}: {target} took over, but {words}"
    return ""
