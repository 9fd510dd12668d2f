# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A suite's run as it is kept: benchmark-SUITE.json, begun, resumed, added to, and closed.

What is kept holds the suite with all conditions of its cells, so that a run needs its suite's file
only once.
"""

from __future__ import annotations

import datetime
import glob
import os
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.bench.load import validity
from ansible_collections.dbre.semisync.plugins.plugin_utils import results
from ansible_collections.dbre.semisync.plugins.plugin_utils.bench import analysis
from ansible_collections.dbre.semisync.plugins.plugin_utils.bench.suite import FORMER_NAMES
from ansible_collections.dbre.semisync.plugins.plugin_utils.figures import short

FORMAT = 2
# What a run that does not count does not have.
FIGURES = ("seconds", "operations", "rate", "latency_ms")
# What makes a run the same as another: its cells' conditions, without what was measured.
CONDITIONS = (
    "id",
    "replication",
    "delay_ms",
    "durability",
    "wait_point",
    "timeout_ms",
    "load",
)


def file_name(suite_id: str) -> str:
    return f"benchmark-{suite_id}.json"


def begin(
    cluster: str,
    suite_id: str,
    suite: dict[str, Any],
    profile: str,
    environment: dict[str, Any],
    moment: datetime.datetime,
) -> dict[str, Any]:
    """A run that has measured nothing yet.

    Args:
        cluster: its name.
        suite_id: name of the suite.
        suite: suite.read().
        profile: full or quick.
        environment: environment.describe().
        moment: when it begins.
    """
    return {
        "format": FORMAT,
        "cluster": cluster,
        "suite": {
            "id": suite_id,
            "title": suite["title"],
            "reference": suite["reference"],
            "profile": profile,
            "expected_seconds": 0,
            "repetitions": suite["repetitions"],
            "warm_up": suite["warm_up"],
            "time_limit": suite["time_limit"],
            "what": suite["what"],
            **({"metric": suite["metric"]} if suite["metric"] else {}),
        },
        "started": results.stamp(moment),
        "ended": None,
        "complete": False,
        "environment": environment,
        "cells": [dict(cell, repetitions=[]) for cell in suite["cells"]],
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


def upgraded(result: Any) -> Any:
    """A stored run as this version writes it. Format 1 had the collection's suites under their
    former names, and called a suite's reference its document.
    """
    if not isinstance(result, dict) or result.get("format") != 1:
        return result
    suite = dict(result["suite"])
    former, reference = suite["id"], suite.pop("document", None)
    if former in FORMER_NAMES and suite["title"].upper().startswith(former.upper() + ":"):
        suite["id"] = FORMER_NAMES[former]
        # The name of a file that nobody has, and the suite's own name a second time.
        reference = former.upper() if reference else None
        suite["title"] = suite["title"][len(former) + 1 :].strip()
    return dict(result, format=FORMAT, suite=dict(suite, reference=reference))


def conditions(result: dict[str, Any]) -> list[list[Any]]:
    return [[cell[key] for key in CONDITIONS] for cell in result["cells"]]


def servers(result: dict[str, Any]) -> list[list[Any]]:
    return [
        [host.get(key) for key in ("host", "role", "engine", "version")]
        for host in result["environment"]["hosts"]
    ]


def former_file_names(suite_id: str) -> list[str]:
    """What runs of a suite were kept as under its former name."""
    return [file_name(former) for former, name in FORMER_NAMES.items() if name == suite_id]


def unfinished(folder: str, fresh: dict[str, Any]) -> tuple[str | None, dict[str, Any] | None]:
    """(run's name, what is kept) of the newest run of this suite, where it was interrupted; (None,
    None) otherwise.

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
        # Of two in one folder the one under today's name counts.
        return os.path.dirname(path), os.path.basename(path) == file_name(suite_id)

    for path in sorted(paths, key=order, reverse=True):
        known = upgraded(results.read_json(path, None))
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


