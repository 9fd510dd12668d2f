# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is proven about a failover: one of three verdicts, how it is stored and shown."""

from __future__ import annotations

import math
from typing import NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._host import clock
from ansible_collections.dbre.semisync.plugins.module_utils._server import values
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Case, Check
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import backlog
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    assumptions,
    beats,
    cases,
    last_look,
    premises,
    source_log,
    successor,
    survivors,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.records import (
    Certificate,
    Fenced,
    ProvingBeat,
    Verdict,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.survivors import Evidence

PROVEN = "proven"
WINDOW = "proven but for the degraded window"
NOT_PROVEN = "not proven"
VERDICTS = (PROVEN, WINDOW, NOT_PROVEN)
FILE = "certificate.json"
DAY = 86400
LIVES_ON = ", and longer if its server was not dead by then"
# Why a run goes on if the source was not seen dead.
WORD = (
    "; that it is dead was not seen: the tasks of semisync_hook_fence succeeded, and the operator"
    " accepted this"
)


def failover_verdict(evidence: Evidence, rows: list[Check]) -> Verdict:
    """The verdict and what it rests on.

    Returns:
        verdict; window (begin, end, and commits, which can no longer be counted) or None; reasons,
        in words; pending (premises that are still to be shown, for a failover that is not done);
        proven_until, before which nothing that was confirmed is missing once all is applied, with
        proven_by_beat, the beat that shows it, and seconds_before_end, how long before the source's
        end that is, and ended_by, who says when that was; assumes, what was taken for granted.
    """
    lapse = source_log.window(evidence)
    pending = premises.pending(evidence, rows)
    wrong = premises.wrong(rows, pending, bool(lapse))
    verdict = NOT_PROVEN if wrong else WINDOW if lapse else PROVEN
    known = until(evidence, verdict, lapse, rows)
    return {
        "verdict": verdict,
        "window": None
        if not lapse
        else {
            "from": survivors.stamp(lapse.begin),
            "to": survivors.stamp(math.ceil(lapse.end)),
            "known": lapse.known,
            "ended": lapse.ended,
            "commits": None,
        },
        "reasons": [premises.premise_text(row) for row in wrong],
        "pending": pending,
        "proven_until": known.at,
        "proven_by_beat": known.beat,
        "seconds_before_end": before_end(evidence, verdict, known.at),
        "ended_by": last_look.end_of(evidence)[1],
        "assumes": assumptions.listed(evidence),
    }


class Until(NamedTuple):
    """The moment before which no confirmed commit is missing, and the beat that shows it."""

    at: str | None
    beat: ProvingBeat | None = None


def until(
    evidence: Evidence,
    verdict: str,
    lapse: last_look.Window | None,
    rows: list[Check],
) -> Until:
    """That moment; None if neither a look nor a beat shows it. What the candidate received counts
    (C2, C3) if it is going to be applied (C6).
    """
    if verdict == PROVEN:
        died = last_look.end_of(evidence)[0]
        return Until(survivors.stamp(evidence.now if died is None else died))
    if any(premises.bars_a_moment(row) for row in rows):
        return Until(None)
    seen = source_log.covered_at(evidence)
    sign = beats.had(evidence, source_log.salvaged_gtids(evidence))
    if verdict == WINDOW and lapse and lapse.begin > max(seen or 0, sign.at if sign else 0):
        return Until(survivors.stamp(lapse.begin))
    if sign and sign.at >= (seen or 0):
        at = clock.utc_milliseconds(sign.at)
        return Until(at, {"number": sign.beat["number"], "at": at, "exact": sign.exact})
    return Until(None if seen is None else survivors.stamp(seen))


def before_end(
    evidence: Evidence,
    verdict: str,
    moment: str | None,
) -> float | None:
    """How many seconds before the source's end that was, at most; None if that is not known."""
    died = last_look.end_of(evidence)[0]
    if died is None or moment is None:
        return None
    if verdict == PROVEN:
        # The end itself, which is known to the second.
        return 0.0
    return round(max(0.0, died - survivors.moment_of(moment)), 3)


def until_words(judged: Verdict | Certificate) -> str:
    """The first line for the operator; empty if no moment is known."""
    moment, beat = judged.get("proven_until"), judged.get("proven_by_beat")
    if not moment:
        return ""
    left, fenced = judged.get("seconds_before_end"), judged.get("ended_by") == last_look.BY_FENCE
    if left == 0 and judged["verdict"] == PROVEN:
        latest = " at the latest" if fenced else ""
        return f"Nothing that the source confirmed before its end, at {moment}{latest}, is missing"
    words = f"Nothing that was confirmed before {moment} is missing"
    if beat:
        clock_of = "" if beat["exact"] else ", by the clock of the source's host"
        words += f" (beat {beat['number']}{clock_of})"
    if left is None:
        return f"{words}. When the source ended is not known"
    return f"{words}. The source ended {'at most ' if fenced else ''}{left:.1f} s later"


def verdict_line(judged: Verdict | Certificate) -> str:
    """A verdict in one line."""
    words = judged["verdict"]
    lapse = judged["window"]
    if words == WINDOW and lapse:
        words += (
            f" from {lapse['from']} to {lapse['to']}{'' if lapse['ended'] else LIVES_ON}"
            f" ({'degraded then' if lapse['known'] else 'nothing rules it out'}; how many commits"
            " is not known)"
        )
    if judged["reasons"]:
        words += f": {'; '.join(judged['reasons'])}"
    if judged["verdict"] != PROVEN and judged.get("proven_until"):
        words += f"; proven until {judged['proven_until']}"
    if judged["pending"]:
        words += f" (so far: {' and '.join(judged['pending'])} are shown by the failover itself)"
    if judged["verdict"] != NOT_PROVEN:
        words += f"; assumes {'; '.join(judged.get('assumes') or []) or 'nothing'}"
    return words


def lives_accepted(evidence: Evidence, decision: cases.Decision) -> Case | None:
    """The case of a source that is alive, if it was accepted."""
    lives = next(cases.of_source(evidence), None)
    return lives if lives and lives.acceptable and lives.name in decision.accepted else None


def fenced_by(
    evidence: Evidence,
    decision: cases.Decision,
    fenced: Fenced | None,
) -> Fenced | None:
    """What the certificate says about fencing; an accepted live source comes first."""
    lives = lives_accepted(evidence, decision)
    if lives:
        words = lives.words + (WORD if evidence.fence == survivors.FENCE_DONE else "")
        ended_at = fenced["ended_at"] if fenced else None
        return {
            "case": lives.name,
            "words": words,
            "dead_at": None,
            "failed": [],
            "ended_at": ended_at,
        }
    if not fenced or not fenced["case"]:
        return fenced
    if next(cases.of_source(evidence), None):
        return {**fenced, "dead_at": fenced["dead_at"] or None}
    seen_dead = fenced["dead_at"] or survivors.stamp(evidence.now)
    return {**fenced, "dead_at": seen_dead}


def seen_at(evidence: Evidence) -> str | None:
    """When the source was last looked at; None if it was not watched."""
    if last_look.unwatched(evidence):
        return None
    return (evidence.last or survivors.NO_LOOK)["at"]


def received_by_host(evidence: Evidence) -> dict[str, str]:
    """host -> the GTIDs that it has received, of those that replicate by GTID."""
    return {
        member.host: str(survivors.received(member))
        for member in survivors.readable(evidence.members)
        if survivors.by_gtid(member)
    }


def record(
    cluster: str,
    token: str,
    evidence: Evidence,
    decision: cases.Decision,
    fenced: Fenced | None = None,
) -> Certificate:
    """certificate.json, as far as it is known.

    Args:
        decision: cases.decide() by the evidence.
        fenced: what is known of the tasks of semisync_hook_fence; None if none have run.
    """
    chosen = decision.chosen
    rows = premises.rows(evidence, chosen)
    names = [case.name for case in decision.cases if case.acceptable]
    if fenced and fenced["case"] and not lives_accepted(evidence, decision):
        names.append(fenced["case"])
    return {
        "operation": "failover",
        "cluster": cluster,
        "token": token,
        "at": survivors.stamp(evidence.now),
        "from": source_of(evidence.members).host,
        "to": chosen.host if chosen else None,
        "why": why(evidence, chosen),
        **failover_verdict(evidence, rows),
        "premises": rows,
        "cases": [case.row() for case in decision.cases],
        "accepted": [name for name in decision.accepted if name in names],
        "fenced": fenced_by(evidence, decision, fenced),
        "received": received_by_host(evidence),
        "differences": survivors.differences(evidence),
        "salvage": source_log.log_summary(evidence),
        "left_behind": successor.left_behind(evidence, chosen) if chosen else {},
        "last_look": evidence.last,
        "source_seen_at": seen_at(evidence),
        "source_ended_at": survivors.stamp_of(last_look.end_of(evidence)[0]),
        "frozen_at": survivors.stamp_of(last_look.frozen_at(evidence)),
        "outcome": "planned",
        "reason": "",
        "timeline": [],
        "statements": [],
    }


def renewed(kept: Certificate, evidence: Evidence) -> Certificate:
    """The same certificate with beats that were readable only after the candidate had applied
    everything.

    Args:
        evidence: that of the certificate, with these beats.
    """
    chosen = next((one for one in evidence.members if one.host == kept["to"]), None)
    rows = premises.rows(evidence, chosen)
    return {
        **kept,
        **failover_verdict(evidence, rows),
        "premises": rows,
        "last_look": evidence.last,
        "source_seen_at": seen_at(evidence),
    }


def why(evidence: Evidence, chosen: Member | None) -> str:
    """Why this candidate."""
    if not chosen:
        return "no replica can take over"
    if evidence.settings["failover_to"] == chosen.host:
        return "it was named by the operator, and lacks nothing that another replica received"
    estimate = backlog.of_member(chosen)
    left = backlog.estimate_text(estimate) if estimate else f"{survivors.to_apply(chosen)} to apply"
    return f"it lacks nothing that another replica received, and has {left}"


def fence_words(evidence: Evidence) -> str:
    """What keeps the old source from confirming more commits."""
    source = source_of(evidence.members).host
    lives = next(cases.of_source(evidence), None)
    words = {
        survivors.FENCE_PENDING: "fence: the tasks of semisync_hook_fence run first"
        + (f", and {source} must be dead then. " if lives else ". "),
        survivors.FENCE_DONE: "fence: the tasks of semisync_hook_fence have run:"
        + (f" {source} was not seen dead. " if lives else f" {source} does not respond. "),
    }
    return words.get(evidence.fence, "") + logical_fence_words(evidence)


def logical_fence_words(evidence: Evidence) -> str:
    """The same for a source that no hook powers off."""
    last = last_look.look_at_source(evidence)
    source = source_of(evidence.members).host
    if not last.get("timeout"):
        return f"{source} has no known fence: make sure that it is dead"
    seconds = int(last["timeout"] or 0) / 1000
    if seconds >= DAY and values.same_value(last.get("wait_no_replica"), "ON"):
        return (
            f"logical fence: once the IO threads are stopped, {source} gets no acknowledgement."
            " If it is up but cut off from the network, its clients wait for"
            f" {seconds / DAY:.1f} days (its timeout), and it confirms nothing until then. Kill it"
            " before that; do not shut it down cleanly"
        )
    return (
        f"logical fence: once the IO threads are stopped, {source} gets no acknowledgement. If"
        f" it is up but cut off from the network, it confirms commits without a replica {seconds:g}"
        " s after that (its timeout): those commits are lost"
    )


def certificate_lines(kept: Certificate, refused: list[Case]) -> list[str]:
    """A certificate as lines for the operator."""
    first = until_words(kept) if kept["to"] else ""
    lines = [first] if first else []
    lines += [
        f"Failover of cluster {kept['cluster']} from {kept['from']} to {kept['to'] or 'no replica'}"
        + (f" ({kept['why']})" if kept["to"] else "")
    ]
    lines += [
        f"  {row['id']}  {row['outcome']}  {row['host']}  {row['title']}:"
        f" {row['observed'] or row['reason']}"
        for row in kept["premises"]
    ]
    lines += [f"  {host} is left out: {words}" for host, words in kept["left_behind"].items()]
    lines += [f"  accepted: {name}" for name in kept["accepted"]]
    lines += [f"  REFUSED {case.name}: {case.words}; {case.remedy}" for case in refused]
    return [*lines, f"  VERDICT {verdict_line(kept)}"]


def refusal_message(cluster: str, refused: list[Case]) -> str:
    """Why the run fails, and what can be accepted; empty if nothing was refused."""
    if not refused:
        return ""
    words = "; ".join(f"{case.name}: {case.words}: {case.remedy}" for case in refused)
    if all(case.acceptable for case in refused):
        names = ",".join(case.name for case in refused)
        words += (
            f". To accept this, pass -e semisync_failover_accept={names}; the"
            " certificate records it"
        )
    return f"Cluster {cluster!r}: {words}"
