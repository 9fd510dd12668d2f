# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import random

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import resampling


def test_nothing_has_no_summary():
    assert resampling.summary([]) is None


def test_a_summary_is_the_same_every_time():
    values = [2.91, 2.84, 2.95, 2.88, 3.02]
    first = resampling.summary(values)
    assert first == resampling.summary(values)
    assert (
        first["n"] == 5 and first["median"] == 2.91 and (first["min"], first["max"]) == (2.84, 3.02)
    )
    assert first["min"] <= first["low"] <= first["median"] <= first["high"] <= first["max"]


def test_a_single_value_is_its_own_interval():
    assert resampling.interval([4.2]) == (4.2, 4.2)


def test_the_interval_holds_the_true_median_about_as_often_as_it_says():
    drawn = random.Random(1)
    held = 0
    for dummy in range(100):
        low, high = resampling.interval([drawn.gauss(10, 1) for dummy in range(11)])
        held += low <= 10 <= high
    assert held >= 88


def test_a_ratio_has_an_interval_around_it():
    value, low, high = resampling.ratio(
        [13.1, 13.4, 12.9, 13.2, 13.0], [2.91, 2.84, 2.95, 2.88, 3.02]
    )
    assert value == pytest.approx(13.1 / 2.91)
    assert 4.2 < low <= value <= high < 4.8


def test_a_ratio_needs_a_baseline():
    for baseline in ([0, 0], []):
        with pytest.raises(ValueError):
            resampling.ratio([1], baseline)


BASELINE = [2.91, 2.84, 2.95, 2.88, 3.02]


@pytest.mark.parametrize(
    "values,baseline,expected",
    [
        (BASELINE, BASELINE, "none"),
        ([2.86, 2.88, 2.85, 2.87, 2.86], BASELINE, "none"),  # inside the baseline's spread
        ([2.5, 2.8, 3.3, 3.2, 3.1], BASELINE, "none"),  # outside it, but too wide to say
        ([3.3, 3.31, 3.29, 3.32, 3.3], BASELINE, "higher"),
        ([2.5, 2.49, 2.51, 2.5, 2.48], BASELINE, "lower"),
        ([1.02], [1.0], "none"),  # what a restart alone does
        ([1.2], [1.0], "higher"),
    ],
)
def test_a_difference_inside_the_spread_is_none(values, baseline, expected):
    assert resampling.difference(values, baseline) == expected