def resume(fresh: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """The interrupted run, as it is resumed.

    Args:
        fresh: begin() of the suite as it is now.
        known: what unfinished() found, with the same cells.
    """
    result = dict(fresh, started=known["started"], environment=known["environment"])
    result["suite"]["expected_seconds"] = known["suite"]["expected_seconds"]
    repetitions = {cell["id"]: cell["repetitions"] for cell in known["cells"]}
    for cell in result["cells"]:
        cell["repetitions"] = repetitions[cell["id"]]
    return analysis.analyse(result)


def remove_former(path: str, suite_id: str) -> None:
    """Remove what was kept of this run under the suite's former name, now that path has it."""
    for name in former_file_names(suite_id):
        former = os.path.join(os.path.dirname(path), name)
        if os.path.exists(former):
            os.unlink(former)


def done(result: dict[str, Any]) -> set[tuple[str, int]]:
    """(cell's id, repetition) of each run that is kept; one that does not count is tried again."""
    return {
        (cell["id"], entry["number"])
        for cell in result["cells"]
        for entry in cell["repetitions"]
        if entry["valid"]
    }


def add(
    result: dict[str, Any],
    cell_id: str,
    number: int,
    run: dict[str, Any],
    moment: datetime.datetime,
    seconds: float,
) -> dict[str, Any]:
    """Keep one run, in place of an earlier try of the same.

    Args:
        run: an entry of semisync_load's runs.
        seconds: that it took with everything around it.
    """
    cell = next(cell for cell in result["cells"] if cell["id"] == cell_id)
    entry = dict(
        run,
        at=results.stamp(moment),
        warm_up=number == 0,
        number=number,
        wall_seconds=round(seconds, 2),
    )
    cell["repetitions"] = [other for other in cell["repetitions"] if other["number"] != number] + [
        entry
    ]
    return analysis.analyse(result)


def spoil(result: dict[str, Any], cell_id: str, number: int, reason: str) -> dict[str, Any]:
    """A run that was kept does not count after all: it keeps no figure."""
    cell = next(cell for cell in result["cells"] if cell["id"] == cell_id)
    for entry in cell["repetitions"]:
        if entry["number"] == number and entry["valid"]:
            entry.update(not_counting(entry, reason))
    return analysis.analyse(result)


def walls(result: dict[str, Any]) -> dict[str, float]:
    """Seconds that the newest run of each cell took with everything around it."""
    return {
        cell["id"]: cell["repetitions"][-1]["wall_seconds"]
        for cell in result["cells"]
        if cell["repetitions"]
    }


def not_counting(run: dict[str, Any], reason: str) -> dict[str, Any]:
    """A run without its figures, and why it does not count."""
    return {**run, **dict.fromkeys(FIGURES), "valid": False, "reason": reason}


def failed_run(reason: str) -> dict[str, Any]:
    """An entry of semisync_load's runs for a load that could not be run."""
    return not_counting({"commits": None, "rtt_ms": None, "counters": {}, "dropped": 0}, reason)


def lapsed_run(run: dict[str, Any], hosts: list[str], seconds: int) -> dict[str, Any]:
    """A run that does not count, because hosts put back meanwhile what was set for it."""
    return not_counting(
        run,
        f"no sign of life from this controller reached {', '.join(hosts)} for {seconds} s, so what"
        " was set there for the run was put back by the host itself",
    )


def with_known_trip(
    run: dict[str, Any], result: dict[str, Any], cell: dict[str, Any]
) -> dict[str, Any]:
    """A client host's run with the round trip that the source measured; it does not count where
    that does not show the delay.
    """
    run = dict(run, rtt_ms=known_trip(result, cell))
    # Packets that the source's netem dropped are counted afterwards: see confirm.
    reason = validity.disturbed(cell["delay_ms"], True, 0, run["rtt_ms"])
    return not_counting(run, reason) if reason else run


def known_trip(result: dict[str, Any], cell: dict[str, Any]) -> float | None:
    """The round trip that was measured on the source when the delay was set, in milliseconds; None
    where it was not. A client host's own would be another.
    """
    environment = result["environment"]
    if cell["delay_ms"]:
        netem = environment.get("netem", {}).get(f"{cell['delay_ms']:g}") or {}
        trips = [trip["median"] for trip in (netem.get("rtt_after") or {}).values()]
    else:
        trips = list(environment["rtt_ms"].values())
    known = [trip for trip in trips if trip is not None]
    return min(known) if known else None


def keep_netem(result: dict[str, Any], delay_ms: float, netem: dict[str, Any]) -> None:
    """Keep what the module netem said when it put a delay on: the evidence of P8.2."""
    result["environment"].setdefault("netem", {})[f"{delay_ms:g}"] = {
        key: netem.get(key)
        for key in ("command", "shown", "way", "limit", "rtt_before", "rtt_after")
    }


def line(cell: dict[str, Any], run: dict[str, Any], position: int, count: int, left: str) -> str:
    """One run in a line for people: what it was, its figure, its share of the limit, and the time
    left.

    Args:
        cell: the analysed cell that it belongs to.
        left: words for the time left.
    """
    which = "warm-up" if run["warm_up"] else f"run {run['number']}"
    head = f"  [{position:{len(str(count))}d}/{count}] {cell['label']}, {which}: "
    if not run["valid"]:
        return head + f"DOES NOT COUNT: {run['reason']}; {left} left"
    parts = [f"{short(run['seconds'])} s, {short(run['rate'])}/s"]
    if run.get("latency_ms"):
        parts.append(f"median {short(run['latency_ms']['p50'])} ms")
    if run.get("rtt_ms") is not None:
        parts.append(f"round trip {short(run['rtt_ms'])} ms")
    if cell.get("model") and not run["warm_up"]:
        share = cell["model"]["share"]
        parts.append(analysis.MODEL_FAILS if share is None else f"{share * 100:.0f} % of the limit")
    return head + ", ".join(parts) + f"; {left} left"


def finish(result: dict[str, Any], moment: datetime.datetime) -> dict[str, Any]:
    """Close the run: what was published gets what was found here beside it."""
    result.update(complete=True, ended=results.stamp(moment))
    analysis.analyse(result)
    cells = {cell["id"]: cell for cell in result["cells"]}
    for entry in result["documented"]:
        cell = cells.get(entry["cell"])
        entry["found"] = in_words(cell) if cell else None
    return result


def in_words(cell: dict[str, Any]) -> str:
    """A cell's median with its unit; where single transactions were timed, their mean too."""
    statistics = cell["statistics"]
    if not statistics:
        return f"does not count: {'; '.join(cell['reasons'])}"
    words = analysis.with_unit(statistics)
    latency = cell.get("latency_ms")
    if latency:
        words += f", mean {short(latency['mean'])} ms, p95 {short(latency['p95'])} ms"
    return words


def summary(result: dict[str, Any], path: str) -> str:
    """The end of a run for people."""
    lines = [f"{result['suite']['title']} (cluster {result['cluster']})"]
    lines += ["  " + each for each in result["statement"]]
    for entry in result["documented"]:
        lines.append(f"  published, {entry['what']}: {entry['figure']}; here: {entry['found']}")
    return "\n".join([*lines, "  " + path])
