# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who could write when: every change of roles up to a run, from the records that the runs left."""

from __future__ import annotations

import datetime
import itertools
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils.host.clock import moment_of
from ansible_collections.dbre.semisync.plugins.module_utils.replication.journal import DONE, UNKNOWN
from ansible_collections.dbre.semisync.plugins.plugin_utils import results
from ansible_collections.dbre.semisync.plugins.plugin_utils.report.text_switchover import (
    milliseconds,
)

SWITCHOVER, FAILOVER = "switchover", "failover"
FILES = {SWITCHOVER: "switchover.json", FAILOVER: "certificate.json"}
# What a stretch of time was.
WRITES, NOBODY, UNSEEN = "writes", "nobody", "unseen"


class Change(NamedTuple):
    """A change of roles that was made, or tried. Times are seconds since 1970, None where nothing
    tells.

    Attributes:
        operation: SWITCHOVER or FAILOVER.
        before, after: who took writes before it, and after it; after is None where that is not
            known.
        seen: until when the one before was seen.
        closed: from when on it confirmed nothing more.
        opened: from when on the one after took writes.
        at: when the run was, at the least.
        verdict: of a failover's certificate, else "".
    """

    operation: str
    before: str
    after: str | None
    seen: float | None
    closed: float | None
    opened: float | None
    at: float
    verdict: str = ""

    @property
    def order(self) -> float:
        return self.opened or self.closed or self.at

    @property
    def gap(self) -> float | None:
        """For how long nobody took writes, in seconds."""
        if self.closed is None or self.opened is None:
            return None
        return max(0.0, self.opened - self.closed)


class Stretch(NamedTuple):
    """A time in which the same was so; begin is None where it began before all records, end where
    it lasts.

    Attributes:
        kind: WRITES, NOBODY or UNSEEN.
        host: who takes writes, or may have.
        change: that ended or made it; None of the last.
    """

    begin: float | None
    end: float | None
    kind: str
    host: str | None
    change: Change | None


def moment(text: Any) -> float | None:
    """A time as records have it, with fractions or without; None where there is none."""
    try:
        return moment_of(str(text))
    except ValueError:
        return None


def clock(seconds: float | None) -> str:
    """2026-11-22 13:57:33.527 UTC"""
    if seconds is None:
        return ""
    at = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return at.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + " UTC"


def of_switchovers(record: dict[str, Any], run: float) -> list[Change]:
    """The changes of a switchover.json: that of the run, behind those that it mended first."""
    every = [*record.get("mended", []), record]
    return [change for one in every if (change := of_switchover(one, run))]


def of_switchover(record: dict[str, Any], run: float) -> Change | None:
    """One change; None where writers were never kept out, and nothing moved."""
    before, done = record["from"], record["outcome"] == DONE
    closed = moment(record["froze_at"])
    if closed is None:
        if not done:
            return None
        # The rest of one that was interrupted: nobody has seen when it opened.
        return Change(SWITCHOVER, before, record["to"], None, None, None, run)
    after, opened = record["to"] if done else None, None
    waited = record["writers_waited_ms"]
    if record["outcome"] not in (DONE, UNKNOWN):
        after = before
    for span in record.get("writable", []):
        if span["from_ms"] is not None:
            after, opened = span["host"], closed + span["from_ms"] / 1000
    if opened is None and waited is not None:
        opened = closed + waited / 1000
    return Change(SWITCHOVER, before, after, closed, closed, opened, run)


def of_failover(kept: dict[str, Any], run: float) -> Change | None:
    """The change of a certificate.json; None where nobody took over."""
    if kept["outcome"] not in (DONE, UNKNOWN):
        return None
    ended = moment(kept.get("source_ended_at"))
    closed = ended or moment(kept.get("frozen_at")) or moment(kept["at"])
    seen = ended or moment(kept.get("source_seen_at"))
    if seen is not None and closed is not None:
        seen = min(seen, closed)
    opened = moment(kept.get("opened_at"))
    after = kept.get("opened_after_ms")
    if opened is None and after is not None:
        opened = run + after / 1000
    to = kept["to"] if kept["outcome"] == DONE else None
    return Change(FAILOVER, kept["from"], to, seen, closed, opened, run, kept["verdict"])


