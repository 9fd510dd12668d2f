# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""In which order a suite's cells are run, what is set before each run, and how long it takes."""

from __future__ import annotations

from typing import Any

# For the expected duration, before anything was measured: statements a second of one client,
# seconds for what surrounds a run, and the rows that mysqlslap inserts one by one before it begins.
GUESSED_RATE, GUESSED_AROUND, PRELOAD = 200.0, 6.0, 100
# What surrounds a run takes fewer seconds than the first; a host's timer takes no more than the
# second.
MARGIN, LONGEST_HOLD = 120, 86400


def preloaded(load: dict[str, Any]) -> int:
    """Commits of a load's tool that are no part of what it measures."""
    return PRELOAD if load["tool"] == "mysqlslap" and not load.get("query") else 0


def guess_seconds(cell: dict[str, Any]) -> float:
    """How long one repetition of a cell may take, before anything was measured."""
    load, wait = (
        cell["load"],
        cell["delay_ms"] / 1000.0 if cell["replication"] == "semisync" else 0.0,
    )
    around = GUESSED_AROUND + preloaded(load) * wait
    if load.get("seconds"):
        return load["seconds"] + around
    return load["queries"] / GUESSED_RATE + load["queries"] / float(load["clients"]) * wait + around


def of_source(cell: dict[str, Any]) -> tuple[Any, ...]:
    """What the source is set to for a cell, besides the delay."""
    return (cell["replication"], cell["wait_point"], cell["timeout_ms"], *of_replica(cell))


def of_replica(cell: dict[str, Any]) -> tuple[bool, tuple[tuple[str, int], tuple[str, int]]]:
    """What a replica is set to for a cell."""
    return (cell["replication"] == "none", tuple(sorted((cell["durability"] or {}).items())))


def runs(suite: dict[str, Any]) -> list[tuple[dict[str, Any], int]]:
    """(cell, repetition) of every run in order: a warm-up (0) of each load, then A B A B.

    The warm-up is not about the network: it runs under the first cell of its load.
    """
    cells, warm_ups, warm = suite["cells"], [], []
    if suite["warm_up"]:
        for cell in cells:
            if cell["load"] not in warm:
                warm.append(cell["load"])
                warm_ups.append((cell, 0))
    return warm_ups + [
        (cell, number) for number in range(1, suite["repetitions"] + 1) for cell in cells
    ]


def remaining_steps(suite: dict[str, Any], done: set[tuple[str, int]]) -> list[dict[str, Any]]:
    """The runs that are left to do, and what must be set before each.

    Args:
        done: (cell's id, repetition) of those that are kept already.

    Returns:
        a list of cell (id), repetition, warm_up, and for source, replica and delay whether that
        one's settings change.
    """
    left = [(cell, number) for cell, number in runs(suite) if (cell["id"], number) not in done]
    steps: list[dict[str, Any]] = [
        {"cell": cell["id"], "repetition": number, "warm_up": number == 0} for cell, number in left
    ]
    for key, kind in (
        ("source", of_source),
        ("replica", of_replica),
        ("delay", lambda cell: cell["delay_ms"]),
    ):
        for index, step in enumerate(steps):
            step[key] = index == 0 or kind(left[index][0]) != kind(left[index - 1][0])
    return steps


def longest_step(time_limit: int) -> int:
    """Seconds that a step may take: a tool's preparation and its run have the limit each. A
    controller that has not come to the next step by then hangs.
    """
    return min(2 * time_limit + MARGIN, LONGEST_HOLD)


def unheard(host: str, seconds: int, otherwise: int) -> str:
    """That a host gets no signs of life, and what that means.

    Args:
        seconds: after which it puts everything back.
        otherwise: those with signs of life.
    """
    return (
        f"{host} cannot be reached beside a task of this run, so no sign of life gets there: were"
        f" this controller lost, the host would put everything back after {in_words(seconds)}, not"
        f" {otherwise} s"
    )


def expected_seconds(
    suite: dict[str, Any], steps: list[dict[str, Any]], measured: dict[str, float] | None = None
) -> float:
    """How many seconds the runs that are left will take.

    Args:
        suite: suite.read(), or what is kept of its run: its cells are looked at.
        steps: remaining_steps().
        measured: seconds that the last repetition of a cell took, with everything around it, by the
            cell's id.
    """
    cells = {cell["id"]: cell for cell in suite["cells"]}
    return sum(
        (measured or {}).get(step["cell"]) or guess_seconds(cells[step["cell"]]) for step in steps
    )


def in_words(seconds: float) -> str:
    """A duration for people."""
    if seconds < 90:
        return f"{round(seconds)} s"
    if seconds < 5400:
        return f"{round(seconds / 60.0)} min"
    hours, minutes = divmod(int(seconds // 60), 60)
    return f"{hours} h {minutes:02d} min"
