# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings as text for people."""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.plugin_utils.findings.kind import Finding
from ansible_collections.dbre.semisync.plugins.plugin_utils.outcomes import (
    CRITICAL,
    INFO,
)


def critical(entries: list[Finding]) -> list[Finding]:
    return [entry for entry in entries if entry["severity"] == CRITICAL]


def table(entries: list[Finding], name: str) -> str:
    """The findings as text for people: what and where, then why and what to do for all but the mere
    notes.
    """
    if not entries:
        return f"Findings of cluster {name}: none"
    width = max(len(entry["host"]) for entry in entries)
    lines = [f"Findings of cluster {name}"]
    for entry in entries:
        lines.append(
            f"  {entry['severity']:8}  {entry['host']:{width}}  {entry['title']}:"
            f" {entry['evidence']} ({entry['id']})"
        )
        if entry["severity"] != INFO:
            lines += [
                f"            why: {entry['why']} [{entry['source']}]",
                "            do:  " + entry["remedy"],
            ]
    return "\n".join(lines)


def reasons(entries: list[Finding]) -> str:
    """The critical findings in one line."""
    return ", ".join(f"{entry['id']} on {entry['host']}" for entry in critical(entries))
