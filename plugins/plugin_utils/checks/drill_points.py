# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checkpoints P6 and P7 of one drill, decided from its rows."""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.canary import pulse
from ansible_collections.dbre.semisync.plugins.plugin_utils.checks import check
from ansible_collections.dbre.semisync.plugins.plugin_utils.figures import median_of_known

# "Slightly longer than the timeout" (P6.2): what a disk and a busy host may add to it, in
# milliseconds and as a share.
LATE_MS, LATE_SHARE = 500, 0.1
# A blocked insert may return this much early by the clock that times it.
EARLY_MS = 2


def evaluate(
    task: dict[str, Any],
    rows: list[dict[str, Any]],
    stopped: dict[str, Any],
    started: dict[str, Any],
    reason: str,
) -> list[dict[str, Any]]:
    """The checkpoints P6 and P7 of one drill."""
    source, replica, missing = task["source"], task["replica"], reason or "not seen"
    while_stopped = [row for row in rows if row["phase"] == "stopped"]
    usual_before = (
        median_of_known([row["latency_ms"] for row in rows if row["phase"] == "before"]) or 0.0
    )
    points = [
        check.row(
            "P6.0", source, "the timeout is read", "milliseconds", f"{task['timeout_ms']}", True
        ),
        check.if_seen(
            stopped,
            missing,
            "P6.1",
            replica,
            f"{task['unit']} is stopped",
            "no process",
            unit_words(stopped),
            not stopped.get("running") and not stopped.get("main_pid"),
        ),
    ]
    points += (
        fallback(task, while_stopped, usual_before, missing)
        if task["expected_fallback"]
        else no_fallback(task, rows, while_stopped, missing)
    )
    points.append(
        check.if_seen(
            started,
            missing,
            "P7.1",
            replica,
            f"{task['unit']} runs again",
            "active, a process",
            unit_words(started),
            bool(started.get("running")),
        )
    )
    return points + back(task, rows, while_stopped, missing)


def unit_words(unit: dict[str, Any]) -> str:
    """What systemd said of a unit; empty where it was not asked."""
    if not unit:
        return ""
    return f"{unit['active']} ({unit['sub']}), process {unit['main_pid'] or 'none'}"


def fallback(
    task: dict[str, Any], while_stopped: list[dict[str, Any]], usual_before: float, missing: str
) -> list[dict[str, Any]]:
    """P6.2 to P6.4 where too few replicas are left.

    Args:
        task: what make() planned.
        while_stopped: the rows while the replica was stopped.
        usual_before: the median latency of those before, in milliseconds.
        missing: why there may be none.
    """
    source, timeout, clients = task["source"], task["timeout_ms"], task["clients"] - 1
    last = while_stopped[-1] if while_stopped else {}
    first = next((index for index, row in enumerate(while_stopped) if pulse.unprotected(row)), None)
    if first is None:
        seen, good = "no insert went out without an acknowledgement", False
    else:
        blocked, next_ones = while_stopped[first], while_stopped[first + 1 :]
        unacknowledged, acknowledged = (
            sum(row[key] for row in while_stopped[first:]) for key in ("no_tx", "yes_tx")
        )
        usual = median_of_known([row["latency_ms"] for row in next_ones])
        seen = (
            f"{blocked['latency_ms']:.1f} ms, then {len(next_ones)} inserts with a median of"
            f" {usual or 0.0:.1f} ms; no_tx +{unacknowledged}, yes_tx +{acknowledged}"
        )
        good = (
            in_time(task, blocked)
            and usual is not None
            and usual < max(timeout / 2.0, 2 * usual_before)
            and all(
                row["no_tx"] >= 1 and row["yes_tx"] == 0 and row["no_times"] == 0
                for row in next_ones
            )
        )
    if task["waits"]:
        title = "the first insert waits for the timeout, the next ones do not"
        expected = f"slightly more than {int(timeout)} ms, then fast; each raises no_tx by 1"
    else:
        title = "no insert waits, because wait_no_replica is OFF"
        expected = "fast; each raises no_tx by 1"
    return [
        check.if_seen(last, missing, "P6.2", source, title, expected, seen, good),
        check.if_seen(
            last,
            missing,
            "P6.3",
            source,
            f"semi-sync clients while {task['replica']} is stopped",
            str(clients),
            str(last.get("clients")),
            last.get("clients") == clients,
        ),
        check.if_seen(
            last,
            missing,
            "P6.4",
            source,
            f"semi-sync's status while {task['replica']} is stopped",
            "OFF",
            last.get("status"),
            last.get("status") == "OFF",
        ),
    ]


