# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One check, of a checkpoint or a premise: its identifier, its host, what was expected, what was
observed, and an outcome: passed, failed, or, with a reason, unknown or not_applicable.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.plugin_utils.words import (
    FAILED,
    NOT_APPLICABLE,
    OUTCOMES,
    PASSED,
    UNKNOWN,
)


def row(
    point: str,
    host: str,
    title: str,
    expected: str,
    observed: str,
    good: bool | None,
    reason: str = "",
) -> dict[str, Any]:
    """One checkpoint; good is True, False, or None for not applicable."""
    outcome = NOT_APPLICABLE if good is None else PASSED if good else FAILED
    return {
        "id": point,
        "host": host,
        "title": title,
        "expected": expected,
        "observed": observed,
        "outcome": outcome,
        "reason": reason,
    }


def unseen(point: str, host: str, title: str, expected: str, reason: str) -> dict[str, Any]:
    """A checkpoint that could not be seen, which says nothing of the server."""
    return dict(row(point, host, title, expected, "", None, reason), outcome=UNKNOWN)


def if_seen(
    seen: Any, missing: str, point: str, host: str, title: str, expected: str, *rest: Any
) -> dict[str, Any]:
    """row() of what was seen; where nothing was, unseen() for the reason of that."""
    if not seen:
        return unseen(point, host, title, expected, missing)
    return row(point, host, title, expected, *rest)


def at(moment: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with the time of their verdict."""
    return [dict(entry, at=moment) for entry in rows]


def table(rows: list[dict[str, Any]], name: str) -> str:
    """The checkpoints as text for people: a line per row, the expected value only where missed."""
    widths = [max([len(entry[key]) for entry in rows] + [4]) for key in ("id", "host")]
    words = {PASSED: "passed", FAILED: "FAILED", UNKNOWN: "unknown", NOT_APPLICABLE: "n/a"}
    width = max(len(words[entry["outcome"]]) for entry in rows)
    lines = [f"Checkpoints of cluster {name}"]
    for entry in rows:
        unsaid = entry["outcome"] in (UNKNOWN, NOT_APPLICABLE)
        what = entry["reason"] if unsaid else entry["observed"]
        line = (
            f"  {entry['id']:{widths[0]}}  {words[entry['outcome']]:{width}} "
            f" {entry['host']:{widths[1]}}  {entry['title']}: {what}"
        )
        if entry["outcome"] == FAILED:
            line += f" (expected: {entry['expected']})" + (
                " - " + entry["reason"] if entry["reason"] else ""
            )
        lines.append(line)
    return "\n".join(lines)


def failed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry for entry in rows if entry["outcome"] == FAILED]


def unknown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry for entry in rows if entry["outcome"] == UNKNOWN]


def verdict(rows: list[dict[str, Any]]) -> str:
    """One line: how many of each, and the identifiers of those that failed or are not known."""
    count = {
        outcome: len([entry for entry in rows if entry["outcome"] == outcome])
        for outcome in OUTCOMES
    }
    line = f"{count[PASSED]} passed, {count[FAILED]} failed, {count[NOT_APPLICABLE]} not applicable"
    if count[UNKNOWN]:
        line += f", {count[UNKNOWN]} unknown"
    wrong, unseen = named(failed(rows)), named(unknown(rows))
    if wrong:
        line += f": {wrong}"
    if unseen:
        line += f"; unknown: {unseen}" if wrong else f": {unseen}"
    return line


def named(rows: list[dict[str, Any]]) -> str:
    return ", ".join(f"{entry['id']} on {entry['host']}" for entry in rows)
