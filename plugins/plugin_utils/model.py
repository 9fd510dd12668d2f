# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a round trip leaves of a server's throughput, at best.

A semi-synchronous commit takes the local commit and a round trip: L = 1 / X_async(1 client) + RTT. Clients wait side
by side, so limit(N) = min(N / L, X_async(N)). Where they change the same row, AFTER_SYNC keeps its lock for the round
trip and they take turns: 1 / L. Servers whose commits wait one after another (MySQL before 5.7.4) do the same
whatever the clients change. Of a mixed load only the commits wait: L = 1 / X_async(1) + RTT * commits / operations.
"""

from __future__ import absolute_import, division, print_function

__metaclass__ = type


def latency_seconds(single_rate, rtt_ms, waiting=1.0):
    """L of one operation.

    Args:
        single_rate: operations a second of one asynchronous client; None where none was measured: the local commit
            then counts as nothing, and the limit is too high rather than too low.
        rtt_ms: the measured round trip in milliseconds.
        waiting: share of the operations that commit and so wait for an acknowledgement, 0 to 1.
    """
    local = 1.0 / single_rate if single_rate else 0.0
    return local + waiting * rtt_ms / 1000.0


def limit(clients, rtt_ms, single_rate, async_rate, waiting=1.0, in_turn=False):
    """Operations a second that clients can reach with semi-sync, or None where neither bound is known.

    Args:
        clients: how many at once.
        rtt_ms: the measured round trip in milliseconds.
        single_rate: operations a second of one asynchronous client, or None.
        async_rate: of as many asynchronous clients, or None.
        waiting: see latency_seconds().
        in_turn: whether the clients' commits wait one after another.
    """
    each = latency_seconds(single_rate, rtt_ms, waiting)
    bounds = [(1 if in_turn else clients) / each] if each > 0 else []
    if async_rate:
        bounds.append(async_rate)
    return min(bounds) if bounds else None


def in_turn(load, wait_point, waits_together=True):
    """Whether the clients' commits wait one after another.

    Args:
        load: a cell's load; its same_row says that all clients change one row.
        wait_point: AFTER_SYNC or AFTER_COMMIT.
        waits_together: names.Names.waits_together of the source.
    """
    return not waits_together or bool(load.get("same_row") and wait_point == "AFTER_SYNC")


def waiting_share(repetitions):
    """Commits an operation, at most 1; 1 where commits were not counted."""
    operations = sum(entry.get("operations") or 0 for entry in repetitions if entry.get("commits"))
    commits = sum(entry.get("commits") or 0 for entry in repetitions)
    return min(1.0, commits / float(operations)) if operations and commits else 1.0
