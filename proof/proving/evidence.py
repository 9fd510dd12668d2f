"""Every cycle that was ever made, in a file that is committed: a later run adds to it, and the
tables are made from it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import pathlib
import re
from collections.abc import Iterable, Iterator
from typing import Any

PROJECT = pathlib.Path(__file__).resolve().parents[2]
RECORDS = PROJECT / "docs" / "evidence" / "failover.json"
DOCUMENT = RECORDS.with_suffix(".md")
SCHEMA = pathlib.Path(__file__).with_name("evidence.schema.json")
# The longest reason that is kept.
LONGEST = 200
# An absolute path, as in a command that failed.
PATH = re.compile(r"(?<!\S)/\S+|(?<==)/\S+")

Record = dict[str, Any]


def key(record: Record) -> tuple[str, ...]:
    """Tells cycles apart, and their order."""
    return tuple(str(record[name]) for name in ("at", "server", "case", "seed"))


def kept(record: Record) -> Record:
    """What is committed of a cycle: no word of a host, no path of a machine."""
    names = json.loads(SCHEMA.read_text(encoding="utf-8"))["items"]["properties"]
    short = {name: record[name] for name in names if name in record}
    # The premise and its host; what was observed there is in the cycle's log.
    short["reasons"] = [reason.partition(":")[0] for reason in record.get("reasons", [])]
    short["why"] = PATH.sub("PATH", str(record["why"]))[:LONGEST]
    if "back" in record:
        # The words are in the cycle's log.
        wrong = record["back"]["wrong"].partition(":")[0]
        short["back"] = {**record["back"], "wrong": wrong}
    return short


def read(path: pathlib.Path = RECORDS) -> list[Record]:
    """All of them, in their order; none if there is no file yet."""
    with contextlib.suppress(FileNotFoundError):
        records: list[Record] = json.loads(path.read_text(encoding="utf-8"))
        return records
    return []


def text_of(records: Iterable[Record]) -> str:
    """A line each, so that what is added is what differs."""
    lines = [json.dumps(record, ensure_ascii=False) for record in sorted(records, key=key)]
    return "[\n" + ",\n".join(lines) + "\n]\n"


@contextlib.contextmanager
def alone(path: pathlib.Path) -> Iterator[None]:
    """Runs for two servers add to the same file."""
    folder = PROJECT / "tests" / "output"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{path.name}.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def add(new: Iterable[Record], path: pathlib.Path = RECORDS) -> list[Record]:
    """Add cycles to those that are there; all of them. Whole or not at all: a run may be ended at
    any time.
    """
    with alone(path):
        every = {key(record): record for record in [*read(path), *map(kept, new)]}
        part = path.with_suffix(".part")
        part.write_text(text_of(every.values()), encoding="utf-8")
        part.replace(path)
    return sorted(every.values(), key=key)
