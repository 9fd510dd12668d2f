"""What 50 writers behind HAProxy see of an upgrade or a restart of every server of a cluster, and
whether a replica acknowledges all the time: real servers, three hosts.

upgrades.py --way 10.5-10.11|10.11-11.8|restart-mysql|restart-mariadb|tarballs … [--tarballs older
    newer [newest]] [--count 3] [--killed] [--minutes 60] [--document docs/evidence/upgrades.md]
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import pathlib
import random
import re
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any

PROJECT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab")]

import measured  # noqa: E402
from support.acknowledged import RELEASES, Writers, judge, rows_of, same_data  # noqa: E402
from support.killed import listening  # noqa: E402
from support.live_hosts import Host, hosts, playbook  # noqa: E402
from support.proxy import Proxy  # noqa: E402
from support.rolled import Cluster  # noqa: E402
from support.upgrade_ways import OF_DEBIAN, Link, Way, version_of  # noqa: E402
from support.watching import Watcher, left_alone, longest_wait, task_at  # noqa: E402

CONSENT = ("-e", "semisync_allow_disruption=true", "-e", "semisync_restart_back=true")
UNTRIED = ("-e", "semisync_restart_accept=untried")
# Where the hosts tell HAProxy who is the source, as docs/haproxy.cfg has it.
ANSWER_PORT = 8008
QUIET_SECONDS = 5
# A run is killed after so many tasks, and the one that goes on after so many.
PLACES = (25, 70)
KILLS = 2
STATE = PROJECT / "tests" / "output" / "upgrades.json"
MARK = "<!-- runs -->"
WRONG = ("lost", "unexpected", "twice")


@dataclass(frozen=True)
class Restart:
    """Every server restarted, with the program that it has."""

    server: str
    tarball: None = None

    @property
    def release(self) -> str:
        return RELEASES[self.server]


Wanted = Way | Restart


def ways(names: list[str], tarballs: list[str]) -> list[Wanted]:
    """What is to be run, by its names on the command line."""
    found: list[Wanted] = []
    for name in names:
        if name == "tarballs":
            pairs = itertools.pairwise(tarballs)
            found += [Link(older, newer, version_of(newer)) for older, newer in pairs]
        elif name.startswith("restart-"):
            found.append(Restart(name.removeprefix("restart-")))
        else:
            found.append(OF_DEBIAN[name])
    return found


def once(wanted: Wanted, killed: bool, clients: int, pause: float) -> dict[str, Any]:
    """One run on a cluster of its own.

    Raises:
        AssertionError: a playbook failed.
    """
    names = ("source", "replica1", "replica2")
    turn = "upgrades"
    made = hosts(
        *((name, wanted.server, wanted.release, wanted.tarball) for name in names), turn=turn
    )
    with contextlib.closing(made), tempfile.TemporaryDirectory() as folder:
        everybody = next(made)
        router = Proxy(turn, "proxy", wanted.server, wanted.release)
        with contextlib.ExitStack() as at_end:
            at_end.callback(router.stop)
            router.start()
            cluster = prepared(wanted, everybody, pathlib.Path(folder))
            router.route(everybody)
            cluster.writers = Writers(router, everybody, clients)
            return watched(cluster, wanted, killed, pause)


def prepared(wanted: Wanted, made: list[Host], folder: pathlib.Path) -> Cluster:
    """The cluster, replicating and answering HAProxy."""
    variables: dict[str, Any] = {"semisync_http_port": ANSWER_PORT}
    kind = "restart"
    if not isinstance(wanted, Restart):
        kind = "upgrade"
        hook = folder / "tasks.yml"
        hook.write_text(wanted.prepare(made), encoding="utf-8")
        variables |= {"semisync_upgrade_to": wanted.to, "semisync_hook_upgrade": str(hook)}
    cluster = Cluster(made, folder, kind, **variables)
    cluster.set_up()
    return cluster


def watched(cluster: Cluster, wanted: Wanted, killed: bool, pause: float) -> dict[str, Any]:
    """The run, and what writers and a watcher saw of it."""
    before = cluster.hosts[0].value("SELECT @@version")
    log = cluster.folder / "run.log"
    logged = {"ANSIBLE_LOG_PATH": str(log)}
    cluster.writers.start("127.0.0.1:3306", pause=pause)
    watcher = Watcher(cluster.hosts).start()
    time.sleep(QUIET_SECONDS)
    started = time.monotonic()
    ended_after = []
    for number in range(KILLS if killed else 0):
        after = random.randint(*PLACES)
        done = playbook(
            cluster.kind, cluster.file, *CONSENT, *UNTRIED, **listening(after), **logged
        )
        if done.returncode != -signal.SIGKILL:
            raise AssertionError(f"run {number} was not killed:\n{done.stdout}{done.stderr}")
        ended_after.append(re.findall(r"TASK \[(.+?)\]", done.stdout)[-1])
    done = playbook(cluster.kind, cluster.file, *CONSENT, *UNTRIED, **logged)
    seconds = time.monotonic() - started
    if done.returncode:
        raise AssertionError(done.stdout + done.stderr)
    time.sleep(QUIET_SECONDS)
    unprotected, known = watcher.stop(), cluster.writers.stop()
    same_data(cluster.hosts)
    verdicts = [judge(known, rows_of(host)) for host in cluster.hosts]
    return {
        "kind": cluster.kind,
        "server": wanted.server,
        "before": before,
        "after": [host.value("SELECT @@version") for host in cluster.hosts],
        "killed": ended_after,
        "seconds": round(seconds),
        "clients": cluster.writers.clients,
        "confirmed": sum(len(rows) for rows in known["confirmed"]),
        "wrong": {word: sum(len(verdict[word]) for verdict in verdicts) for word in WRONG},
        "looks": len(watcher.seen),
        "unprotected": len(unprotected),
        "alone": left_alone(cluster.source()),
        "longest": round(longest_wait(known), 2),
        "during": task_at(log.read_text(encoding="utf-8"), max(known["waits"], key=by_wait)[0]),
        "returned": cluster.source() is cluster.hosts[0],
        "verify": playbook("verify", cluster.file).returncode,
    }


def by_wait(wait: list[float]) -> float:
    """Of (when it began, its seconds)."""
    return wait[1]


def is_well(one: dict[str, Any]) -> bool:
    """Whether a run kept what is promised of it."""
    wrong = [*one["wrong"].values(), one["unprotected"], one["alone"], one["verify"]]
    return one["returned"] and len(set(one["after"])) == 1 and not any(wrong)


def document(runs: list[dict[str, Any]]) -> str:
    """The table, a line for each run."""
    lines = [
        "| run | from | to | killed after | seconds | rows confirmed | lost | unexpected | twice |"
        " looks at a source | of them without an acknowledging replica |"
        " commits without an acknowledgement | longest wait of a client | which began during |",
        "|---" * 14 + "|",
    ]
    for one in runs:
        wrong = one["wrong"]
        lines.append(
            f"| {one['kind']} | {one['before']} | {one['after'][0]} |"
            f" {'; '.join(one['killed']) or '-'} | {one['seconds']} | {one['confirmed']} |"
            f" {wrong['lost']} | {wrong['unexpected']} | {wrong['twice']} | {one['looks']} |"
            f" {one['unprotected']} | {one['alone']} | {one['longest']} s |"
            f" {one.get('during', '-')} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    choices = [*OF_DEBIAN, "restart-mysql", "restart-mariadb", "tarballs"]
    parser.add_argument("--way", action="append", choices=choices, required=True)
    parser.add_argument("--tarballs", nargs="+", default=[])
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--pause", type=float, default=1, help="seconds between a client's rows")
    parser.add_argument("--killed", action="store_true", help=f"each run is killed {KILLS} times")
    parser.add_argument("--minutes", type=float, default=600, help="begin no further run then")
    parser.add_argument("--document", type=pathlib.Path)
    opts = parser.parse_args()
    runs = json.loads(STATE.read_text(encoding="utf-8")) if STATE.exists() else []
    made: list[dict[str, Any]] = []
    wanted = [way for way in ways(opts.way, opts.tarballs) for _turn in range(opts.count)]
    for one in measured.one_by_one(
        wanted, opts.minutes, lambda way: once(way, opts.killed, opts.clients, opts.pause)
    ):
        made.append(one)
        STATE.parent.mkdir(parents=True, exist_ok=True)
        STATE.write_text(json.dumps(runs + made), encoding="utf-8")
    measured.publish(document(runs + made), opts.document, MARK)
    return int(not all(map(is_well, made)))


if __name__ == "__main__":
    sys.exit(main())
