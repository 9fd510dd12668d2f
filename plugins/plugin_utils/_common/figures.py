# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The middle of figures, and figures as people read them."""

from __future__ import annotations

from collections.abc import Iterable


def median_of_known(values: Iterable[float | None]) -> float | None:
    """The median of the values that are known; None if there are none."""
    # Not by `statistics`, which is dear to import and would be for every run.
    known = sorted(value for value in values if value is not None)
    half = len(known) // 2
    if len(known) % 2:
        return known[half]
    return (known[half - 1] + known[half]) / 2 if known else None


def short(number: float) -> str:
    """A number for people: three significant digits, thousands with a comma, never an exponent."""
    if abs(number) >= 99.95:
        return f"{number:,.0f}"
    decimals = 0
    while number and abs(number) * 10**decimals < 99.95 and decimals < 6:
        decimals += 1
    text = f"{number:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def duration(milliseconds: float) -> str:
    """A time for people, in milliseconds or seconds."""
    if milliseconds < 1000:
        return f"{short(milliseconds)} ms"
    return f"{short(milliseconds / 1000.0)} s"
