# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A suite's run as it is stored in benchmark-SUITE.json: begun, resumed, extended and closed.

It contains the suite with all conditions of its cells, so that a run needs the suite's file only
once.
"""

from __future__ import annotations

import datetime
import glob
import os
from collections.abc import Mapping
from typing import Any, cast

from ansible_collections.dbre.semisync.plugins.module_utils.bench.load import validity
from ansible_collections.dbre.semisync.plugins.module_utils.bench.load.load_shapes import LoadRun
from ansible_collections.dbre.semisync.plugins.plugin_utils import results
from ansible_collections.dbre.semisync.plugins.plugin_utils.bench import analysis
from ansible_collections.dbre.semisync.plugins.plugin_utils.bench.benchmark_shapes import (
    Benchmark,
    Cell,
    Delayed,
    Environment,
    MeasuredCell,
    Repetition,
    Suite,
    SuiteOfRun,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.bench.suite import FORMER_NAMES
from ansible_collections.dbre.semisync.plugins.plugin_utils.figures import short

FORMAT = 2


def file_name(suite_id: str) -> str:
    return f"benchmark-{suite_id}.json"


def begin(
    cluster: str,
    suite_id: str,
    suite: Suite,
    profile: str,
    environment: Environment,
    moment: datetime.datetime,
) -> Benchmark:
    """A run without any measurement yet.

    Args:
        cluster: its name.
        suite_id: name of the suite.
        suite: suite.read_suite().
        profile: full or quick.
        environment: environment.environment_of_run().
        moment: when it begins.
    """
    return {
        "format": FORMAT,
        "cluster": cluster,
        "suite": suite_of_run(suite_id, suite, profile),
        "started": results.stamp(moment),
        "ended": None,
        "complete": False,
        "environment": environment,
        "cells": [{**cell, "repetitions": []} for cell in suite["cells"]],
        "documented": [
            {
                "what": entry.get("what", ""),
                "figure": entry.get("figure", ""),
                "cell": entry.get("found"),
                "found": None,
            }
            for entry in suite["documented"]
        ],
        "statement": [],
    }


def suite_of_run(
    suite_id: str,
    suite: Suite,
    profile: str,
) -> SuiteOfRun:
    """What a stored run has of its suite besides the cells."""
    kept: SuiteOfRun = {
        "id": suite_id,
        "title": suite["title"],
        "reference": suite["reference"],
        "profile": profile,
        "expected_seconds": 0,
        "repetitions": suite["repetitions"],
        "warm_up": suite["warm_up"],
        "time_limit": suite["time_limit"],
        "what": suite["what"],
    }
    if suite["metric"]:
        kept["metric"] = suite["metric"]
    return kept


def upgraded(result: Benchmark) -> Benchmark:
    """A stored run in this version's format. Format 1 had the former names of the collection's
    suites, and "document" for a suite's reference.
    """
    if not isinstance(result, dict) or result.get("format") != 1:
        return result
    suite = result["suite"].copy()
    former, reference = suite["id"], cast("dict[str, str]", suite).pop("document", None)
    if former in FORMER_NAMES and suite["title"].upper().startswith(former.upper() + ":"):
        suite["id"] = FORMER_NAMES[former]
        # The name of a file that no longer exists, and a duplicate of the suite's own name.
        reference = former.upper() if reference else None
        suite["title"] = suite["title"][len(former) + 1 :].strip()
    suite["reference"] = reference
    return {**result, "format": FORMAT, "suite": suite}


def conditions(result: Benchmark) -> list[tuple[object, ...]]:
    """What identifies a run: its cells' conditions, without the measurements."""
    return [
        (
            cell["id"],
            cell["replication"],
            cell["delay_ms"],
            cell["durability"],
            cell["wait_point"],
            cell["timeout_ms"],
            cell["load"],
        )
        for cell in result["cells"]
    ]


def servers(result: Benchmark) -> list[tuple[object, ...]]:
    """The hosts of a run and what their servers are."""
    return [
        (host.get("host"), host.get("role"), host.get("engine"), host.get("version"))
        for host in result["environment"]["hosts"]
    ]


def former_file_names(suite_id: str) -> list[str]:
    """The file of a suite's runs under its former name."""
    return [file_name(former) for former, name in FORMER_NAMES.items() if name == suite_id]


def unfinished(folder: str, fresh: Benchmark) -> tuple[str | None, Benchmark | None]:
    """(name, stored run) of the newest run of this suite, if it was interrupted and had the same
    cells, hosts and repetitions; (None, None) otherwise.

    Args:
        folder: of the cluster.
        fresh: begin() of the run that would be started instead.
    """
    suite_id = fresh["suite"]["id"]
    paths = [
        path
        for name in [*former_file_names(suite_id), file_name(suite_id)]
        for path in glob.glob(os.path.join(glob.escape(folder), "2*Z", name))
    ]

    def order(path: str) -> tuple[str, bool]:
        # If a folder has two, the one with the current name counts.
        return os.path.dirname(path), os.path.basename(path) == file_name(suite_id)

    for path in sorted(paths, key=order, reverse=True):
        known: Benchmark | None = upgraded(results.read_json(path, None))
        if not known or known.get("format") != FORMAT:
            continue
        same = (
            conditions(known) == conditions(fresh)
            and servers(known) == servers(fresh)
            and known["suite"]["repetitions"] == fresh["suite"]["repetitions"]
        )
        if same and not known["complete"]:
            return os.path.basename(os.path.dirname(path)), known
        break
    return None, None


def resume(fresh: Benchmark, known: Benchmark) -> Benchmark:
    """The interrupted run with its measurements, to be resumed.

    Args:
        fresh: begin() of the suite as it is now.
        known: what unfinished() found, with the same cells.
    """
    result = fresh.copy()
    result["started"], result["environment"] = known["started"], known["environment"]
    result["suite"]["expected_seconds"] = known["suite"]["expected_seconds"]
    repetitions = {cell["id"]: cell["repetitions"] for cell in known["cells"]}
    for cell in result["cells"]:
        cell["repetitions"] = repetitions[cell["id"]]
    return analysis.analyse(result)


def remove_former(path: str, suite_id: str) -> None:
    """Remove this run's file under the suite's former name, once the file at `path` has it."""
    for name in former_file_names(suite_id):
        former = os.path.join(os.path.dirname(path), name)
        if os.path.exists(former):
            os.unlink(former)


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
        left: words for the time left.
    """
    which = "warm-up" if run["warm_up"] else f"run {run['number']}"
    head = f"  [{position:{len(str(count))}d}/{count}] {cell['label']}, {which}: "
    if not run["valid"]:
        return f"{head}DOES NOT COUNT: {run['reason']}; {left} left"
    parts = [f"{short(run['seconds'] or 0.0)} s, {short(run['rate'] or 0.0)}/s"]
    latency, trip, model = run.get("latency_ms"), run.get("rtt_ms"), cell.get("model")
    if latency and latency["p50"] is not None:
        parts.append(f"median {short(latency['p50'])} ms")
    if trip is not None:
        parts.append(f"round trip {short(trip)} ms")
    if model and not run["warm_up"]:
        share = model["share"]
        parts.append(analysis.MODEL_FAILS if share is None else f"{share * 100:.0f} % of the limit")
    return f"{head}{', '.join(parts)}; {left} left"


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
