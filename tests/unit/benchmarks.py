# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Benchmarks as semisync_benchmark hands them to analyse(): settings and repetitions, nothing
derived.
"""

from __future__ import annotations

import random

DURABLE = {"sync_binlog": 1, "innodb_flush_log_at_trx_commit": 1}
LOOSE = {"sync_binlog": 0, "innodb_flush_log_at_trx_commit": 0}


def repetition(
    seconds,
    operations,
    commits=None,
    rtt_ms=0.31,
    valid=True,
    warm_up=False,
    reason="",
    latency_ms=None,
):
    return {
        "at": "2026-11-21T14:30:00Z",
        "warm_up": warm_up,
        "valid": valid,
        "reason": reason,
        "seconds": seconds,
        "operations": operations,
        "commits": operations if commits is None else commits,
        "rate": operations / seconds if seconds else None,
        "latency_ms": latency_ms,
        "rtt_ms": rtt_ms,
        "counters": {"yes_tx": 0, "no_tx": 0},
        "dropped": 0,
    }


def cell(
    name,
    label,
    replication,
    seconds,
    operations=1000,
    commits=None,
    rtt_ms=0.31,
    delay_ms=0,
    baseline=None,
    durability=None,
    load=None,
    checkpoint=None,
    **more,
):
    """A cell whose repetitions took these seconds, after a warm-up that took long."""
    repetitions = [repetition(one, operations, commits, rtt_ms) for one in seconds]
    if seconds:
        repetitions.insert(0, repetition(seconds[0] * 3, operations, commits, rtt_ms, warm_up=True))
    return dict(
        {
            "id": name,
            "label": label,
            "checkpoint": checkpoint,
            "replication": replication,
            "delay_ms": delay_ms,
            "durability": durability or DURABLE,
            "wait_point": "AFTER_SYNC",
            "timeout_ms": 10000,
            "baseline": baseline,
            "repetitions": repetitions,
            "load": dict(
                {
                    "tool": "mysqlslap",
                    "clients": 10,
                    "queries": operations,
                    "seconds": None,
                    "script": None,
                },
                **(load or {}),
            ),
        },
        **more,
    )


def benchmark(
    cells, name="four_phases", title="The procedure's four phases", complete=True, **more
):
    return dict(
        {
            "format": 2,
            "cluster": "default",
            "suite": {
                "id": name,
                "title": title,
                "reference": "B0: Establish Semi-Synchronous Replication, Wingtip Labs, 2013",
                "profile": "full",
                "expected_seconds": 300,
                "repetitions": 5,
                "warm_up": True,
                "time_limit": 300,
                "what": "1000 queries of ten clients",
            },
            "started": "2026-11-21T14:30:00Z",
            "ended": "2026-11-21T14:36:00Z" if complete else None,
            "complete": complete,
            "environment": {
                "controller": {"ansible": "2.19.14", "python": "3.11.2", "collection": "0.1.0"},
                "hosts": [host("source", "source"), host("replica1", "replica")],
                "rtt_ms": {"replica1": 0.31},
            },
            "cells": cells,
            "documented": [],
            "statement": [],
        },
        **more,
    )


def host(name, role, engine="mysql", version="9.7.4"):
    return {
        "host": name,
        "role": role,
        "engine": engine,
        "version": version,
        "kernel": "6.1.0",
        "cpus": 1,
        "memory_mb": 1465,
        "virtualization": "uml",
        "sync_binlog": 1,
        "innodb_flush_log_at_trx_commit": 1,
        "wait_point": "AFTER_SYNC",
        "timeout_ms": 10000,
        "fsync_us": {"median": 412.0, "p95": 780.0, "max": 2210.0, "n": 200},
    }


def four_phases():
    return benchmark(
        [
            cell(
                "async",
                "asynchronous",
                "async",
                [2.91, 2.84, 2.95, 2.88, 3.02],
                commits=620,
                checkpoint="P2.1",
            ),
            cell(
                "semisync",
                "semi-sync",
                "semisync",
                [3.12, 2.86, 3.26, 2.93, 3.07],
                commits=620,
                baseline="async",
                checkpoint="P8.1",
            ),
            cell(
                "semisync-90ms",
                "semi-sync, 90 ms",
                "semisync",
                [13.1, 13.4, 12.9, 13.2, 13.0],
                commits=620,
                rtt_ms=90.3,
                delay_ms=90,
                baseline="async",
                checkpoint="P8.3",
            ),
            cell(
                "async-90ms",
                "asynchronous, 90 ms",
                "async",
                [2.87, 2.93, 2.9, 2.99, 2.86],
                commits=620,
                rtt_ms=90.3,
                delay_ms=90,
                baseline="async",
                checkpoint="P8.4",
            ),
        ],
        documented=[
            {"what": "asynchronous", "figure": "2.6 s", "cell": "async", "found": "2.9 s"},
            {
                "what": "semi-sync at 90 ms",
                "figure": "50.1 s",
                "cell": "semisync-90ms",
                "found": "13.1 s",
            },
        ],
    )


def latencies(centre, spread, count, seed):
    """A repetition's latency figures, as if that many inserts were timed."""
    drawn = random.Random(seed)
    values = sorted(
        centre + abs(drawn.gauss(0, spread)) * (4 if drawn.random() < 0.02 else 1)
        for dummy in range(count)
    )
    mean = sum(values) / count
    return {
        "mean": mean,
        "stdev": (sum((value - mean) ** 2 for value in values) / (count - 1)) ** 0.5,
        "p50": values[count // 2],
        "p95": values[int(count * 0.95)],
        "p99": values[int(count * 0.99)],
        "max": values[-1],
    }


def timed(one, centre, spread):
    """The cell with its repetitions' inserts timed one by one."""
    for number, entry in enumerate(one["repetitions"]):
        entry["latency_ms"] = latencies(centre + number * spread / 20.0, spread, 400, number)
    return one


CLIENT = {"tool": "client", "clients": 1, "queries": None, "seconds": 30}


def one_client():
    def one(name, label, replication, local, rtt, delay, baseline):
        each = local + (rtt if replication == "semisync" else 0)
        seconds = [30.0] * 5
        made = cell(
            name,
            label,
            replication,
            seconds,
            int(30000 / each),
            rtt_ms=rtt,
            delay_ms=delay,
            load=CLIENT,
            baseline=baseline,
        )
        for number, entry in enumerate(made["repetitions"]):
            entry["operations"] = int(30000 / (each * (1 + 0.006 * ((number * 7) % 5 - 2))))
            entry.update(rate=entry["operations"] / 30.0, commits=entry["operations"])
        return timed(made, each * 0.97, each * 0.02)

    return benchmark(
        [
            one("alone", "no replica", "none", 1.05, 0.31, 0, None),
            one("async", "asynchronous", "async", 1.1, 0.31, 0, None),
            one("semisync", "semi-sync", "semisync", 1.3, 0.31, 0, "async"),
            one("semisync-10ms", "semi-sync, 10 ms", "semisync", 1.3, 10.3, 10, "async"),
            one("semisync-40ms", "semi-sync, 40 ms", "semisync", 1.4, 40.3, 40, "async"),
            one("async-85ms", "asynchronous, 85 ms", "async", 1.11, 85.4, 85, "async"),
            one("semisync-85ms", "semi-sync, 85 ms", "semisync", 1.6, 85.4, 85, "async"),
        ],
        name="one_client",
        title="One client at a distance",
        documented=[
            {
                "what": "semi-sync at 85 ms",
                "figure": "11.5 inserts/s",
                "cell": "semisync-85ms",
                "found": "11.5 inserts/s",
            }
        ],
    )


def row_latency():
    made = []
    for name, label, replication, each in (
        ("none", "no replication", "none", 0.134),
        ("async", "asynchronous", "async", 0.141),
        ("semisync", "semi-sync", "semisync", 0.421),
    ):
        operations = int(30 / each * 1000)
        one = cell(
            name,
            label,
            replication,
            [30.0, 30.02, 29.99, 30.01, 30.0],
            operations,
            load=CLIENT,
            baseline=None if name == "none" else "none",
        )
        made.append(timed(one, each, each * 0.2))
    return benchmark(made, name="row_latency", title="One client, no added delay")


def durability():
    made, base = [], {(1, 0): 2900, (1, 1): 640, (32, 0): 9100, (32, 1): 5200}
    for threads in (1, 32):
        for name, durable, network in (
            ("none", 0, 0),
            ("local", 1, 0),
            ("network", 0, 1),
            ("both", 1, 1),
        ):
            rate = base[threads, durable] * (1 if not network else 0.36 if threads == 1 else 0.71)
            label = {
                "none": "none",
                "local": "local",
                "network": "network",
                "both": "local + network",
            }[name]
            made.append(
                cell(
                    f"{name}-{threads}",
                    f"{label}, {threads} thread{'s' * (threads > 1)}",
                    "semisync" if network else "async",
                    [30 * f for f in (1.0, 1.02, 0.99, 1.01, 0.98)],
                    int(rate * 30),
                    durability=DURABLE if durable else LOOSE,
                    baseline=None if name == "none" else f"none-{threads}",
                    load={
                        "tool": "sysbench",
                        "clients": threads,
                        "queries": None,
                        "seconds": 30,
                        "script": "oltp_update_index",
                    },
                )
            )
    return benchmark(
        made, name="durability", title="Durability on the disk, on the network, on both"
    )


def clients():
    made = []
    for clients, rate in ((1, 640), (10, 2900), (20, 4100), (50, 5300), (100, 5600)):
        acknowledged = 0.3 if clients == 1 else 0.4 if clients <= 20 else 0.75
        for name, label, replication, factor, timeout in (
            ("off", "semi-sync off", "async", 1.0, 10000),
            ("on", "default timeout", "semisync", acknowledged, 10000),
            ("huge", "timeout 100000000", "semisync", acknowledged * 1.01, 100000000),
        ):
            seconds = [5000.0 / rate / factor * f for f in (1.0, 1.03, 0.98, 1.01, 0.99)]
            made.append(
                cell(
                    f"{name}-{clients}",
                    f"{label}, {clients} client{'s' * (clients > 1)}",
                    replication,
                    seconds,
                    5000,
                    load={"clients": clients},
                    timeout_ms=timeout,
                    baseline=(
                        None if name == "off" else ("off-%d" if name == "on" else "on-%d") % clients
                    ),
                )
            )
    return benchmark(made, name="clients", title="Clients, and a timeout that must not matter")
