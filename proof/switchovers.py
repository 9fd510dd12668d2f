"""How long clients wait while the source's role moves, and whether a confirmed row is lost: 50
writers, switchovers to and fro, real servers.

switchovers.py [--server mysql|mariadb …] [--hosts 2 …] [--count 20] [--tarball path] [--proxy]
    [--disk memory|disk] [--minutes 9] [--resume] [--document docs/evidence/switchover.md]
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
from collections import Counter
from collections.abc import Generator
from typing import Any, NamedTuple

PROJECT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab")]

from support.acknowledged import (  # noqa: E402
    RELEASES,
    Writers,
    judge,
    record_of,
    rows_of,
    same_data,
)
from support.live_hosts import Host, hosts, inventory, playbook  # noqa: E402
from support.memory import into_memory  # noqa: E402
from support.proxy import Proxy  # noqa: E402

QUIET_SECONDS = 5
# Where the hosts tell HAProxy who is the source, as docs/haproxy.cfg has it.
ANSWER_PORT = 8008
WRONG = ("lost", "unexpected", "twice")
# Every measurement of this checkout, so that the table can be filled in parts.
STATE = PROJECT / "tests" / "output" / "switchovers.json"
MARK = "<!-- figures -->\n"


class Wanted(NamedTuple):
    """What is measured.

    Attributes:
        release: of Debian; None with a tarball.
        proxy: whether the clients reach the source by HAProxy alone.
        disk: where the servers' data are, "memory" or "disk".
    """

    server: str
    release: str | None
    tarball: str | None
    hosts: int
    clients: int
    proxy: bool
    disk: str


def together(wanted: Wanted) -> Generator[tuple[list[Host], Proxy | None]]:
    """The cluster's hosts, and the router."""
    names = ["source", *(f"replica{turn}" for turn in range(1, wanted.hosts))]
    turn = "switchovers"
    made = ((name, wanted.server, wanted.release, wanted.tarball) for name in names)
    for everybody in hosts(*made, turn=turn):
        if not wanted.proxy:
            yield everybody, None
            continue
        router = Proxy(turn, "proxy", wanted.server, wanted.release)
        try:
            yield everybody, router.start()
        finally:
            router.stop()


def measure(wanted: Wanted, count: int, until: float, folder: pathlib.Path) -> dict[str, Any]:
    """Their source's role moved to and fro, so often or as long as there is time."""
    made = together(wanted)
    everybody, router = next(made)
    try:
        source, *replicas = everybody
        for host in everybody if wanted.disk == "memory" else ():
            into_memory(host)
        variables: dict[str, Any] = {"semisync_http_port": ANSWER_PORT} if router else {}
        file = inventory(
            folder,
            {source: {}},
            {host: {} for host in replicas},
            semisync_timeout=10000,
            **variables,
        )
        done = playbook("site", file)
        assert done.returncode == 0, done.stdout + done.stderr
        if router:
            router.route(everybody)
        writers = Writers(router or everybody[-1], everybody, wanted.clients)
        writers.prepare(source)
        same_data(everybody)
        writers.start("127.0.0.1:3306" if router else None)
        time.sleep(QUIET_SECONDS)
        now = source
        spans: list[tuple[float, float]] = []
        records: list[dict[str, Any]] = []
        while len(spans) < count and (not spans or time.monotonic() < until):
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
            print(len(spans), records[-1]["writers_waited_ms"], flush=True)
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
            "server": wanted.server,
            "version": source.value("SELECT @@version"),
            "hosts": wanted.hosts,
            "proxy": wanted.proxy,
            "disk": wanted.disk,
            "count": len(spans),
            "clients": wanted.clients,
            "longest_ms": waits,
            "nobody_ms": [record["writers_waited_ms"] for record in records],
            "confirmed": sum(len(rows) for rows in known["confirmed"]),
            "unknown": sum(len(rows) for rows in known["unknown"]),
            "wrong": {
                word: sum(len(verdict[word]) for verdict in verdicts.values()) for word in WRONG
            },
            "errors": total(known["errors"]),
            "records": records,
        }
    finally:
        made.close()


def total(errors: list[dict[str, int]]) -> dict[str, int]:
    """What the clients were told, and how often."""
    found: Counter[str] = Counter()
    for one in errors:
        found.update(one)
    return dict(found)


def added(before: dict[str, Any] | None, made: dict[str, Any]) -> dict[str, Any]:
    """Two measurements of the same as one."""
    if before is None:
        return made
    both = dict(made)
    for name in ("count", "longest_ms", "nobody_ms", "confirmed", "unknown", "records"):
        both[name] = before[name] + made[name]
    both["wrong"] = {word: before["wrong"][word] + made["wrong"][word] for word in WRONG}
    both["errors"] = total([before["errors"], made["errors"]])
    return both


def middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def document(results: list[dict[str, Any]]) -> str:
    """The table, and a timeline of each engine."""
    lines = [
        "| server | data on | hosts | switchovers | longest wait of any client: worst, median |"
        " no server took writes: worst, median | rows confirmed | lost | unexpected | twice |"
        " unknown |",
        "|---" * 11 + "|",
    ]
    for one in results:
        wrong = one["wrong"]
        lines.append(
            f"| {one['version']}{', HAProxy' if one['proxy'] else ''} | {one['disk']} |"
            f" {one['hosts']} |"
            f" {one['count']} |"
            f" {max(one['longest_ms']):.0f} ms, {middle(one['longest_ms']):.0f} ms |"
            f" {max(one['nobody_ms']):.0f} ms, {middle(one['nobody_ms']):.0f} ms |"
            f" {one['confirmed']} | {wrong['lost']} | {wrong['unexpected']} |"
            f" {wrong['twice']} | {one['unknown']} |"
        )
    for server in sorted({one["server"] for one in results}):
        measured = [one for one in results if one["server"] == server and not one["proxy"]]
        if not measured:
            continue
        one = max(measured, key=lambda one: (one["count"], one["hosts"]))
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
            for event in one["records"][-1]["timeline"]
        ]
    return "\n".join(lines) + "\n"


def key(one: dict[str, Any]) -> tuple[Any, ...]:
    return one["version"], one["disk"], one["hosts"], one["proxy"]


def stored(wanted: Wanted, results: dict[tuple[Any, ...], dict[str, Any]]) -> dict[str, Any] | None:
    """An earlier measurement of the same server on as many hosts."""
    for one in results.values():
        same = all(one[name] == getattr(wanted, name) for name in ("hosts", "proxy", "disk"))
        if same and one["from"] == [wanted.server, wanted.tarball]:
            return one
    return None


def write(path: pathlib.Path, text: str) -> None:
    before, _mark, after = path.read_text(encoding="utf-8").partition(MARK)
    rest = after.partition("\n## ")
    moment = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    path.write_text(
        f"{before}{MARK}Measured until {moment} with {os.cpu_count()} cores, all servers and"
        f" clients on one machine (Docker).\n\n{text}" + (f"\n## {rest[2]}" if rest[1] else ""),
        encoding="utf-8",
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", action="append", choices=sorted(RELEASES))
    parser.add_argument("--hosts", type=int, action="append")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--tarball")
    parser.add_argument("--proxy", action="store_true", help="the clients ask only HAProxy")
    parser.add_argument("--disk", choices=["memory", "disk"], default="memory")
    parser.add_argument(
        "--minutes", type=float, default=600, help="begin no further switchover after so long"
    )
    parser.add_argument("--resume", action="store_true", help="add to what was measured before")
    parser.add_argument("--state", type=pathlib.Path, default=STATE)
    parser.add_argument("--document", type=pathlib.Path)
    opts = parser.parse_args()
    # To be ended is to be interrupted: the hosts are removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    until = time.monotonic() + 60 * opts.minutes
    results: dict[tuple[Any, ...], dict[str, Any]] = {}
    if opts.state.exists():
        results = {key(one): one for one in json.loads(opts.state.read_text(encoding="utf-8"))}
    for server in ["mysql"] if opts.tarball else opts.server or ["mysql", "mariadb"]:
        for number in opts.hosts or [2, 3]:
            wanted = Wanted(
                server,
                None if opts.tarball else RELEASES[server],
                opts.tarball,
                number,
                opts.clients,
                opts.proxy,
                opts.disk,
            )
            before = stored(wanted, results) if opts.resume else None
            left = opts.count - (before["count"] if before else 0)
            if left <= 0 or time.monotonic() > until:
                continue
            with tempfile.TemporaryDirectory() as folder:
                made = measure(wanted, left, until, pathlib.Path(folder))
            made["from"] = [wanted.server, wanted.tarball]
            results[key(made)] = added(before, made)
            opts.state.parent.mkdir(parents=True, exist_ok=True)
            opts.state.write_text(json.dumps(list(results.values())), encoding="utf-8")
    text = document([results[name] for name in sorted(results)])
    print(text)
    if opts.document:
        write(opts.document, text)
    return int(any(any(one["wrong"].values()) for one in results.values()))


if __name__ == "__main__":
    sys.exit(main())
