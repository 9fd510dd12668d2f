"""The log of dm-log-writes, and the disks that a power cut could have left by it.

The target logs a write only at the flush after it, and a FUA write at once; the format is in the
kernel's Documentation/admin-guide/device-mapper/log-writes.rst and drivers/md/dm-log-writes.c.
"""

from __future__ import annotations

import itertools
import random
import struct
from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple

MAGIC, VERSION = 0x6A736677736872, 1
SUPER = struct.Struct("<QQQI")
ENTRY = struct.Struct("<QQQQ")
FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8
# What a disk writes whole, and what the log counts in.
SECTOR = 512


class LogError(Exception):
    """The log is none, or it does not go on to its end."""


class Entry(NamedTuple):
    """One line of the log.

    Attributes:
        sector: where the data go.
        sectors: how many.
        flags: FLUSH and the others.
        at: where the data are in the log, in bytes.
        mark: its text, if it is a mark.
    """

    sector: int
    sectors: int
    flags: int
    at: int
    mark: str = ""


class Span(NamedTuple):
    """The time between the end of one flush and the end of the next.

    Attributes:
        flush: how many flushes had ended.
        begin: the first entry of it.
        end: the entry of the flush that ends it, or the number of all entries.
        mark: the last mark before its end; -1 before the first.
        writes: how many entries of it change the disk.
    """

    flush: int
    begin: int
    end: int
    mark: int
    writes: int


class Point(NamedTuple):
    """A disk to be judged: of a span, with all that was flushed; and a part of the rest if there is
    a seed.
    """

    span: Span
    seed: int | None

    @property
    def name(self) -> str:
        return f"{self.span.flush}" if self.seed is None else f"{self.span.flush}+{self.seed}"


class Piece(NamedTuple):
    """Sectors of an entry that reached the disk: the first and the one after the last."""

    entry: Entry
    first: int
    last: int


def read_log(stream: BinaryIO, size: int) -> list[Entry]:
    """All entries of a log on a device of this size.

    Raises:
        LogError: it is none; or the device was full, and the log does not have all writes.
    """
    magic, version, entries, sector_size = SUPER.unpack(stream.read(SUPER.size))
    if (magic, version, sector_size) != (MAGIC, VERSION, SECTOR):
        raise LogError(f"no log of writes: {magic:#x}, version {version}, sector {sector_size}")
    found: list[Entry] = []
    place = SECTOR
    for _number in range(entries):
        stream.seek(place)
        sector, sectors, flags, length = ENTRY.unpack(stream.read(ENTRY.size))
        text = stream.read(length).decode() if flags & MARK else ""
        found.append(Entry(sector, sectors, flags, place + SECTOR, text))
        place += SECTOR + (0 if flags & DISCARD else sectors * SECTOR)
        if place >= size:
            raise LogError(f"the log's device was full after {len(found)} entries")
    return found


def spans(entries: list[Entry]) -> list[Span]:
    """Those of a log, in their order. Marks are numbers."""
    found: list[Span] = []
    begin, mark, writes = 0, -1, 0
    for place, entry in enumerate(entries):
        if entry.flags & MARK:
            mark = int(entry.mark)
        if entry.flags & FLUSH:
            found.append(Span(len(found), begin, place, mark, writes))
            # Data that came with a flush are in the span after it.
            begin, writes = place, 0
        writes += entry.sectors > 0
    return [*found, Span(len(found), begin, len(entries), mark, writes)]


def spread(number: int) -> Iterator[int]:
    """The numbers below this one, such that the first of them, however many, are spread evenly:
    those of as many bits, read backwards.
    """
    bits = max(1, (number - 1).bit_length())
    backwards = (int(f"{place:0{bits}b}"[::-1], 2) for place in range(1 << bits))
    return (place for place in backwards if place < number)


def choose(every: list[Span], first: int, wanted: int, draw: random.Random) -> list[Point]:
    """Points of spans that have a write and, at the earliest, the first mark that demands a row:
    half of them with nothing that was not flushed, half with a random part of it. More points
    of a log are those of before, and others between them.
    """
    marked = [span for span in every if span.mark >= first and span.writes]
    places = itertools.islice(spread(len(marked)), max(1, wanted // 2))
    drawn = [(marked[place], draw.randrange(10**6)) for place in places]
    return [Point(span, seed) for span, each in sorted(drawn) for seed in (None, each)]


def writes_of(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Those that change the disk."""
    return (entry for entry in entries if entry.sectors)


def pieces(entries: list[Entry], point: Point) -> list[Piece]:
    """What of a point's span reached the disk: each FUA write, and of the others what its seed
    draws: whole, lost, or torn at a sector, of which either end may be there.
    """
    draw = random.Random(point.seed)
    # Of some disks nearly all is lost, of others nearly nothing.
    whole, torn = sorted((draw.random(), draw.random()))
    found = []
    for entry in writes_of(entries[point.span.begin : point.span.end]):
        first, last = 0, entry.sectors
        if not entry.flags & FUA:
            if point.seed is None:
                continue
            luck = draw.random()
            if luck >= torn:
                continue
            if luck >= whole:
                cut = draw.randint(0, entry.sectors)
                first, last = draw.choice(((0, cut), (cut, entry.sectors)))
        found.append(Piece(entry, first, last))
    return [piece for piece in found if piece.first < piece.last]


def replay(log: BinaryIO, found: Iterable[Piece], disk: BinaryIO) -> None:
    """Write pieces to a disk, in their order."""
    for entry, first, last in found:
        disk.seek((entry.sector + first) * SECTOR)
        if entry.flags & DISCARD:
            disk.write(bytes((last - first) * SECTOR))
        else:
            log.seek(entry.at + first * SECTOR)
            disk.write(log.read((last - first) * SECTOR))


def all_of(entries: Iterable[Entry]) -> Iterator[Piece]:
    """Every write, whole."""
    return (Piece(entry, 0, entry.sectors) for entry in writes_of(entries))
