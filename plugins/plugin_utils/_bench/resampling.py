# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How certain medians are, and whether two differ: pure functions that give the same figures for
the same values on every controller.
"""

from __future__ import annotations

import functools
import random

from ansible_collections.dbre.semisync.plugins.module_utils._bench.statistics import (
    median,
    percentile,
    stdev,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_shapes import Summary

RESAMPLES = 2000
SEED = 20130127
# The share of resampled medians that a 95 % interval leaves out on each side.
TAIL = 2.5
# With fewer repetitions a baseline has no measured spread. Restarts alone change results by about
# this much.
ENOUGH = 3
UNKNOWN_SPREAD = 0.03


# The same cell is compared with several others, and its figures are shown in several places.
@functools.lru_cache(maxsize=256)
def resampled_medians(values: tuple[float, ...], seed: int) -> tuple[float, ...]:
    """Medians of samples drawn from the values with replacement (Efron's bootstrap)."""
    drawn = random.Random(seed)  # noqa: S311 - nothing secret
    return tuple(
        median([values[drawn.randrange(len(values))] for dummy in values])
        for dummy in range(RESAMPLES)
    )


def interval(values: list[float], seed: int = SEED) -> tuple[float, float]:
    """(low, high): the bootstrap 95 % interval of the median, by percentiles. A single value is its
    own interval.
    """
    medians = resampled_medians(tuple(values), seed)
    return percentile(medians, TAIL), percentile(medians, 100 - TAIL)


def summary(values: list[float]) -> Summary | None:
    """What a list of figures comes to; None for an empty one."""
    if not values:
        return None
    low, high = interval(values)
    return {
        "n": len(values),
        "median": median(values),
        "low": low,
        "high": high,
        "min": min(values),
        "max": max(values),
        "stdev": stdev(values),
    }


def ratio(values: list[float], baseline: list[float]) -> tuple[float, float, float]:
    """(value, low, high): the ratio of two samples' medians, with its bootstrap 95 % interval.

    Raises:
        ValueError: a sample is empty or the baseline's median is not above 0.
    """
    below = median(baseline)
    if below <= 0:
        raise ValueError(f"the baseline's median is {below!r}")
    pairs = zip(
        resampled_medians(tuple(values), SEED),
        resampled_medians(tuple(baseline), SEED + 1),
        strict=False,
    )
    ratios = [above / other for above, other in pairs if other > 0]
    return median(values) / below, percentile(ratios, TAIL), percentile(ratios, 100 - TAIL)


def difference(values: list[float], baseline: list[float]) -> str:
    """none, higher or lower: a sample's median compared with a baseline.

    It is none if the median is within the baseline's own spread, or if the ratio's interval
    contains 1.
    """
    value, low, high = ratio(values, baseline)
    spread = [min(baseline) / median(baseline), max(baseline) / median(baseline)]
    if len(baseline) < ENOUGH:
        spread = [spread[0] - UNKNOWN_SPREAD, spread[1] + UNKNOWN_SPREAD]
    if low <= 1 <= high or spread[0] <= value <= spread[1]:
        return "none"
    return "higher" if value > 1 else "lower"
