# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting, by the monotonic clock; and times as people read them."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import Any

WITHOUT_FRACTION, WITH_FRACTION = "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S.%fZ"


def wait_until(
    look: Callable[[], Any],
    seconds: float,
    pause: float,
    enough: Callable[[Any], Any] = bool,
) -> Any:
    """Call until the result is enough, or time is up. The last call begins after that, because a
    slow one shows an earlier moment.

    Args:
        look: called at least once.
        seconds: how long to go on.
        pause: seconds between two looks.
        enough: whether what was seen ends the waiting.

    Returns:
        what look() returned last.
    """
    deadline = time.monotonic() + seconds
    while True:
        last = time.monotonic() >= deadline
        seen = look()
        if enough(seen) or last:
            return seen
        time.sleep(min(pause, max(deadline - time.monotonic(), 0)))


def utc(moment: float) -> str:
    """A moment in seconds since 1970, such as 2026-01-31T12:00:00Z."""
    return time.strftime(WITHOUT_FRACTION, time.gmtime(moment))


def utc_milliseconds(moment: float) -> str:
    """The same with milliseconds, such as 2026-01-31T12:00:00.250Z."""
    at = datetime.datetime.fromtimestamp(moment, datetime.timezone.utc)
    return at.strftime(WITH_FRACTION)[: -len("000Z")] + "Z"


def moment_of(words: str) -> float:
    """The reverse of both: seconds since 1970.

    Raises:
        ValueError: it is no such time.
    """
    form = WITH_FRACTION if "." in words else WITHOUT_FRACTION
    at = datetime.datetime.strptime(words, form)
    return at.replace(tzinfo=datetime.timezone.utc).timestamp()
