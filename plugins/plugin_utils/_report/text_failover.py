# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A failover and its certificate as text: a headline, sentences, a key figure, and the meaning of
each event; and the rejoin of a former source, with its verdict and its method.
"""

from __future__ import annotations

from typing import cast

from ansible_collections.dbre.semisync.plugins.module_utils._replication.journal import (
    DONE,
    REFUSED,
    UNDONE,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.figures import duration
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.chapter import Tile
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.record_shapes import Certificate
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.text_switchover import EVENTS
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import certificate
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.errant import (
    CANNOT_TELL,
    CLEAN,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.rejoin_record import (
    read_words,
    verdict_words,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.rejoin_shapes import (
    RejoinRecord,
)

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
    """The meaning of a timeline's event; an unknown event is shown by its name."""
    return OWN_EVENTS.get(event, event.replace("_", " "))


def headline(kept: Certificate) -> tuple[str, str]:
    """(good, attention or bad, the outcome, and what is proven)."""
    if kept["outcome"] == DONE:
        outcome = GOOD.get(kept["verdict"], "bad")
        return outcome, f"{kept['to']} took over from {kept['from']}: {kept['verdict']}"
    if kept["outcome"] in (UNDONE, REFUSED):
        return "bad", f"No replica took over from {kept['from']}"
    return "bad", f"It is not known whether {kept['to']} took over from {kept['from']}"


def failover_lines(kept: Certificate) -> list[str]:
    """The outcome, why this host was promoted, what is proven, and what the others lacked."""
    target = f"to {kept['to']}" if kept["to"] else "without a new source"
    words = f"Failover from {kept['from']} {target}: {kept['outcome']}"
    words += f", {kept['reason']}" if kept["reason"] else ""
    sentences = [f"{words}."]
    if kept["to"]:
        sentences.append(f"{kept['to']}: {kept['why']}.")
    sentences.append(f"Verdict: {certificate.verdict_line(cast(certificate.Certificate, kept))}.")
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


def rejoin_headline(kept: RejoinRecord) -> tuple[str, str]:
    """(good, attention or bad, the outcome)."""
    host, source = kept["host"], kept["source"]
    if kept["outcome"] == DONE:
        return "good", f"{host} is back and replicates from {source}"
    if kept["outcome"] == "nothing":
        return "good", f"{host} already replicates from {source}"
    if kept["outcome"] == "planned":
        return "attention", f"{host} has not come back yet"
    if kept["outcome"] == "failed":
        return "bad", f"{host} was brought back, but does not replicate as it should"
    if kept["verdict"] == CLEAN:
        return "attention", f"{host} cannot rejoin by method {kept['way']}"
    if kept["verdict"] == CANNOT_TELL:
        return "bad", f"It is not known whether {host} may come back"
    return "bad", f"{host} has transactions that {source} lacks"


def rejoin_lines(kept: RejoinRecord) -> list[str]:
    """The verdict, how the host was read, the method, and where its old data are."""
    sentences = []
    before = kept.get("before")
    if before and before["verdict"] != kept["verdict"]:
        words = verdict_words({**kept, **before})
        sentences.append(f"Verdict on {kept['host']} before: {before['verdict']}{words}.")
    sentences.append(f"Verdict on {kept['host']}: {kept['verdict']}{verdict_words(kept)}.")
    sentences.append(f"How it was read: {read_words(kept)}.")
    if kept["outcome"] == DONE:
        way = (before or kept)["way"]
        sentences.append(f"It rejoined by method {way}.")
    if kept.get("kept_data"):
        sentences.append(f"Its old data are in {kept['kept_data']}.")
    elif kept.get("not_kept"):
        sentences.append(f"Its old data were not kept: {kept['not_kept']}.")
    return sentences
