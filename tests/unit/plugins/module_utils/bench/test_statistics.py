# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._bench import statistics


@pytest.mark.parametrize(
    "values,percent,expected",
    [
        ([5], 50, 5),
        ([1, 2], 50, 1.5),
        ([3, 1, 2], 50, 2),
        ([4, 1, 3, 2], 50, 2.5),
        ([1, 2, 3], 0, 1),
        ([1, 2, 3], 100, 3),
        (range(1, 101), 95, 95.05),
        (range(1, 101), 99, 99.01),
        ([7, 7, 7], 95, 7),
    ],
)
def test_percentiles(values, percent, expected):
    assert statistics.percentile(list(values), percent) == pytest.approx(expected)


def test_nothing_has_no_median():
    with pytest.raises(ValueError):
        statistics.median([])


@pytest.mark.parametrize(
    "values,expected", [([3], 0), ([2, 2], 0), ([2, 4, 4, 4, 5, 5, 7, 9], 2.13809)]
)
def test_stdev_is_the_samples(values, expected):
    assert statistics.stdev(values) == pytest.approx(expected, rel=1e-5)


def test_high_percentiles_lie_between_the_values():
    values = [1.0, 2.0, 3.0, 10.0]
    assert statistics.percentile(values, 50) == 2.5
    assert statistics.percentile(values, 95) == pytest.approx(8.95)
    assert statistics.percentile(values, 99) == pytest.approx(9.79)
