# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a report reads of the records of role changes.

A record may be of an older version, so that keys that came later are read with get().
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Check

# A run's JSON files, by name.
Files = Mapping[str, Any]


class Event(TypedDict):
    """An event of a role change; at_ms is relative to the record's own zero, or None."""

    at_ms: float | None
    host: str
    event: str
    words: str


class Statement(TypedDict):
    host: str
    statement: str


class WritableSpan(TypedDict):
    """When a host took writes, in milliseconds from the freeze; None if it has no such end."""

    host: str
    from_ms: float | None
    to_ms: float | None


# Of switchover.json. froze_at is when writers were kept out; mended are the interrupted changes
# that the run finished or undid first.
Switchover = TypedDict(
    "Switchover",
    {
        "from": str,
        "to": str,
        "mode": str,
        "outcome": str,
        "reason": str,
        "froze_at": str | None,
        "writers_waited_ms": float | None,
        "writable": list[WritableSpan],
        "points": list[Check],
        "timeline": list[Event],
        "statements": list[Statement],
        "mended": list["Switchover"],
    },
)


class Salvaged(TypedDict):
    transactions: int


class Fenced(TypedDict):
    """What was seen of the source before and after its fence hook."""

    case: str | None
    words: str
    dead_at: str | None


# Of certificate.json. received is host -> GTIDs; left_behind is host -> why it does not follow.
Certificate = TypedDict(
    "Certificate",
    {
        "from": str,
        "to": str | None,
        "why": str,
        "at": str,
        "outcome": str,
        "reason": str,
        "verdict": str,
        "premises": list[Check],
        "points": list[Check],
        "salvage": Salvaged | None,
        "differences": list[str],
        "received": dict[str, str],
        "left_behind": dict[str, str],
        "accepted": list[str],
        "fenced": Fenced | None,
        "timeline": list[Event],
        "statements": list[Statement],
        "source_seen_at": str | None,
        "source_ended_at": str | None,
        "frozen_at": str | None,
        "opened_at": str | None,
        "opened_after_ms": float | None,
        "first_commit_after_ms": float | None,
    },
)
