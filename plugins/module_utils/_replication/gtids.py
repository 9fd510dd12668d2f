# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GTIDs of MySQL and of MariaDB; gtid_type.py says what they are and what can be asked."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping

from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtid_type import Gtids

INTERVALS = r"(:[1-9]\d*(-\d+)?)+"
SET = re.compile(
    rf"^[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}({INTERVALS})?(:[a-z_]\w*{INTERVALS})*$",
    re.ASCII,
)
TRIPLE = re.compile(r"^(\d+)-(\d+)-(\d+)$", re.ASCII)
SPACE = re.compile(r"\s")
# How many parsed texts are cached: a part that waits parses the same few again and again.
KEPT = 256


class MysqlGtids(Gtids):
    """A GTID set of MySQL."""

    __slots__ = ("_intervals",)

    STATE = APPLIED = "gtid_executed"
    SERVER = "server_uuid"

    def __init__(self, intervals: Mapping[str, tuple[tuple[int, int], ...]]) -> None:
        """intervals: 'uuid[:tag]' -> (first, last) in their order, none next to another."""
        self._intervals = intervals

    @classmethod
    def parse(cls, text: str | None) -> MysqlGtids:
        return read_set(text or "")

    @classmethod
    def server_of(cls, variables: Mapping[str, object]) -> str:
        return super().server_of(variables).lower()

    @classmethod
    def disorder(cls, names: Iterable[str | None]) -> str:
        # Commits may be in any order, and a set has none.
        return ""

    def union(self, other: Gtids) -> MysqlGtids:
        intervals = dict(self._intervals)
        for key, more in self._of_same_kind(other).items():
            intervals[key] = merge([*intervals.get(key, ()), *more])
        return MysqlGtids(intervals)

    def latest(self) -> MysqlGtids:
        return self

    def minus(self, other: Gtids) -> MysqlGtids:
        theirs = self._of_same_kind(other)
        rest = {
            key: without(intervals, theirs.get(key, ()))
            for key, intervals in self._intervals.items()
        }
        left = {key: intervals for key, intervals in rest.items() if intervals}
        return MysqlGtids(left)

    def beyond(self, other: Gtids) -> MysqlGtids:
        return self.minus(other)

    def lacked_by(self, had: Gtids, by_log: bool) -> MysqlGtids:
        lacking = self.minus(had)
        if not by_log:
            return lacking
        logged = self._of_same_kind(had)
        seen = {
            key: tuple(one for one in intervals if one[0] > logged[key][0][0])
            for key, intervals in lacking._intervals.items()
            if key in logged
        }
        left = {key: intervals for key, intervals in seen.items() if intervals}
        return MysqlGtids(left)

    def with_copied(self, there: Gtids, server: str) -> MysqlGtids:
        logged = self._intervals
        own = server.lower()
        copied = {}
        for key, intervals in MysqlGtids(self._of_same_kind(there)).minus(self)._intervals.items():
            begin = logged[key][0][0] if key in logged else 0
            copied[key] = tuple(one for one in intervals if writer(key) == own or one[0] < begin)
        return self.union(MysqlGtids({key: some for key, some in copied.items() if some}))

    def of_server(self, server: str) -> MysqlGtids:
        own = server.lower()
        return MysqlGtids(
            {key: some for key, some in self._intervals.items() if writer(key) == own}
        )

    def same_places(self, other: Gtids) -> MysqlGtids:
        theirs = self._of_same_kind(other)
        left = {key: some for key, some in self._intervals.items() if key in theirs}
        return MysqlGtids(left)

    def missing_of(self, wanted: Gtids) -> int:
        lacking = MysqlGtids(self._of_same_kind(wanted)).minus(self)
        return lacking.count()

    def count(self) -> int:
        """How many transactions these are."""
        return sum(
            last - first + 1 for intervals in self._intervals.values() for first, last in intervals
        )

    def _of_same_kind(self, other: Gtids) -> Mapping[str, tuple[tuple[int, int], ...]]:
        if not isinstance(other, MysqlGtids):
            raise TypeError(f"{other!r} is not of MySQL")
        return other._intervals

    def spell(self) -> str:
        return ",".join(
            key
            + "".join(f":{first}" if first == last else f":{first}-{last}" for first, last in some)
            for key, some in sorted(self._intervals.items())
        )

    def __bool__(self) -> bool:
        return bool(self._intervals)


