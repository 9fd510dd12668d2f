# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict of a cluster in one or two lines, for the end of a run: how it is, and what to run
next.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable

from ansible_collections.dbre.semisync.plugins.plugin_utils._checks import check
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Check
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import (
    CRITICAL,
    HEALTHY,
    SEVERITIES,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import listing
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Finding

# Finding -> the playbook that repairs it, or says how.
PLAYBOOKS = {
    "source_not_read": "failover --check",
    "change_interrupted": "switchover",
    "held_takes_writes": "rejoin -e semisync_rejoin={host} --check",
    "follows_held": "rejoin -e semisync_rejoin={host} --check",
    "semisync_off": "site",
    "degraded": "site",
    "clients_missing": "site",
    "promise_not_kept": "site",
    "source_closed": "site",
    "applier_stopped": "site",
    "answer_wrong": "site",
}


def health_line(rows: list[Check], entries: list[Finding]) -> str:
    """How the cluster is, in one line."""
    word = listing.health(rows, entries)
    severities = [entry["severity"] for entry in entries]
    others = [
        f"{severities.count(severity)} {severity}"
        for severity in SEVERITIES
        if severity != CRITICAL and severity in severities
    ]
    line = f"{word if word == HEALTHY else word.upper()}: {listing.verdict(rows, entries)}"
    return line + (f"; findings: {', '.join(others)}" if others else "")


def next_step(rows: list[Check], entries: list[Finding], command: Callable[[str], str]) -> str:
    """What to run or do next; empty if there is nothing to do.

    Args:
        command: returns how a playbook of this cluster is run; takes its name, with its options.
    """
    endangered = listing.critical(entries)
    for entry in endangered:
        if entry["id"] in PLAYBOOKS:
            return command(PLAYBOOKS[entry["id"]].format(host=shlex.quote(entry["host"])))
    if endangered:
        return f"what {endangered[0]['id']} says above; see docs/findings.md#{endangered[0]['id']}"
    if check.failed(rows):
        return command("site --check --diff")
    if unseen := check.unknown(rows):
        hosts = ", ".join(dict.fromkeys(entry["host"] for entry in unseen))
        return f"have {hosts} read, as said above; then {command('verify')}"
    return ""


def closing_lines(
    rows: list[Check], entries: list[Finding], command: Callable[[str], str]
) -> list[str]:
    """Both lines, the second only if there is something to do."""
    step = next_step(rows, entries, command)
    return [health_line(rows, entries), *([f"next: {step}"] if step else [])]
