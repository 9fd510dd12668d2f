# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The outcome of a drill of fallback and recovery, from what was seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ansible_collections.dbre.semisync.plugins.module_utils._canary import pulse
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Check
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.drill_points import evaluate
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.drill_shapes import (
    Drill,
    DrillEvent,
    Insert,
    PhasedRow,
    PulseRow,
    Times,
    UnitResult,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import (
    FAILED,
    NOT_APPLICABLE,
    PASSED,
    UNKNOWN,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.progress import (
    position_text,
    time_left,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.plan_shapes import DrillTask

# How far the clocks of the hosts may differ; verify has seen that they do not differ more.
CLOCK_SECONDS = 1.0
# The worst outcome first.
WORST_FIRST = (FAILED, UNKNOWN, PASSED, NOT_APPLICABLE)


def drill_seen(
    task: DrillTask,
    rows: list[PulseRow],
    stopped: UnitResult,
    started: UnitResult,
    reason: str = "",
    returned: UnitResult | None = None,
) -> Drill:
    """One drill from what was seen; its own checkpoints have no time yet.

    Args:
        rows: of the pulse, in order.
        stopped, started: semisync_unit after the stop and after the start at the end, or {}.
        reason: why the drill was broken off, or "".
        returned: semisync_unit after the drill's own start, or {} if it did not get that far.
    """
    reason = "; ".join(filter(None, (died(task, stopped, returned or {}, started), reason)))
    stopped_unit, started_unit = unit_seen(stopped), unit_seen(started)
    times = moments(rows, stopped_unit, started_unit)
    phased = phases(rows, times, task["clients"])
    points = evaluate(task, phased, stopped_unit, started_unit, reason)
    failure = reason or "; ".join(failure_text(point) for point in points if is_failure(point))
    begun, inserted = beginning(rows, times), since_stop(phased, times)
    return {
        "replica": task["replica"],
        "source": task["source"],
        "timeout_ms": task["timeout_ms"],
        "outcome": FAILED if failure else PASSED,
        "reason": failure,
        "expected_fallback": task["expected_fallback"],
        "blocked_ms": blocked_ms(task, phased),
        "longest_ms": max([0.0, *(row["latency_ms"] for row in inserted)]),
        "unprotected": sum(max(row["no_tx"], 0) for row in inserted),
        "recovery_seconds": recovery(phased, times),
        "stopped_at": seconds_since(begun, times["stopped"]),
        "started_at": seconds_since(begun, times["starting"]),
        "events": events(task, phased, times, begun),
        "inserts": inserts(phased),
        "checkpoints": points,
    }


def beginning(rows: Sequence[PulseRow], times: Times) -> float | None:
    """When the drill began: with its first row, or else with the stop."""
    return rows[0]["at"] if rows else times["stopping"]


def unit_seen(result: UnitResult) -> UnitResult:
    """A result that says something about the unit; a call that failed may say nothing."""
    return result if "active" in result else {}


def is_failure(point: Check) -> bool:
    return point["outcome"] in (FAILED, UNKNOWN)


def failure_text(point: Check) -> str:
    return f"{point['id']} on {point['host']}: {point['observed'] or point['reason']}"


def since_stop(rows: Sequence[PhasedRow], times: Times) -> list[PhasedRow]:
    """The inserts that returned after the server was told to stop."""
    stopping = times["stopping"]
    return [] if stopping is None else [row for row in rows if ended(row) >= stopping]


def blocked_ms(task: DrillTask, rows: Sequence[PhasedRow]) -> float:
    blocked = first_unprotected(rows) if task["expected_fallback"] else None
    return blocked["latency_ms"] if blocked else 0.0


def inserts(rows: Sequence[PhasedRow]) -> list[Insert]:
    begun = rows[0]["at"] if rows else 0.0
    return [
        {
            "t": round(row["at"] - begun, 3),
            "latency_ms": row["latency_ms"],
            "yes_tx": row["yes_tx"],
            "no_tx": row["no_tx"],
            "phase": row["phase"],
            "status": row["status"],
            "clients": row["clients"],
        }
        for row in rows
    ]


def died(task: DrillTask, stopped: UnitResult, returned: UnitResult, started: UnitResult) -> str:
    """A replica's server that ended although the drill had not stopped it, as text; or "".

    Args:
        stopped, returned, started: as for drill_seen(), as the calls returned them.
    """
    where = f"{task['unit']} on {task['replica']} was not running"
    if "active" in stopped and not stopped["changed"]:
        return f"{where} when the drill came to stop it"
    if not started.get("changed") or (stopped and not returned.get("running")):
        return ""
    again = " any more, although the drill had started it again" if returned else ""
    return f"{where}{again or ', although the drill had not stopped it'}; it was started"


def moments(rows: Sequence[PulseRow], stopped: UnitResult, started: UnitResult) -> Times:
    """When systemd stopped and started the server in this drill; None for what it did not do, or
    what was not seen.

    If the stop was not seen to its end, as when a connection broke, systemd's times after the start
    have it.
    """
    nothing: Times = {"stopping": None, "stopped": None, "starting": None, "started": None}
    times: Times = {**nothing, **started.get("times", {})}
    if stopped:
        times["stopping"] = stopped["times"]["stopping"]
        times["stopped"] = stopped["times"]["stopped"]
        return times
    stopping = times["stopping"]
    older = stopping is None or not rows or stopping < rows[0]["at"] - CLOCK_SECONDS
    return nothing if older else times


def seconds_since(begun: float | None, moment: float | None) -> float | None:
    return None if moment is None or begun is None else round(moment - begun, 3)


def ended(row: PulseRow) -> float:
    """When an insert returned."""
    return row["at"] + row["latency_ms"] / 1000.0


def phases(rows: Sequence[PulseRow], times: Times, clients: int) -> list[PhasedRow]:
    """The rows with their phase: before the stop, stopped, recovering, and from the first one
    acknowledged by all clients on.
    """
    stopping, starting = times["stopping"], times["starting"]
    with_phase: list[PhasedRow] = []
    back = False
    for row in rows:
        if stopping is None or ended(row) < stopping:
            phase = "before"
        elif starting is None or ended(row) < starting:
            phase = "stopped"
        else:
            back = back or (recovered(row) and row["clients"] >= clients)
            phase = "after" if back else "recovering"
        with_phase.append({**row, "phase": phase})
    return with_phase


def recovered(row: PulseRow) -> bool:
    return pulse.acknowledged(row) and row["status"] == "ON"


def first_unprotected(rows: Sequence[PhasedRow]) -> PhasedRow | None:
    return next((row for row in rows if row["phase"] != "before" and pulse.unprotected(row)), None)


def first_recovered(rows: Sequence[PhasedRow]) -> PhasedRow | None:
    return next((row for row in rows if row["phase"] == "after"), None)


def recovery(rows: Sequence[PhasedRow], times: Times) -> float | None:
    """Seconds from the start of the replica's server to the first acknowledged row, None if there
    was none.
    """
    first = first_recovered(rows)
    return None if first is None else seconds_since(times["starting"], ended(first))


def events(
    task: DrillTask, rows: Sequence[PhasedRow], times: Times, begun: float | None
) -> list[DrillEvent]:
    """What happened when, in the order of time."""
    unit, replica, source = task["unit"], task["replica"], task["source"]
    happened = [
        (begun, f"rows are written on {source}"),
        (times["stopping"], f"{unit} on {replica} is told to stop"),
        (times["stopped"], f"{unit} on {replica} has stopped"),
        (times["starting"], f"{unit} on {replica} is started"),
        (times["started"], f"{unit} on {replica} runs"),
    ]
    first, back = first_unprotected(rows), first_recovered(rows)
    if first:
        happened.append((ended(first), f"{source} continues without an acknowledgement"))
    if back and task["expected_fallback"]:
        happened.append((ended(back), "the first row is acknowledged again"))
    known = [(moment, what) for moment, what in happened if moment is not None]
    known.sort(key=lambda event: event[0])
    return [{"t": seconds_since(begun, moment), "what": what} for moment, what in known]


def merge(drills: Sequence[Drill]) -> list[Check]:
    """The checkpoints of all drills of a run: a point of the source has one row, which names the
    replicas.
    """
    by_point: dict[tuple[str, str], list[tuple[str, Check]]] = {}
    for drill in drills:
        for point in drill["checkpoints"]:
            by_point.setdefault((point["id"], point["host"]), []).append((drill["replica"], point))
    return [one_row(pairs) for _key, pairs in sorted(by_point.items())]


def one_row(pairs: Sequence[tuple[str, Check]]) -> Check:
    """Several rows of one point and host as one with the worst outcome."""
    if len(pairs) == 1:
        return pairs[0][1]
    worst = min(pairs, key=lambda pair: WORST_FIRST.index(pair[1]["outcome"]))[1]
    return {
        **worst,
        "observed": joined((replica, point["observed"]) for replica, point in pairs),
        "reason": joined((replica, point["reason"]) for replica, point in pairs),
        "expected": joined((replica, point["expected"]) for replica, point in pairs),
    }


def joined(texts: Iterable[tuple[str, str]]) -> str:
    return "; ".join(f"{replica}: {text}" for replica, text in texts if text)


def drill_line(drill: Drill) -> str:
    """One drill in a line."""
    unprotected = f"{drill['unprotected']} transaction(s) unprotected"
    if drill["expected_fallback"]:
        timeout = f"(timeout {drill['timeout_ms'] / 1000.0:.2f} s)"
        waited = f"writers blocked for {drill['blocked_ms'] / 1000.0:.2f} s {timeout}"
    else:
        waited = f"no writer was blocked, longest insert {drill['longest_ms']:.1f} ms"
    recovered_after = "no recovery seen"
    if drill["recovery_seconds"] is not None:
        recovered_after = f"recovered {drill['recovery_seconds']:.2f} s after its start"
    outcome = f"Drill of {drill['replica']}: {drill['outcome']}"
    return f"{outcome}; {waited}, {unprotected}, {recovered_after}"


def progress_line(task: DrillTask, drill: Drill, rows: Sequence[PulseRow], now: float) -> str:
    """The line of a drill that has ended: which of how many, and the time left for the others.

    Args:
        now: seconds since 1970.
    """
    line = f"{position_text(task['position'], task['count'])} {drill_line(drill)}"
    others = task["count"] - task["position"]
    return line + (time_left(others * (now - rows[0]["at"])) if others and rows else "")
