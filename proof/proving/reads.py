"""Whether a reader saw what was lost, or saw time go back: by what the readers were shown, what the
writers were told, and the rows that the servers which are left have in the end.

A row is never changed or deleted, so a server that has one keeps it. A reader is shown the newest
row of each writer. It saw a row if that was the newest in one of its reads.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

Row = tuple[int, int]
PORTS = ("source", "replicas")
# A row that is known from a moment on: a client was told that it is there, or was shown it.
Known = tuple[float, int, int]


class Read(NamedTuple):
    """What one read showed.

    Attributes:
        begin, end: when the client asked, and when it was told, in seconds since 1970.
        connection: of this client, counted.
        host: the server that answered.
        newest: writer -> the number of its newest row.
    """

    begin: float
    end: float
    connection: int
    host: str
    newest: dict[int, int]

    @property
    def rows(self) -> Iterable[Row]:
        return self.newest.items()


def parsed(reads: Iterable[Sequence[Any]]) -> list[Read]:
    """What keep_reading.py kept of one reader."""
    made = []
    for begin, end, connection, host, words in reads:
        pairs = [word.split(":") for word in words.split(",") if word]
        newest = {int(client): int(number) for client, number in pairs}
        made.append(Read(begin, end, connection, host, newest))
    return made


def missing(rows: Iterable[Row], there: Mapping[str, Collection[Row]]) -> set[Row]:
    """Those that some server which is left does not have."""
    return {row for row in rows if any(row not in its for its in there.values())}


def gone_back(
    reads: Iterable[Read], there: Mapping[str, Collection[Row]], lost: Collection[Row]
) -> set[Row]:
    """The rows that one of these reads showed and a later one did not have: what it showed is
    older, or it was answered by another server, which does not have the row in the end either.
    """
    found: set[Row] = set()
    newest: dict[int, int] = {}
    doomed: dict[Row, str] = {}
    for read in reads:
        found |= {row for row in newest.items() if read.newest.get(row[0], 0) < row[1]}
        its = there.get(read.host)
        if its is not None:
            found |= {row for row, by in doomed.items() if by != read.host and row not in its}
        for client, number in read.rows:
            newest[client] = max(number, newest.get(client, 0))
            if (client, number) in lost:
                doomed.setdefault((client, number), read.host)
    return found


def within_connections(
    reads: Iterable[Read], there: Mapping[str, Collection[Row]], lost: Collection[Row]
) -> set[Row]:
    """The same of each connection by itself."""
    each = itertools.groupby(reads, lambda read: read.connection)
    return set().union(*(gone_back(its, there, lost) for _number, its in each))


def older(reads: Iterable[Read], known: Iterable[Known]) -> int:
    """How many reads showed less than was known before they began."""
    events, place = sorted(known), 0
    newest: dict[int, int] = {}
    count = 0
    for read in sorted(reads, key=lambda read: read.begin):
        while place < len(events) and events[place][0] < read.begin:
            _moment, client, number = events[place]
            newest[client] = max(number, newest.get(client, 0))
            place += 1
        count += any(read.newest.get(client, 0) < number for client, number in newest.items())
    return count


def shown(reads: Iterable[Read]) -> list[Known]:
    return [(read.end, client, number) for read in reads for client, number in read.rows]


def longest_gap(reads: Iterable[Read]) -> float:
    """Seconds between two answers, to any of them."""
    ends = sorted(read.end for read in reads)
    return round(max((b - a for a, b in itertools.pairwise(ends)), default=0.0), 1)


def of_port(
    readers: list[list[Read]], there: Mapping[str, Collection[Row]], lost: Collection[Row]
) -> dict[str, Any]:
    """What is said of the readers of either port."""
    every = [read for reads in readers for read in reads]
    rows = {row for read in every for row in read.rows}
    return {
        "readers": len(readers),
        "reads": len(every),
        "rows": len(rows),
        "lost": len(rows & set(lost)),
        "moved": sum(len({read.host for read in reads}) > 1 for reads in readers),
        "without": longest_gap(every),
    }


def judge(
    known: Mapping[str, Any],
    there: Mapping[str, Collection[Row]],
    confirmed: Mapping[Row, float],
) -> dict[str, Any]:
    """What is kept of a cycle's reads: of the readers by the writers' port, which leads to the
    source, and of those by the readers' port, which leads to the replicas.

    back is wrong of either. lagged is not: another replica may have applied less. Nor is ahead, how
    many reads of the source lacked what a replica had shown before: that one may apply a row before
    the source knows that it has received it.

    Args:
        known: what keep_reading.py kept.
        there: the rows in the end of each server that is left.
        confirmed: when each row was confirmed to its writer.
    """
    by_port = {
        port: [parsed(one["reads"]) for one in known["readers"] if one["port"] == port]
        for port in PORTS
    }
    of_source, of_replicas = ([read for reads in by_port[port] for read in reads] for port in PORTS)
    lost = missing({row for read in of_source + of_replicas for row in read.rows}, there)
    source, replicas = (of_port(by_port[port], there, lost) for port in PORTS)
    source["back"] = sum(len(gone_back(reads, there, lost)) for reads in by_port["source"])
    told = [(moment, client, number) for (client, number), moment in confirmed.items()]
    source["stale"] = older(of_source, told + shown(of_source))
    source["ahead"] = older(of_source, shown(of_replicas))
    replicas.update(back=0, lagged=0)
    for reads in by_port["replicas"]:
        alone = within_connections(reads, there, lost)
        replicas["back"] += len(alone)
        replicas["lagged"] += len(gone_back(reads, there, lost) - alone)
    return {"source": source, "replicas": replicas}
