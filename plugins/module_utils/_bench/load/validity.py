# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which loads are possible, whether a run counts by the reports of the server, the network and the
tool, and its latencies as figures.

A run counts only if the work was done, and its conditions held from beginning to end.
"""

from __future__ import annotations

import math

from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.load_shapes import (
    Expected,
    Latency,
    Outcome,
    Snapshot,
    Work,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.snapshot import (
    restarted,
    unready,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.statistics import stdev
from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import rises

TOOLS = ("mysqlslap", "sysbench", "client")
LOAD_TYPES = ("mixed", "update", "write", "key", "read")
# What replicates while a load runs.
REPLICATION = ("none", "async", "semisync")
# Statements that change rows; each is a transaction of its own under autocommit.
WRITES = ("com_insert", "com_update", "com_delete", "com_replace")
READS = ("com_select",)
SEMISYNC_COUNTERS = (
    "yes_tx",
    "no_tx",
    "no_times",
    "net_waits",
    "net_wait_time",
    "tx_waits",
    "tx_wait_time",
    "wait_pos_backtraverse",
)
# A round trip under netem is measured with this much noise at most (see the module netem).
RTT_TOLERANCE = 0.03


def unfit(load: Work) -> str:
    """Why a load cannot be run, in words; empty when it can.

    Args:
        load: tool, clients, and queries or seconds; query, create and script if it has them.
    """
    tool, clients = load["tool"], load["clients"]
    if tool == "client" and not load.get("query"):
        return "the tool client needs a query"
    if tool == "client" and clients != 1:
        return f"the tool client is one connection, not {clients}"
    if tool == "mysqlslap" and load.get("seconds"):
        return "mysqlslap runs a number of queries, not seconds; set queries, or another tool"
    if tool == "sysbench" and not load.get("script"):
        return "sysbench needs a script"
    if tool == "sysbench" and (load.get("query") or load.get("create")):
        return "sysbench takes a script, not a query or create"
    if load.get("create") and not load.get("query"):
        return "create needs a query that uses what it creates"
    if not load.get("seconds") and (load["queries"] or 0) < clients:
        return (
            f"there are fewer queries ({load['queries']}) than clients ({clients}), so some clients"
            " would do nothing"
        )
    return ""


def transactions(before: str | None, after: str | None) -> int | None:
    """Transactions the binary log has taken between two readings of gtid_executed or
    gtid_binlog_pos.

    Returns:
        their number; None on a server without GTIDs.
    """
    if not after:
        return None
    kind = gtids.kind_by_text(after)
    return kind.parse(before).missing_of(kind.parse(after))


def committed(before: Snapshot, after: Snapshot) -> int:
    """Transactions between two snapshots; of a server without GTIDs, the statements that changed
    rows, each of which is one.
    """
    count = transactions(before["gtid"], after["gtid"])
    if count is None:
        return sum(rises(before["status"], after["status"], WRITES).values())
    return count


def semisync_rises(before: Snapshot, after: Snapshot) -> dict[str, int]:
    """How far the source's semi-sync counters rose between two snapshots: only those it has."""
    return rises(before["semisync"], after["semisync"], SEMISYNC_COUNTERS)


def invalid(
    wanted: Expected,
    before: Snapshot,
    after: Snapshot | None,
    outcome: Outcome,
) -> str:
    """Why one run does not count, in words; empty when it does.

    Args:
        wanted: replication, replicas, delay_ms, clients, and the peers whose round trip was asked
            for.
        before, after: snapshots of the server: status, semisync, gtid, senders, uptime; after is
            None if the server did not answer any more.
        outcome: reason (the tool's own, empty when it was content), asked (statements, None if
            not known), own_query, rtt_ms, dropped.
    """
    if after is None:
        return "the server did not answer after the run" + (
            "; " + outcome["reason"] if outcome["reason"] else ""
        )
    if restarted(before, after):
        return "the server restarted during the run" + (
            "; " + outcome["reason"] if outcome["reason"] else ""
        )
    if outcome["reason"]:
        return outcome["reason"]
    done = statements_answered(before, after, outcome["own_query"])
    if outcome["asked"] is not None and done < outcome["asked"]:
        return f"the server counted {done} statements, but the load ran {outcome['asked']}"
    for when, snapshot in (("before", before), ("after", after)):
        reason = unready(wanted, snapshot)
        if reason:
            return f"{when} the run {reason}"
    return unacknowledged(wanted, before, after) or disturbed(
        wanted.get("delay_ms") or 0.0,
        bool(wanted.get("peers")),
        outcome["dropped"],
        outcome["rtt_ms"],
    )


