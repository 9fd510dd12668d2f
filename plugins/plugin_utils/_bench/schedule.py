# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order in which a suite's cells are run, the settings of each run, and how long it takes."""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.load_shapes import Work
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_shapes import (
    Benchmark,
    Cell,
    Step,
    Suite,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.progress import duration_text

# For the expected duration, before anything was measured: statements a second of one client,
# seconds for what surrounds a run, and the rows that mysqlslap inserts one by one before it begins.
GUESSED_RATE, GUESSED_AROUND, PRELOAD = 200.0, 6.0, 100
# What surrounds a run takes fewer seconds than the first; a host's timer takes no more than the
# second.
MARGIN, LONGEST_HOLD = 120, 86400


def preloaded(load: Work) -> int:
    """Commits by which a load's tool prepares, which it does not measure."""
    return PRELOAD if load["tool"] == "mysqlslap" and not load.get("query") else 0


def guess_seconds(cell: Cell) -> float:
    """The expected time of one repetition of a cell, before anything was measured."""
    load = cell["load"]
    wait = cell["delay_ms"] / 1000.0 if cell["replication"] == "semisync" else 0.0
    around = GUESSED_AROUND + preloaded(load) * wait
    seconds, queries = load.get("seconds"), load["queries"] or 0
    if seconds:
        return seconds + around
    return queries / GUESSED_RATE + queries / float(load["clients"]) * wait + around


def source_settings(cell: Cell) -> tuple[object, ...]:
    """The source's settings for a cell, without the delay."""
    return (
        cell["replication"],
        cell["wait_point"],
        cell["timeout_ms"],
        *replica_settings(cell),
    )


def replica_settings(cell: Cell) -> tuple[object, ...]:
    """A replica's settings for a cell."""
    durability = cell["durability"] or {}
    return cell["replication"] == "none", tuple(sorted(durability.items()))


def runs(suite: Suite) -> list[tuple[Cell, int]]:
    """(cell, repetition) of every run in order: a warm-up (0) of each load, then A B A B.

    The warm-up needs no delay: it runs in the first cell of its load.
    """
    warm_ups: list[tuple[Cell, int]] = []
    warm: list[Work] = []
    if suite["warm_up"]:
        for cell in suite["cells"]:
            if cell["load"] not in warm:
                warm.append(cell["load"])
                warm_ups.append((cell, 0))
    numbers = range(1, suite["repetitions"] + 1)
    return warm_ups + [(cell, number) for number in numbers for cell in suite["cells"]]


def remaining_steps(suite: Suite, done: set[tuple[str, int]]) -> list[Step]:
    """The remaining runs, and what to set before each.

    Args:
        done: (cell's id, repetition) of those that are kept already.
    """
    steps: list[Step] = []
    before: Cell | None = None
    for cell, number in runs(suite):
        if (cell["id"], number) in done:
            continue
        steps.append(
            {
                "cell": cell["id"],
                "repetition": number,
                "warm_up": number == 0,
                "source": before is None or source_settings(before) != source_settings(cell),
                "replica": before is None or replica_settings(before) != replica_settings(cell),
                "delay": before is None or before["delay_ms"] != cell["delay_ms"],
            }
        )
        before = cell
    return steps


def longest_step(time_limit: int) -> int:
    """Seconds that a step may take: a tool's preparation and its run have the limit each. If the
    controller has not reached the next step by then, it hangs.
    """
    return min(2 * time_limit + MARGIN, LONGEST_HOLD)


def unheard(
    host: str,
    seconds: int,
    otherwise: int,
) -> str:
    """A warning that a host gets no signs of life.

    Args:
        seconds: after which it restores everything.
        otherwise: the same with signs of life.
    """
    return (
        f"{host} gets no sign of life from this controller, because no second connection to it is"
        f" possible during a task. If the controller is lost, {host} restores its settings only"
        f" after {duration_text(seconds)}, not {otherwise} s"
    )


def expected_seconds(
    suite: Suite | Benchmark,
    steps: list[Step],
    measured: Mapping[str, float] | None = None,
) -> float:
    """How many seconds the runs that are left will take.

    Args:
        suite: suite.read_suite(), or its run as it is kept.
        steps: remaining_steps().
        measured: seconds that the last repetition of a cell took, with everything around it, by the
            cell's id.
    """
    known, cell_of = measured or {}, {cell["id"]: cell for cell in suite["cells"]}
    return sum(known.get(step["cell"]) or guess_seconds(cell_of[step["cell"]]) for step in steps)
