"""What drivers that measure have in common: servers one after another, and the table on a page."""

from __future__ import annotations

import json
import pathlib
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import kill_harness

One = TypeVar("One")
Wanted = TypeVar("Wanted")


def of_each(servers: Iterable[str], measure: Callable[[str, pathlib.Path], list[One]]) -> list[One]:
    """What was measured on each kind of server, in a folder of its own."""
    found = []
    for server in servers:
        with tempfile.TemporaryDirectory() as folder:
            found += measure(server, pathlib.Path(folder))
    return found


def one_by_one(
    wanted: Iterable[Wanted], minutes: float, make: Callable[[Wanted], One]
) -> Iterator[One]:
    """What is made of each, printed as a line of JSON; none is begun after so many minutes."""
    until = kill_harness.deadline(minutes)
    for one in wanted:
        if time.monotonic() > until:
            break
        made = make(one)
        print(json.dumps(made), flush=True)
        yield made


def publish(text: str, document: pathlib.Path | None, mark: str) -> None:
    """Print a table, and put it in the place of what is after a mark of a page."""
    print(text)
    if document:
        there = document.read_text(encoding="utf-8") if document.exists() else ""
        document.write_text(f"{there.partition(mark)[0]}{mark}\n{text}", encoding="utf-8")
