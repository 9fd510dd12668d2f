"""What the clients of `make demo` saw, in figures and in words."""

from __future__ import annotations

import itertools
from typing import Any

WRONG = {
    "lost": "confirmed rows lost",
    "unexpected": "that no client wrote",
    "twice": "there twice",
}
PROVEN = "proven"


def longest_wait(waits: list[list[float]], begin: float, end: float) -> float | None:
    """The longest that a client waited for a row that it began in a time; None if none did."""
    return max((seconds for moment, seconds in waits if begin <= moment <= end), default=None)


def without(times: list[float], moment: float) -> tuple[float, float] | None:
    """Of the longest time after a moment in which no row was confirmed: (its length, its end);
    None if none was confirmed after it.
    """
    pairs = itertools.pairwise(times)
    gaps = [(later - before, later) for before, later in pairs if later > moment]
    return max(gaps, default=None)


def rate(times: list[float], begin: float, end: float) -> float:
    """Confirmed rows a second."""
    return sum(begin <= moment <= end for moment in times) / (end - begin)


def amount(seconds: float | None) -> str:
    """Seconds for people."""
    if seconds is None:
        return "not seen"
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def figures(known: dict[str, Any], by_host: dict[str, dict[str, list[Any]]]) -> dict[str, Any]:
    """How many rows there were, and the worst of all hosts of what must not be.

    Args:
        known: what the clients know.
        by_host: host -> acknowledged.judge() of its rows.
    """
    counted: dict[str, Any] = {
        "attempted": sum(known["attempted"]),
        "confirmed": sum(map(len, known["confirmed"])),
        "unknown": sum(map(len, known["unknown"])),
    }
    return counted | {
        word: max((len(judged[word]) for judged in by_host.values()), default=None)
        for word in WRONG
    }


def complaints(counted: dict[str, Any], verdict: str) -> list[str]:
    """What is not as it should be; empty if the story ends well."""
    found = [
        f"{'it is not known how many' if counted[word] is None else counted[word]} {words}"
        for word, words in WRONG.items()
        if counted[word] != 0
    ]
    if counted["confirmed"] == 0:
        found.append("no row was confirmed")
    if verdict != PROVEN:
        found.append(f"the certificate says: {verdict}")
    return found


def table(rows: list[tuple[str, str]]) -> list[str]:
    """Two columns."""
    width = max(len(name) for name, _words in rows)
    return [f"  {name:<{width}}  {words}" for name, words in rows]
