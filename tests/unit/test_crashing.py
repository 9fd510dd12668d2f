# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What judges the disks that a power cut could have left."""

from __future__ import annotations

import io
import random
import struct

import pytest

from crashing import account, writes

SECTOR = writes.SECTOR


def log_of(*lines: tuple) -> io.BytesIO:
    """A log: (sector, data, flags), or the text of a mark."""
    made = io.BytesIO()
    made.write(writes.SUPER.pack(writes.MAGIC, 1, len(lines), SECTOR).ljust(SECTOR, b"\0"))
    for line in lines:
        if isinstance(line, str):
            entry, data = writes.ENTRY.pack(0, 0, writes.MARK, len(line)) + line.encode(), b""
        else:
            sector, data, flags = line
            entry = writes.ENTRY.pack(sector, len(data) // SECTOR, flags, 0)
        made.write(entry.ljust(SECTOR, b"\0") + data)
    made.seek(0)
    return made


def sectors(letters: str) -> bytes:
    return b"".join(letter.encode() * SECTOR for letter in letters)


def read(stream: io.BytesIO) -> list[writes.Entry]:
    return writes.read_log(stream, 1 << 20)


LOG = (
    (0, sectors("ab"), 0),
    (0, b"", writes.FLUSH),
    "0",
    (4, sectors("F"), writes.FUA),
    (2, sectors("cdefgh"), 0),
    "1",
    (0, b"", writes.FLUSH),
    (0, sectors("z"), 0),
)


def test_a_log_is_read_with_the_place_of_its_data():
    log = log_of(*LOG)
    entries = read(log)
    assert [(entry.sector, entry.sectors, entry.flags) for entry in entries] == [
        (0, 2, 0), (0, 0, 1), (0, 0, 8), (4, 1, 2), (2, 6, 0), (0, 0, 8), (0, 0, 1), (0, 1, 0),
    ]  # fmt: skip
    log.seek(entries[4].at)
    assert log.read(6 * SECTOR) == sectors("cdefgh")
    assert [entry.mark for entry in entries if entry.flags & writes.MARK] == ["0", "1"]


def test_a_log_whose_device_was_full_is_refused():
    with pytest.raises(writes.LogError, match="full after 6 entries"):
        writes.read_log(log_of(*LOG), 16 * SECTOR)


def test_what_is_no_log_is_refused():
    with pytest.raises(writes.LogError, match="no log of writes"):
        writes.read_log(io.BytesIO(struct.pack("<QQQI", 1, 1, 0, 512)), 1 << 20)


def test_a_span_goes_from_flush_to_flush_and_knows_the_last_mark_before_its_end():
    assert writes.spans(read(log_of(*LOG))) == [
        writes.Span(flush=0, begin=0, end=1, mark=-1, writes=1),
        writes.Span(flush=1, begin=1, end=6, mark=1, writes=2),
        writes.Span(flush=2, begin=6, end=8, mark=1, writes=1),
    ]


def test_points_are_spread_over_the_spans_with_a_mark_and_a_write():
    every = [
        writes.Span(flush=flush, begin=flush, end=flush + 1, mark=flush - 2, writes=flush != 5)
        for flush in range(12)
    ]
    chosen = writes.choose(every, 0, 6, random.Random(1))
    assert [point.span.flush for point in chosen] == [2, 2, 7, 7, 11, 11]
    assert [point.seed is None for point in chosen] == [True, False] * 3
    assert chosen == writes.choose(every, 0, 6, random.Random(1))
    assert len(writes.choose(every, 1, 1000, random.Random(1))) == 16
    assert writes.choose(every[:2], 0, 6, random.Random(1)) == []


def disk_at(point: writes.Point) -> bytes:
    log, disk = log_of(*LOG), io.BytesIO(bytes(8 * SECTOR))
    entries = read(log)
    writes.replay(log, writes.all_of(entries[: point.span.begin]), disk)
    writes.replay(log, writes.pieces(entries, point), disk)
    return b"".join(disk.getvalue()[place : place + 1] for place in range(0, 8 * SECTOR, SECTOR))


def test_a_disk_has_what_was_flushed_and_what_was_forced_and_nothing_else():
    point = writes.Point(writes.spans(read(log_of(*LOG)))[1], None)
    assert disk_at(point) == b"ab\0\0F\0\0\0"


def test_of_the_rest_each_part_can_be_there_be_lost_or_be_torn_at_a_sector():
    span = writes.spans(read(log_of(*LOG)))[1]
    disks = {disk_at(writes.Point(span, seed)) for seed in range(400)}
    whole, ends = b"cdefgh", set()
    for disk in disks:
        assert disk[:2] == b"ab"
        # The write goes over the forced one, which the log has before it.
        rest = disk[2:]
        there = [rest[place : place + 1] == whole[place : place + 1] for place in range(6)]
        ends.add((there[0], there[-1], all(there)))
    assert ends == {
        (True, True, True), (False, False, False), (True, False, False), (False, True, False),
    }  # fmt: skip


KNOWN = account.Account(attempted=[3, 2], confirmed=[[1, 2], [1]], moments=[[10.0, 11.0], [10.5]])


@pytest.mark.parametrize(
    ("moment", "there", "lost", "seconds", "unexpected", "twice"),
    [
        (9.0, [], 0, 0.0, 0, 0),
        (10.6, [(0, 1)], 1, 0.1, 0, 0),
        (10.6, [(0, 1), (1, 1)], 0, 0.0, 0, 0),
        # What was confirmed later, or is unknown, may be there.
        (10.6, [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2)], 0, 0.0, 0, 0),
        (12.0, [(0, 2), (1, 1)], 1, 2.0, 0, 0),
        (12.0, [(0, 1), (0, 1), (0, 2), (1, 1), (1, 3)], 0, 0.0, 1, 1),
    ],
)
def test_a_row_is_lost_if_it_was_confirmed_by_the_mark(
    moment, there, lost, seconds, unexpected, twice
):
    assert account.judge(KNOWN, moment, there) == {
        "lost": lost, "seconds": pytest.approx(seconds), "unexpected": unexpected, "twice": twice,
    }  # fmt: skip


PRINTED = """\
# at 330
START TRANSACTION
/*!*/;
INSERT INTO app.written (client, number) VALUES (4, 17)
/*!*/;
COMMIT/*!*/;
BEGIN
/*!*/;
### INSERT INTO `app`.`written`
### SET
###   @1=5
###   @2=18
### INSERT INTO `app`.`other`
### SET
###   @1=6
###   @2=19
COMMIT/*!*/;
BEGIN
/*!*/;
INSERT INTO app.written (client, number) VALUES (7, 20)
/*!*/;
"""


def test_rows_of_whole_transactions_are_read_from_what_mysqlbinlog_prints():
    assert account.rows_in(PRINTED) == [(4, 17), (5, 18)]
