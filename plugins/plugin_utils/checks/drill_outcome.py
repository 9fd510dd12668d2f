# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The outcome of a drill of fallback and recovery, from what was seen."""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.canary import pulse
from ansible_collections.dbre.semisync.plugins.plugin_utils.checks.drill_points import evaluate
from ansible_collections.dbre.semisync.plugins.plugin_utils.words import (
    FAILED,
    NOT_APPLICABLE,
    PASSED,
    UNKNOWN,
)

# How far the clocks of the hosts may differ; verify has seen that they do not differ more.
CLOCK_SECONDS = 1.0


def judge(
    task: dict[str, Any],
    rows: list[dict[str, Any]],
    stopped: dict[str, Any],
    started: dict[str, Any],
    reason: str = "",
    returned: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """One drill from what was seen.

    Args:
        task: one of make().
        rows: of the pulse, see module_utils.pulse.
        stopped, started: results of semisync_unit after the stop, and of the start that ends every
            drill, or {}.
        reason: why the drill was broken off, or "".
        returned: result of semisync_unit after the drill's own start, or {} where it did not come
            so far.

    Returns:
        a dict for drill.json; its own checkpoints, under 'checkpoints', have no time yet.
    """
    reason = "; ".join(filter(None, (died(task, stopped, returned or {}, started), reason)))
    # A call that failed may have said nothing of the unit.
    stopped, started = (seen if "active" in seen else {} for seen in (stopped, started))
    times = moments(rows, stopped, started)
    phased = phases(rows, times, task["clients"])
    points = evaluate(task, phased, stopped, started, reason)
    since_stop = [
        row for row in rows if times["stopping"] is not None and ended(row) >= times["stopping"]
    ]
    blocked = first_unprotected(phased) if task["expected_fallback"] else None
    failures = [point for point in points if point["outcome"] in (FAILED, UNKNOWN)]
    begun = rows[0]["at"] if rows else times["stopping"]
    return {
        "replica": task["replica"],
        "source": task["source"],
        "timeout_ms": task["timeout_ms"],
        "outcome": FAILED if failures or reason else PASSED,
        "reason": (
            reason
            or "; ".join(
                f"{point['id']} on {point['host']}: {point['observed'] or point['reason']}"
                for point in failures
            )
        ),
        "expected_fallback": task["expected_fallback"],
        "blocked_ms": blocked["latency_ms"] if blocked else 0.0,
        "longest_ms": max([row["latency_ms"] for row in since_stop] or [0.0]),
        "unprotected": sum(max(row["no_tx"], 0) for row in since_stop),
        "recovery_seconds": recovery(phased, times),
        "stopped_at": since(begun, times["stopped"]),
        "started_at": since(begun, times["starting"]),
        "events": events(task, phased, times, begun),
        "inserts": [
            {
                "t": since(begun, row["at"]),
                "latency_ms": row["latency_ms"],
                "yes_tx": row["yes_tx"],
                "no_tx": row["no_tx"],
                "phase": row["phase"],
                "status": row["status"],
                "clients": row["clients"],
            }
            for row in phased
        ],
        "checkpoints": points,
    }


def died(
    task: dict[str, Any],
    stopped: dict[str, Any],
    returned: dict[str, Any],
    started: dict[str, Any],
) -> str:
    """What to say of a replica's server that ended without the drill's doing, or "".

    Args:
        stopped, returned, started: as for judge(), as the calls returned them.
    """
    where = f"{task['unit']} on {task['replica']} was not running"
    if "active" in stopped and not stopped["changed"]:
        return f"{where} when the drill came to stop it"
    if not started.get("changed") or (stopped and not returned.get("running")):
        return ""
    again = " any more, although the drill had started it again" if returned else ""
    return f"{where}{again or ', although the drill had not stopped it'}; it was started"


def moments(
    rows: list[dict[str, Any]], stopped: dict[str, Any], started: dict[str, Any]
) -> dict[str, Any]:
    """When systemd stopped and started the server in this drill; None for what it did not do, or
    nobody saw.

    Where the stop was not seen to its end, as when a connection broke, systemd's times after the
    start tell of it.
    """
    times = dict.fromkeys(("stopping", "stopped", "starting", "started"))
    times.update(started.get("times") or {})
    if stopped:
        times.update((word, stopped["times"][word]) for word in ("stopping", "stopped"))
    elif times["stopping"] is None or not rows or times["stopping"] < rows[0]["at"] - CLOCK_SECONDS:
        return dict.fromkeys(times)
    return times


def since(begun: float, moment: float) -> float:
    return None if moment is None or begun is None else round(moment - begun, 3)


def ended(row: dict[str, Any]) -> float:
    """When an insert returned."""
    return row["at"] + row["latency_ms"] / 1000.0


def phases(rows: list[dict[str, Any]], times: dict[str, Any], clients: int) -> list[dict[str, Any]]:
    """The rows with their phase: before the stop, stopped, recovering, and from the first one
    acknowledged by all clients on.
    """
    with_phase, back = [], False
    for row in rows:
        if times["stopping"] is None or ended(row) < times["stopping"]:
            phase = "before"
        elif times["starting"] is None or ended(row) < times["starting"]:
            phase = "stopped"
        else:
            back = back or (recovered(row) and row["clients"] >= clients)
            phase = "after" if back else "recovering"
        with_phase.append(dict(row, phase=phase))
    return with_phase


def recovered(row: dict[str, Any]) -> bool:
    return pulse.acknowledged(row) and row["status"] == "ON"


def first_unprotected(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    return next((row for row in rows if row["phase"] != "before" and pulse.unprotected(row)), None)


def recovery(rows: list[dict[str, Any]], times: dict[str, Any]) -> float | None:
    """Seconds from the start of the replica's server to the first acknowledged row, None where
    there was none.
    """
    first = next((row for row in rows if row["phase"] == "after"), None)
    return None if first is None else round(ended(first) - times["starting"], 3)


def events(
    task: dict[str, Any], rows: list[dict[str, Any]], times: dict[str, Any], begun: float
) -> list[dict[str, Any]]:
    """What happened when, in words, in the order of time."""
    unit, replica, source = task["unit"], task["replica"], task["source"]
    happened = [
        (begun, f"rows are written on {source}"),
        (times["stopping"], f"{unit} on {replica} is told to stop"),
        (times["stopped"], f"{unit} on {replica} has stopped"),
        (times["starting"], f"{unit} on {replica} is started"),
        (times["started"], f"{unit} on {replica} runs"),
    ]
    first = first_unprotected(rows)
    if first:
        happened.append((ended(first), f"{source} goes on without an acknowledgement"))
    back = next((row for row in rows if row["phase"] == "after"), None)
    if back and task["expected_fallback"]:
        happened.append((ended(back), "the first row is acknowledged again"))
    return [
        {"t": since(begun, moment), "what": words}
        for moment, words in sorted(
            (pair for pair in happened if pair[0] is not None), key=lambda pair: pair[0]
        )
    ]


def merge(drills: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The checkpoints of all drills of a run: a point of the source has one row, which names the
    replicas.
    """
    by_point: dict[tuple[str, str], list[tuple[str, dict[str, Any]]]] = {}
    for drill in drills:
        for point in drill["checkpoints"]:
            by_point.setdefault((point["id"], point["host"]), []).append((drill["replica"], point))
    return [one_row(pairs) for dummy, pairs in sorted(by_point.items())]


def one_row(pairs: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Several rows of one point and host as one, the worst outcome first."""
    if len(pairs) == 1:
        return pairs[0][1]
    order = (FAILED, UNKNOWN, PASSED, NOT_APPLICABLE)
    worst = min(pairs, key=lambda pair: order.index(pair[1]["outcome"]))[1]

    def joined(key: str) -> str:
        return "; ".join(f"{replica}: {point[key]}" for replica, point in pairs if point[key])

    return dict(
        worst, observed=joined("observed"), reason=joined("reason"), expected=joined("expected")
    )


def summary(drill: dict[str, Any]) -> str:
    """One drill in words for people."""
    if drill["expected_fallback"]:
        middle = (
            f"writers blocked for {drill['blocked_ms'] / 1000.0:.2f} s (timeout"
            f" {drill['timeout_ms'] / 1000.0:.2f} s), {drill['unprotected']} transaction(s)"
            " unprotected"
        )
    else:
        middle = (
            f"nobody blocked, longest insert {drill['longest_ms']:.1f} ms, {drill['unprotected']}"
            " transaction(s) unprotected"
        )
    recovery_words = (
        "no recovery seen"
        if drill["recovery_seconds"] is None
        else (f"recovered {drill['recovery_seconds']:.2f} s after its start")
    )
    return f"Drill of {drill['replica']}: {drill['outcome']}; {middle}, {recovery_words}"
