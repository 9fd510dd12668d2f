# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the proof with full disks draws, how it reads a run's words, and when a cycle is well."""

from __future__ import annotations

import pytest

from full_disks import cycles, document, is_well, names_disk
from support.disks import Disk
from support.live_hosts import Host

LOOK = {"command": "verify", "seconds": 4.0, "ended": True, "status": 2, "named": True}
MOVE = {"command": "switchover", "seconds": 9.0, "ended": True, "status": 2, "named": True}
AGAIN = MOVE | {"status": 0, "named": False}
RECORD = {
    "server": "mysql",
    "version": "9.7.4",
    "place": "candidate",
    "moment": "switchover",
    "seed": 1,
    "confirmed": 500,
    "unknown": 2,
    "wrong": {"lost": 0, "unexpected": 0, "twice": 0},
    "alike": True,
    "longest": 12.5,
    "commands": [MOVE, LOOK, AGAIN],
}


def with_commands(*commands):
    return RECORD | {"commands": list(commands)}


def test_each_place_has_the_moments_at_which_it_matters_in_turn():
    drawn = cycles(["mysql"], ["source", "candidate"], ["writing", "switchover", "failover"], 2, 7)
    assert [(one.place, one.moment, one.seed) for one in drawn] == [
        ("source", "writing", 7),
        ("candidate", "switchover", 7),
        ("source", "switchover", 8),
        ("candidate", "failover", 8),
    ]
    assert cycles(["mysql"], ["source"], ["failover"], 3, 7) == []


HOST = Host("disks", "candidate", "mysql", None)


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("semisync-disks-candidate: the file system of /var/lib/mysql is full (0 MB left)", True),
        ("semisync-disks-candidate:\n  the file system of /var/lib/mysql\n  is full", True),
        ("semisync-disks-source: the file system of /var/lib/mysql is full (0 MB left)", False),
        ("semisync-disks-candidate: timed out after 30 s; its data are in /var/lib/mysql", False),
        ("semisync-disks-candidate is full", False),
    ],
)
def test_a_disk_is_named_by_its_host_its_folder_and_that_it_is_full(said, named):
    assert names_disk(said, Disk(HOST, "/var/lib/mysql")) is named


def test_the_controller_s_disk_is_named_by_its_folder():
    disk = Disk(None, "/tmp/x/results")
    assert names_disk("/tmp/x/results/default/state.json: No space left on device", disk)
    assert not names_disk("the results are in /tmp/x/results", disk)


@pytest.mark.parametrize(
    ("record", "well"),
    [
        (RECORD, True),
        (with_commands(AGAIN, LOOK), True),
        (RECORD | {"wrong": {"lost": 1, "unexpected": 0, "twice": 0}}, False),
        (RECORD | {"alike": False}, False),
        (with_commands(MOVE | {"ended": False}, LOOK, AGAIN), False),
        (with_commands(MOVE | {"named": False}, LOOK, AGAIN), False),
        (with_commands(MOVE, LOOK | {"named": False}, AGAIN), False),
        (with_commands(MOVE, LOOK, MOVE), False),
    ],
)
def test_a_cycle_is_well_if_nothing_is_lost_and_each_command_ends_and_names_the_disk(record, well):
    assert is_well(record) is well


def test_a_line_of_the_table_adds_up_cycles_of_one_kind():
    other = RECORD | {"confirmed": 700, "longest": 30.0, "commands": [MOVE, LOOK, MOVE]}
    lines = document([RECORD, other]).splitlines()
    assert lines[2] == (
        "| 9.7.4 | candidate | switchover | 2 | 1200 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 1 | 9.0, 9.0 |"
        " 21.2, 30.0 |"
    )
    assert len({line.count("|") for line in lines}) == 1
