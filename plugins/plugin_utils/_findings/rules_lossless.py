# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a cluster that promises to be lossless: values that break the promise, writers
that wait because it is kept, and a source that still keeps writers out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._server import values
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import durability_mode
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Finding
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kinds import finding
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.next_start import at_start

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Values

# What is no finding if it was promised, or if a finding of this file reports it.
SAID_HERE = (
    "timeout_freezes_writers",
    "no_wait_without_replica",
    "relay_log_not_synced",
    "target_writable_at_start",
)


def lossless_findings(members: list[Member], wanted: Settings) -> list[Finding]:
    """The findings of a cluster.

    Args:
        members: its hosts; of one without info nothing is known.
        wanted: of the source; only semisync_promise if nothing else is known.
    """
    if not durability_mode.is_lossless(wanted):
        return [entry for member in members for entry in closed_findings(member, "available")]
    entries = []
    read = [member for member in members if member.info is not None]
    # A replica that was not read may acknowledge.
    able = durability_mode.acknowledging(members) + len(members) - len(read)
    for member in read:
        if member.side == "source":
            entries += source_findings(member, able)
        else:
            entries += replica_findings(member)
        entries += start_findings(member)
    return entries


def without_what_is_promised(entries: list[Finding], wanted: Settings) -> list[Finding]:
    """All other findings, judged by the promise that was made."""
    if not durability_mode.is_lossless(wanted):
        return entries
    return [entry for entry in entries if entry["id"] not in SAID_HERE]


def source_findings(member: Member, able: int) -> list[Finding]:
    """The findings of the source.

    Args:
        able: replicas that acknowledge, or may.
    """
    side, names = member.facts["semisync"]["source"], member.facts["names"]["source"]
    running, status, entries = side["variables"], side["status"], []
    broken = []
    timeout = running.get("timeout")
    if timeout is not None and int(timeout) < durability_mode.LEAST_MS:
        broken.append(
            f"{names['variables']['timeout']} is {timeout} ms: a commit that waited that long is"
            " confirmed without an acknowledgement"
        )
    if values.same_value(running.get("wait_no_replica"), "OFF"):
        broken.append(
            f"{names['variables']['wait_no_replica']} is OFF: without enough replicas commits are"
            " confirmed without an acknowledgement, at once"
        )
    if broken and values.same_value(running.get("enabled"), "ON"):
        entries.append(finding("promise_not_kept", member, "; ".join(broken)))
    return entries + writer_findings(member, running, status, names["statuses"], able)


def writer_findings(
    member: Member,
    running: Values,
    status: Values,
    names: dict[str, str],
    able: int,
) -> list[Finding]:
    """Writers that wait or are kept out."""
    entries = []
    waiting, counted = int(status.get("wait_sessions") or 0), status.get("clients")
    needed = int(running.get("wait_for_replica_count") or 1)
    clients = able if counted is None else min(int(counted), able)
    if waiting and clients < needed:
        entries.append(
            finding(
                "writers_frozen",
                member,
                f"{names['wait_sessions']} is {waiting} (the row of verify.yml may be one of"
                f" them), {clients} replica(s) acknowledge, a commit waits for {needed}",
            )
        )
    return entries + closed_findings(member, None)


def closed_findings(member: Member, variant: str | None) -> list[Finding]:
    """A source that lets no writer in.

    Args:
        variant: of source_closed, if the promise is not lossless.
    """
    running = member.info["variables"].get("read_only") if member.info else None
    if member.side != "source" or running is None or values.canonical_value(running) == "0":
        return []
    up = member.facts["uptime"]["seconds"]
    words = f"read_only is {running}; its server has been running for {up} s"
    return [finding("source_closed", member, words, variant=variant)]


def replica_findings(member: Member) -> list[Finding]:
    entries, running = [], member.facts["variables"].get("sync_relay_log")
    if running not in (None, "1"):
        words = f"sync_relay_log is {running}: what it acknowledged may be only in memory"
        entries.append(finding("promise_not_kept", member, words))
    return entries + recovery_findings(member)


def recovery_findings(member: Member) -> list[Finding]:
    """A replica whose next start discards what it has received and not applied. On MariaDB every
    start does, whatever the setting, if it follows by GTID and nothing applies it before.
    """
    value, origin = at_start(member.facts, "relay_log_recovery")
    if value is None:
        value, origin = member.facts["variables"].get("relay_log_recovery"), "as it runs"
    by_position = bool(member.link) and not member.link["gtid"]
    if member.facts["engine"] == "mariadb" and not by_position:
        return received_findings(member)
    if by_position or not values.same_value(value, "ON"):
        return []
    words = (
        f"relay_log_recovery is ON at its next start ({origin}), which discards what was received"
        " and not applied. If the source has died, that is lost"
    )
    return [finding("promise_not_kept", member, words, variant="recovery")]


def received_findings(member: Member) -> list[Finding]:
    """A MariaDB member without the service of plans/received.py."""
    now = member.facts.get("received")
    if now is None or now["stands"]:
        return []
    words = "nothing applies what it has received before its next start discards it (MDEV-4698)"
    return [finding("promise_not_kept", member, words, variant="received")]


def start_findings(member: Member) -> list[Finding]:
    value, origin = at_start(member.facts, "read_only")
    if value is None or values.canonical_value(value) != "0":
        return []
    words = f"after a restart read_only is {value} ({origin})"
    return [finding("starts_writable", member, words)]
