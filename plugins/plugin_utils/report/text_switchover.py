# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A switchover in words: a headline, a sentence, a key figure, and what each event means."""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.replication.journal import (
    DONE,
    REFUSED,
    UNDONE,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.figures import short

# Short enough for half of a narrow picture.
EVENTS = {
    "announced": "the journal says it begins",
    "applied_all": "has applied everything",
    "armed": "is there, and has caught up",
    "asks": "asks: enough acknowledge",
    "attach": "begins to follow",
    "attached": "follows",
    "back": "goes back",
    "caught_up": "has caught up",
    "drained": "no long transaction is left",
    "first_commit": "first commit acknowledged",
    "freeze": "keeps writers out",
    "frozen": "its position stands still",
    "frozen_seen": "sees where it stands still",
    "granted": "gives its word",
    "met": "all hosts are there",
    "open": "takes writes",
    "open_seen": "sees somebody take writes",
    "ready": "follows nobody, read-only",
    "reopened": "takes writes again",
    "restarted": "its server runs again",
    "returned": "replicates again",
    "slow": "a statement that took long",
    "too_few": "too few acknowledge",
}
HEADLINES = {
    DONE: ("good", "The source's role has moved to {to}"),
    UNDONE: ("attention", "The switchover was undone: {from} is the source"),
    REFUSED: ("attention", "The switchover did not begin: {from} is the source"),
}
UNCERTAIN = ("bad", "It is not known whether {from} or {to} is the source")


def meaning(event: str) -> str:
    """What an event of the timeline means; one that is not known here says its own name."""
    return EVENTS.get(event, event.replace("_", " "))


def headline(record: dict[str, Any]) -> tuple[str, str]:
    """(good, attention or bad, what became of it)."""
    outcome, words = HEADLINES.get(record["outcome"], UNCERTAIN)
    return outcome, words.format(**record)


def milliseconds(amount: float) -> str:
    return f"{short(amount)} ms" if amount < 1000 else f"{short(amount / 1000.0)} s"


def in_words(record: dict[str, Any]) -> str:
    """One switchover as a sentence or two, after those that its run mended first."""
    return " ".join([*(in_words(one) for one in record.get("mended", [])), sentence(record)])


def sentence(record: dict[str, Any]) -> str:
    waited = record["writers_waited_ms"]
    begun = "Switchover" if record["mode"] == "switch" else "Interrupted switchover"
    words = f"{begun} from {record['from']} to {record['to']}: {record['outcome']}"
    words += f", {record['reason']}" if record["reason"] else ""
    if waited is not None:
        words += f"; nobody took writes for {milliseconds(waited)}"
    elif record["froze_at"]:
        words += "; the source did not see anybody take writes again"
    elif record["outcome"] == REFUSED:
        words += "; writers were never kept out"
    return words + "."


def tile(record: dict[str, Any]) -> dict[str, Any] | None:
    """How long nobody took writes, as a key figure."""
    if record["writers_waited_ms"] is None:
        return None
    return {
        "figure": milliseconds(record["writers_waited_ms"]),
        "label": f"nobody took writes, {record['from']} to {record['to']}",
        "outcome": headline(record)[0],
    }
