# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The types of what the hosts of a rejoin return, and of rejoin.json."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Check
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.part_results import (
    LogsBegin,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        ErrantTransaction,
        HeldRow,
    )

# What its hosts return


class NewSourceLook(LogsBegin, total=False):
    """What was read on the new source's host; `exposed` has tables without transactions."""

    exposed: list[str]


class Ready(TypedDict, total=False):
    """A former source's old data: where they are, or why they were not kept."""

    kept: str
    not_kept: str


# What is kept


class Phantoms(TypedDict):
    """The transactions that only a former source has.

    Attributes:
        gtids: all of them, as of errant.Judged.
        lacking, transactions, tables, lasting: as far as its log was read; see LogRead.
        count: None if it was not read.
        not_shown: why not; empty if it was.
    """

    gtids: str
    lacking: list[str]
    count: int | None
    transactions: list[ErrantTransaction]
    tables: dict[str, dict[str, int]]
    lasting: list[str]
    not_shown: str


class LogEnd(TypedDict):
    """What is kept of a LogRead."""

    files: list[str]
    end: int
    torn_bytes: int
    torn_gtid: str


class WayRow(TypedDict):
    """A method of a rejoin; see methods.Way."""

    name: str
    closed: str
    does: str


class FirstVerdict(TypedDict):
    """A rejoin's verdict before the former source was started."""

    verdict: str
    phantoms: Phantoms
    read_by: str | None
    way: str


# `from` is the source that lost its role when this replica was away.
Missed = TypedDict("Missed", {"from": str, "happened": str})


class RejoinVerdict(FirstVerdict):
    """The verdict on a former source.

    Attributes:
        read_by: connection or files; None if it was not read.
        way: the method that is wanted.
        held_since: when it lost its role; None if it did not.
    """

    cluster: str
    host: str
    source: str
    why: list[str]
    hindrances: list[str]
    log: LogEnd | None
    held_since: str | None
    missed: Missed | None
    ways: list[WayRow]
    points: list[Check]


class RejoinRecord(RejoinVerdict, total=False):
    """rejoin.json, with the outcome; only a second verdict has `before`."""

    run: str | None
    outcome: str
    before: FirstVerdict
    kept_data: str | None
    not_kept: str | None


class RejoinJudged(TypedDict, total=False):
    """What a rejoin's judgement returned.

    Attributes:
        hosts: host -> what it is given.
        away, behind: hosts without a part in it; see RejoinFacts.
    """

    go: bool
    host: str
    way: str
    hosts: dict[str, dict[str, object]]
    away: list[str]
    behind: list[str]
    missed: HeldRow | None
    record: RejoinRecord
