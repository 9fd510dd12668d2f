"""How long clients wait while the source's role moves, and whether a confirmed row is lost: 50
writers, switchovers to and fro, real servers.

switchovers.py [--server mysql|mariadb …] [--hosts 2 3] [--count 20] [--tarball path]
    [--document docs/evidence/switchover.md]
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import signal
import sys
import tempfile
import time
from typing import Any

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab")]

from support.acknowledged import (  # noqa: E402
    RELEASES,
    Writers,
    judge,
    record_of,
    rows_of,
    same_data,
)
from support.live_hosts import hosts, inventory, playbook  # noqa: E402

QUIET_SECONDS = 5
# Every measurement of this checkout, so that the table can be filled in parts.
STATE = PROJECT / "tests" / "output" / "switchovers.json"
MARK = "<!-- figures -->\n"


def measure(
    server: str, tarball: str | None, number: int, count: int, clients: int, folder: pathlib.Path
) -> dict[str, Any]:
    """Some hosts, and their source's role moved to and fro."""
    wanted = [
        (name, server, None if tarball else RELEASES[server], *([tarball] if tarball else []))
        for name in ["source", *(f"replica{turn}" for turn in range(1, number))]
    ]
    made = hosts(*wanted, turn="switchovers")
    everybody = next(made)
    try:
        source, *replicas = everybody
        file = inventory(
            folder, {source: {}}, {host: {} for host in replicas}, semisync_timeout=10000
        )
        done = playbook("site", file)
        assert done.returncode == 0, done.stdout + done.stderr
        writers = Writers(everybody[-1], everybody, clients)
        writers.prepare(source)
        same_data(everybody)
        writers.start()
        time.sleep(QUIET_SECONDS)
        now, spans, records = source, [], []
        for turn in range(count):
            target = everybody[(everybody.index(now) + 1) % len(everybody)]
            begin = time.time()
            moved = playbook(
                "switchover",
                file,
                "-e",
                f"semisync_switchover_to={target.name}",
                before=("nice", "-n", "19"),
            )
            assert moved.returncode == 0, moved.stdout + moved.stderr
            spans.append((begin, time.time()))
            records.append(record_of(folder))
            now = target
            print(turn + 1, records[-1]["writers_waited_ms"], flush=True)
            time.sleep(1)
        time.sleep(QUIET_SECONDS)
        known = writers.stop()
        same_data(everybody)
        verdicts = {host.name: judge(known, rows_of(host)) for host in everybody}
        waits = [
            1000 * max(wait for at, wait in known["waits"] if begin - 3 <= at < end)
            for begin, end in spans
        ]
        return {
            "server": server,
            "version": source.value("SELECT @@version"),
            "hosts": number,
            "count": count,
            "clients": clients,
            "longest_ms": waits,
            "nobody_ms": [record["writers_waited_ms"] for record in records],
            "confirmed": sum(len(rows) for rows in known["confirmed"]),
            "unknown": sum(len(rows) for rows in known["unknown"]),
            "verdicts": verdicts,
            "record": records[-1],
        }
    finally:
        made.close()


def middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def document(results: list[dict[str, Any]]) -> str:
    """The table, and the timeline of one of them."""
    lines = [
        "| server | hosts | switchovers | longest wait of any client: worst, median | nobody took"
        " writes: worst, median | rows confirmed | lost | unexpected | twice | unknown |",
        "|---" * 10 + "|",
    ]
    for one in results:
        counted = {
            word: sum(len(verdict[word]) for verdict in one["verdicts"].values())
            for word in ("lost", "unexpected", "twice")
        }
        lines.append(
            f"| {one['version']} | {one['hosts']} | {one['count']} |"
            f" {max(one['longest_ms']):.0f} ms, {middle(one['longest_ms']):.0f} ms |"
            f" {max(one['nobody_ms']):.0f} ms, {middle(one['nobody_ms']):.0f} ms |"
            f" {one['confirmed']} | {counted['lost']} | {counted['unexpected']} |"
            f" {counted['twice']} | {one['unknown']} |"
        )
    for one in results[:1]:
        lines += [
            "",
            f"The last of them on {one['version']} with {one['hosts']} hosts, in milliseconds from"
            " the moment at which writers are kept out:",
            "",
            "| ms | host | event |",
            "|---|---|---|",
        ]
        lines += [
            f"| {event['at_ms']:.0f} | {event['host'].rpartition('-')[2]} | {event['event']} |"
            for event in one["record"]["timeline"]
        ]
    return "\n".join(lines) + "\n"


def key(one: dict[str, Any]) -> tuple[Any, ...]:
    return one["version"], one["hosts"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", action="append", choices=sorted(RELEASES))
    parser.add_argument("--hosts", type=int, action="append")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--tarball")
    parser.add_argument("--document", type=pathlib.Path)
    opts = parser.parse_args()
    # To be ended is to be interrupted: the hosts are removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    results = {}
    if STATE.exists():
        results = {key(one): one for one in json.loads(STATE.read_text(encoding="utf-8"))}
    for server in ["mysql"] if opts.tarball else opts.server or ["mysql", "mariadb"]:
        for number in opts.hosts or [2, 3]:
            with tempfile.TemporaryDirectory() as folder:
                made = measure(
                    server, opts.tarball, number, opts.count, opts.clients, pathlib.Path(folder)
                )
            results[key(made)] = made
            STATE.parent.mkdir(parents=True, exist_ok=True)
            STATE.write_text(json.dumps(list(results.values())), encoding="utf-8")
    text = document([results[name] for name in sorted(results)])
    print(text)
    if opts.document:
        before, _mark, after = opts.document.read_text(encoding="utf-8").partition(MARK)
        rest = after.partition("\n## ")
        moment = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
        opts.document.write_text(
            f"{before}{MARK}Measured until {moment} with {os.cpu_count()} cores, all servers and"
            f" clients on one machine (Docker).\n\n{text}" + (f"\n## {rest[2]}" if rest[1] else ""),
            encoding="utf-8",
        )
    wrong = [
        one["version"]
        for one in results.values()
        for verdict in one["verdicts"].values()
        if any(verdict.values())
    ]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
