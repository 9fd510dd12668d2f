"""How long clients cannot write when the source's server is killed: failover.yml, and Debian's MHA
on the same hosts, 50 writers, the same kill.

failover_time.py [--server mysql|mariadb] [--tarball path [--mha]] [--count 3]

It adds to docs/evidence/failover_time.json, and makes the tables of failover_time.md from it. MHA
needs MySQL 5.7; what it is started by is a person's word too, so the seconds count from its start.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import os
import pathlib
import re
import statistics
import sys
import tempfile
import time
from typing import Any

PROJECT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab")]

from support.acknowledged import RELEASES, Writers, judge, rows_of, same_data  # noqa: E402
from support.clients.keep_writing import RETRY as AT_ONCE  # noqa: E402
from support.dying import certificate, forbid_restart, kill  # noqa: E402
from support.live_hosts import Host, hosts, inventory, playbook  # noqa: E402
from support.mha import Mha  # noqa: E402

EVIDENCE = PROJECT / "docs" / "evidence" / "failover_time.json"
DOCUMENT = EVIDENCE.with_suffix(".md")
MARK = "<!-- figures -->\n"
WRONG = ("lost", "unexpected", "twice")
CLIENTS, BEFORE, AFTER = 50, 5, 3
# Seconds until a client that was refused tries again. At 10 ms, as other tests have it, fifty take
# one of this machine's cores for themselves.
RETRY = 0.1
# No client is told of an unacknowledged commit.
TIMEOUT_MS = 3600000
PROFILE = {"ANSIBLE_CALLBACKS_ENABLED": "ansible.posix.profile_tasks"}
TASK = re.compile(r"^(?:dbre\.semisync\.)?(\S.*?) -{2,} *([\d.]+)s$", re.MULTILINE)
SHOWN = 8
SEMISYNC = (
    "SHOW GLOBAL STATUS WHERE Variable_name IN"
    " ('Rpl_semi_sync_master_status', 'Rpl_semi_sync_source_status')"
)


def measure(made: list[Host], tool: str, folder: pathlib.Path) -> dict[str, Any]:
    """One failover of a cluster that is set up anew."""
    source, *replicas = made
    file = inventory(
        folder, {source: {}}, {host: {} for host in replicas}, semisync_timeout=TIMEOUT_MS
    )
    done = playbook("site", file)
    assert done.returncode == 0, done.stdout + done.stderr
    mha = Mha(made)
    if tool == "MHA":
        mha.install()
    writers = Writers(replicas[-1], made, CLIENTS)
    writers.prepare(source)
    same_data(made)
    assert playbook("verify", file).returncode == 0
    load = os.getloadavg()[0]
    writers.start(retry=RETRY)
    time.sleep(BEFORE)
    forbid_restart(source)
    kill(source)
    begin = time.time()
    done = mha.failover(source) if tool == "MHA" else playbook("failover", file, **PROFILE)
    ended = time.time()
    time.sleep(AFTER)
    known = writers.stop()
    assert done.returncode == 0, done.stdout + done.stderr
    new = next(host for host in replicas if host.value("SELECT @@GLOBAL.read_only") in "0OFF")
    wrong = judge(known, rows_of(new))
    pairs = itertools.pairwise(known["times"])
    gap, first = max((later - before, later) for before, later in pairs if later > begin)
    return {
        "at": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "tool": tool,
        "retry": RETRY,
        "version": new.value("SELECT VERSION()"),
        "to_first": round(first - begin, 1),
        "without": round(gap, 1),
        "ended": round(ended - begin, 1),
        "confirmed": sum(map(len, known["confirmed"])),
        **{word: len(wrong[word]) for word in WRONG},
        "semisync": new.value(SEMISYNC).split()[-1],
        "verdict": certificate(folder)["verdict"] if tool != "MHA" else None,
        "load": round(load, 1),
        "tasks": [[name, float(took)] for name, took in TASK.findall(done.stdout)[:SHOWN]],
    }


def kind(record: dict[str, Any]) -> tuple[str, str, float]:
    """What is comparable: the tool, the server's version, the clients' patience."""
    return record["tool"], record["version"], record.get("retry", AT_ONCE)


def tables(records: list[dict[str, Any]]) -> str:
    """What was seen, and the tasks of each server's quickest failover."""
    lines = [
        "| tool | server | clients try again in | failovers | seconds from its start to the first"
        " confirmed commit: median, worst | rows confirmed | lost | unexpected | twice"
        " | semi-sync on the new source after it | verdicts | worst load before |",
        "|---" * 12 + "|",
    ]
    kinds = sorted({kind(one) for one in records})
    for tool, version, retry in kinds:
        seen = [one for one in records if kind(one) == (tool, version, retry)]
        firsts = [one["to_first"] for one in seen]
        sums = " | ".join(str(sum(one[word] for one in seen)) for word in ("confirmed", *WRONG))
        verdicts = ", ".join(sorted({one["verdict"] or "says nothing" for one in seen}))
        semisync = ", ".join(sorted({one["semisync"] for one in seen}))
        lines.append(
            f"| {tool} | {version} | {retry * 1000:.0f} ms | {len(seen)}"
            f" | {statistics.median(firsts):.1f}, {max(firsts):.1f} | {sums} | {semisync}"
            f" | {verdicts} | {max(one['load'] for one in seen):.1f} |"
        )
    for tool, version, retry in kinds:
        seen = [one for one in records if kind(one) == (tool, version, retry)]
        best = min(seen, key=lambda one: one["to_first"])
        if best["tasks"]:
            lines += [
                "",
                f"{version}, clients that try again in {retry * 1000:.0f} ms: {best['to_first']} s"
                f" to the first commit, {best['ended']} s in all:",
                "",
                "| task | seconds |",
                "|---|---|",
                *(f"| {name} | {took:.1f} |" for name, took in best["tasks"]),
            ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", choices=sorted(RELEASES), default="mysql")
    parser.add_argument("--tarball")
    parser.add_argument("--mha", action="store_true", help="and MHA, in turn")
    parser.add_argument("--count", type=int, default=3)
    opts = parser.parse_args()
    records = json.loads(EVIDENCE.read_text(encoding="utf-8")) if EVIDENCE.exists() else []
    release = None if opts.tarball else RELEASES[opts.server]
    names = ["source", "replica1", "replica2"]
    wanted = [(name, opts.server, release, opts.tarball) for name in names]
    tools = ["failover.yml", *(["MHA"] if opts.mha else [])]
    for tool in tools * opts.count:
        for made in hosts(*wanted, turn="failover-time"):
            with tempfile.TemporaryDirectory() as folder:
                one = measure(made, tool, pathlib.Path(folder))
        print(json.dumps(one), flush=True)
        records.append(one)
        text = "[\n" + ",\n".join(json.dumps(record) for record in records) + "\n]\n"
        EVIDENCE.write_text(text, encoding="utf-8")
        before = DOCUMENT.read_text(encoding="utf-8").partition(MARK)[0]
        DOCUMENT.write_text(before + MARK + "\n" + tables(records), encoding="utf-8")
    return int(any(one[word] for one in records for word in WRONG if one["tool"] != "MHA"))


if __name__ == "__main__":
    sys.exit(main())
