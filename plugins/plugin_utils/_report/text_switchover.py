# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A switchover as text: a headline, a sentence, a key figure, and the meaning of each event."""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.module_utils._replication.journal import (
    DONE,
    REFUSED,
    UNDONE,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.figures import duration
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.chapter import Tile
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.record_shapes import Switchover

# Short enough for half the width of a narrow picture.
EVENTS = {
    "announced": "is recorded in the journal",
    "applied_all": "has applied everything",
    "armed": "is ready, and caught up",
    "asks": "counts acknowledging hosts",
    "attach": "starts to replicate",
    "attached": "replicates",
    "back": "rolls back",
    "caught_up": "has caught up",
    "drained": "no long transaction is left",
    "first_commit": "first commit acknowledged",
    "freeze": "keeps writers out",
    "frozen": "its position is final",
    "frozen_seen": "sees the final position",
    "granted": "confirms that",
    "met": "all hosts are ready",
    "open": "takes writes",
    "open_seen": "sees a host take writes",
    "ready": "is detached, read-only",
    "reopened": "takes writes again",
    "restarted": "its server runs again",
    "returned": "replicates again",
    "slow": "a slow statement",
    "too_few": "too few acknowledge",
}
HEADLINES = {
    DONE: ("good", "The source's role has moved to {to}"),
    UNDONE: ("attention", "The switchover was rolled back: {from} is the source"),
    REFUSED: ("attention", "The switchover did not begin: {from} is the source"),
}
UNCERTAIN = ("bad", "It is not known whether {from} or {to} is the source")


def meaning(event: str) -> str:
    """The meaning of a timeline's event; an unknown event is shown by its name."""
    return EVENTS.get(event, event.replace("_", " "))


def headline(record: Switchover) -> tuple[str, str]:
    """(good, attention or bad, the outcome)."""
    outcome, words = HEADLINES.get(record["outcome"], UNCERTAIN)
    return outcome, words.format(**record)


def switchover_sentence(record: Switchover) -> str:
    """A sentence about a switchover, after those about interrupted ones that its run completed or
    rolled back first.
    """
    earlier = [switchover_sentence(change) for change in record.get("mended", [])]
    return " ".join([*earlier, sentence(record)])


def sentence(record: Switchover) -> str:
    waited = record["writers_waited_ms"]
    begun = "Switchover" if record["mode"] == "switch" else "Interrupted switchover"
    words = f"{begun} from {record['from']} to {record['to']}: {record['outcome']}"
    words += f", {record['reason']}" if record["reason"] else ""
    if waited is not None:
        words += f"; no server took writes for {duration(waited)}"
    elif record["froze_at"]:
        words += "; the source did not see a server take writes again"
    elif record["outcome"] == REFUSED:
        words += "; writers were never kept out"
    return words + "."


def tile(record: Switchover) -> Tile | None:
    """How long no server took writes, as a key figure."""
    if record["writers_waited_ms"] is None:
        return None
    return {
        "figure": duration(record["writers_waited_ms"]),
        "label": f"no server took writes, {record['from']} to {record['to']}",
        "outcome": headline(record)[0],
    }