class MariadbGtids(Gtids):
    """A GTID list of MariaDB, a position or a state."""

    __slots__ = ("_last",)

    STATE = "gtid_binlog_state"
    APPLIED = "gtid_slave_pos"
    SERVER = "server_id"

    def __init__(self, last: Mapping[tuple[int, int], int]) -> None:
        """last: (domain, server) -> sequence number, in the order in which they were named."""
        self._last = last

    @classmethod
    def parse(cls, text: str | None) -> MariadbGtids:
        return read_list(text or "")

    @classmethod
    def disorder(cls, names: Iterable[str | None]) -> str:
        last: dict[tuple[int, int], int] = {}
        before, *log = names
        last.update(cls.parse(before)._last)
        for name in log:
            for key, number in cls.parse(name)._last.items():
                if number <= last.get(key, 0):
                    return f"{name} follows {spelled(key, last[key])}"
                last[key] = number
        return ""

    def union(self, other: Gtids) -> MariadbGtids:
        last = dict(self._last)
        for key, number in self._of_same_kind(other).items():
            if number >= last.get(key, 0):
                last.pop(key, None)
                last[key] = number
        return MariadbGtids(last)

    def latest(self) -> MariadbGtids:
        by_domain: dict[int, tuple[int, int]] = {}
        for (domain, server), number in self._last.items():
            if number >= by_domain.get(domain, (0, 0))[1]:
                by_domain[domain] = (server, number)
        return MariadbGtids(
            {(domain, server): number for domain, (server, number) in by_domain.items()}
        )

    def minus(self, other: Gtids) -> MariadbGtids:
        theirs = self._of_same_kind(other)
        reached = numbers(theirs)
        mine = numbers(self._last)
        lacking = {}
        for (domain, server), number in self._last.items():
            there = reached.get(domain, 0)
            # Its number by another server is the same place in two histories.
            split = 0 < number == there and theirs.get((domain, server)) != number
            if number == mine[domain] and (number > there or split):
                lacking[(domain, server)] = number
        return MariadbGtids(lacking)

    def beyond(self, other: Gtids) -> MariadbGtids:
        known = self._of_same_kind(other)
        return MariadbGtids(
            {key: number for key, number in self._last.items() if number > known.get(key, 0)}
        )

    def lacked_by(self, had: Gtids, by_log: bool) -> MariadbGtids:
        known = self._of_same_kind(had)
        reached = numbers(known)
        # A server that wrote nothing since the copy is in no state; its numbers are below those
        # that came after them in their domain.
        return MariadbGtids(
            {
                key: number
                for key, number in self.beyond(had)._last.items()
                if key in known or number > reached.get(key[0], 0)
            }
        )

    def with_copied(self, there: Gtids, server: str) -> MariadbGtids:
        # What came before a number is never named.
        return self

    def of_server(self, server: str) -> MariadbGtids:
        return MariadbGtids(
            {key: number for key, number in self._last.items() if str(key[1]) == server}
        )

    def same_places(self, other: Gtids) -> MariadbGtids:
        theirs = self._of_same_kind(other)
        left = {key: number for key, number in self._last.items() if key in theirs}
        return MariadbGtids(left)

    def missing_of(self, wanted: Gtids) -> int:
        reached = numbers(self._last)
        lacking = numbers(self._of_same_kind(wanted.minus(self)))
        return sum(max(1, number - reached.get(domain, 0)) for domain, number in lacking.items())

    def _of_same_kind(self, other: Gtids) -> Mapping[tuple[int, int], int]:
        if not isinstance(other, MariadbGtids):
            raise TypeError(f"{other!r} is not of MariaDB")
        return other._last

    def spell(self) -> str:
        return ",".join(spelled(key, number) for key, number in sorted(self._last.items()))

    def __bool__(self) -> bool:
        return bool(self._last)


