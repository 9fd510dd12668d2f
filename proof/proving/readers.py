"""What the readers of all cycles saw, as the tables of docs/evidence/readers.md."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from proving import evidence
from proving.cycle import misread
from proving.faults import FAULTS
from proving.reads import PORTS
from proving.table import Record, grouped, head, of_commits, of_the_rest, row, total

# Cycles that are in no other table: made for the readers, on hosts of their own.
RECORDS = evidence.RECORDS.with_name("readers.json")
DOCUMENT = RECORDS.with_suffix(".md")


def every() -> list[Record]:
    """All cycles with readers."""
    found = [one for one in evidence.read() if "read" in one]
    return sorted([*found, *evidence.read(RECORDS)], key=evidence.key)


def summed(made: list[Record], port: str, name: str) -> int:
    return sum(one["read"][port][name] for one in made)


def cycles_with(made: list[Record], port: str, name: str) -> int:
    return sum(bool(one["read"][port][name]) for one in made)


def gaps(made: list[Record], port: str) -> str:
    """Seconds in which no reader had an answer: median, worst."""
    seconds = [one["read"][port]["without"] for one in made]
    return f"{statistics.median(seconds):.1f}, {max(seconds):.1f}"


def of_faults(records: list[Record]) -> list[tuple[str, str, list[Record]]]:
    return [one for one in grouped(records) if one[0] in FAULTS]


def moved(made: list[Record], port: str) -> str:
    return f"{summed(made, port, 'moved')} of {summed(made, port, 'readers')}"


def lines_of(
    records: list[Record], titles: tuple[str, ...], cells: Callable[[list[Record]], list[Any]]
) -> list[str]:
    """A table with a line for each fault and server."""
    lines = head("fault", "server", "cycles", *titles)
    for case, version, made in of_faults(records):
        lines.append(row(FAULTS[case].words, version, len(made), *cells(made)))
    return lines


SOURCE = (
    "confirmed rows lost", "reads", "rows seen", "seen and lost", "cycles with such a row",
    "time went back", "stale reads", "readers that were led to another server",
    "reads that lacked what a replica had shown", "seconds without an answer: median, worst",
)  # fmt: skip


def of_source(made: list[Record]) -> list[Any]:
    return [
        total(made, "lost"),
        *(summed(made, "source", name) for name in ("reads", "rows", "lost")),
        cycles_with(made, "source", "lost"),
        *(summed(made, "source", name) for name in ("back", "stale")),
        moved(made, "source"),
        summed(made, "source", "ahead"),
        gaps(made, "source"),
    ]


REPLICAS = (
    "reads", "rows seen", "seen and lost", "time went back on a connection",
    "the next replica lagged", "cycles with that", "readers that were led to another server",
    "seconds without an answer: median, worst",
)  # fmt: skip


def of_replicas(made: list[Record]) -> list[Any]:
    return [
        *(summed(made, "replicas", name) for name in ("reads", "rows", "lost", "back", "lagged")),
        cycles_with(made, "replicas", "lagged"),
        moved(made, "replicas"),
        gaps(made, "replicas"),
    ]


def words_of(record: Record) -> str:
    """A cycle in which readers saw what they may not."""
    seen: dict[str, Any] = record["read"]
    found = [
        f"{name} {seen[port][name]} by the port of the {port}"
        for port in PORTS
        for name in ("lost", "back", "stale")
        if seen[port].get(name)
    ]
    return f"{record['case']} {record['seed']} ({record['server']}): {', '.join(found)}"


def document(records: list[Record]) -> str:
    """Everything between the marks."""
    its = [one for one in records if one["judged"] and one["case"] in FAULTS]
    made = [one for one in its if "read" in one]
    amiss = [one for one in made if misread(one)]
    ended = "; ".join(map(words_of, amiss))
    told = f"Cycles in which a reader saw what it may not: {len(amiss)}"
    parts = [
        ["By the writers' port:", "", *lines_of(made, SOURCE, of_source)],
        ["By the readers' port:", "", *lines_of(made, REPLICAS, of_replicas)],
        [f"{told} ({ended})." if amiss else f"{told}."],
        [f"Cycles without a takeover, of which no reads are judged: {len(its) - len(made)}."],
        of_the_rest(records),
        of_commits(made),
    ]
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"
