# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._canary import pulse
from ansible_collections.dbre.semisync.plugins.module_utils._canary.canary_rows import MARK

BEFORE = {"status": "ON", "clients": "1", "yes_tx": "7", "no_tx": "0", "no_times": "0"}


def rows(status, clients, yes, no, number=5):
    return [
        {
            "at": 1.0,
            "latency_ms": 2.0,
            "status": status,
            "clients": clients,
            "yes_tx": yes,
            "no_tx": no,
            "no_times": 0,
        }
    ] * number


def test_a_row_is_what_the_counters_rose_by():
    after = dict(BEFORE, status="OFF", no_tx="3", no_times="1")
    assert pulse.entry(1795271384.1, 1.5012344, BEFORE, after) == {
        "at": 1795271384.1,
        "latency_ms": 1501.234,
        "status": "OFF",
        "clients": 1,
        "yes_tx": 0,
        "no_tx": 3,
        "no_times": 1,
    }


def test_rows_carry_the_canarys_mark_so_that_old_ones_are_deleted():
    assert pulse.row_text(MARK, "4711", 3) == "dbre.semisync canary drill 4711 3"


def test_a_line_that_is_not_whole_yet_is_left_out():
    first, second = json.dumps({"pid": 5}), json.dumps(rows("ON", 1, 1, 0)[0])
    assert pulse.parse(f"{first}\n{second}\n{second[:20]}") == (
        {"pid": 5},
        rows("ON", 1, 1, 0, 1),
        "",
    )
    assert pulse.parse('{"pid": 5}\n{"error": "gone"}\n') == ({"pid": 5}, [], "gone")
    assert pulse.parse("") == ({}, [], "")


@pytest.mark.parametrize(
    "wanted,there,words",
    [
        (("ON", 1), rows("ON", 1, 1, 0), []),
        (("ON", 1), rows("ON", 1, 9, 0), []),
        (("OFF", 0), rows("OFF", 0, 0, 1), []),
        (("ON", 1), rows("ON", 1, 1, 0, 4), ["4 rows so far, 5 are wanted"]),
        (
            ("ON", 1),
            rows("OFF", 0, 0, 1),
            [
                "semi-sync's status on the source is OFF, not ON",
                "the source counts 0 semi-sync clients, not 1",
            ],
        ),
        (("OFF", 0), rows("OFF", 1, 0, 1), ["the source counts 1 semi-sync clients, not 0"]),
        (("ON", 1), rows("ON", 1, 0, 0), ["not all of the newest 5 rows are acknowledged"]),
        (
            ("ON", 1),
            rows("OFF", 0, 0, 1, 3) + rows("ON", 1, 1, 0, 4),
            ["not all of the newest 5 rows are acknowledged"],
        ),
        (
            ("OFF", 0),
            rows("ON", 1, 1, 0, 3) + rows("OFF", 0, 0, 1, 4),
            ["not all of the newest 5 rows are unacknowledged"],
        ),
        (("ON", 1), rows("OFF", 0, 0, 1, 9) + rows("ON", 1, 1, 0), []),
    ],
)
def test_waiting_ends_when_each_of_the_newest_rows_is_as_wanted(wanted, there, words):
    assert pulse.unmet({"status": wanted[0], "clients": wanted[1], "rows": 5}, there) == words
