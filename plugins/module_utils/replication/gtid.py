# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GTID sets of MySQL and GTID lists of MariaDB, compared without asking a server."""

from __future__ import annotations

import re

INTERVALS = r"(:[1-9]\d*(-\d+)?)+"
PART = re.compile(
    rf"^[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}({INTERVALS})?(:[a-z_]\w*{INTERVALS})*$",
    re.ASCII,
)


def parse_set(text: str | None) -> dict[str, list[tuple[int, int]]]:
    """A MySQL GTID set as {'uuid[:tag]': [(first, last), …]}; tags exist since 8.3.

    Raises:
        ValueError: the text is no GTID set.
    """
    result: dict[str, list[tuple[int, int]]] = {}
    for part in re.sub(r"\s", "", text or "").lower().split(","):
        if not part:
            continue
        if not PART.match(part) or ":" not in part:
            raise ValueError(f"{text!r} is no GTID set")
        pieces = part.split(":")
        uuid, tag = pieces[0], ""
        for piece in pieces[1:]:
            if not piece[0].isdigit():
                tag = ":" + piece
                continue
            first, _dash, last = piece.partition("-")
            if int(last or first) < int(first):
                raise ValueError(f"{text!r} is no GTID set")
            result.setdefault(uuid + tag, []).append((int(first), int(last or first)))
    return {key: _merge(intervals) for key, intervals in result.items()}


def _merge(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(intervals):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def subtract(gtids: str | None, known: str | None) -> str:
    """The transactions of the first MySQL GTID set that the second lacks, as a GTID set's text."""
    left, right = parse_set(gtids), parse_set(known)
    parts = []
    for key in sorted(left):
        rest = []
        for first, last in left[key]:
            for begin, end in right.get(key, []):
                if end < first or begin > last:
                    continue
                if begin > first:
                    rest.append((first, begin - 1))
                first = end + 1
                if first > last:
                    break
            if first <= last:
                rest.append((first, last))
        if rest:
            parts.append(key + "".join(f":{a}" if a == b else f":{a}-{b}" for a, b in rest))
    return ",".join(parts)


def count(text: str) -> int:
    """How many transactions a MySQL GTID set has."""
    return sum(
        last - first + 1 for intervals in parse_set(text).values() for first, last in intervals
    )


def parse_list(text: str | None) -> dict[tuple[int, int], int]:
    """A MariaDB GTID list as {(domain, server): sequence}."""
    result: dict[tuple[int, int], int] = {}
    for part in re.sub(r"\s", "", text or "").split(","):
        if part:
            match = re.match(r"^(\d+)-(\d+)-(\d+)$", part)
            if not match:
                raise ValueError(f"{text!r} is no GTID list")
            domain, server, sequence = (int(number) for number in match.groups())
            result[(domain, server)] = max(sequence, result.get((domain, server), 0))
    return result


def ahead(state: str | None, known_state: str | None) -> str:
    """Entries of the first MariaDB binlog state that are beyond the second: local writes, as a
    list's text.
    """
    known = parse_list(known_state)
    parts = [
        f"{domain}-{server}-{sequence}"
        for (domain, server), sequence in sorted(parse_list(state).items())
        if sequence > known.get((domain, server), 0)
    ]
    return ",".join(parts)


def latest(position: str | None) -> dict[int, tuple[int, int]]:
    """The last transaction by domain of a MariaDB GTID list, as {domain: (server, sequence)}."""
    last = {}
    for (domain, server), sequence in sorted(
        parse_list(position).items(), key=lambda pair: pair[1]
    ):
        last[domain] = (server, sequence)
    return last


def domains(position: str | None) -> dict[int, int]:
    """The last sequence number by domain of a MariaDB GTID list."""
    return {domain: sequence for domain, (dummy, sequence) in latest(position).items()}
