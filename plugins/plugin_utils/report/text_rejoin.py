# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A former source's verdict, and how it came back, as text."""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.module_utils.replication.journal import DONE
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change.errant import (
    CANNOT_TELL,
    CLEAN,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change.rejoin_record import (
    read_words,
    verdict_words,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change.rejoin_shapes import (
    RejoinRecord,
)


def headline(kept: RejoinRecord) -> tuple[str, str]:
    """(good, attention or bad, what became of it)."""
    host, source = kept["host"], kept["source"]
    if kept["outcome"] == DONE:
        return "good", f"{host} is back and replicates from {source}"
    if kept["outcome"] == "nothing":
        return "good", f"{host} already replicates from {source}"
    if kept["outcome"] == "planned":
        return "attention", f"{host} has not come back yet"
    if kept["outcome"] == "failed":
        return "bad", f"{host} was brought back, but is not as it should be"
    if kept["verdict"] == CLEAN:
        return "attention", f"{host} does not come back by the method {kept['way']}"
    if kept["verdict"] == CANNOT_TELL:
        return "bad", f"It is not known whether {host} may come back"
    return "bad", f"{host} has transactions that {source} lacks"


def summary(kept: RejoinRecord) -> list[str]:
    """The verdict, how it was read, the method, and where its old data are."""
    sentences = []
    before = kept.get("before")
    if before and before["verdict"] != kept["verdict"]:
        words = verdict_words({**kept, **before})
        sentences.append(f"Verdict on {kept['host']} before: {before['verdict']}{words}.")
    sentences.append(f"Verdict on {kept['host']}: {kept['verdict']}{verdict_words(kept)}.")
    sentences.append(f"How it was read: {read_words(kept)}.")
    if kept["outcome"] == DONE:
        way = (before or kept)["way"]
        sentences.append(f"It came back by the method {way}.")
    if kept.get("kept_data"):
        sentences.append(f"Its old data are in {kept['kept_data']}.")
    elif kept.get("not_kept"):
        sentences.append(f"Its old data were not kept: {kept['not_kept']}.")
    return sentences