def in_time(task: dict[str, Any], blocked: dict[str, Any]) -> bool:
    """Whether the insert that met the fallback took as long as it should."""
    timeout, took = task["timeout_ms"], blocked["latency_ms"]
    if took > timeout + LATE_MS + LATE_SHARE * timeout:
        return False
    # Another session may have waited before: when its time is up, all go on. Then ours waits less,
    # and is not alone.
    return not task["waits"] or took >= timeout - EARLY_MS or blocked["no_tx"] > 1


def no_fallback(
    task: dict[str, Any],
    rows: list[dict[str, Any]],
    while_stopped: list[dict[str, Any]],
    missing: str,
) -> list[dict[str, Any]]:
    """P6.2 to P6.4 where enough other replicas acknowledge: they cannot happen, and must not."""
    source = task["source"]
    reason = (
        f"{task['clients'] - 1} other replica(s) acknowledge while {task['replica']} is stopped,"
        f" and {task['needed']} is enough: nobody waits for the timeout"
    )
    since_stop = [row for row in rows if row["phase"] != "before"]
    longest = max([row["latency_ms"] for row in since_stop] or [0.0])
    lost = sum(row["no_tx"] for row in since_stop)
    seen = (
        f"longest insert {longest:.1f} ms, no_tx +{lost}, yes_tx"
        f" +{sum(row['yes_tx'] for row in since_stop)} in {len(since_stop)} inserts"
    )
    held = bool(while_stopped) and longest < task["timeout_ms"] and lost == 0
    status, clients = (
        sorted({row["status"] for row in since_stop}),
        [row["clients"] for row in while_stopped],
    )
    left = task["clients"] - 1
    return [
        check.if_seen(
            while_stopped,
            missing,
            "P6.2",
            source,
            "nobody waits for the timeout",
            "no insert as long as the timeout, no_tx +0",
            seen,
            None if held else False,
            f"{reason}; {seen}" if held else "",
        ),
        check.if_seen(
            clients,
            missing,
            "P6.3",
            source,
            f"semi-sync clients while {task['replica']} is stopped",
            str(left),
            str(clients[-1]) if clients else "",
            None if clients and clients[-1] == left else False,
            f"{int(left)} of {task['clients']} clients are left",
        ),
        check.if_seen(
            status,
            missing,
            "P6.4",
            source,
            "semi-sync's status stays ON",
            "ON",
            ", ".join(status),
            None if status == ["ON"] else False,
            f"{reason}; it stayed ON" if status == ["ON"] else "",
        ),
    ]


def back(
    task: dict[str, Any],
    rows: list[dict[str, Any]],
    while_stopped: list[dict[str, Any]],
    missing: str,
) -> list[dict[str, Any]]:
    """P7.2 and P7.3: inserts are acknowledged again, or never ceased to be."""
    source = task["source"]
    if task["expected_fallback"]:
        inserts = [row for row in rows if row["phase"] == "after"]
    else:
        inserts = [row for row in rows if row["phase"] != "before"]
    good = [row for row in inserts if pulse.acknowledged(row)]
    seen = (
        f"{len(good)} of {len(inserts)} inserts acknowledged: yes_tx"
        f" +{sum(row['yes_tx'] for row in inserts)}, no_tx +{sum(row['no_tx'] for row in inserts)}"
    )
    last = rows[-1] if rows else {}
    complete = bool(inserts) and last["clients"] == task["clients"] and last["status"] == "ON"
    # Inserts that went on and were never acknowledged by all are seen; those of a drill that was
    # broken off before are not.
    watched = [row for row in rows if row["phase"] in ("recovering", "after")] or inserts
    return [
        check.if_seen(
            watched,
            missing,
            "P7.2",
            source,
            "every insert is acknowledged again",
            "yes_tx +1 per row",
            seen if inserts else "no insert was acknowledged by all again",
            bool(inserts) and len(good) == len(inserts),
        ),
        check.if_seen(
            watched,
            missing,
            "P7.3",
            source,
            f"semi-sync's status with {task['replica']} back",
            f"ON, {task['clients']} client(s)",
            f"{last.get('status')}, {last.get('clients')} client(s)",
            complete,
        ),
    ]
