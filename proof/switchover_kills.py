"""What becomes of a switchover where a part, a server, a host or the controller is killed at each
of its points: real servers, writers, and the same command run again.

switchover_kills.py [--server mysql|mariadb …] [--hosts 3] [--only text …] [--minutes 20] [--resume]
    [--document PATH]
"""

from __future__ import annotations

import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, NamedTuple

PROJECT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab"), str(PROJECT / ".config/collections")]


from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (  # noqa: E402
    SEE_ITS_RESULT,
)

import kill_harness  # noqa: E402
from support.acknowledged import (  # noqa: E402
    RELEASES,
    Writers,
    judge,
    record_of,
    rows_of,
    same_data,
)
from support.eventually import eventually  # noqa: E402
from support.live_hosts import Host, hosts, inventory, playbook, run, words  # noqa: E402
from support.watching import takes_writes  # noqa: E402

KILLER = PROJECT / "tests" / "support" / "clients" / "kill_at.py"
OUTPUT = PROJECT / "tests" / "output"
# The figures behind the table, from which the next session goes on.
STATE = PROJECT / "docs" / "evidence" / "switchover-kills.json"
MARK = "<!-- interrupted -->\n"
POINTS = {
    "source": ("begun", "frozen", "attached", "granted"),
    "target": ("armed", "ready", "asks", "open"),
    "replica": ("begun", "redirected", "done"),
}
# No host learns of it before the journal does, and only MySQL lists the locks of all sessions.
MYSQL_ONLY = "armed"
KILLED = ("module", "server", "host")
# Where the controller is killed while the parts run.
CONTROLLER = (("source", "begun"), ("source", "frozen"), ("target", "open"))
LOCK = "SELECT IS_USED_LOCK('dbre.semisync.switchover')"
# What a run says where the one before it had done everything.
ALL_DONE = "it is the source already"
# The writers' own host, which is not of the cluster.
CLIENTS = "clients"


class Case(NamedTuple):
    """One kill: on whose host the point is looked for, which it is, and what is killed."""

    part: str
    point: str
    what: str

    @property
    def name(self) -> str:
        return "-".join(self)


def cases(server: str, number: int) -> list[Case]:
    """All of them, in an order drawn once: the first ones are a sample of the whole."""
    found = [
        Case(part, point, what)
        for what in KILLED
        for part, points in POINTS.items()
        for point in points
        if (part != "replica" or number > 2) and (point != MYSQL_ONLY or server == "mysql")
    ]
    found += [Case(part, point, "controller") for part, point in CONTROLLER]
    random.Random(number).shuffle(found)
    return found


