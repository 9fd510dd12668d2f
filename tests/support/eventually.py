"""Waiting for a condition, with a bound."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PAUSE_SECONDS = 0.1


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
        if time.monotonic() - begin >= seconds:
            words = what if isinstance(what, str) else what()
            raise AssertionError(f"not within {seconds} s: {words}")
        time.sleep(PAUSE_SECONDS)
    return time.monotonic() - begin
