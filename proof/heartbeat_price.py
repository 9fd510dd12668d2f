"""What beats cost other clients: the same load with the heartbeat's service and without, in pairs.

heartbeat_price.py [--server mysql|mariadb …] [--pairs 20] [--seconds 4]
    [--document docs/evidence/heartbeat.md]

Each client sends one INSERT after another, each a transaction of its own, on the source of a
semi-synchronous pair. Within a pair of runs chance decides which comes first. The figure is the
median of the pairs' quotients (with to without), with its 95 % interval (bootstrap).
"""

from __future__ import annotations

import argparse
import datetime
import os
import pathlib
import random
import statistics
import sys
import time

PROJECT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab")]

from measured import of_each, publish  # noqa: E402
from support.acknowledged import RELEASES  # noqa: E402
from support.backlogs import load, prepare  # noqa: E402
from support.live_hosts import Host, hosts, inventory, playbook  # noqa: E402

MARK = "<!-- throughput -->\n"
CLIENTS = (1, 50)
UNIT = "dbre-semisync-heartbeat-3306.service"
# Rows of the run that finds out how many rows take the wanted time.
FIRST = {1: 500, 50: 2000}
DRAWS, EDGE = 4000, 0.025


def rate(source: Host, rows: int, clients: int) -> float:
    """Transactions a second."""
    begin = time.monotonic()
    load(source, rows, clients)
    return rows / (time.monotonic() - begin)


def pair(source: Host, rows: int, clients: int, chance: random.Random) -> tuple[float, float]:
    """Transactions a second with beats, and without."""
    found = {}
    for beats in chance.sample([True, False], 2):
        source.shell(f"systemctl {'start' if beats else 'stop'} {UNIT}")
        # A beat a second from here on, or none.
        time.sleep(1.5)
        found[beats] = rate(source, rows, clients)
    return found[True], found[False]


def interval(quotients: list[float], chance: random.Random) -> tuple[float, float]:
    """The 95 % interval of the median."""
    drawn = sorted(
        statistics.median(chance.choices(quotients, k=len(quotients))) for _draw in range(DRAWS)
    )
    return drawn[int(DRAWS * EDGE)], drawn[int(DRAWS * (1 - EDGE)) - 1]


def measure(server: str, pairs: int, seconds: float, folder: pathlib.Path) -> list[str]:
    """A line of the table for each number of clients."""
    wanted = ((name, server, RELEASES[server]) for name in ("source", "replica"))
    lines, chance = [], random.Random()
    for source, replica in hosts(*wanted, turn="heartbeat-price"):
        file = inventory(folder, {source: {}}, {replica: {}}, semisync_heartbeat_seconds=1)
        done = playbook("site", file)
        assert done.returncode == 0, done.stdout + done.stderr
        prepare(source)
        version = source.value("SELECT @@version")
        for clients in CLIENTS:
            enough = int(rate(source, FIRST[clients], clients) * seconds)
            rows = max(clients, enough // clients * clients)
            found = [pair(source, rows, clients, chance) for _pair in range(pairs)]
            quotients = [beats / none for beats, none in found]
            low, high = interval(quotients, chance)
            lines.append(
                f"| {version} | {clients} | {rows} | {pairs}"
                f" | {statistics.median(none for _beats, none in found):.0f}"
                f" | {statistics.median(beats for beats, _none in found):.0f}"
                f" | {statistics.median(quotients):.3f} | {low:.3f} to {high:.3f} |"
            )
            print(lines[-1], flush=True)
    return lines


def table(lines: list[str]) -> str:
    moment = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    head = [
        f"Measured on {moment} with {os.cpu_count()} cores, source and replica on one machine"
        f" (Docker), load {os.getloadavg()[2]:.1f} over the last quarter of an hour, its own"
        " included; `proof/heartbeat_price.py`.",
        "",
        "| server | clients | rows each time | pairs | transactions a second without beats"
        " | with a beat each second | quotient: median of the pairs | its 95 % interval |",
        "|---" * 8 + "|",
    ]
    return "\n".join([*head, *lines]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", action="append", choices=sorted(RELEASES))
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--document", type=pathlib.Path)
    opts = parser.parse_args()
    lines = of_each(
        opts.server or sorted(RELEASES, reverse=True),
        lambda server, folder: measure(server, opts.pairs, opts.seconds, folder),
    )
    publish(table(lines), opts.document, MARK)
    return 0


if __name__ == "__main__":
    sys.exit(main())
