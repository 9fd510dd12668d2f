"""What was judged of each host of each run, in a file that is committed: a later run adds to it,
and the page's tables are made from it.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import statistics
from collections.abc import Iterable
from typing import NotRequired, TypedDict

from crashing.account import Judgement
from crashing.judging import Judge, Judged
from crashing.recording import load
from proving.evidence import PROJECT, alone

RECORDS = PROJECT / "docs" / "evidence" / "crash-points.json"
DOCUMENT = RECORDS.with_suffix(".md")
SCHEMA = pathlib.Path(__file__).with_name("crash-points.schema.json")


class Way(TypedDict):
    """What the disks of a host lacked, by one way to read its rows.

    Attributes:
        judged: how many disks could be read by it.
        disks: how many of them lacked a row.
        rows: the most that one lacked.
        median: of those that lacked one.
        seconds: the longest time between a row that one lacked and its crash.
    """

    judged: int
    disks: int
    rows: int
    median: float
    seconds: float
    unexpected: int
    twice: int


class Record(TypedDict):
    """One host of one run; see crash-points.schema.json."""

    at: str
    commit: str
    server: str
    version: str
    case: str
    host: str
    seconds: float
    attempted: int
    confirmed: int
    flushes: int
    clean: int
    damaged: int
    unstarted: int
    unstarted_clean: int
    ways: dict[str, Way]
    per_point: float
    load_run: float
    load: float
    why: NotRequired[str]


def way_of(found: list[Judgement]) -> Way:
    lost = [one for one in found if one["lost"]]
    return Way(
        judged=len(found),
        disks=len(lost),
        rows=max((one["lost"] for one in lost), default=0),
        median=statistics.median(one["lost"] for one in lost) if lost else 0,
        seconds=max((one["seconds"] for one in lost), default=0.0),
        unexpected=sum(one["unexpected"] > 0 for one in found),
        twice=sum(one["twice"] > 0 for one in found),
    )


def record_of(judge: Judge, name: str, judged: list[Judged]) -> Record:
    """What is committed of a host's disks."""
    run, known = judge.run, judge.known
    unstarted = [one for one in judged if one["why"]]
    names = dict.fromkeys(way for one in judged for way in one["ways"])
    ways = {way: [one["ways"][way] for one in judged if way in one["ways"]] for way in names}
    made = Record(
        at=run["at"],
        commit=run["commit"],
        server=run["server"],
        version=run["version"],
        case=name,
        host=judge.host,
        seconds=run["seconds"],
        attempted=sum(known["attempted"]),
        confirmed=sum(map(len, known["confirmed"])),
        flushes=len(judge.spans) - 1,
        clean=sum(not one["damaged"] for one in judged),
        damaged=sum(one["damaged"] for one in judged),
        unstarted=len(unstarted),
        unstarted_clean=sum(not one["damaged"] for one in unstarted),
        ways={way: way_of(found) for way, found in ways.items()},
        per_point=round(statistics.median(one["seconds"] for one in judged), 2),
        load_run=run["load"],
        load=load(),
    )
    if unstarted:
        made["why"] = min(one["why"] for one in unstarted)
    return made


def key(record: Record) -> tuple[str, ...]:
    """Tells records apart, and their order."""
    return (record["server"], record["case"], record["host"], record["at"])


def read(path: pathlib.Path = RECORDS) -> list[Record]:
    """All of them; none if there is no file yet."""
    with contextlib.suppress(FileNotFoundError):
        records: list[Record] = json.loads(path.read_text(encoding="utf-8"))
        return records
    return []


def add(new: Iterable[Record], path: pathlib.Path = RECORDS) -> list[Record]:
    """Add these, each in place of the one of the same host and run; all of them."""
    with alone(path):
        every = {key(record): record for record in [*read(path), *new]}
        records = sorted(every.values(), key=key)
        lines = ",\n".join(json.dumps(record, ensure_ascii=False) for record in records)
        part = path.with_suffix(".part")
        part.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        part.replace(path)
    return records
