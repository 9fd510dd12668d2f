# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One check, of a checkpoint or a premise of a role change: host, what was expected and observed,
outcome. And one case: what keeps a role change from going on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypedDict

from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import (
    FAILED,
    NOT_APPLICABLE,
    OUTCOMES,
    PASSED,
    UNKNOWN,
)

WORDS = {PASSED: "passed", FAILED: "FAILED", UNKNOWN: "unknown", NOT_APPLICABLE: "n/a"}


class Judged(TypedDict):
    """A check as it is decided.

    Attributes:
        id: of the checkpoint or premise, such as P3.1.
        host: inventory name.
        title: what is checked.
        expected, observed: texts; observed is empty if nothing could be seen.
        outcome: one of OUTCOMES.
        reason: why it is unknown or not applicable, or more about a failure.
    """

    id: str
    host: str
    title: str
    expected: str
    observed: str
    outcome: str
    reason: str


class Check(Judged, total=False):
    """A check as results keep it.

    Attributes:
        at: when it was decided, as results have times.
        statement: shows the same by hand.
        remedy: what to do if it failed.
    """

    at: str
    statement: str
    remedy: str


class CaseRow(TypedDict):
    """A case, as a certificate keeps it."""

    name: str
    words: str
    remedy: str
    acceptable: bool


class Case(NamedTuple):
    """One reason not to go on.

    Attributes:
        name: as in semisync_failover_accept.
        words: what was found.
        remedy: what to do.
        acceptable: whether it can be accepted.
    """

    name: str
    words: str
    remedy: str
    acceptable: bool = False

    def row(self) -> CaseRow:
        """The same in a certificate."""
        return {
            "name": self.name,
            "words": self.words,
            "remedy": self.remedy,
            "acceptable": self.acceptable,
        }


class Point(NamedTuple):
    """What is checked, before it was looked at.

    Attributes:
        id, host, title, expected: as of a Judged.
    """

    id: str
    host: str
    title: str
    expected: str

    def seen(self, observed: str, good: bool, reason: str = "") -> Check:
        """Passed or failed."""
        return self.with_outcome(PASSED if good else FAILED, observed, reason)

    def not_applicable(self, reason: str, observed: str = "") -> Check:
        return self.with_outcome(NOT_APPLICABLE, observed, reason)

    def unknown(self, reason: str) -> Check:
        """It could not be seen, which says nothing about the server."""
        return self.with_outcome(UNKNOWN, "", reason)

    def with_outcome(self, outcome: str, observed: str, reason: str) -> Check:
        return {
            "id": self.id,
            "host": self.host,
            "title": self.title,
            "expected": self.expected,
            "observed": observed,
            "outcome": outcome,
            "reason": reason,
        }


def row(
    point: str,
    host: str,
    title: str,
    expected: str,
    observed: str,
    good: bool | None,
    reason: str = "",
) -> Check:
    """One check; good is True, False, or None for not applicable."""
    checked = Point(point, host, title, expected)
    if good is None:
        return checked.not_applicable(reason, observed)
    return checked.seen(observed, good, reason)


def condition(point: str, host: str, title: str, observed: str, good: bool, remedy: str) -> Check:
    """A check whose title says what is expected, with what to do if it fails."""
    return {**row(point, host, title, title, observed, good), "remedy": remedy}


def unseen(point: str, host: str, title: str, expected: str, reason: str) -> Check:
    """A check that could not be made; see Point.unknown()."""
    return Point(point, host, title, expected).unknown(reason)


def if_seen(
    seen: object,
    missing: str,
    point: str,
    host: str,
    title: str,
    expected: str,
    observed: str,
    good: bool,
) -> Check:
    """row() of what was seen; if nothing was, unseen() with the reason for that."""
    if not seen:
        return unseen(point, host, title, expected, missing)
    return row(point, host, title, expected, observed, good)


def at(moment: str, rows: Sequence[Check]) -> list[Check]:
    """The rows with the time of their verdict."""
    return [{**entry, "at": moment} for entry in rows]


def table(rows: Sequence[Check], name: str) -> str:
    """The checks as text for people: a line per row, the expected value only if it was missed."""
    return "\n".join([f"Checkpoints of cluster {name}", *lines_of(rows)])


def lines_of(rows: Sequence[Check]) -> list[str]:
    """A line per row. Rows of a host that could not be seen for one reason have one line."""
    groups: dict[tuple[object, ...], list[Check]] = {}
    for number, entry in enumerate(rows):
        unseen_for = (entry["host"], entry["reason"]) if entry["outcome"] == UNKNOWN else (number,)
        groups.setdefault(unseen_for, []).append(entry)
    marks = [", ".join(one["id"] for one in group) for group in groups.values()]
    id_width = max([len(mark) for mark in marks if ", " not in mark] + [4])
    host_width = max([len(entry["host"]) for entry in rows] + [4])
    width = max([len(WORDS[entry["outcome"]]) for entry in rows] + [0])
    lines = []
    for mark, group in zip(marks, groups.values(), strict=True):
        entry = group[0]
        title = f"{entry['title']}: " if len(group) == 1 else ""
        line = (
            f"  {mark:{id_width}}  {WORDS[entry['outcome']]:{width}} "
            f" {entry['host']:{host_width}}  {title}{explanation(entry)}"
        )
        if entry["outcome"] == FAILED:
            line += f" (expected: {entry['expected']})"
            line += f" - {entry['reason']}" if entry["reason"] else ""
        lines.append(line)
    return lines


def short_table(rows: Sequence[Check], name: str, path: str | None) -> str:
    """How many checks had which outcome, where all of them are, and those that are not as wanted.

    Args:
        path: the file with all of them, if there is one.
    """
    elsewhere = "-v" + (f", or {path}" if path else "")
    wrong = [entry for entry in rows if entry["outcome"] in (FAILED, UNKNOWN)]
    head = f"Checkpoints of cluster {name}: {counts(rows)}; all of them: {elsewhere}"
    return "\n".join([head, *lines_of(wrong)])


def explanation(entry: Check) -> str:
    """What was observed; the reason if nothing was, or nothing had to be."""
    unsaid = entry["outcome"] in (UNKNOWN, NOT_APPLICABLE)
    return entry["reason"] if unsaid else entry["observed"]


def failed(rows: Sequence[Check]) -> list[Check]:
    return [entry for entry in rows if entry["outcome"] == FAILED]


def unknown(rows: Sequence[Check]) -> list[Check]:
    return [entry for entry in rows if entry["outcome"] == UNKNOWN]


def counts(rows: Sequence[Check]) -> str:
    """How many rows have which outcome; no word of one that could not be seen if there is none."""
    outcomes = [entry["outcome"] for entry in rows]
    count = {outcome: outcomes.count(outcome) for outcome in OUTCOMES}
    line = f"{count[PASSED]} passed, {count[FAILED]} failed, {count[NOT_APPLICABLE]} not applicable"
    return line + (f", {count[UNKNOWN]} unknown" if count[UNKNOWN] else "")


def verdict(rows: Sequence[Check]) -> str:
    """One line: how many of each, and the identifiers of those that failed or are not known."""
    line = counts(rows)
    wrong, unseen_ids = named(failed(rows)), named(unknown(rows))
    if wrong:
        line += f": {wrong}"
    if unseen_ids:
        line += f"; unknown: {unseen_ids}" if wrong else f": {unseen_ids}"
    return line


def named(rows: Sequence[Check]) -> str:
    return ", ".join(f"{entry['id']} on {entry['host']}" for entry in rows)
