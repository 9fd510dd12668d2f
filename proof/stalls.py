"""How long clients wait while a running pair goes to semi-sync: online against restart, 50 writers,
real servers.

stalls.py [--server mysql|mariadb …] [--disk memory …] [--clients 50]
    [--document docs/evidence/stalls.md]
"""

import argparse
import datetime
import itertools
import json
import os
import pathlib
import signal
import sys
import tempfile
import time

PROJECT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab")]

from support.live_hosts import hosts, inventory, playbook  # noqa: E402
from support.memory import into_memory  # noqa: E402
from support.waits import Writers, percentile  # noqa: E402

CALLBACKS = PROJECT / "tests" / "tools" / "callbacks"
RELEASES = {"mysql": "", "mariadb": "12"}
QUIET_SECONDS = 15
# Every measurement of this checkout, so that the table can be filled in parts.
STATE = PROJECT / "tests" / "output" / "stalls.json"


def watched(file: pathlib.Path, tasks: pathlib.Path):
    """Run site.yml with each task's time written down.

    A controller is another machine as a rule. Here it shares the servers' cores, and so takes what
    they leave.
    """
    return playbook(
        "site",
        file,
        before=("nice", "-n", "19"),
        ANSIBLE_CALLBACK_PLUGINS=str(CALLBACKS),
        ANSIBLE_CALLBACKS_ENABLED="killer",
        SEMISYNC_TASKS_FILE=str(tasks),
    )


def task_at(tasks: pathlib.Path, moment: float) -> str:
    """The task that ran at a moment."""
    began = [json.loads(line) for line in tasks.read_text(encoding="utf-8").splitlines()]
    return ([task["name"] for task in began if task["at"] <= moment] or ["nothing"])[-1]


def spans(rows: list, begin: float, end: float) -> dict:
    """The longest wait, when it began, and what 99 % of the rows of a span of time stayed below."""
    within = [row for row in rows if begin <= row[0] < end]
    moment, longest_wait = max(within, key=lambda row: row[1])
    return {
        "longest_ms": 1000 * longest_wait,
        "p99_ms": percentile(within, 0.99),
        "at": moment,
        "rows": len(within),
    }


def measure(server: str, way: str, disk: str, clients: int, folder: pathlib.Path) -> dict:
    """One pair, asynchronous and under load, taken to semi-sync one way."""
    made = hosts(
        ("source", server, RELEASES[server]), ("replica", server, RELEASES[server]), turn="stalls"
    )
    source, replica = next(made)
    try:
        for host in (source, replica) if disk == "memory" else ():
            into_memory(host)
        file = inventory(
            folder, {source: {}}, {replica: {}}, semisync_apply=way, semisync_timeout=10000
        )
        first = playbook("parts.apply", file, "-e", "semisync_stage=replication")
        assert first.returncode == 0, first.stdout + first.stderr
        writers = Writers(source, clients)
        writers.start()
        time.sleep(2)
        moments = [time.time()]
        time.sleep(QUIET_SECONDS)
        moments.append(time.time())
        # A run that only reads: what the controller and its modules cost on a machine that all
        # share.
        announced = playbook("site", file, "--check", before=("nice", "-n", "19"))
        moments.append(time.time())
        done = watched(file, folder / "tasks")
        moments.append(time.time())
        time.sleep(QUIET_SECONDS)
        moments.append(time.time())
        found = writers.stop()
        assert announced.returncode == done.returncode == 0, done.stdout + done.stderr
        written = source.value("SELECT COUNT(*) FROM stalls.rows_of")
        until = time.monotonic() + 60
        while replica.value("SELECT COUNT(*) FROM stalls.rows_of") != written:
            assert time.monotonic() < until, "the replica lacks rows"
            time.sleep(0.5)
        parts = dict(
            zip(
                ("quiet", "read", "change", "after"),
                (spans(found["rows"], *pair) for pair in itertools.pairwise(moments)),
                strict=False,
            )
        )
        return {
            "server": server,
            "version": source.value("SELECT @@version"),
            "way": way,
            "disk": disk,
            "clients": clients,
            "rows": len(found["rows"]),
            "refused": found["refused"],
            "parts": parts,
            "task": task_at(folder / "tasks", parts["change"]["at"]),
        }
    finally:
        made.close()


def processor() -> str:
    """The machine's processor in its own words."""
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")),
        "unknown",
    )


def key(one: dict) -> tuple:
    return one["version"], one["disk"], one["way"]


def document(results: list) -> str:
    """A table: per way the longest wait, and in brackets what 99 % of the rows stayed below."""
    names = {
        "quiet": "asynchronous, nothing happens",
        "read": "`site.yml --check`",
        "change": "`site.yml`",
        "after": "semi-sync, nothing happens",
    }
    lines = [
        f"| server | way | data on | {' | '.join(names.values())} | attempts refused | rows |",
        "|---" * 9 + "|",
    ]
    for one in results:
        cells = [
            f"{one['parts'][key]['longest_ms']:.0f} ms ({one['parts'][key]['p99_ms']:.0f} ms)"
            for key in names
        ]
        lines.append(
            "| {version} | `{way}` | {disk} | {cells} | {refused} | {rows} |".format(
                cells=" | ".join(cells), **one
            )
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", action="append", choices=sorted(RELEASES))
    parser.add_argument("--way", action="append", choices=["online", "restart"])
    parser.add_argument("--disk", action="append", choices=["disk", "memory"])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--document", type=pathlib.Path)
    opts = parser.parse_args()
    # To be ended is to be interrupted: the hosts are removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    results = {}
    if STATE.exists():
        results = {key(one): one for one in json.loads(STATE.read_text(encoding="utf-8"))}
    for server in opts.server or ["mysql", "mariadb"]:
        for way, disk in itertools.product(
            opts.way or ["online", "restart"], opts.disk or ["disk", "memory"]
        ):
            with tempfile.TemporaryDirectory() as folder:
                made = measure(server, way, disk, opts.clients, pathlib.Path(folder))
            print(json.dumps(made), flush=True)
            results[key(made)] = made
            STATE.parent.mkdir(parents=True, exist_ok=True)
            STATE.write_text(json.dumps(list(results.values())), encoding="utf-8")
    text = document([results[name] for name in sorted(results)])
    print(text)
    if opts.document:
        before, mark, _dummy = opts.document.read_text(encoding="utf-8").partition(
            "<!-- figures -->\n"
        )
        moment = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
        opts.document.write_text(
            f"{before}{mark}Measured on {moment} with {os.cpu_count()} cores ({processor()}), both"
            f" servers on one machine (Docker), {opts.clients} writers. Each figure is the longest"
            f" wait of any client, and in brackets what 99 % of the rows stayed below.\n\n{text}",
            encoding="utf-8",
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
