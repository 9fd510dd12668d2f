# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which host took writes when: every role change up to a run, from the runs' records."""

from __future__ import annotations

import datetime
import itertools
import os
from collections.abc import Iterable
from typing import NamedTuple, TypedDict

from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import moment_of
from ansible_collections.dbre.semisync.plugins.module_utils._replication.journal import (
    DONE,
    UNKNOWN,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import results
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.figures import duration
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.record_shapes import (
    Certificate,
    Switchover,
)

SWITCHOVER, FAILOVER = "switchover", "failover"
FILES = {SWITCHOVER: "switchover.json", FAILOVER: "certificate.json"}
# The kinds of spans: a host took writes, no server did, or it was not observed.
WRITES, CLOSED, UNSEEN = "writes", "closed", "unseen"
# What a time of the heartbeat was: rows were written, none was, or they say that the source was
# degraded.
BEATS, SILENT, DEGRADED = WRITES, UNSEEN, CLOSED


class Change(NamedTuple):
    """A role change that was made or tried. Times are seconds since 1970, None if not known.

    Attributes:
        operation: SWITCHOVER or FAILOVER.
        before, after: which host took writes before and after it; after is None if that is not
            known.
        seen: when the host before was last seen.
        closed: since when it confirmed nothing more.
        opened: since when the host after took writes.
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
        """For how many seconds no server took writes."""
        if self.closed is None or self.opened is None:
            return None
        return max(0.0, self.opened - self.closed)


class Span(NamedTuple):
    """A span without a change; begin is None if it began before all records, end if it has not
    ended.

    Attributes:
        kind: WRITES, CLOSED or UNSEEN.
        host: who takes writes, or may have.
        change: that ended or made it; None of the last.
    """

    begin: float | None
    end: float | None
    kind: str
    host: str | None
    change: Change | None


class BeatTime(NamedTuple):
    """A time in which a server beat, did not, or was degraded, in seconds since 1970.

    Attributes:
        host: inventory name; what beats call the server if no record has its name.
        kind: BEATS, SILENT or DEGRADED.
        words: what it was.
    """

    host: str
    begin: float
    end: float
    kind: str
    words: str


# kind: of a Span.
WritableRow = TypedDict("WritableRow", {"from": str, "to": str, "words": str, "kind": str})


def moment(text: object) -> float | None:
    """A time as records have it, with fractions or without; None if there is none."""
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


def of_switchovers(record: Switchover, run: float) -> list[Change]:
    """The changes of a switchover.json: those that it completed or rolled back, then its own."""
    every = [*record.get("mended", []), record]
    return [change for one in every if (change := of_switchover(one, run))]


def of_switchover(record: Switchover, run: float) -> Change | None:
    """One change; None if writers were never kept out and nothing moved."""
    before, done = record["from"], record["outcome"] == DONE
    closed = moment(record["froze_at"])
    if closed is None:
        if not done:
            return None
        # The end of an interrupted one: it was not seen when it opened.
        return Change(SWITCHOVER, before, record["to"], None, None, None, run)
    after, opened = record["to"] if done else None, None
    waited = record["writers_waited_ms"]
    if record["outcome"] not in (DONE, UNKNOWN):
        after = before
    for times in record.get("writable", []):
        if times["from_ms"] is not None:
            after, opened = times["host"], closed + times["from_ms"] / 1000
    if opened is None and waited is not None:
        opened = closed + waited / 1000
    return Change(SWITCHOVER, before, after, closed, closed, opened, run)


def of_failover(kept: Certificate, run: float) -> Change | None:
    """The change of a certificate.json; None if no replica took over."""
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
    """The changes that one run recorded."""
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
            # It has another format, and is left out.
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
    """The newest changes without a gap. If a change began with another host than the previous one
    ended with, the role was moved without a record, and the changes before that are left out.
    """
    newest_first = sorted(changes, key=lambda change: change.order, reverse=True)
    linked = newest_first[:1]
    for change in newest_first[1:]:
        if change.after not in (None, linked[-1].before):
            break
        linked.append(change)
    return linked[::-1]


def spans(changes: list[Change]) -> list[Span]:
    """Which host took writes when, without a gap."""
    made: list[Span] = []
    begin: float | None = None
    host: str | None = changes[0].before if changes else None
    for change in changes:
        seen, closed = change.seen, change.closed
        if closed is None or host is None:
            end = change.at if closed is None else closed
            made.append(Span(begin, end, UNSEEN, None, change))
            begin = end
        elif seen is not None and (begin is None or seen > begin):
            made.append(Span(begin, seen, WRITES, host, change))
            begin = seen
        if closed is None:
            host = change.after
            continue
        if begin is None or begin < closed:
            made.append(Span(begin, closed, UNSEEN, host, change))
        begin, host = closed, None
        if change.opened is not None:
            made.append(Span(closed, change.opened, CLOSED, None, change))
            begin, host = change.opened, change.after
    if changes:
        kind = UNSEEN if host is None else WRITES
        made.append(Span(begin, None, kind, host, changes[-1] if host is None else None))
    return made


def span_text(span: Span) -> str:
    """What a span was."""
    change = span.change
    if span.kind == WRITES:
        return f"{span.host} takes writes"
    if change is None:
        return ""
    moved = f"{change.operation} from {change.before} to {change.after or 'an unknown host'}"
    moved += f": {change.verdict}" if change.verdict else ""
    if span.kind == CLOSED:
        return f"no server takes writes for {duration(1000 * (change.gap or 0))}; {moved}"
    if span.host is None:
        return f"it is not known which server takes writes; {moved}"
    return (
        f"it is not known until when {span.host} took writes: it was not observed, and at its end"
        " no replica acknowledged any more"
    )


def table(changes: list[Change]) -> list[WritableRow]:
    """The spans as rows of a table."""
    return [
        {
            "from": clock(one.begin) or "before",
            "to": clock(one.end) or "on",
            "words": span_text(one),
            "kind": one.kind,
        }
        for one in spans(changes)
    ]
