# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A failover and its certificate as text: a headline, sentences, a key figure, and what each event
means.
"""

from __future__ import annotations

from typing import cast

from ansible_collections.dbre.semisync.plugins.module_utils.replication.journal import (
    DONE,
    REFUSED,
    UNDONE,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.figures import duration
from ansible_collections.dbre.semisync.plugins.plugin_utils.report.chapter import Tile
from ansible_collections.dbre.semisync.plugins.plugin_utils.report.record_shapes import Certificate
from ansible_collections.dbre.semisync.plugins.plugin_utils.report.text_switchover import (
    EVENTS,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change import certificate

OWN_EVENTS = {
    **EVENTS,
    "applied_all": "has applied all it received",
    "half": "drops a partial transaction",
    "salvaged": "has what was salvaged",
    "careful_again": "syncs to disk again",
    "events": "runs the scheduled events",
    "events_left": "leaves scheduled events off",
}
# How good a verdict is.
GOOD = {certificate.PROVEN: "good", certificate.WINDOW: "attention"}


def meaning(event: str) -> str:
    """What an event of the timeline means; one that is not known here says its own name."""
    return OWN_EVENTS.get(event, event.replace("_", " "))


def headline(kept: Certificate) -> tuple[str, str]:
    """(good, attention or bad, what became of it, and what is proven)."""
    if kept["outcome"] == DONE:
        outcome = GOOD.get(kept["verdict"], "bad")
        return outcome, f"{kept['to']} took over from {kept['from']}: {kept['verdict']}"
    if kept["outcome"] in (UNDONE, REFUSED):
        return "bad", f"No replica took over from {kept['from']}"
    return "bad", f"It is not known whether {kept['to']} took over from {kept['from']}"


def summary(kept: Certificate) -> list[str]:
    """What became of it, why this host, what is proven, and what the others lacked."""
    target = f"to {kept['to']}" if kept["to"] else "without a new source"
    words = f"Failover from {kept['from']} {target}: {kept['outcome']}"
    words += f", {kept['reason']}" if kept["reason"] else ""
    sentences = [f"{words}."]
    if kept["to"]:
        sentences.append(f"{kept['to']}: {kept['why']}.")
    sentences.append(f"Verdict: {certificate.in_words(cast(certificate.Certificate, kept))}.")
    salvaged = kept.get("salvage")
    if salvaged:
        sentences.append(
            f"{salvaged['transactions']} transactions that no replica had came from the binary log"
            f" of {kept['from']}."
        )
    if kept["differences"]:
        sentences.append(f"Received before: {'; '.join(kept['differences'])}.")
    sentences += [f"{host} is left out: {why}." for host, why in kept["left_behind"].items()]
    if kept["accepted"]:
        sentences.append(f"Accepted by name: {', '.join(kept['accepted'])}.")
    fenced = kept.get("fenced")
    if fenced and fenced["case"]:
        seen = (
            f"confirmed down at {fenced['dead_at']}" if fenced["dead_at"] else "not confirmed down"
        )
        sentences.append(f"Before the fence hook: {fenced['words']}; after it {seen}.")
    return sentences


def tile(kept: Certificate) -> Tile | None:
    """How long it took, as a key figure."""
    took = kept.get("first_commit_after_ms")
    if took is None:
        return None
    return {
        "figure": duration(took),
        "label": f"from the start of the run to the first commit on {kept['to']}",
        "outcome": headline(kept)[0],
    }
