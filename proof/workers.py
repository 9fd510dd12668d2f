"""How fast a replica applies what it has received, by its workers: rows of 50 clients, each a
transaction of its own, while the applier stands still; then the seconds until it has them.

workers.py [--server mysql|mariadb …] [--rows 6000] [--turns 3]
    [--document docs/evidence/workers.md]
"""

from __future__ import annotations

import argparse
import datetime
import os
import pathlib
import statistics
import sys
from typing import Any

PROJECT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab")]

from measured import of_each, publish  # noqa: E402
from support.acknowledged import RELEASES  # noqa: E402
from support.backlogs import applier, drain, load, prepare, rows_of, wait_for  # noqa: E402
from support.live_hosts import Host, hosts, inventory, playbook  # noqa: E402

MARK = "<!-- figures -->\n"
# What is set while the applier stands still; on MariaDB both threads have to.
CHOICES = {
    "mysql": {
        f"replica_parallel_workers = {number}": f"SET GLOBAL replica_parallel_workers = {number}"
        for number in (1, 4, 8)
    },
    "mariadb": {
        "slave_parallel_threads = 0": "SET GLOBAL slave_parallel_threads = 0",
        **{
            f"slave_parallel_threads = {number}, slave_parallel_mode = {mode}": (
                f"SET GLOBAL slave_parallel_threads = {number};"
                f" SET GLOBAL slave_parallel_mode = {mode}"
            )
            for mode, number in (("conservative", 4), ("optimistic", 4), ("optimistic", 8))
        },
    },
}


def choose(replica: Host, statement: str) -> None:
    """Set it, and leave the applier alone stopped."""
    if replica.server == "mysql":
        replica.sql(f"STOP REPLICA SQL_THREAD; {statement}")
    else:
        replica.sql(f"STOP SLAVE; {statement}; START SLAVE IO_THREAD")


def once(source: Host, replica: Host, statement: str, rows: int) -> float:
    """Transactions a second."""
    choose(replica, statement)
    wanted = rows_of(source) + rows
    load(source, rows)
    left, seconds = drain(replica, wanted)
    return left / seconds


def measure(server: str, rows: int, turns: int, folder: pathlib.Path) -> list[list[Any]]:
    """(version, setting, transactions a second of each turn)."""
    wanted = ((name, server, RELEASES[server]) for name in ("source", "replica"))
    found: dict[str, list[float]] = {name: [] for name in CHOICES[server]}
    for source, replica in hosts(*wanted, turn="workers"):
        # No load waits for a replica that applies nothing: the IO thread acknowledges.
        file = inventory(folder, {source: {}}, {replica: {}}, semisync_timeout=10000)
        done = playbook("site", file)
        assert done.returncode == 0, done.stdout + done.stderr
        prepare(source)
        wait_for(replica, 0)
        for _turn in range(turns):
            for name, statement in CHOICES[server].items():
                found[name].append(once(source, replica, statement, rows))
                print(server, name, round(found[name][-1]), flush=True)
        applier(replica, "START")
        version = source.value("SELECT @@version")
    return [[version, name, rates] for name, rates in found.items()]


def table(results: list[list[Any]], rows: int) -> str:
    moment = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    lines = [
        f"Measured on {moment} with {os.cpu_count()} cores, source and replica on one machine"
        f" (Docker), {rows} transactions of 50 clients each time, sync_binlog and"
        " innodb_flush_log_at_trx_commit 1.",
        "",
        "| server | setting | transactions a second: median | each time |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {version} | {name} | {statistics.median(rates):.0f} |"
        f" {', '.join(f'{rate:.0f}' for rate in rates)} |"
        for version, name, rates in results
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", action="append", choices=sorted(CHOICES))
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--document", type=pathlib.Path)
    opts = parser.parse_args()
    results = of_each(
        opts.server or sorted(CHOICES, reverse=True),
        lambda server, folder: measure(server, opts.rows, opts.turns, folder),
    )
    publish(table(results, opts.rows), opts.document, MARK)
    return 0


if __name__ == "__main__":
    sys.exit(main())
