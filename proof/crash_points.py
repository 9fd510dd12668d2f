"""Whether a power cut at any flush takes a confirmed row: one minute of 50 clients, and then every
disk that a power cut could have left, each with its server started.

crash_points.py --server mysql|mariadb [--case name …] [--points 1000] [--seconds 60]
    [--minutes 120] [--again]
crash_points.py --server mysql|mariadb --short

It records a run of the clients for each case, unless there is one, and judges its disks until there
are as many as wanted, or the time is over. Started again, it goes on. What it finds is added to
docs/evidence/crash-points.json, from which the tables of crash-points.md are made.
--short records a few seconds, judges a few disks, and asserts what they show.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import sys
import time
from typing import Any

PROJECT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab"), str(PROJECT / ".config/collections")]

import kill_harness  # noqa: E402

OUTPUT = PROJECT / "tests" / "output"
SERVERS = ("mysql", "mariadb")
# So many disks of one host, then of the other.
ROUND = 40
# Of the short form: seconds of writing, and disks of each host.
SHORT_SECONDS, SHORT_POINTS = 16, 12


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", choices=SERVERS, required=True)
    parser.add_argument("--case", action="append", help="all without it")
    parser.add_argument("--points", type=int, default=1000, help="of each host (default: 1000)")
    parser.add_argument("--seconds", type=float, default=60, help="for which the clients write")
    parser.add_argument(
        "--minutes", type=float, default=600, help="judge no further disk after so long"
    )
    parser.add_argument("--again", action="store_true", help="record a new run of each case")
    parser.add_argument("--short", action="store_true", help="a few disks that must pass")
    parser.add_argument("--clear", action="store_true", help="remove the hosts, and nothing else")
    return parser.parse_args()


class Points:
    """The runs of a server and their disks."""

    def __init__(self, opts: argparse.Namespace, until: float) -> None:
        from crashing.cases import HOSTS
        from proving import machines

        self.opts, self.until = opts, until
        self.folder = OUTPUT / f"{'brief' if opts.short else 'crash'}-{opts.server}"
        self.folder.mkdir(parents=True, exist_ok=True)
        # With --again, each run is made once.
        self.recorded: set[str] = set()
        self.machines = machines.Machines(opts.server, self.folder, names=HOSTS)

    def record(self, name: str) -> None:
        """The run that a case judges, unless there is one."""
        from crashing import recording
        from crashing.cases import CASES
        from proving import cycle, machines

        # A case that has none of its own is judged by another's.
        name = CASES[name].of or name
        folder = self.folder / name
        if name in self.recorded or ((folder / "recording.json").exists() and not self.opts.again):
            return
        self.recorded.add(name)
        begin = time.monotonic()
        try:
            self.machines.prepare(machines.Writers(self.machines, self.folder))
            recorder = recording.Recorder(self.machines, folder, CASES[name])
            recorder.go(name, self.opts.seconds, cycle.commit())
        finally:
            with contextlib.suppress(Exception):
                self.machines.cut(*self.machines.hosts)
        print(f"{name}: recorded in {time.monotonic() - begin:.0f} s", flush=True)

    def judge(self, name: str) -> list[Any]:
        """Its disks, as far as the time goes; the records of its hosts."""
        from crashing import evidence, judging
        from crashing.cases import CASES

        case = CASES[name]
        folder = self.folder / (case.of or name)
        judges = [judging.Judge(folder, case, name, host) for host in case.hosts]
        # In turns, so that a time that is over ends all hosts' disks alike.
        for wanted in range(ROUND, self.opts.points + ROUND, ROUND):
            for judge in judges:
                self.judge_some(judge, name, min(wanted, self.opts.points))
        found = [(judge, judging.read(judge.judged)) for judge in judges]
        return [evidence.record_of(judge, name, judged) for judge, judged in found if judged]

    def judge_some(self, judge: Any, name: str, wanted: int) -> None:
        for one in judge.go(wanted, self.until, self.machines.chosen):
            lost = {way: found["lost"] for way, found in one["ways"].items()}
            words = f"{name} {judge.host} {one['point']}: {one['seconds']} s, lost {lost}"
            print(f"{words} of {one['demanded']} {one['why']}", flush=True)


def main() -> int:
    opts = arguments()
    kind = "brief" if opts.short else "crash"
    os.environ["SEMISYNC_LAB"] = f"{kind}{opts.server}"
    os.environ["SEMISYNC_INVENTORY"] = str(OUTPUT / f"{kind}-{opts.server}-lab")
    from common import locked

    from crashing import cases, evidence, page
    from proving import machines

    until = kill_harness.deadline(opts.minutes)
    if opts.clear:
        machines.clear()
        return 0
    if opts.short:
        opts.seconds, opts.points, opts.again = SHORT_SECONDS, SHORT_POINTS, True
        opts.case = opts.case or list(page.SHORT)
    points = Points(opts, until)
    made = []
    with locked(os.environ["SEMISYNC_LAB"]):
        try:
            for name in opts.case or cases.of_server(opts.server):
                if time.monotonic() < until:
                    points.record(name)
                    made += points.judge(name)
                    if not opts.short:
                        evidence.add(made)
        finally:
            if opts.short:
                machines.clear()
    if not opts.short:
        page.write(evidence.read())
    found = page.amiss(made)
    print("\n".join(found) or "all as it has to be")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
