"""What becomes of commits, of a look and of a role change when a disk is full: real servers, three
hosts, 50 writers.

full_disks.py [--server mysql|mariadb …] [--place source|acknowledger|candidate|results …]
    [--moment writing|switchover|failover …] [--count 10] [--seed N] [--minutes 60]
    [--document docs/evidence/full-disks.md]
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

PROJECT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab")]

import kill_harness  # noqa: E402
import measured  # noqa: E402
from support.acknowledged import RELEASES, Writers, judge, rows_of, same_data  # noqa: E402
from support.disks import DATA, Disk, make_small, small_results  # noqa: E402
from support.dying import forbid_restart, kill  # noqa: E402
from support.eventually import eventually  # noqa: E402
from support.live_hosts import (  # noqa: E402
    Host,
    hosts,
    inventory,
    playbook_environment,
    playbook_words,
    run,
)
from support.watching import takes_writes  # noqa: E402

WRITING, SWITCHOVER, FAILOVER = "writing", "switchover", "failover"
# Where a disk is full, and when that matters: a dead source's disk matters to no failover, and a
# candidate is one only while roles change.
MOMENTS = {
    "source": (WRITING, SWITCHOVER),
    "acknowledger": (WRITING, SWITCHOVER, FAILOVER),
    "candidate": (SWITCHOVER, FAILOVER),
    "results": (WRITING, SWITCHOVER, FAILOVER),
}
# Seconds after the start of a command, or of the writers, within which the disk gets full.
WITHIN = {WRITING: 6.0, SWITCHOVER: 8.0, FAILOVER: 4.0}
# A command that takes longer waits for ever: it is ended, and that is a failure.
PATIENCE = 300
# Seconds in which a server that waited for space goes on, or was started again: it looks each
# minute.
RECOVERY = 180
STATE = PROJECT / "tests" / "output" / "full-disks.json"
MARK = "<!-- cycles -->"
WRONG = ("lost", "unexpected", "twice")
# Lines of a channel's state that tell why a replica does not catch up.
TELLS = re.compile(r"(_Running|_Error|_State|Gtid\w*|ERROR[^:]*):? ")


class Wanted(NamedTuple):
    """One cycle."""

    server: str
    place: str
    moment: str
    seed: int


def cycles(
    servers: Iterable[str], places: Iterable[str], moments: Iterable[str], count: int, seed: int
) -> list[Wanted]:
    """So many cycles of each place on each server, with its moments in turn."""
    found = []
    for number in range(count):
        for place in places:
            for server in servers:
                of_place = [one for one in MOMENTS[place] if one in moments]
                if of_place:
                    moment = of_place[number % len(of_place)]
                    found.append(Wanted(server, place, moment, seed + number))
    return found


class Command:
    """A playbook that runs, is ended if it takes too long, and what it said."""

    def __init__(self, name: str, file: pathlib.Path, *arguments: str) -> None:
        self.name, self.file, self.began = name, file, time.monotonic()
        self.process = subprocess.Popen(
            playbook_words(name, file, *arguments),
            cwd=file.parent,
            env=playbook_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def end(self, disk: Disk) -> dict[str, Any]:
        """How it ended."""
        try:
            said, ended = self.process.communicate(timeout=PATIENCE)[0], True
        except subprocess.TimeoutExpired:
            # Its whole session would not do: workers have sessions of their own.
            run("pkill", "--signal=KILL", "--full", str(self.file), check=False)
            said, ended = self.process.communicate()[0], False
        return {
            "command": self.name,
            "seconds": round(time.monotonic() - self.began, 1),
            "ended": ended,
            "status": self.process.returncode,
            "named": names_disk(said, disk),
            "said": said,
        }


def names_disk(said: str, disk: Disk) -> bool:
    """Whether a run's words say which disk is full."""
    words = " ".join(said.split())
    folder = disk.folder.rstrip("/")
    where = words.split(folder)
    full = any("is full" in part[:60] or "No space left" in words for part in where[1:])
    return full and (disk.host is None or disk.host.name in words)