class Killer:
    """A process on a host that waits for the point, and what is done from here when it has come.

    Args:
        controller: file with the number of the run's process.
    """

    def __init__(self, host: Host, case: Case, controller: pathlib.Path) -> None:
        self.host, self.case, self.controller = host, case, controller
        self.said = ""
        run("docker", "cp", KILLER, f"{host.name}:/root/kill_at.py")
        self.process = subprocess.Popen(
            [
                *("docker", "exec", host.name, "python3", "-u", "/root/kill_at.py"),
                *(host.value("SELECT @@socket"), case.point),
                "nothing" if case.what == "controller" else case.what,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout
        assert self.process.stdout.readline().strip() == "waits", self.process.stdout.read()
        self.thread = threading.Thread(target=self.wait, daemon=True)
        self.thread.start()

    def wait(self) -> None:
        assert self.process.stdout
        self.said = self.process.stdout.readline().strip()
        if f" at {self.case.point}" not in self.said:
            return
        if self.case.what == "host":
            run("docker", "kill", self.host.name)
        if self.case.what == "controller":
            for number in family(int(self.controller.read_text())):
                os.kill(number, signal.SIGKILL)

    def end(self) -> str:
        """What was killed, once the run has ended."""
        self.thread.join(10)
        if self.thread.is_alive():
            self.process.kill()
            self.thread.join()
        self.process.wait()
        return self.said


def family(number: int) -> list[int]:
    """A process and everything below it."""
    children = pathlib.Path(f"/proc/{number}/task/{number}/children").read_text().split()
    return [number, *(one for child in children for one in family(int(child)))]


def short(host: Host) -> str:
    return host.name.rpartition("-")[2]


def why(done: Any) -> str:
    """The last refusal or failure in a run's output, short."""
    found = re.findall(r"(?:msg: |\"msg\": \")(.+)", done.stdout)
    telling = [one for one in found if SEE_ITS_RESULT not in one]
    return (telling or [""])[-1][:300]


class Cluster:
    """The hosts, whose roles move."""

    def __init__(self, everybody: list[Host], folder: pathlib.Path) -> None:
        self.hosts, self.folder, self.source = everybody, folder, everybody[0]
        self.file = inventory(
            folder,
            {self.source: {}},
            {host: {} for host in everybody[1:]},
            semisync_timeout=10000,
        )
        self.controller = folder / "controller"

    def move(self, to: Host) -> Any:
        return playbook(
            "switchover",
            self.file,
            *("-e", f"semisync_switchover_to={to.name}"),
            before=("sh", "-c", f'echo $$ > {self.controller}; exec "$@"', "sh"),
        )

    def come_back(self) -> None:
        """Whatever was killed is there again, and no part runs any more."""
        for host in self.hosts:
            state = run("docker", "inspect", "--format", "{{.State.Running}}", host.name).stdout
            if state.strip() != "true":
                run("docker", "start", host.name)
        for host in self.hosts:
            host.wait()
        eventually(
            lambda: all(host.value(LOCK) == "NULL" for host in self.hosts), "no part runs", 180
        )

    def one(self, case: Case) -> dict[str, Any]:
        """What happened, and who is the source afterwards."""
        others = [host for host in self.hosts if host is not self.source]
        target = others[0]
        victim = {"source": self.source, "target": target, "replica": others[-1]}[case.part]
        killer = Killer(victim, case, self.controller)
        begin = time.monotonic()
        first = self.move(target)
        killed = killer.end()
        alive = [host for host in self.hosts if takes_writes(host)]
        self.come_back()
        time.sleep(2)
        between = [short(host) for host in self.hosts if takes_writes(host)]
        # A run that came to its end is not to be repeated: the target is the source.
        again = self.move(target) if first.returncode else first
        # verify.yml begins a folder of its own.
        became = "" if again.returncode else record_of(self.folder)["outcome"]
        after = [host for host in self.hosts if takes_writes(host)]
        verified = playbook("verify", self.file)
        log = OUTPUT / "switchover-kills" / f"{self.source.server}-{case.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(
            "\n\n=====\n".join(
                done.stdout + done.stderr for done in (first, again, verified) if done
            ),
            encoding="utf-8",
        )
        row = {
            **case._asdict(),
            "killed": killed,
            "first": first.returncode,
            "first_words": why(first) if first.returncode else "done",
            "at_once": [short(host) for host in alive],
            "between": between,
            "again": 0 if ALL_DONE in words(again) else again.returncode,
            "again_words": ALL_DONE
            if ALL_DONE in words(again)
            else why(again)
            if again.returncode
            else became,
            "after": [short(host) for host in after],
            "moved": after == [target],
            "verify": verified.returncode,
            "verify_words": why(verified) if verified.returncode else "",
            "seconds": round(time.monotonic() - begin),
        }
        if len(after) == 1:
            self.source = after[0]
        return row


def good(row: dict[str, Any]) -> bool:
    return not row["again"] and not row["verify"] and row["moved"] and " at " in row["killed"]


def measure(
    server: str, number: int, wanted: list[Case], until: float, folder: pathlib.Path
) -> dict[str, Any]:
    """Cases one after another on the same hosts, as long as all is well and there is time."""
    names = ["source", *(f"replica{turn}" for turn in range(1, number)), CLIENTS]
    made = hosts(*((name, server, RELEASES[server]) for name in names), turn=f"kills-{server}")
    *everybody, clients = next(made)
    try:
        clients.shell(f"systemctl stop {server}")
        cluster = Cluster(everybody, folder)
        done = playbook("site", cluster.file)
        assert done.returncode == 0, done.stdout + done.stderr
        writers = Writers(clients, everybody, 10)
        writers.prepare(cluster.source)
        same_data(everybody)
        writers.start()
        rows: list[dict[str, Any]] = []
        version = cluster.source.value("SELECT @@version")
        for case in wanted:
            if time.monotonic() > until:
                break
            rows.append(cluster.one(case))
            print(json.dumps(rows[-1]), flush=True)
            if not good(rows[-1]):
                break
        known = writers.stop()
        (OUTPUT / "switchover-kills" / f"{server}-known.json").write_text(json.dumps(known))
        compared = everybody
        try:
            same_data(everybody)
        except AssertionError as error:
            # A case that did not end well may have left one that does not replicate.
            print(error, flush=True)
            compared = [cluster.source]
        verdicts = {short(host): judge(known, rows_of(host)) for host in compared}
        return {
            "server": server,
            "version": version,
            "hosts": number,
            "rows": rows,
            "confirmed": sum(len(one) for one in known["confirmed"]),
            "unknown": sum(len(one) for one in known["unknown"]),
            "verdicts": [verdicts],
        }
    finally:
        made.close()


def together(before: dict[str, Any] | None, made: dict[str, Any]) -> dict[str, Any]:
    """Two measurements of one server as one; the newest row of a case counts."""
    if before is None:
        return made
    new = {Case(row["part"], row["point"], row["what"]) for row in made["rows"]}
    old = [row for row in before["rows"] if Case(row["part"], row["point"], row["what"]) not in new]
    return {
        **made,
        "rows": [*old, *made["rows"]],
        "confirmed": before["confirmed"] + made["confirmed"],
        "unknown": before["unknown"] + made["unknown"],
        "verdicts": [*before["verdicts"], *made["verdicts"]],
    }


def line_of(row: dict[str, Any]) -> str:
    cells = (
        {
            "module": f"{row['part']}'s part",
            "server": f"{row['part']}'s server",
            "host": f"{row['part']}'s host",
            "controller": "the controller",
        }[row["what"]],
        f"{row['point']} ({row['part']})",
        "failed" if row["first"] else "done",
        ", ".join(row["between"]) or "none",
        "failed" if row["again"] else row["again_words"],
        "yes" if row["moved"] else "no",
        "not healthy" if row["verify"] else "healthy",
    )
    return f"| {' | '.join(cells)} |"


def place(row: dict[str, Any]) -> tuple[int, ...]:
    """Where a row is in the table: by what is killed, part and point."""
    what, part = [*KILLED, "controller"], list(POINTS)
    return (
        what.index(row["what"]),
        part.index(row["part"]),
        POINTS[row["part"]].index(row["point"]),
    )


def document(results: list[dict[str, Any]]) -> str:
    lines = []
    for one in results:
        wrong = {
            word: sum(
                len(verdict[word]) for session in one["verdicts"] for verdict in session.values()
            )
            for word in ("lost", "unexpected", "twice")
        }
        order = len(cases(one["server"], one["hosts"]))
        # If nothing was killed there is nothing to report.
        rows = sorted((row for row in one["rows"] if " at " in row["killed"]), key=place)
        lines += [
            f"{one['version']}, {one['hosts']} hosts, {len(rows)} of {order} kills; rows"
            f" confirmed: {one['confirmed']}, lost: {wrong['lost']}, unexpected:"
            f" {wrong['unexpected']}, twice: {wrong['twice']}, unknown: {one['unknown']}.",
            "",
            "| killed | at | the run | took writes then | run again | role moved | verify |",
            "|---" * 7 + "|",
        ]
        lines += [line_of(row) for row in rows]
        lines.append("")
    return "\n".join(lines)


def stored() -> dict[tuple[str, int], dict[str, Any]]:
    if not STATE.exists():
        return {}
    return {
        (one["server"], one["hosts"]): one for one in json.loads(STATE.read_text(encoding="utf-8"))
    }


def write(path: pathlib.Path, text: str) -> None:
    before, _mark, after = path.read_text(encoding="utf-8").partition(MARK)
    rest = after.partition("\n## ")
    path.write_text(before + MARK + text + (f"\n## {rest[2]}" if rest[1] else ""), encoding="utf-8")


def main() -> int:
    parser = kill_harness.parser_for(__doc__, RELEASES, None)
    parser.add_argument("--hosts", type=int, default=3)
    parser.add_argument("--only", action="append", help="a part of a case's name, target-open-host")
    opts = parser.parse_args()
    until = kill_harness.deadline(opts.minutes)
    results = stored()
    status = 0
    for server in opts.server or ["mysql", "mariadb"]:
        key = (server, opts.hosts)
        # A series of its own begins anew; some cases replace their rows of before.
        before = results.get(key) if opts.resume or opts.only else None
        known = {
            Case(row["part"], row["point"], row["what"])
            for row in (before or {"rows": []})["rows"]
            if good(row) and opts.resume
        }
        left = [
            case
            for case in cases(server, opts.hosts)
            if case not in known and (not opts.only or any(one in case.name for one in opts.only))
        ]
        while left and time.monotonic() < until:
            with tempfile.TemporaryDirectory() as folder:
                made = measure(server, opts.hosts, left, until, pathlib.Path(folder))
            status |= not all(map(good, made["rows"]))
            status |= any(map(any, (one.values() for one in made["verdicts"][0].values())))
            if not made["rows"]:
                break
            before = results[key] = together(before, made)
            STATE.write_text(json.dumps(list(results.values()), indent=1) + "\n", encoding="utf-8")
            # After a case that did not end well the next one needs new hosts.
            left = left[len(made["rows"]) :]
    text = document([results[name] for name in sorted(results)])
    print(text)
    if opts.document:
        write(opts.document, text)
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
