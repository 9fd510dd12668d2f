"""What the clients know, what a mark says of it, and which rows a disk lacks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import TypedDict

Row = tuple[int, int]
# A row as mysqlbinlog prints it: of a statement, and of a row event.
STATEMENT = re.compile(r"INSERT INTO app\.written .*VALUES \((\d+), (\d+)\)")
INTO = re.compile(r"### INSERT INTO `app`\.`written`")
VALUE = re.compile(r"###   @([12])=(\d+)")


class Account(TypedDict):
    """What the clients write at their end; see tests/support/clients/keep_writing.py."""

    attempted: list[int]
    confirmed: list[list[int]]
    moments: list[list[float]]


class Judgement(TypedDict):
    """What one disk lacks.

    Attributes:
        lost: rows that were confirmed and are not there.
        seconds: between the first of them and the crash.
        unexpected: rows that no client tried.
        twice: rows that are there more than once.
    """

    lost: int
    seconds: float
    unexpected: int
    twice: int


def confirmed_by(known: Account, moment: float) -> dict[Row, float]:
    """The rows that clients had been told are there, and when."""
    return {
        (client, number): told
        for client, (numbers, moments) in enumerate(
            zip(known["confirmed"], known["moments"], strict=True)
        )
        for number, told in zip(numbers, moments, strict=True)
        if told <= moment
    }


def judge(known: Account, moment: float, there: Iterable[Row]) -> Judgement:
    """A disk of a crash at or after this moment, by the rows that its server has."""
    rows = Counter(there)
    missing = {row: told for row, told in confirmed_by(known, moment).items() if row not in rows}
    return Judgement(
        lost=len(missing),
        seconds=round(moment - min(missing.values()), 3) if missing else 0.0,
        unexpected=sum(number > known["attempted"][client] for client, number in rows),
        twice=sum(times > 1 for times in rows.values()),
    )


def rows_in(printed: str) -> list[Row]:
    """The rows of the complete transactions that mysqlbinlog printed."""
    found: list[Row] = []
    open_rows: list[Row] = []
    inside, client = False, 0
    for line in printed.splitlines():
        if statement := STATEMENT.match(line):
            open_rows.append((int(statement[1]), int(statement[2])))
        elif line.startswith("### "):
            value = VALUE.match(line)
            if value and inside and value[1] == "1":
                client = int(value[2])
            elif value and inside:
                open_rows.append((client, int(value[2])))
            elif not value and line != "### SET":
                inside = bool(INTO.match(line))
        elif line.startswith(("BEGIN", "START TRANSACTION")):
            open_rows = []
        elif line.startswith("COMMIT"):
            found += open_rows
            open_rows = []
    return found