def of_folder(folder: str) -> list[Change]:
    """The changes that one run has left."""
    run = results.begun_at(os.path.basename(folder))
    changes: list[Change] = []
    if run is None:
        return changes
    for operation, name in FILES.items():
        record = results.read_json(os.path.join(folder, name), None)
        try:
            if record is not None and operation == SWITCHOVER:
                changes += of_switchovers(record, run)
            elif record is not None:
                changes += [change for change in [of_failover(record, run)] if change]
        except (KeyError, TypeError):
            # Of another format, or by another hand: it tells nothing.
            continue
    return changes


def up_to(folder: str) -> list[Change]:
    """The changes of a run's cluster up to that run, the first one first."""
    base, last = os.path.split(os.path.abspath(folder))
    names = sorted(name for name in os.listdir(base) if name <= last)
    kept = [
        name
        for name in names
        if any(os.path.exists(os.path.join(base, name, file)) for file in FILES.values())
    ]
    return chain(
        itertools.chain.from_iterable(of_folder(os.path.join(base, name)) for name in kept)
    )


def chain(changes: Iterable[Change]) -> list[Change]:
    """The newest changes that follow from each other. Where one began with another host than the
    one before it ended with, somebody moved the role without a record, and what was before that
    says nothing.
    """
    newest_first = sorted(changes, key=lambda change: change.order, reverse=True)
    linked = newest_first[:1]
    for change in newest_first[1:]:
        if change.after not in (None, linked[-1].before):
            break
        linked.append(change)
    return linked[::-1]


def stretches(changes: list[Change]) -> list[Stretch]:
    """Who took writes when, without a gap."""
    made: list[Stretch] = []
    begin: float | None = None
    host: str | None = changes[0].before if changes else None
    for change in changes:
        seen, closed = change.seen, change.closed
        if closed is None or host is None:
            end = change.at if closed is None else closed
            made.append(Stretch(begin, end, UNSEEN, None, change))
            begin = end
        elif seen is not None and (begin is None or seen > begin):
            made.append(Stretch(begin, seen, WRITES, host, change))
            begin = seen
        if closed is None:
            host = change.after
            continue
        if begin is None or begin < closed:
            made.append(Stretch(begin, closed, UNSEEN, host, change))
        begin, host = closed, None
        if change.opened is not None:
            made.append(Stretch(closed, change.opened, NOBODY, None, change))
            begin, host = change.opened, change.after
    if changes:
        kind = UNSEEN if host is None else WRITES
        made.append(Stretch(begin, None, kind, host, changes[-1] if host is None else None))
    return made


def in_words(stretch: Stretch) -> str:
    """What a stretch was."""
    change = stretch.change
    if stretch.kind == WRITES:
        return f"{stretch.host} takes writes"
    if change is None:
        return ""
    moved = f"{change.operation} from {change.before} to {change.after or 'nobody that is known'}"
    moved += f": {change.verdict}" if change.verdict else ""
    if stretch.kind == NOBODY:
        return f"nobody takes writes for {milliseconds(1000 * (change.gap or 0))}; {moved}"
    if stretch.host is None:
        return f"it is not known who takes writes; {moved}"
    return (
        f"it is not known until when {stretch.host} took writes: nobody looked, and at its end no"
        " replica acknowledged any more"
    )


def told(changes: list[Change]) -> list[dict[str, Any]]:
    """The stretches as rows of a table: from, to, words, and kind."""
    return [
        {
            "from": clock(one.begin) or "before",
            "to": clock(one.end) or "on",
            "words": in_words(one),
            "kind": one.kind,
        }
        for one in stretches(changes)
    ]
