"""Judges the disks of a run, one after the other; what was judged before is not judged again."""

from __future__ import annotations

import bisect
import contextlib
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import TypedDict

import debian
from uml_tools import memory_folder

from crashing import writes
from crashing.account import Account, Judgement, confirmed_by, judge
from crashing.ask import Answer, Question, answer_of
from crashing.cases import ACKNOWLEDGER, Case
from crashing.recording import Recording, files_of
from proving.machines import copy

ASK = pathlib.Path(__file__).with_name("ask.py")
ALONE = ("unshare", "--mount", "--pid", "--net", "--uts", "--fork", "--kill-child")
# Megabytes that two disks may take.
ROOM = 4000
DISK = "disk"
# How the rows were read -> what is lost.
Ways = dict[str, Judgement]


class Judged(TypedDict):
    """One disk.

    Attributes:
        point: its name.
        flush: after how many flushes.
        damaged: whether it has a part of what was not flushed.
        demanded: rows that had to be there.
        why: why its server did not start; empty if it did.
        ways: see there.
        seconds: that it took.
    """

    point: str
    flush: int
    damaged: bool
    demanded: int
    why: str
    ways: Ways
    seconds: float


def read(path: pathlib.Path) -> list[Judged]:
    """What was judged of a host; a line that a killed run left half is none."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]


class Judge:
    """The disks of one host of a run.

    Args:
        folder: of the run.
        case: says how to start.
        name: of the case.
    """

    def __init__(self, folder: pathlib.Path, case: Case, name: str, host: str) -> None:
        self.folder, self.case, self.host = folder, case, host
        self.run: Recording = json.loads((folder / "recording.json").read_text(encoding="utf-8"))
        self.known: Account = json.loads((folder / "known.json").read_text(encoding="utf-8"))
        self.files = files_of(folder, host)
        self.judged = folder / host / f"judged-{name}.jsonl"
        with self.files["log"].open("rb") as log:
            self.entries = writes.read_log(log, self.files["log"].stat().st_size)
        self.spans = writes.spans(self.entries)

    def points(self, wanted: int) -> list[writes.Point]:
        """Those that are to be judged, with those that were."""
        begun = min(moment for moments in self.known["moments"] for moment in moments)
        first = bisect.bisect_left(self.run["marks"], begun)
        return writes.choose(self.spans, first, wanted, random.Random(self.run["at"]))

    def disks(self, points: list[writes.Point], folder: pathlib.Path) -> Iterator[writes.Point]:
        """Make the disk of each point, in the same file."""
        state, disk, done = folder / "state", folder / DISK, 0
        copy(self.files["data"], state)
        with self.files["log"].open("rb") as log:
            for point in points:
                with state.open("r+b") as stream:
                    passed = self.entries[done : point.span.begin]
                    writes.replay(log, writes.all_of(passed), stream)
                done = point.span.begin
                copy(state, disk)
                with disk.open("r+b") as stream:
                    writes.replay(log, writes.pieces(self.entries, point), stream)
                yield point

    @contextlib.contextmanager
    def asking(self, disk: pathlib.Path, root: pathlib.Path) -> Iterator[Callable[[], Answer]]:
        """What asks the server of the disk that is in this file then."""
        question = Question(
            root=str(root),
            disk=str(disk),
            etc=str(self.files["etc"]),
            host=self.host,
            server=self.run["server"],
            options=list(self.case.start),
            replica=self.host == ACKNOWLEDGER,
        )
        words = [*ALONE, sys.executable, str(ASK), json.dumps(question)]
        pipes = (subprocess.PIPE, subprocess.PIPE)
        with subprocess.Popen(words, stdin=pipes[0], stdout=pipes[1], text=True) as process:
            asked, said = process.stdin, process.stdout
            assert asked and said

            def ask() -> Answer:
                asked.write("\n")
                asked.flush()
                line = said.readline()
                assert line, "the disk could not be judged"
                return answer_of(line)

            yield ask
            asked.close()

    def go(self, wanted: int, until: float, server: debian.Server) -> Iterator[Judged]:
        """Judge, until there are as many as wanted or the time is over."""
        done = {one["point"] for one in read(self.judged)}
        left = [point for point in self.points(wanted) if point.name not in done]
        root = debian.unpacked(debian.root(server))
        with (
            tempfile.TemporaryDirectory(prefix="crash-points-", dir=memory_folder(ROOM)) as folder,
            self.asking(pathlib.Path(folder, DISK), root) as ask,
            self.judged.open("a", encoding="utf-8") as kept,
        ):
            begin = time.monotonic()
            for point in self.disks(left, pathlib.Path(folder)):
                if begin > until:
                    break
                one = self.judge(point, ask(), time.monotonic() - begin)
                kept.write(json.dumps(one) + "\n")
                kept.flush()
                yield one
                begin = time.monotonic()

    def judge(self, point: writes.Point, answer: Answer, seconds: float) -> Judged:
        moment = self.run["marks"][point.span.mark]
        return Judged(
            point=point.name,
            flush=point.span.flush,
            damaged=point.seed is not None,
            demanded=len(confirmed_by(self.known, moment)),
            why=answer["why"],
            ways=of_ways(self.known, moment, answer, self.host == ACKNOWLEDGER),
            seconds=round(seconds, 2),
        )


def of_ways(known: Account, moment: float, answer: Answer, replica: bool) -> Ways:
    """What is lost by each way to read the rows of a host, as far as they could be read: a server
    that does not start has its binary log all the same.
    """
    found, logs = {}, answer["logs"]
    if not replica and logs is not None:
        found["logged"] = judge(known, moment, logs)
    if answer["why"]:
        return found
    tables = answer["tables"]
    if not replica:
        return {"tables": judge(known, moment, tables), **found}
    # What is applied may still be in the relay log.
    unapplied = set(logs or []) - set(tables)
    return {
        "received": judge(known, moment, [*tables, *unapplied]),
        "restarted": judge(known, moment, answer["restarted"]),
    }