def statements_answered(
    before: Snapshot,
    after: Snapshot,
    own_query: bool,
) -> int:
    """Statements the server has answered: of one's own queries all kinds, of generated ones those
    that are generated.
    """
    counters = ("questions",) if own_query else WRITES + READS
    return sum(rises(before["status"], after["status"], counters).values())


def unacknowledged(
    wanted: Expected,
    before: Snapshot,
    after: Snapshot,
) -> str:
    """Why a semi-sync run does not count although it was ON before and after: a commit went out
    unacknowledged.
    """
    if wanted.get("replication") != "semisync":
        return ""
    rise, commits = semisync_rises(before, after), committed(before, after)
    if "no_tx" not in rise or "yes_tx" not in rise:
        return "the server does not show how many transactions were acknowledged (yes_tx, no_tx)"
    if rise["no_tx"]:
        return f"{rise['no_tx']} transactions were not acknowledged (no_tx)"
    # AFTER_SYNC counts a commit group once (mysql-server sql/binlog.cc, call_after_sync_hook); the
    # clients make a group.
    least = -(-commits // wanted["clients"])
    if rise["yes_tx"] < least:
        return (
            f"{commits} transactions of {wanted['clients']} clients were committed, but yes_tx rose"
            f" by only {rise['yes_tx']} (expected: at least {least})"
        )
    return ""


def disturbed(
    delay_ms: float,
    asked: bool,
    dropped: int,
    rtt_ms: float | None,
) -> str:
    """Why the network was not as planned; empty if it was.

    Args:
        delay_ms: that netem adds.
        asked: whether the round trip was measured here, and not where the delay was added.
        dropped: packets that netem dropped, because its queue was full.
        rtt_ms: the round trip, None without an answer.
    """
    if dropped:
        return f"netem dropped {dropped} packets"
    if delay_ms and rtt_ms is None and asked:
        return f"no peer answered to ping, so the delay of {delay_ms:g} ms could not be verified"
    if delay_ms and rtt_ms is not None and rtt_ms < delay_ms * (1 - RTT_TOLERANCE):
        return f"the round trip was {rtt_ms:.1f} ms, with a delay of {delay_ms:g} ms"
    return ""


def latencies(values: list[float]) -> Latency | None:
    """Latencies as figures, in their own unit; None of none.

    Percentiles are of the nearest rank: a value that was measured.
    """
    if not values:
        return None
    ordered = sorted(values)
    return {
        "mean": round(math.fsum(ordered) / len(ordered), 4),
        "stdev": round(stdev(ordered), 4),
        "p50": nearest_rank(ordered, 50),
        "p95": nearest_rank(ordered, 95),
        "p99": nearest_rank(ordered, 99),
        "max": round(ordered[-1], 4),
    }


def nearest_rank(ordered: list[float], percent: int) -> float:
    """A percentile of sorted values."""
    rank = math.ceil(len(ordered) * percent / 100.0)
    return round(ordered[max(rank - 1, 0)], 4)


def throughput_stdev(ends: list[float], seconds: float) -> float | None:
    """Standard deviation of the operations in each whole second of a run, as sysbench and bencher
    report it.

    Args:
        ends: seconds since the run's begin at which each operation ended.
        seconds: the run's length.

    Returns:
        operations per second; None for runs of less than two whole seconds.
    """
    whole = int(seconds)
    if whole < 2:
        return None
    counts = [0] * whole
    for end in ends:
        if end < whole:
            counts[int(end)] += 1
    return round(stdev(counts), 2)
