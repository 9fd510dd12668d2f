# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import operator
import types

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import clock


@pytest.fixture
def passing(monkeypatch):
    """A clock that advances only by sleeping; the pauses so far."""
    pauses = []
    # The module's own name, not time.sleep: threads of other tests sleep as well.
    slept = types.SimpleNamespace(
        monotonic=lambda: 1000.0 + sum(pauses), sleep=pauses.append, time=lambda: 0.0
    )
    monkeypatch.setattr(clock, "time", slept)
    return pauses


def test_waiting_ends_with_the_first_look_that_is_enough(passing):
    seen = iter([0, 0, 7, 8])
    assert clock.wait_until(lambda: next(seen), 60, 2) == 7
    assert passing == [2, 2]


def test_what_was_seen_last_is_returned_where_time_is_up(passing):
    seen = iter(["a replica is missing", "still missing", "yet missing", "never asked"])
    assert clock.wait_until(lambda: next(seen), 2, 1, enough=operator.not_) == "yet missing"
    assert passing == [1, 1]


def test_a_look_that_took_until_the_time_was_up_is_not_the_last(passing):
    """As one at a server that was just starting, and answered meanwhile."""
    seen = iter(["down", "there"])

    def look():
        if not passing:
            passing.append(70)
        return next(seen)

    assert clock.wait_until(look, 60, 1, enough=lambda word: word == "there") == "there"
    assert passing == [70, 0]


def test_the_last_look_is_at_the_limit_and_not_a_pause_behind_it(passing):
    assert clock.wait_until(lambda: False, 5, 2) is False
    assert passing == [2, 2, 1]


def test_there_is_one_look_where_there_is_no_time(passing):
    assert clock.wait_until(lambda: False, 0, 1) is False
    assert passing == []


def test_a_clock_that_somebody_sets_changes_nothing(passing, monkeypatch):
    monkeypatch.setattr(clock.time, "time", iter([5.0, 900.0, 0.0, 1.0, 2.0]).__next__)
    assert clock.wait_until(lambda: None, 3, 1) is None
    assert passing == [1, 1, 1]


def test_times_are_utc():
    assert clock.utc(1795271384.9) == "2026-11-21T14:29:44Z"


@pytest.mark.parametrize(
    "moment,words",
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1795271384.25, "2026-11-21T14:29:44.250Z"),
        # It never says a later time than it was.
        (1795271384.9998, "2026-11-21T14:29:44.999Z"),
    ],
)
def test_times_with_milliseconds_are_utc_and_can_be_read_again(moment, words):
    assert clock.utc_milliseconds(moment) == words
    assert moment - 0.001 < clock.moment_of(words) <= moment
    assert clock.moment_of(clock.utc(moment)) == int(moment)


@pytest.mark.parametrize("words", ["", "None", "2026-11-21", "2026-11-21T14:29:44+01:00"])
def test_what_is_no_such_time_is_no_time_of_this_machines_zone(words):
    with pytest.raises(ValueError):
        clock.moment_of(words)
