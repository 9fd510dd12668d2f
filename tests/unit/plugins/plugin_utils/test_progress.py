# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import progress


@pytest.mark.parametrize(
    "seconds,words", [(5, "5 s"), (89, "89 s"), (600, "10 min"), (7380, "2 h 03 min")]
)
def test_durations_are_told_in_words(seconds, words):
    assert progress.duration_text(seconds) == words


def seen(missing, behind=None):
    return {
        "missing": missing,
        "seconds_behind": behind,
        "place": {"file": "binlog.000041", "position": 120},
    }


def test_a_replica_that_catches_up_shows_how_far_it_is_and_about_how_long_it_takes():
    assert (
        progress.catch_up_line("r1", seen(200), 500, "", 30)
        == "  catch up r1:   30 s  200 of 500 transactions to apply; about 20 s left"
    )


def test_the_time_of_a_replica_that_applies_nothing_is_not_guessed():
    line = progress.catch_up_line("r1", seen(500), 500, "", 30)
    assert line.endswith("500 of 500 transactions to apply; it is not known how long it takes")


def test_a_replica_that_is_not_in_time_says_how_far_it_came():
    said = progress.time_is_up_message("r1", seen(200, 12), 500, "", 30)
    assert (
        "after 30 s" in said
        and "200 of 500 transactions are missing, it applies 10.0 a second (12 s behind" in said
    )
    assert "it applies none. No data" in progress.time_is_up_message("r1", seen(500), 500, "", 30)


def test_what_is_said_of_a_replica_that_follows_by_file_and_position():
    target = "binlog.000042:1337"
    assert (
        progress.catch_up_line("r1", seen(None), None, target, 5)
        == "  catch up r1:    5 s  applied binlog.000041:120 of binlog.000042:1337"
    )
    said = progress.time_is_up_message("r1", seen(None), None, target, 60)
    assert "after 60 s it has not applied all up to binlog.000042:1337: it is at" in said


@pytest.mark.parametrize(
    "stage,done,words",
    [
        ("loads", 0, "0 bytes of about 2.0 GB (0 %); it is not known how long it takes"),
        ("loads", 5 * 10**8, "500.0 MB of about 2.0 GB (25 %); about 42 s left"),
        ("loads", 3 * 10**9, "3.0 GB of about 2.0 GB, more than was estimated"),
        # All bytes are there, and what comes after them is not counted in bytes.
        ("restarts", 2 * 10**9, "2.0 GB of about 2.0 GB (100 %)"),
        ("clears", 0, "0 bytes of about 2.0 GB (0 %)"),
    ],
)
def test_a_line_of_a_seeding_does_not_claim_more_than_is_known(stage, done, words):
    assert (
        progress.seed_line("db2", {"stage": stage, "bytes": done, "total": 2 * 10**9}, 14)
        == f"  seed db2:   14 s  {stage:<10} {words}"
    )
