"""Waiting for a condition, with a bound."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PAUSE_SECONDS = 0.1
# Of what has passed: who has waited long may wait a little longer, and a look may cost a lot.
PAUSE_SHARE = 0.1
LONGEST_PAUSE_SECONDS = 0.5


def eventually(
    condition: Callable[[], Any],
    what: str | Callable[[], str] = "the condition holds",
    seconds: float = 60,
) -> float:
    """Wait until a condition holds; the seconds that it took.

    Args:
        condition: what must become true.
        what: what did not happen, in words; a function where it takes asking.
        seconds: how long it may take.
    """
    begin = time.monotonic()
    while not condition():
        passed = time.monotonic() - begin
        if passed >= seconds:
            words = what if isinstance(what, str) else what()
            raise AssertionError(f"not within {seconds} s: {words}")
        time.sleep(max(PAUSE_SECONDS, min(PAUSE_SHARE * passed, LONGEST_PAUSE_SECONDS)))
    return time.monotonic() - begin
