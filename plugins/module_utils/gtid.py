# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GTID sets of MySQL and GTID lists of MariaDB, compared without asking a server."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import re

INTERVALS = r"(:[1-9]\d*(-\d+)?)+"
PART = re.compile(r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(%s)?(:[a-z_]\w*%s)*$" % (INTERVALS, INTERVALS), re.A)


def parse_set(text):
    """A MySQL GTID set as {'uuid[:tag]': [(first, last), …]}; tags exist since 8.3.

    Raises:
        ValueError: the text is no GTID set.
    """
    result = {}
    for part in re.sub(r"\s", "", text or "").lower().split(","):
        if not part:
            continue
        if not PART.match(part) or ":" not in part:
            raise ValueError("%r is no GTID set" % text)
        pieces = part.split(":")
        uuid, tag = pieces[0], ""
        for piece in pieces[1:]:
            if not piece[0].isdigit():
                tag = ":" + piece
                continue
            first, dash, last = piece.partition("-")
            if int(last or first) < int(first):
                raise ValueError("%r is no GTID set" % text)
            result.setdefault(uuid + tag, []).append((int(first), int(last or first)))
    return dict((key, _merge(intervals)) for key, intervals in result.items())


def _merge(intervals):
    merged = []
    for first, last in sorted(intervals):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def subtract(one, other):
    """The transactions of the first MySQL GTID set that the second lacks, as a GTID set's text."""
    left, right = parse_set(one), parse_set(other)
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
            parts.append(key + "".join(":%d" % a if a == b else ":%d-%d" % (a, b) for a, b in rest))
    return ",".join(parts)


def count(text):
    """How many transactions a MySQL GTID set has."""
    return sum(last - first + 1 for intervals in parse_set(text).values() for first, last in intervals)


def parse_list(text):
    """A MariaDB GTID list as {(domain, server): sequence}."""
    result = {}
    for part in re.sub(r"\s", "", text or "").split(","):
        if part:
            match = re.match(r"^(\d+)-(\d+)-(\d+)$", part)
            if not match:
                raise ValueError("%r is no GTID list" % text)
            domain, server, sequence = (int(number) for number in match.groups())
            result[(domain, server)] = max(sequence, result.get((domain, server), 0))
    return result


def ahead(one, other):
    """Entries of the first MariaDB binlog state that are beyond the second: local writes, as a list's text."""
    known = parse_list(other)
    parts = ["%d-%d-%d" % (key + (sequence,)) for key, sequence in sorted(parse_list(one).items())
             if sequence > known.get(key, 0)]
    return ",".join(parts)


def latest(position):
    """The last transaction by domain of a MariaDB GTID list, as {domain: (server, sequence)}."""
    found = {}
    for (domain, server), sequence in sorted(parse_list(position).items(), key=lambda pair: pair[1]):
        found[domain] = (server, sequence)
    return found


def domains(position):
    """The last sequence number by domain of a MariaDB GTID list."""
    return dict((domain, sequence) for domain, (dummy, sequence) in latest(position).items())
