"""How long 50 writers that know only a router's address wait while the source's role moves, and
when the source's host is gone; whether a confirmed row is lost; whether a host that comes back
gets writers: real servers, three hosts.

routers.py [--router keepalived|HAProxy …] [--server mysql|mariadb …] [--count 3]
    [--switchovers 3] [--minutes 60]

Each cycle is a cluster of its own: switchovers, then the source's container loses its network and
is killed, so that its connections end without a word, as in a power cut; failover.yml; and the host
comes back. It adds to docs/evidence/routers.json, and makes the table of routers.md from it.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import itertools
import json
import os
import pathlib
import sys
import tempfile
import time
from typing import Any

PROJECT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab")]

from measured import one_by_one, publish  # noqa: E402
from support.acknowledged import RELEASES, Writers, judge, rows_of, same_data  # noqa: E402
from support.dying import certificate  # noqa: E402
from support.live_hosts import Host, hosts, playbook, run  # noqa: E402
from support.proxy import Proxy  # noqa: E402
from support.rolled import Cluster  # noqa: E402
from support.virtual_address import VirtualAddress  # noqa: E402
from switchovers import ANSWER_PORT, MARK, WRONG, middle, total  # noqa: E402

EVIDENCE = PROJECT / "docs" / "evidence" / "routers.json"
DOCUMENT = EVIDENCE.with_suffix(".md")
NAMES = ("source", "replica1", "replica2")
ROUTERS: dict[str, type[Proxy]] = {"HAProxy": Proxy, "keepalived": VirtualAddress}
CLIENTS, QUIET_SECONDS = 50, 5
# Of the clients, in seconds: a row after so long, again after a refusal, and how long each waits
# for an answer. A client with a virtual address learns by nothing else that a host has no power.
PAUSE, RETRY, PATIENCE = 1.0, 0.1, 3.0
# For so many seconds the former source is watched after it has come back.
WATCHED = 15
# A host that is gone is unreachable, and not a task that failed, without pipelining only.
GONE = ("-e", "ansible_pipelining=false")


class Cycle:
    """One cluster, the clients' router, and what is recorded."""

    def __init__(self, cluster: Cluster, router: Proxy, switchovers: int) -> None:
        self.cluster, self.router, self.switchovers = cluster, router, switchovers
        self.writers = Writers(router, cluster.hosts, CLIENTS)
        # What was done, and from when to when.
        self.spans: list[tuple[str, float, float]] = []

    def run(self) -> dict[str, Any]:
        load = os.getloadavg()[0]
        self.writers.start(self.router.address, RETRY, PAUSE, PATIENCE)
        time.sleep(QUIET_SECONDS)
        for _turn in range(self.switchovers):
            self.switch()
        # The last look is taken, whatever a busy machine makes of the canary.
        playbook("verify", self.cluster.file)
        old, new = self.cut()
        back = self.come_back(old)
        known = self.writers.stop()
        others = [host for host in self.cluster.hosts if host is not old]
        same_data(others)
        verdicts = [judge(known, rows_of(host)) for host in others]
        kept = certificate(self.cluster.folder)
        opened = datetime.datetime.fromisoformat(kept["opened_at"])
        waits = {
            what: [
                max(wait for at, wait in known["waits"] if begin - PATIENCE <= at < end)
                for kind, begin, end in self.spans
                if kind == what
            ]
            for what in ("switchover", "cut")
        }
        return {
            "at": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "router": self.router.title,
            "version": new.value("SELECT @@version"),
            "clients": CLIENTS,
            "load": round(load, 1),
            "switchover_s": [round(wait, 2) for wait in waits["switchover"]],
            "cut_s": round(waits["cut"][0], 2),
            "opened_s": round(opened.timestamp() - self.spans[-1][1], 2),
            "verdict": kept["verdict"],
            "back": back,
            "confirmed": sum(map(len, known["confirmed"])),
            "unknown": sum(map(len, known["unknown"])),
            "wrong": {word: sum(len(one[word]) for one in verdicts) for word in WRONG},
            "errors": total(known["errors"]),
        }

    def play(self, name: str, *arguments: str) -> None:
        done = playbook(name, self.cluster.file, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr

    def switch(self) -> None:
        """Move the role to the next host."""
        everybody = self.cluster.hosts
        now = everybody.index(self.cluster.source())
        target = everybody[(now + 1) % len(everybody)]
        begin = time.time()
        self.play("switchover", "-e", f"semisync_switchover_to={target.name}")
        time.sleep(QUIET_SECONDS)
        self.spans.append(("switchover", begin, time.time()))

    def cut(self) -> tuple[Host, Host]:
        """Have the source's host gone, and a replica take over."""
        old = self.cluster.source()
        begin = time.time()
        # A kernel that lives tells the clients that their server has ended.
        old.shell("ip link set eth0 down")
        run("docker", "kill", old.name)
        self.play("failover", *GONE)
        kept = [host for host in self.cluster.hosts if host is not old]
        new = next(host for host in kept if host.value("SELECT @@GLOBAL.read_only") in "0OFF")
        time.sleep(2 * QUIET_SECONDS)
        self.spans.append(("cut", begin, time.time()))
        return old, new

    def come_back(self, old: Host) -> dict[str, Any]:
        """Its host is there again, with the role that it had: whether it gets rows."""
        run("docker", "start", old.name)
        old.wait()
        before = int(old.value("SELECT COUNT(*) FROM app.written"))
        closed = old.value("SELECT @@GLOBAL.read_only")
        time.sleep(WATCHED)
        rows = int(old.value("SELECT COUNT(*) FROM app.written")) - before
        return {"read_only": closed in ("1", "ON"), "rows": rows}


def once(router: str, server: str, switchovers: int) -> dict[str, Any]:
    """One cycle on a cluster of its own.

    Raises:
        AssertionError: a playbook failed.
    """
    turn = "routers"
    release = RELEASES[server]
    made = hosts(*((name, server, release) for name in NAMES), turn=turn)
    with (
        contextlib.closing(made),
        tempfile.TemporaryDirectory() as folder,
        contextlib.ExitStack() as end,
    ):
        everybody = next(made)
        its = ROUTERS[router](turn, "proxy", server, release)
        end.callback(its.stop)
        its.start()
        cluster = Cluster(
            everybody, pathlib.Path(folder), "switchover", semisync_http_port=ANSWER_PORT
        )
        cluster.set_up()
        its.route(everybody)
        return Cycle(cluster, its, switchovers).run()


def table(records: list[dict[str, Any]]) -> str:
    """A line for each router and server."""
    moment = max(one["at"] for one in records)[:10]
    lines = [
        f"Measured until {moment} with {os.cpu_count()} cores, all servers and clients on one"
        " machine (Docker).",
        "",
        "| router | server | switchovers | longest wait of any client: worst, median |"
        " hosts killed | longest wait of any client: worst, median | of it until the new source"
        " took writes: worst | rows on the former source when it was back | rows confirmed | lost |"
        " unexpected | twice | unknown | worst load before |",
        "|---" * 14 + "|",
    ]
    for router, version in sorted({(one["router"], one["version"]) for one in records}):
        seen = [one for one in records if (one["router"], one["version"]) == (router, version)]
        moved = [wait for one in seen for wait in one["switchover_s"]]
        cut = [one["cut_s"] for one in seen]
        wrong = " | ".join(str(sum(one["wrong"][word] for one in seen)) for word in WRONG)
        lines.append(
            f"| {router} | {version} | {len(moved)} | {max(moved):.1f} s, {middle(moved):.1f} s"
            f" | {len(cut)} | {max(cut):.1f} s, {middle(cut):.1f} s"
            f" | {max(one['opened_s'] for one in seen):.1f} s"
            f" | {sum(one['back']['rows'] for one in seen)}"
            f" | {sum(one['confirmed'] for one in seen)} | {wrong}"
            f" | {sum(one['unknown'] for one in seen)} | {max(one['load'] for one in seen):.0f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--router", action="append", choices=sorted(ROUTERS))
    parser.add_argument("--server", action="append", choices=sorted(RELEASES))
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--switchovers", type=int, default=3, help="of each cycle")
    parser.add_argument("--minutes", type=float, default=600, help="begin no further cycle then")
    opts = parser.parse_args()
    records = json.loads(EVIDENCE.read_text(encoding="utf-8")) if EVIDENCE.exists() else []
    made: list[dict[str, Any]] = []
    routers, servers = opts.router or ["keepalived"], opts.server or ["mysql", "mariadb"]
    wanted: list[tuple[str, str]] = list(itertools.product(routers, servers)) * opts.count
    for one in one_by_one(wanted, opts.minutes, lambda way: once(*way, opts.switchovers)):
        made.append(one)
        lines = ",\n".join(json.dumps(record) for record in records + made)
        EVIDENCE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        publish(table(records + made), DOCUMENT, MARK)
    wrong = [one["back"]["rows"] + sum(one["wrong"].values()) for one in made]
    return int(any(wrong))


if __name__ == "__main__":
    sys.exit(main())
