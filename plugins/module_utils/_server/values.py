# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One spelling for the values of server variables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

# What an option file may say for thousands (MySQL manual, "Program Option Modifiers"; MariaDB
# likewise), as a shift.
SHIFTS = {"k": 10, "m": 20, "g": 30}

UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")


def canonical_value(value: int | str) -> str:
    """One spelling for the values that servers, option files and people write in several ways."""
    text = str(value).strip().strip("'\"")
    lowered = text.lower()
    if lowered in ("on", "true", "yes"):
        return "1"
    if lowered in ("off", "false", "no"):
        return "0"
    number = re.match(r"(\d+)([kmg])\Z", lowered)
    if number:
        return str(int(number.group(1)) << SHIFTS[number.group(2)])
    return lowered


def same_value(first: int | str | None, second: int | str | None) -> bool:
    """Whether the server would treat both as the same value of a variable."""
    if first is None or second is None:
        return False
    return canonical_value(first) == canonical_value(second)


def rises(
    before: Mapping[str, str | int | None],
    after: Mapping[str, str | int | None],
    names: Iterable[str],
) -> dict[str, int]:
    """How far each counter rose between two readings; one that either reading lacks stays out."""
    risen = {}
    for name in names:
        first, last = before.get(name), after.get(name)
        if first is not None and last is not None:
            risen[name] = int(last) - int(first)
    return risen


def as_number(value: int | str | None) -> int | None:
    """A whole number; None if there is none."""
    return None if value is None else int(value)


def text(value: object) -> str:
    """What the drivers return as bytes or as text."""
    return value.decode("utf-8", "replace") if isinstance(value, (bytes, bytearray)) else str(value)


def amount(count: float) -> str:
    """Bytes for people: 1288490188 is '1.3 GB'."""
    power = 0
    while count >= 1000 and power < len(UNITS) - 1:
        count, power = count / 1000, power + 1
    return f"{count:.1f} {UNITS[power]}" if power else f"{count:.0f} {UNITS[0]}"