def kind_of(engine: str) -> type[Gtids]:
    """The GTIDs of an engine: mysql, percona or mariadb, as semisync_info names it."""
    return MariadbGtids if engine == "mariadb" else MysqlGtids


def parse(engine: str, *texts: str | None) -> Gtids:
    """The value of an engine's texts; see Gtids.of()."""
    return kind_of(engine).of(*texts)


@functools.lru_cache(maxsize=KEPT)
def position(kind: type[Gtids], *texts: str | None) -> Gtids:
    """Where a server stands by what it says that it has; see Gtids.latest().

    Args:
        texts: what it has applied, and what it has received, or has in its binary log.

    Raises:
        ValueError: one of them is something else.
    """
    return kind.of(*texts).latest()


def missing(engine: str, target: str | None, applied: str | None) -> int:
    """How many transactions a replica lacks of what its source had.

    Args:
        target: gtid_binlog_pos or gtid_executed of the source.
        applied: gtid_slave_pos or gtid_executed of the replica.

    Raises:
        ValueError: one of them is something else.
    """
    kind = kind_of(engine)
    return kind.parse(applied).missing_of(kind.parse(target))


def kind_by_text(text: str) -> type[Gtids]:
    """Of which engine a text is that has at least one GTID."""
    return MysqlGtids if ":" in text else MariadbGtids


@functools.lru_cache(maxsize=KEPT)
def read_set(text: str) -> MysqlGtids:
    """MysqlGtids.parse()."""
    intervals: dict[str, list[tuple[int, int]]] = {}
    for part in SPACE.sub("", text).lower().split(","):
        if not part:
            continue
        if not SET.match(part) or ":" not in part:
            raise ValueError(f"{text!r} is no GTID set")
        uuid, *pieces = part.split(":")
        tag = ""
        for piece in pieces:
            if not piece[0].isdigit():
                # The intervals that follow are the tag's own.
                tag = ":" + piece
                continue
            first, _dash, last = piece.partition("-")
            if int(last or first) < int(first):
                raise ValueError(f"{text!r} is no GTID set")
            intervals.setdefault(uuid + tag, []).append((int(first), int(last or first)))
    left = {key: merge(some) for key, some in intervals.items()}
    return MysqlGtids(left)


@functools.lru_cache(maxsize=KEPT)
def read_list(text: str) -> MariadbGtids:
    """MariadbGtids.parse()."""
    last: dict[tuple[int, int], int] = {}
    for part in SPACE.sub("", text).split(","):
        if part:
            match = TRIPLE.match(part)
            if not match:
                raise ValueError(f"{text!r} is no GTID list")
            domain, server, number = (int(digits) for digits in match.groups())
            last[(domain, server)] = max(number, last.get((domain, server), 0))
    return MariadbGtids(last)


def merge(intervals: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Intervals in their order, with those as one that touch."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(intervals):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def without(
    intervals: tuple[tuple[int, int], ...], others: tuple[tuple[int, int], ...]
) -> tuple[tuple[int, int], ...]:
    """What is left of intervals when others are taken away; both as of merge()."""
    rest = []
    for first, last in intervals:
        for begin, end in others:
            if end < first or begin > last:
                continue
            if begin > first:
                rest.append((first, begin - 1))
            first = end + 1
            if first > last:
                break
        if first <= last:
            rest.append((first, last))
    return tuple(rest)


def writer(key: str) -> str:
    """The UUID of 'uuid[:tag]'."""
    return key.partition(":")[0]


def numbers(last: Mapping[tuple[int, int], int]) -> dict[int, int]:
    """The highest sequence number of each domain."""
    highest: dict[int, int] = {}
    for (domain, _server), number in last.items():
        highest[domain] = max(number, highest.get(domain, 0))
    return highest


def spelled(key: tuple[int, int], number: int) -> str:
    """One GTID of MariaDB."""
    domain, server = key
    return f"{domain}-{server}-{number}"
