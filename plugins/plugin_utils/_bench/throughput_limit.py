# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The highest throughput that a round trip allows.

A semi-synchronous commit takes the local commit and a round trip: L = 1 / X_async(1 client) + RTT.
Clients wait side by side, so limit(N) = min(N / L, X_async(N)). Where they change the same row,
AFTER_SYNC keeps its lock for the whole of it and they take turns: 1 / L. On servers that read one
acknowledgement after another only the round trip is serial, local commits are not:
min(N / L, 1 / RTT, X_async(N)). Of a mixed load only the commits wait: RTT is then
RTT * commits / operations.
"""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_shapes import (
    Repetition,
)

# What serializes the clients' commits.
NOTHING, COMMITS, ACKNOWLEDGEMENTS = "nothing", "commits", "acknowledgements"
# A cell that reaches more than this share of its limit refutes the limit.
REFUTED = 1.05


def limit(
    clients: int,
    rtt_ms: float,
    single_rate: float | None,
    async_rate: float | None,
    waiting: float = 1.0,
    turns: str = NOTHING,
) -> float | None:
    """Operations a second that clients can reach with semi-sync, or None if no bound is known.

    Args:
        clients: how many at once.
        rtt_ms: the measured round trip in milliseconds.
        single_rate: operations a second of one asynchronous client; None if none was measured:
            the local commit then counts as nothing, and the limit is too high rather than too low.
        async_rate: of as many asynchronous clients, or None.
        waiting: share of the operations that commit and so wait for an acknowledgement, 0 to 1.
        turns: see taken_in_turn().
    """
    trip = waiting * rtt_ms / 1000.0
    local = 1.0 / single_rate if single_rate else 0.0
    commit = trip + local
    bounds: list[float] = []
    if commit > 0:
        at_once = 1 if turns == COMMITS else clients
        bounds.append(at_once / commit)
    if turns == ACKNOWLEDGEMENTS and trip > 0:
        bounds.append(1 / trip)
    if async_rate:
        bounds.append(async_rate)
    return min(bounds) if bounds else None


def taken_in_turn(
    same_row: bool | None,
    wait_point: str | None,
    waits_together: bool = True,
) -> str:
    """What serializes the clients' commits.

    Args:
        same_row: whether all clients change one row.
        wait_point: AFTER_SYNC or AFTER_COMMIT.
        waits_together: names.Names.waits_together of the source.
    """
    if same_row and wait_point == "AFTER_SYNC":
        return COMMITS
    return NOTHING if waits_together else ACKNOWLEDGEMENTS


def holds(share: float) -> bool:
    """Whether the model still holds for a cell that reached this share of its limit."""
    return share <= REFUTED


def waiting_share(repetitions: list[Repetition], preloaded: int = 0) -> float:
    """Commits an operation, at most 1; 1 where commits were not counted.

    Args:
        repetitions: their operations and commits.
        preloaded: commits of each before its clock ran.
    """
    known = [
        (entry["commits"], entry["operations"] or 0) for entry in repetitions if entry["commits"]
    ]
    operations = sum(count for _commits, count in known)
    commits = sum(max(0, (count or 0) - preloaded) for count, _operations in known)
    return min(1.0, commits / float(operations)) if operations else 1.0
