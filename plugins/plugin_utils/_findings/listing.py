# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings as text for people, and with the checkpoints the whole of a cluster."""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.plugin_utils._checks import check
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Check
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import (
    CRITICAL,
    HEALTHY,
    INFO,
    UNHEALTHY,
    UNKNOWN,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Finding


def critical(entries: list[Finding]) -> list[Finding]:
    return [entry for entry in entries if entry["severity"] == CRITICAL]


def both_tables(
    rows: list[Check],
    entries: list[Finding],
    more: list[str],
    name: str,
    path: str | None,
    whole: bool,
) -> str:
    """The checkpoints and findings of a cluster as text.

    Args:
        more: lines about the cluster; empty ones are left out.
        path: the file with all checkpoints, if there is one.
        whole: whether those that passed have lines, too.
    """
    lines = [table(entries, name), *(f"  {one}" for one in more if one)]
    if not whole:
        return "\n".join([check.short_table(rows, name, path), *lines])
    return "\n".join([check.table(rows, name), *lines, *([f"  {path}"] if path else [])])


def table(entries: list[Finding], name: str) -> str:
    """The findings as text for people: what and where, then why and what to do for all but the mere
    notes. What was seen alike on several hosts has one line.
    """
    if not entries:
        return f"Findings of cluster {name}: none"
    alike: dict[tuple[str, ...], list[Finding]] = {}
    for entry in entries:
        same: tuple[str, ...] = (entry["id"], entry["severity"], entry["evidence"], entry["remedy"])
        alike.setdefault(same, []).append(entry)
    hosts = {same: ", ".join(one["host"] for one in group) for same, group in alike.items()}
    width = max([len(where) for where in hosts.values() if ", " not in where] + [0])
    lines = [f"Findings of cluster {name}"]
    for same, (entry, *_others) in alike.items():
        lines.append(
            f"  {entry['severity']:8}  {hosts[same]:{width}}  {entry['title']}:"
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


def verdict(rows: list[Check], entries: list[Finding]) -> str:
    """One line: how many checkpoints passed and failed, and everything that makes the cluster
    unhealthy.

    Args:
        rows: the checkpoints.
        entries: the findings.
    """
    line, endangered = check.verdict(rows), reasons(entries)
    if not endangered:
        return line
    named = check.failed(rows) or check.unknown(rows)
    return line + ("; " if named else ": ") + "critical: " + endangered


def health(rows: list[Check], entries: list[Finding]) -> str:
    """A cluster in a word: healthy if all was seen and nothing is wrong, unknown if nothing
    was seen to be wrong, and not all was seen.
    """
    if check.failed(rows) or critical(entries):
        return UNHEALTHY
    return UNKNOWN if check.unknown(rows) else HEALTHY
