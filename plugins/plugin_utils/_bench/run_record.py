# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A suite's run as it is stored: extended and closed. run_begin.py begins it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils._bench.load import validity
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.load_shapes import LoadRun
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import analysis
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_shapes import (
    Benchmark,
    Cell,
    Delayed,
    MeasuredCell,
    Repetition,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import results
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.figures import short
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.progress import position_text


def done(result: Benchmark) -> set[tuple[str, int]]:
    """(cell's id, repetition) of each stored run that counts; the others are repeated."""
    return {
        (cell["id"], entry["number"])
        for cell in result["cells"]
        for entry in cell["repetitions"]
        if entry["valid"]
    }


def cell_of(result: Benchmark, cell_id: str) -> MeasuredCell:
    return next(cell for cell in result["cells"] if cell["id"] == cell_id)


def add(
    result: Benchmark,
    cell_id: str,
    number: int,
    run: LoadRun,
    moment: datetime.datetime,
    seconds: float,
) -> Benchmark:
    """Store one run, in place of an earlier attempt.

    Args:
        run: an entry of semisync_load's runs.
        seconds: how long it took, with preparation and cleanup.
    """
    cell = cell_of(result, cell_id)
    entry: Repetition = {
        **run,
        "at": results.stamp(moment),
        "warm_up": number == 0,
        "number": number,
        "wall_seconds": round(seconds, 2),
    }
    others = [other for other in cell["repetitions"] if other["number"] != number]
    cell["repetitions"] = [*others, entry]
    return analysis.analyse(result)


def spoil(
    result: Benchmark,
    cell_id: str,
    number: int,
    reason: str,
) -> Benchmark:
    """Remove the figures of a stored run that, for this reason, does not count after all."""
    for entry in cell_of(result, cell_id)["repetitions"]:
        if entry["number"] == number and entry["valid"]:
            invalidate(entry, reason)
    return analysis.analyse(result)


def walls(result: Benchmark) -> dict[str, float]:
    """Seconds that the newest run of each cell took, with preparation and cleanup."""
    return {
        cell["id"]: cell["repetitions"][-1]["wall_seconds"]
        for cell in result["cells"]
        if cell["repetitions"]
    }


def invalidate(run: LoadRun | Repetition, reason: str) -> None:
    """Remove the figures of a run that does not count for this reason."""
    run["seconds"] = run["operations"] = run["rate"] = run["latency_ms"] = None
    run["valid"], run["reason"] = False, reason


def not_counting(run: LoadRun, reason: str) -> LoadRun:
    """A copy of a run without its figures, and with the reason why it does not count."""
    copied = run.copy()
    invalidate(copied, reason)
    return copied


def failed_run(reason: str) -> LoadRun:
    """An entry of semisync_load's runs for a load that could not be run."""
    return {
        "valid": False,
        "reason": reason,
        "commits": None,
        "rtt_ms": None,
        "counters": {},
        "dropped": 0,
        "seconds": None,
        "operations": None,
        "rate": None,
        "latency_ms": None,
    }


def lapsed_run(
    run: LoadRun,
    hosts: list[str],
    seconds: int,
) -> LoadRun:
    """A run that does not count, because hosts rolled back its settings meanwhile."""
    return not_counting(
        run,
        f"no sign of life from this controller reached {', '.join(hosts)} for {seconds} s, so the"
        " settings for the run were rolled back there",
    )


def with_known_trip(
    run: LoadRun,
    result: Benchmark,
    cell: Cell,
) -> LoadRun:
    """A client host's run with the round trip that the source measured. It does not count if the
    round trip does not show the delay.
    """
    run = run.copy()
    run["rtt_ms"] = known_trip(result, cell)
    # Packets that the source's netem dropped are counted afterwards: see confirm.
    reason = validity.disturbed(cell["delay_ms"], True, 0, run["rtt_ms"])
    return not_counting(run, reason) if reason else run


def known_trip(result: Benchmark, cell: Cell) -> float | None:
    """The round trip in milliseconds that the source measured when the delay was set; None if it
    did not. The client host's own round trip is a different one.
    """
    environment = result["environment"]
    trips = list(environment["rtt_ms"].values())
    if cell["delay_ms"]:
        netem = environment.get("netem", {}).get(f"{cell['delay_ms']:g}")
        after = (netem and netem.get("rtt_after")) or {}
        trips = [trip["median"] for trip in after.values()]
    known = [trip for trip in trips if trip is not None]
    return min(known) if known else None


def keep_netem(
    result: Benchmark,
    delay_ms: float,
    netem: Mapping[str, Any],
) -> None:
    """Store what the module netem returned when it added a delay: the evidence of P8.2."""
    kept: Delayed = {
        "command": netem.get("command"),
        "shown": netem.get("shown"),
        "way": netem.get("way"),
        "limit": netem.get("limit"),
        "rtt_before": netem.get("rtt_before"),
        "rtt_after": netem.get("rtt_after"),
    }
    result["environment"].setdefault("netem", {})[f"{delay_ms:g}"] = kept


def line(
    cell: MeasuredCell,
    run: Repetition,
    position: int,
    count: int,
    left: str,
) -> str:
    """One run as a line: its cell, its figure, its share of the limit, and the time left.

    Args:
        cell: the analysed cell that it belongs to.
        left: progress.time_left().
    """
    which = "warm-up" if run["warm_up"] else f"run {run['number']}"
    head = f"{position_text(position, count)} {cell['label']}, {which}: "
    if not run["valid"]:
        return f"{head}DOES NOT COUNT: {run['reason']}{left}"
    parts = [f"{short(run['seconds'] or 0.0)} s, {short(run['rate'] or 0.0)}/s"]
    latency, trip, model = run.get("latency_ms"), run.get("rtt_ms"), cell.get("model")
    if latency and latency["p50"] is not None:
        parts.append(f"median {short(latency['p50'])} ms")
    if trip is not None:
        parts.append(f"round trip {short(trip)} ms")
    if model and not run["warm_up"]:
        share = model["share"]
        parts.append(analysis.MODEL_FAILS if share is None else f"{share * 100:.0f} % of the limit")
    return f"{head}{', '.join(parts)}{left}"


def finish(result: Benchmark, moment: datetime.datetime) -> Benchmark:
    """Close the run, and add the measured figure to each published one."""
    result["complete"], result["ended"] = True, results.stamp(moment)
    analysis.analyse(result)
    cells = {cell["id"]: cell for cell in result["cells"]}
    for entry in result["documented"]:
        cell = cells.get(entry["cell"] or "")
        entry["found"] = median_text(cell) if cell else None
    return result


def median_text(cell: MeasuredCell) -> str:
    """A cell's median with its unit; if single transactions were timed, their mean too."""
    statistics, latency = cell["statistics"], cell.get("latency_ms")
    if not statistics:
        return f"does not count: {'; '.join(cell['reasons'])}"
    words = analysis.with_unit(statistics)
    if latency:
        words += f", mean {short(latency['mean'])} ms, p95 {short(latency['p95'] or 0.0)} ms"
    return words


def end_of_run_text(result: Benchmark, path: str) -> str:
    """A completed run as text."""
    lines = [f"{result['suite']['title']} (cluster {result['cluster']})"]
    lines += ["  " + each for each in result["statement"]]
    for entry in result["documented"]:
        lines.append(f"  published, {entry['what']}: {entry['figure']}; here: {entry['found']}")
    return "\n".join([*lines, "  " + path])
