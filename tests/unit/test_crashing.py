# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What judges the disks that a power cut could have left."""

from __future__ import annotations

import io
import json
import random
import struct
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from crashing import account, ask, evidence, judging, page, writes
from crashing.cases import CASES

SECTOR = writes.SECTOR


def log_of(*lines: Any) -> io.BytesIO:
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
    more = writes.choose(every, 0, 12, random.Random(1))
    assert len(more) == 12 and set(chosen) < set(more)
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


def record(**other):
    way = {
        "judged": 6, "disks": 0, "rows": 0, "median": 0, "seconds": 0.0,
        "unexpected": 0, "twice": 0,
    }  # fmt: skip
    return {
        "at": "2026-11-27T08:47:47Z",
        "commit": "abc1234",
        "server": "mysql",
        "version": "9.7.4-2",
        "case": "settings",
        "host": "replica1",
        "seconds": 60.0,
        "attempted": 9,
        "confirmed": 8,
        "flushes": 7,
        "clean": 3,
        "damaged": 3,
        "unstarted": 0,
        "unstarted_clean": 0,
        "ways": {"received": dict(way), "restarted": dict(way, **other.pop("restarted", {}))},
        "per_point": 1.5,
        "load_run": 2.0,
        "load": 2.5,
        **other,
    }


NOT_STARTED = "on 1 disks the server did not start: torn"
LOSES = {"disks": 2, "rows": 9, "median": 7.5, "seconds": 5.2}


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (record(), []),
        (record(restarted=LOSES), ["2 disks lack up to 9 rows (restarted)"]),
        # It discards its relay log then, and the certificate knows.
        (record(restarted=LOSES, server="mariadb"), []),
        (record(restarted={"twice": 1}), ["rows are there unexpected or twice (restarted)"]),
        (record(unstarted=2, unstarted_clean=1, why="torn"), [NOT_STARTED]),
        # It does not flush its doublewrite file.
        (record(unstarted=2, why="torn"), []),
        (record(unstarted=1, why="torn", server="mariadb"), [NOT_STARTED]),
        (record(unstarted=1, why="torn", case="flush-method-fsync"), [NOT_STARTED]),
        (record(restarted=LOSES, case="relay-log-recovery"), []),
        (record(unstarted=1, why="torn", case="doublewrite-off"), []),
        (record(case="relay-log-recovery"), ["the control was not seen to lose"]),
    ],
)
def test_what_is_amiss_is_said_and_a_control_that_loses_nothing_is_amiss(one, words):
    said = page.amiss([one])
    assert [line.partition(": ")[2].removeprefix("replica1: ") for line in said] == words


def schema():
    return Draft202012Validator(json.loads(evidence.SCHEMA.read_text(encoding="utf-8")))


def test_the_committed_records_are_whole_and_the_tables_are_theirs():
    records = evidence.read()
    schema().validate(records)
    assert {one["case"] for one in records} <= set(CASES)
    assert page.document(records) in evidence.DOCUMENT.read_text(encoding="utf-8")


def test_a_record_takes_the_place_of_the_one_of_the_same_disks(tmp_path):
    path = tmp_path / "points.json"
    evidence.add([record(), record(host="source")], path)
    records = evidence.add([record(clean=5)], path)
    assert [(one["host"], one["clean"]) for one in records] == [("replica1", 5), ("source", 3)]
    assert records == evidence.read(path)


@pytest.mark.parametrize("changes", [{"commit": "main"}, {"ways": {}}, {"host": "source"}])
def test_a_record_that_is_not_whole_is_seen(changes):
    schema().validate([record()])
    assert not schema().is_valid([record(**changes)])


def test_what_the_disks_lack_is_counted_by_the_way_their_rows_were_read():
    found = [
        account.Judgement(lost=lost, seconds=seconds, unexpected=0, twice=0)
        for lost, seconds in ((0, 0.0), (3, 1.0), (8, 0.5))
    ]
    assert evidence.way_of(found) == {
        "judged": 3, "disks": 2, "rows": 8, "median": 5.5, "seconds": 1.0,
        "unexpected": 0, "twice": 0,
    }  # fmt: skip


def test_what_is_applied_and_still_in_the_relay_log_is_one_row():
    answer = ask.Answer(why="", tables=[(0, 1)], logs=[(0, 1), (0, 2)], restarted=[(0, 1)])
    ways = judging.of_ways(KNOWN, 11.0, answer, replica=True)
    assert {way: (one["lost"], one["twice"]) for way, one in ways.items()} == {
        "received": (1, 0), "restarted": (2, 0),
    }  # fmt: skip
    assert set(judging.of_ways(KNOWN, 11.0, answer, replica=False)) == {"tables", "logged"}


def test_a_disk_whose_server_does_not_start_is_judged_by_its_binary_log():
    answer = ask.Answer(why="torn", tables=[], logs=[(0, 1)], restarted=[])
    assert set(judging.of_ways(KNOWN, 11.0, answer, replica=False)) == {"logged"}
    assert judging.of_ways(KNOWN, 11.0, answer, replica=True) == {}
    answer["logs"] = None
    assert judging.of_ways(KNOWN, 11.0, answer, replica=False) == {}


def test_what_is_known_to_go_wrong_is_on_the_page():
    (said,) = page.torn([record(unstarted=2, unstarted_clean=1, why="page corruption"), record()])
    assert "on 2 disks" in said and "page corruption" in said
    assert f"- {said}" in page.document([record(unstarted=2, why="page corruption")])
