# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A failover and its certificate in words: a headline, sentences, a key figure, and what each event
means.
"""

from __future__ import annotations

from typing import Any, cast

from ansible_collections.dbre.semisync.plugins.module_utils.replication.journal import (
    DONE,
    REFUSED,
    UNDONE,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.report.text_switchover import (
    EVENTS,
    milliseconds,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change import certificate

OWN_EVENTS = {
    **EVENTS,
    "applied_all": "has applied all it received",
    "half": "gives half a change up",
    "salvaged": "has the dead source's rest",
    "careful_again": "writes to its disk again",
    "events": "runs the scheduled events",
    "events_left": "leaves scheduled events off",
}
# How good a verdict is.
GOOD = {certificate.PROVEN: "good", certificate.WINDOW: "attention"}


def meaning(event: str) -> str:
    """What an event of the timeline means; one that is not known here says its own name."""
    return OWN_EVENTS.get(event, event.replace("_", " "))


def headline(kept: dict[str, Any]) -> tuple[str, str]:
    """(good, attention or bad, what became of it, and what is proven)."""
    if kept["outcome"] == DONE:
        outcome = GOOD.get(kept["verdict"], "bad")
        return outcome, f"{kept['to']} took over from {kept['from']}: {kept['verdict']}"
    if kept["outcome"] in (UNDONE, REFUSED):
        return "bad", f"Nobody took over from {kept['from']}"
    return "bad", f"It is not known whether {kept['to']} took over from {kept['from']}"


def in_words(kept: dict[str, Any]) -> list[str]:
    """What became of it, why this host, what is proven, and what the others lacked."""
    words = f"Failover from {kept['from']} to {kept['to'] or 'nobody'}: {kept['outcome']}"
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
    sentences += [f"{host} stays behind: {why}." for host, why in kept["left_behind"].items()]
    if kept["accepted"]:
        sentences.append(f"Accepted by name: {', '.join(kept['accepted'])}.")
    fenced = kept.get("fenced")
    if fenced and fenced["case"]:
        seen = f"seen dead at {fenced['dead_at']}" if fenced["dead_at"] else "not seen dead"
        sentences.append(f"Before its fence: {fenced['words']}; behind it {seen}.")
    return sentences


def tile(kept: dict[str, Any]) -> dict[str, Any] | None:
    """How long it took, as a key figure."""
    took = kept.get("first_commit_after_ms")
    if took is None:
        return None
    return {
        "figure": milliseconds(took),
        "label": f"from the run's beginning to the first commit on {kept['to']}",
        "outcome": headline(kept)[0],
    }
