# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `make demo` says of its clients' rows, and when it says that something is wrong."""

from __future__ import annotations

import io
from collections import Counter

import pytest

from support import told
from support.acknowledged import judge
from support.clients import keep_writing

KNOWN = {"attempted": [3, 2], "confirmed": [[1, 2], [1]], "unknown": [[3], [2]]}


def rows(*found):
    return {"db3": judge(KNOWN, Counter(found))}


def test_rows_are_counted_on_the_clients_side():
    counted = told.figures(KNOWN, rows((0, 1), (0, 2), (0, 3), (1, 1)))
    assert counted == {
        "attempted": 5,
        "confirmed": 3,
        "unknown": 2,
        "lost": 0,
        "unexpected": 0,
        "twice": 0,
    }
    assert told.complaints(counted, "proven") == []


@pytest.mark.parametrize(
    "by_host,verdict,complaint",
    [
        (rows((0, 1), (1, 1)), "proven", "1 confirmed rows lost"),
        (rows((0, 1), (0, 2), (1, 1), (7, 7)), "proven", "1 that no client wrote"),
        (
            {"db3": judge(KNOWN, Counter({(0, 1): 2, (0, 2): 1, (1, 1): 1}))},
            "proven",
            "1 there twice",
        ),
        (rows((0, 1), (0, 2), (1, 1)), "not proven", "the certificate says: not proven"),
        # Of one host alone the rows are gone.
        (
            rows((0, 1), (0, 2), (1, 1)) | {"db1": judge(KNOWN, Counter([(0, 1), (0, 2)]))},
            "proven",
            "1 confirmed rows lost",
        ),
        ({}, "proven", "it is not known how many confirmed rows lost"),
    ],
)
def test_the_story_does_not_end_well_where(by_host, verdict, complaint):
    assert complaint in told.complaints(told.figures(KNOWN, by_host), verdict)


def test_a_story_without_rows_proves_nothing():
    nothing = {"attempted": [0], "confirmed": [[]], "unknown": [[]]}
    counted = told.figures(nothing, {"db3": judge(nothing, Counter())})
    assert told.complaints(counted, "proven") == ["no row was confirmed"]


def test_the_time_without_a_confirmed_row_is_the_longest_behind_the_cut():
    times = [1.0, 8.0, 9.0, 10.0, 33.5, 34.0]
    assert told.without(times, 9.5) == (23.5, 33.5)
    # The clients' last row was before it.
    assert told.without(times, 40.0) is None


def test_a_wait_belongs_to_what_went_on_when_it_began():
    waits = [[5.0, 0.01], [10.0, 0.4], [12.0, 0.02], [30.0, 20.0]]
    assert told.longest_wait(waits, 9.0, 20.0) == 0.4
    assert told.longest_wait(waits, 13.0, 20.0) is None


def test_rows_a_second():
    assert told.rate([0.5, 1.0, 1.5, 2.0, 9.0], 1.0, 3.0) == 1.5


@pytest.mark.parametrize(
    "seconds,words", [(None, "not seen"), (0.412, "412 ms"), (23.46, "23.5 s")]
)
def test_seconds_for_people(seconds, words):
    assert told.amount(seconds) == words


def test_clients_end_with_their_standard_input_or_at_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    stop = keep_writing.Stop("-")
    assert stop.ended.wait(10) and stop.asked()
    file = tmp_path / "stop"
    stop = keep_writing.Stop(str(file))
    assert not stop.asked()
    file.touch()
    assert stop.asked()