class Cycle:
    """One cluster, from its servers to the judgement."""

    def __init__(self, wanted: Wanted, made: list[Host], folder: pathlib.Path) -> None:
        self.wanted, self.hosts, self.folder = wanted, made, folder
        self.random = random.Random(f"{wanted}")
        self.source, self.candidate, self.other = made
        self.file = inventory(
            folder,
            {self.source: {}},
            {self.candidate: {}, self.other: {}},
            semisync_timeout=10000,
            semisync_heartbeat_seconds=1,
            semisync_candidates=None,
        )
        self.writers = Writers(self.other, made)
        self.said: list[dict[str, Any]] = []

    def disk(self, results: Disk) -> Disk:
        """The one that gets full."""
        places = {
            "source": self.source,
            "acknowledger": self.other,
            "candidate": self.candidate,
        }
        host = places.get(self.wanted.place)
        return Disk(host, DATA) if host else results

    def set_up(self) -> None:
        """A cluster under writers."""
        threads = [threading.Thread(target=make_small, args=(host,)) for host in self.hosts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        done = Command("site", self.file).end(Disk(None, "nowhere"))
        assert done["status"] == 0, done["said"]
        self.writers.prepare(self.source)
        same_data(self.hosts)
        self.writers.start(retry=0.2)
        time.sleep(3)

    def command(self) -> Command | None:
        """The one in which the disk gets full, which has begun."""
        moment = self.wanted.moment
        if moment == SWITCHOVER:
            return Command(moment, self.file, "-e", f"semisync_switchover_to={self.candidate.name}")
        if moment == FAILOVER:
            forbid_restart(self.source)
            kill(self.source)
            return Command(moment, self.file, "-e", f"semisync_failover_to={self.candidate.name}")
        return None

    def fill(self, disk: Disk) -> float:
        """Fill it at a random moment; return the seconds after the command's start."""
        begun = self.command()
        after = self.random.uniform(0, WITHIN[self.wanted.moment])
        time.sleep(after)
        disk.fill()
        if begun:
            self.keep(begun.end(disk))
        else:
            time.sleep(self.random.uniform(2, 15))
        self.keep(Command("verify", self.file).end(disk))
        return after

    def keep(self, done: dict[str, Any]) -> None:
        self.said.append(done)
        keep_words(self.wanted, self.said)
        words = {name: value for name, value in done.items() if name != "said"}
        print(json.dumps(words), flush=True)

    def go_on(self, disk: Disk) -> None:
        """Free the disk, and run what was refused or failed again."""
        disk.free()
        first = self.said[0]
        living = [one for one in self.hosts if one is not self.source or self.source_lives()]
        for host in living:
            self.restarted(host)
        if self.source_lives():
            eventually(lambda: follow(living), "the replicas have caught up", RECOVERY)
            # A client that gave up left a connection, which ends once its statement has.
            eventually(lambda: spare(self.source), "old connections have ended", RECOVERY)
        # One that has moved the role, and could not record it, is not run again.
        moved = takes_writes(self.candidate)
        if first["command"] != "verify" and first["status"] and not moved:
            to = f"semisync_{first['command']}_to={self.candidate.name}"
            self.keep(Command(first["command"], self.file, "-e", to).end(disk))

    def source_lives(self) -> bool:
        return self.wanted.moment != FAILOVER

    def restarted(self, host: Host) -> None:
        """Wait until a server answers; systemd gives up on one that failed to start five times."""

        def answers() -> bool:
            if host.sql("SELECT 1", check=False).returncode == 0:
                return True
            host.shell(f"systemctl reset-failed {host.server}; systemctl start {host.server}")
            return False

        eventually(answers, f"{host.name} answers", RECOVERY)

    def judged(self) -> dict[str, Any]:
        """What became of the rows: on the server that takes writes, and on those that follow."""
        found: list[Host] = []

        def one_takes_writes() -> bool:
            found[:] = [host for host in self.hosts if takes_writes(host)]
            return len(found) == 1

        eventually(one_takes_writes, "one server takes writes", RECOVERY)
        time.sleep(3)
        known = self.writers.stop()
        living = [one for one in self.hosts if one is not self.source or self.source_lives()]
        try:
            same_data(living, RECOVERY)
            alike = True
        except AssertionError:
            alike = False
        verdict = judge(known, rows_of(found[0]))
        return {
            "replication": "" if alike else replication(living),
            "source": found[0].name.rpartition("-")[2],
            "confirmed": sum(len(rows) for rows in known["confirmed"]),
            "unknown": sum(len(rows) for rows in known["unknown"]),
            "wrong": {word: len(verdict[word]) for word in WRONG},
            "alike": alike,
            "longest": round(max(wait for _at, wait in known["waits"]), 1),
        }


def replication(made: list[Host]) -> str:
    """What the servers say of their channels, if they differ."""
    said = []
    for host in made:
        words = "ALL SLAVES" if host.server == "mariadb" else "REPLICA"
        shown = host.sql(f"SHOW {words} STATUS\\G", check=False)
        lines = [one.strip() for one in f"{shown.stdout}{shown.stderr}".splitlines()]
        said += [f"{host.name} {one}" for one in lines if TELLS.search(one)]
    return "; ".join(said)


def spare(host: Host) -> bool:
    """Whether a server has connections left for a role change."""
    asked = "SELECT @@max_connections - COUNT(*) FROM information_schema.processlist"
    left = host.sql(asked, check=False)
    return left.returncode == 0 and int(left.stdout) > 20


def follow(made: list[Host]) -> bool:
    """Whether all servers have nearly as many rows, while clients write."""
    counts = [host.sql("SELECT COUNT(*) FROM app.written", check=False).stdout for host in made]
    return all(counts) and max(map(int, counts)) - min(map(int, counts)) < 500


def once(wanted: Wanted) -> dict[str, Any]:
    """One cycle on a cluster of its own."""
    print(wanted, flush=True)
    names = ("source", "candidate", "acknowledger")
    made = hosts(
        *((name, wanted.server, RELEASES[wanted.server] or None) for name in names),
        turn=f"disks-{wanted.server}",
    )
    with contextlib.closing(made), tempfile.TemporaryDirectory() as name:
        everybody, folder = next(made), pathlib.Path(name)
        with small_results(folder) as results:
            cycle = Cycle(wanted, everybody, folder)
            cycle.set_up()
            version = cycle.source.value("SELECT @@version")
            disk = cycle.disk(results)
            after = cycle.fill(disk)
            cycle.go_on(disk)
            record = {
                **wanted._asdict(),
                "version": version,
                "after": round(after, 1),
                **cycle.judged(),
                "commands": [
                    {name: value for name, value in one.items() if name != "said"}
                    for one in cycle.said
                ],
            }
            return record


def keep_words(wanted: Wanted, said: list[dict[str, Any]]) -> None:
    """What the commands of a cycle said, for a person."""
    folder = STATE.parent / "full-disks"
    folder.mkdir(parents=True, exist_ok=True)
    name = "-".join(str(word) for word in wanted)
    text = "\n".join(f"===== {one['command']} {one['status']}\n{one['said']}" for one in said)
    (folder / f"{name}.txt").write_text(text, encoding="utf-8")


def is_well(one: dict[str, Any]) -> bool:
    """Whether a cycle kept what is promised of it: nothing is lost, each command ends, the look
    names the disk, and the same command leads out once there is space.
    """
    commands = one["commands"]
    look = next(done for done in commands if done["command"] == "verify")
    last = commands[-1]
    led_out = last is look or last["status"] == 0
    return (
        not any(one["wrong"].values())
        and one["alike"]
        and all(done["ended"] for done in commands)
        and all(done["named"] for done in commands[:2] if done["status"])
        and look["named"]
        and led_out
    )


def document(records: list[dict[str, Any]]) -> str:
    """The table, a line for each server, place and moment."""
    lines = [
        "| server | full | during | cycles | rows confirmed | lost | unexpected | twice | servers"
        " differ | a command did not end | the look did not name the disk | the command failed, and"
        " did not name it | it failed again with space | seconds of the command: median, worst |"
        " longest wait of a client: median, worst |",
        "|---" * 15 + "|",
    ]
    groups = sorted({(one["version"], one["place"], one["moment"]) for one in records})
    for version, place, moment in groups:
        of_group = [
            one
            for one in records
            if (one["version"], one["place"], one["moment"]) == (version, place, moment)
        ]
        lines.append("| " + " | ".join(map(str, row(version, place, moment, of_group))) + " |")
    return "\n".join(lines) + "\n"


def row(version: str, place: str, moment: str, records: list[dict[str, Any]]) -> list[object]:
    """One line of it."""
    first = [one["commands"][0] for one in records]
    looks = [done for one in records for done in one["commands"] if done["command"] == "verify"]
    again = [one["commands"][2] for one in records if len(one["commands"]) > 2]
    seconds, waits = [done["seconds"] for done in first], [one["longest"] for one in records]
    return [
        version,
        place,
        moment,
        len(records),
        sum(one["confirmed"] for one in records),
        *(sum(one["wrong"][word] for one in records) for word in WRONG),
        sum(not one["alike"] for one in records),
        sum(not done["ended"] for one in records for done in one["commands"]),
        sum(not done["named"] for done in looks),
        sum(bool(done["status"]) and not done["named"] for done in first),
        sum(bool(done["status"]) for done in again),
        f"{statistics.median(seconds):.1f}, {max(seconds)}",
        f"{statistics.median(waits):.1f}, {max(waits)}",
    ]


def main() -> int:
    parser = kill_harness.parser_for(__doc__ or "", RELEASES, None)
    parser.add_argument("--place", action="append", choices=list(MOMENTS))
    parser.add_argument("--moment", action="append", choices=list(WITHIN))
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    opts = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    before = json.loads(STATE.read_text(encoding="utf-8")) if STATE.exists() else []
    made: list[dict[str, Any]] = []
    wanted = cycles(
        opts.server or sorted(RELEASES),
        opts.place or list(MOMENTS),
        opts.moment or list(WITHIN),
        opts.count,
        opts.seed,
    )
    for one in measured.one_by_one(wanted, opts.minutes, once):
        made.append(one)
        STATE.parent.mkdir(parents=True, exist_ok=True)
        known = json.loads(STATE.read_text(encoding="utf-8")) if STATE.exists() else []
        STATE.write_text(json.dumps([*known, one]), encoding="utf-8")
    measured.publish(document(before + made), opts.document, MARK)
    return int(not all(map(is_well, made)))


if __name__ == "__main__":
    sys.exit(main())
