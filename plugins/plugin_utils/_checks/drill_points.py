# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checkpoints P6 and P7 of one drill, decided from its rows."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.dbre.semisync.plugins.module_utils._canary import pulse
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Check, Point
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.drill_shapes import (
    PhasedRow,
    UnitResult,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.figures import median_of_known
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.plan_shapes import DrillTask

# "Slightly longer than the timeout" (P6.2): what a disk and a busy host may add to it, in
# milliseconds and as a share.
LATE_MS, LATE_SHARE = 500, 0.1
# A blocked insert may return this much early by the clock that times it.
EARLY_MS = 2
ONLY_UNACKNOWLEDGED = "each raises no_tx by 1"


def evaluate(
    task: DrillTask,
    rows: Sequence[PhasedRow],
    stopped: UnitResult,
    started: UnitResult,
    reason: str,
) -> list[Check]:
    """The checkpoints P6 and P7 of one drill.

    Args:
        stopped, started: what systemd reported after the stop and the start, or {}.
        reason: why the drill was broken off, or "".
    """
    missing = reason or "not seen"
    timeout = Point("P6.0", task["source"], "the timeout is read", "milliseconds")
    return [
        timeout.seen(str(task["timeout_ms"]), True),
        stop_check(task, stopped, missing),
        *checks_while_stopped(task, rows, missing),
        start_check(task, started, missing),
        *recovery(task, rows, missing),
    ]


def stop_check(task: DrillTask, stopped: UnitResult, missing: str) -> Check:
    """P6.1: the replica's server is stopped."""
    point = Point("P6.1", task["replica"], f"{task['unit']} is stopped", "no process")
    if not stopped:
        return point.unknown(missing)
    gone = not stopped.get("running") and not stopped.get("main_pid")
    return point.seen(unit_text(stopped), gone)


def start_check(task: DrillTask, started: UnitResult, missing: str) -> Check:
    """P7.1: the replica's server runs again."""
    point = Point("P7.1", task["replica"], f"{task['unit']} runs again", "active, a process")
    if not started:
        return point.unknown(missing)
    return point.seen(unit_text(started), bool(started.get("running")))


def checks_while_stopped(task: DrillTask, rows: Sequence[PhasedRow], missing: str) -> list[Check]:
    """P6.2 to P6.4."""
    if not task["expected_fallback"]:
        return no_fallback(task, rows, missing)
    while_stopped = [row for row in rows if row["phase"] == "stopped"]
    if while_stopped:
        return fallback(task, while_stopped, median_before(rows))
    return [point.unknown(missing) for point in points_while_stopped(task)]


def unit_text(unit: UnitResult) -> str:
    """What systemd reported about a unit."""
    return f"{unit['active']} ({unit['sub']}), process {unit['main_pid'] or 'none'}"


def median_before(rows: Sequence[PhasedRow]) -> float:
    """The median latency before the stop, in milliseconds."""
    return median_of_known([row["latency_ms"] for row in rows if row["phase"] == "before"]) or 0.0


def points_while_stopped(task: DrillTask) -> tuple[Point, Point, Point]:
    """P6.2 to P6.4, with what is expected of this drill."""
    source, replica = task["source"], task["replica"]
    title, expected = waiting_expected(task)
    status_title, status = "semi-sync's status stays ON", "ON"
    if task["expected_fallback"]:
        status_title, status = f"semi-sync's status while {replica} is stopped", "OFF"
    clients_title = f"semi-sync clients while {replica} is stopped"
    return (
        Point("P6.2", source, title, expected),
        Point("P6.3", source, clients_title, str(task["clients"] - 1)),
        Point("P6.4", source, status_title, status),
    )


def waiting_expected(task: DrillTask) -> tuple[str, str]:
    """(title, what is expected) of P6.2."""
    if not task["expected_fallback"]:
        title = "no insert waits for the timeout"
        return title, "no insert as long as the timeout, no_tx +0"
    if not task["waits"]:
        title = "no insert waits, because wait_no_replica is OFF"
        return title, f"fast; {ONLY_UNACKNOWLEDGED}"
    title = "the first insert waits for the timeout, the next ones do not"
    timeout = f"slightly more than {task['timeout_ms']} ms"
    return title, f"{timeout}, then fast; {ONLY_UNACKNOWLEDGED}"


def fallback(
    task: DrillTask, while_stopped: Sequence[PhasedRow], usual_before: float
) -> list[Check]:
    """P6.2 to P6.4 if too few replicas are left.

    Args:
        while_stopped: the rows while the replica was stopped; at least one.
        usual_before: the median latency of those before, in milliseconds.
    """
    waiting, clients, status = points_while_stopped(task)
    last = while_stopped[-1]
    return [
        waiting.seen(*fallback_seen(task, while_stopped, usual_before)),
        clients.seen(str(last["clients"]), last["clients"] == task["clients"] - 1),
        status.seen(last["status"], last["status"] == "OFF"),
    ]


def fallback_seen(
    task: DrillTask, while_stopped: Sequence[PhasedRow], usual_before: float
) -> tuple[str, bool]:
    """(what P6.2 observed, whether it is as expected)."""
    first = next((index for index, row in enumerate(while_stopped) if pulse.unprotected(row)), None)
    if first is None:
        return "no insert was confirmed without an acknowledgement", False
    blocked, next_ones = while_stopped[first], while_stopped[first + 1 :]
    no_tx = sum(row["no_tx"] for row in while_stopped[first:])
    yes_tx = sum(row["yes_tx"] for row in while_stopped[first:])
    usual = median_of_known([row["latency_ms"] for row in next_ones])
    observed = (
        f"{blocked['latency_ms']:.1f} ms, then {len(next_ones)} inserts with a median of"
        f" {usual or 0.0:.1f} ms; no_tx +{no_tx}, yes_tx +{yes_tx}"
    )
    fast = max(task["timeout_ms"] / 2.0, 2 * usual_before)
    good = (
        in_time(task, blocked)
        and usual is not None
        and usual < fast
        and all(is_only_unacknowledged(row) for row in next_ones)
    )
    return observed, good


def is_only_unacknowledged(row: PhasedRow) -> bool:
    return row["no_tx"] >= 1 and row["yes_tx"] == 0 and row["no_times"] == 0


def in_time(task: DrillTask, blocked: PhasedRow) -> bool:
    """Whether the insert that met the fallback took as long as it should."""
    timeout, took = task["timeout_ms"], blocked["latency_ms"]
    if took > timeout + LATE_MS + LATE_SHARE * timeout:
        return False
    # Another session may have waited before: when its time is up, all go on. Then ours waits less,
    # and is not the only one.
    return not task["waits"] or took >= timeout - EARLY_MS or blocked["no_tx"] > 1


def no_fallback(task: DrillTask, rows: Sequence[PhasedRow], missing: str) -> list[Check]:
    """P6.2 to P6.4 if enough other replicas acknowledge: a fallback cannot happen, and must not."""
    waiting, clients, status = points_while_stopped(task)
    left = task["clients"] - 1
    reason = (
        f"{left} other replica(s) acknowledge while {task['replica']} is stopped, and"
        f" {task['needed']} is enough: no commit waits for the timeout"
    )
    since_stop = [row for row in rows if row["phase"] != "before"]
    counted = [row["clients"] for row in rows if row["phase"] == "stopped"]
    statuses = sorted({row["status"] for row in since_stop})
    checks = [waiting.unknown(missing), clients.unknown(missing), status.unknown(missing)]
    if counted:
        observed, protected = protection_seen(task, since_stop)
        checks[0] = expected_of(waiting, protected, observed, f"{reason}; {observed}", "")
        left_text = f"{left} of {task['clients']} clients are left"
        is_left = counted[-1] == left
        checks[1] = expected_of(clients, is_left, str(counted[-1]), left_text, left_text)
    if statuses:
        stayed = f"{reason}; it stayed ON"
        checks[2] = expected_of(status, statuses == ["ON"], ", ".join(statuses), stayed, "")
    return checks


def protection_seen(task: DrillTask, since_stop: Sequence[PhasedRow]) -> tuple[str, bool]:
    """(what P6.2 observed, whether no insert waited and each was acknowledged)."""
    longest = max(row["latency_ms"] for row in since_stop)
    no_tx = sum(row["no_tx"] for row in since_stop)
    yes_tx = sum(row["yes_tx"] for row in since_stop)
    observed = (
        f"longest insert {longest:.1f} ms, no_tx +{no_tx}, yes_tx +{yes_tx} in"
        f" {len(since_stop)} inserts"
    )
    return observed, longest < task["timeout_ms"] and no_tx == 0


def expected_of(point: Point, good: bool, observed: str, reason: str, failure: str) -> Check:
    """A point that is not applicable if all is as expected, and failed if not.

    Args:
        reason: why it is not applicable.
        failure: what is said about a failure.
    """
    if good:
        return point.not_applicable(reason, observed)
    return point.seen(observed, False, failure)


def recovery(task: DrillTask, rows: Sequence[PhasedRow], missing: str) -> list[Check]:
    """P7.2 and P7.3: inserts are acknowledged again, or never ceased to be."""
    source, clients = task["source"], task["clients"]
    again = Point(
        "P7.2",
        source,
        "every insert is acknowledged again",
        "yes_tx +1 per row",
    )
    status_title = f"semi-sync's status with {task['replica']} back"
    status = Point(
        "P7.3",
        source,
        status_title,
        f"ON, {clients} client(s)",
    )
    if task["expected_fallback"]:
        inserts = [row for row in rows if row["phase"] == "after"]
    else:
        inserts = [row for row in rows if row["phase"] != "before"]
    # Inserts that went on and were never acknowledged by all are seen; those of a drill that was
    # broken off before are not.
    if not inserts and not any(row["phase"] in ("recovering", "after") for row in rows):
        return [again.unknown(missing), status.unknown(missing)]
    last = rows[-1]
    complete = bool(inserts) and last["clients"] == clients and last["status"] == "ON"
    return [
        again.seen(*recovery_seen(inserts)),
        status.seen(f"{last['status']}, {last['clients']} client(s)", complete),
    ]


def recovery_seen(inserts: Sequence[PhasedRow]) -> tuple[str, bool]:
    """(what P7.2 observed, whether it is as expected)."""
    if not inserts:
        return "no insert was acknowledged by all again", False
    good = [row for row in inserts if pulse.acknowledged(row)]
    yes_tx = sum(row["yes_tx"] for row in inserts)
    no_tx = sum(row["no_tx"] for row in inserts)
    observed = (
        f"{len(good)} of {len(inserts)} inserts acknowledged: yes_tx +{yes_tx}, no_tx +{no_tx}"
    )
    return observed, len(good) == len(inserts)
