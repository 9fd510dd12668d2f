"""What drivers that measure have in common: servers one after another, and the table on a page."""

from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Callable, Iterable
from typing import TypeVar

One = TypeVar("One")


def of_each(servers: Iterable[str], measure: Callable[[str, pathlib.Path], list[One]]) -> list[One]:
    """What was measured on each kind of server, in a folder of its own."""
    found = []
    for server in servers:
        with tempfile.TemporaryDirectory() as folder:
            found += measure(server, pathlib.Path(folder))
    return found


def publish(text: str, document: pathlib.Path | None, mark: str) -> None:
    """Print a table, and put it in the place of what is after a mark of a page."""
    print(text)
    if document:
        there = document.read_text(encoding="utf-8") if document.exists() else ""
        document.write_text(f"{there.partition(mark)[0]}{mark}\n{text}", encoding="utf-8")
