# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._heartbeat import rows, summary


def beat(second, status="ON", no_tx=0, server="u1", uptime=None, enabled="ON"):
    """A beat of so many seconds after the first."""
    facts = dict.fromkeys((*rows.TEXTS, *rows.NUMBERS, *rows.LISTS))
    return {
        "number": second,
        "server": server,
        "boot": "boot",
        "monotonic": 100.0 + second,
        "wall": 1000.0 + second,
        "uptime": 50 + second if uptime is None else uptime,
        "facts": {**facts, "status": status, "enabled": enabled, "no_tx": no_tx},
        "gtid": "u1:1-5",
    }


def summarized(*beats):
    return summary.summarize(rows.Reading(list(reversed(beats)), 2), 1012.5, 1)


def test_the_age_is_of_the_newest():
    made = summarized(beat(1), beat(2), beat(3))
    assert (made["age"], made["number"], made["server"], made["rows"]) == (9.5, 3, "u1", 3)
    assert (made["gaps"], made["degraded"], made["unreadable"]) == ([], [], 2)


def test_no_row_has_no_age():
    made = summary.summarize(rows.Reading([], 0), 1012.5, 1)
    assert (made["age"], made["server"], made["rows"]) == (None, None, 0)


@pytest.mark.parametrize(
    "beats,expected",
    [
        ([beat(1), beat(6)], []),
        ([beat(1), beat(7)], [(1001.0, 1007.0)]),
        # Another server took over, or it was restarted: no gap of a server.
        ([beat(1), beat(9, server="u2")], []),
        ([beat(1), beat(9, uptime=1)], []),
    ],
)
def test_gaps_are_of_one_start(beats, expected):
    seen = [(gap["begin"], gap["end"]) for gap in summarized(*beats)["gaps"]]
    assert seen == expected


@pytest.mark.parametrize(
    "beats,expected",
    [
        ([], []),
        ([beat(1), beat(2), beat(3)], [("u1", 1001.0, 1003.0, 3)]),
        ([beat(1), beat(7)], [("u1", 1001.0, 1001.0, 1), ("u1", 1007.0, 1007.0, 1)]),
        (
            [beat(1), beat(2), beat(3, server="u2"), beat(4, server="u2")],
            [("u1", 1001.0, 1002.0, 2), ("u2", 1003.0, 1004.0, 2)],
        ),
        # It was restarted.
        (
            [beat(1), beat(2), beat(3, uptime=1)],
            [("u1", 1001.0, 1002.0, 2), ("u1", 1003.0, 1003.0, 1)],
        ),
    ],
)
def test_spans_are_of_one_start_without_a_gap(beats, expected):
    seen = [tuple(span.values()) for span in summarized(*beats)["spans"]]
    assert seen == expected


@pytest.mark.parametrize(
    "beats,expected",
    [
        ([beat(1), beat(2, "OFF", 4), beat(3, "OFF", 9), beat(4, "ON", 9)], [(1001, 1004, 9)]),
        ([beat(1), beat(2, "OFF", 4)], [(1001, None, 4)]),
        ([beat(2, "OFF", 4), beat(3, "ON", 6)], [(None, 1003, 2)]),
        # Switched off by hand: not degraded, and found otherwise.
        ([beat(1), beat(2, "OFF", 4, enabled="OFF"), beat(3)], []),
        # A status that could not be read ends nothing.
        (
            [beat(1), beat(2, "OFF", 4), beat(3, None, 6), beat(4, no_tx=9)],
            [(1001, 1004, 9)],
        ),
        # FLUSH STATUS: the count is lost.
        ([beat(1, no_tx=7), beat(2, "OFF", 4), beat(3, no_tx=4)], [(1001, 1003, None)]),
        # The server ended in it.
        ([beat(1), beat(2, "OFF", 4), beat(3, uptime=1)], [(1001, None, 4)]),
        # It ended, and what comes after its restart or from its successor goes on.
        (
            [beat(1), beat(2, "OFF", 4), beat(3, uptime=1, no_tx=9), beat(4, uptime=2, no_tx=9)],
            [(1001, None, 4)],
        ),
        (
            [beat(1), beat(2, "OFF", 4), beat(3, server="u2"), beat(4, server="u2", no_tx=9)],
            [(1001, None, 4)],
        ),
        (
            [beat(1), beat(2, "OFF", 1), beat(3, no_tx=1), beat(4, "OFF", 3), beat(5, no_tx=3)],
            [(1001, 1003, 1), (1003, 1005, 2)],
        ),
    ],
)
def test_degraded_times_are_bounded_by_the_beats_around_them(beats, expected):
    seen = [(time["begin"], time["end"], time["alone"]) for time in summarized(*beats)["degraded"]]
    assert seen == expected
