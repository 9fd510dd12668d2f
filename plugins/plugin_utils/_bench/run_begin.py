# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A suite's run as it is stored in benchmark-SUITE.json: begun, or resumed. run_record.py goes on.

It contains the suite with all conditions of its cells, so that a run needs the suite's file only
once.
"""

from __future__ import annotations

import datetime
import glob
import os
from typing import NamedTuple, cast

from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import (
    analysis,
    run_record,
    schedule,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_shapes import (
    Benchmark,
    Environment,
    Step,
    Suite,
    SuiteOfRun,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.suite import FORMER_NAMES
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import results

FORMAT = 2


class Begun(NamedTuple):
    """A run that goes on now.

    Attributes:
        result: its record.
        run: name of the interrupted run that it continues, if it does.
        steps: those that are left.
        expected: seconds for them.
    """

    result: Benchmark
    run: str | None
    steps: list[Step]
    expected: float


def begun(folder: str, fresh: Benchmark, suite: Suite, resumes: bool) -> Begun:
    """The run that goes on: an interrupted one of this suite if that is asked for and there is one,
    or else a fresh one.

    Args:
        folder: of the cluster.
        fresh: begin() of the suite.
    """
    run, known = unfinished(folder, fresh) if resumes else (None, None)
    steps = schedule.remaining_steps(suite, run_record.done(known) if known else set())
    walls = run_record.walls(known) if known else None
    expected = schedule.expected_seconds(suite, steps, walls)
    if known:
        return Begun(resume(fresh, known), run, steps, expected)
    fresh["suite"]["expected_seconds"] = round(expected)
    return Begun(fresh, None, steps, expected)


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
