# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a cluster that promises to be lossless: values that cannot keep that, writers
that wait because it is kept, and a source that nobody has opened.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.server import values
from ansible_collections.dbre.semisync.plugins.plugin_utils import promise
from ansible_collections.dbre.semisync.plugins.plugin_utils.findings.kinds import finding
from ansible_collections.dbre.semisync.plugins.plugin_utils.findings.next_start import at_start
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils.settings import Settings

# What is no finding where it is what was promised, or is said by a finding of this file.
SAID_HERE = (
    "timeout_freezes_writers",
    "no_wait_without_replica",
    "relay_log_not_synced",
    "target_writable_at_start",
)

# What a source is told that is closed, and that no playbook opens.
CLOSED = {
    "why": "Applications get error 1290 for every write. This cluster promises to be available, and"
    " nothing opens its source by itself.",
    "remedy": "If no other server has taken over: SET GLOBAL read_only = 0, and take read_only and"
    " super_read_only out of what the server starts with (its option files, SET PERSIST).",
}
RECOVERY = (
    "Take relay_log_recovery out of the replica's option files (RESET PERSIST where it is"
    " persisted), and restart its server while the source lives."
)


def of_promise(members: list[Member], wanted: Settings) -> list[dict[str, Any]]:
    """The findings of a cluster.

    Args:
        members: its hosts; of one without info nothing is known.
        wanted: of the source; semisync_promise alone where nothing else is known.
    """
    if not promise.is_lossless(wanted):
        return [entry for member in members for entry in of_closed(member, CLOSED)]
    entries = []
    read = [member for member in members if member.info is not None]
    # One that was not read may acknowledge.
    able = promise.acknowledging(members) + len(members) - len(read)
    for member in read:
        of_side = of_source(member, able) if member.side == "source" else of_replica(member)
        entries += of_side + of_start(member)
    return entries


def without_what_is_promised(
    entries: list[dict[str, Any]], wanted: Settings
) -> list[dict[str, Any]]:
    """All other findings, as they are judged by the promise that was made."""
    if not promise.is_lossless(wanted):
        return entries
    return [entry for entry in entries if entry["id"] not in SAID_HERE]


def of_source(member: Member, able: int) -> list[dict[str, Any]]:
    """The findings of the source.

    Args:
        able: replicas that acknowledge, or may.
    """
    side, names = member.facts["semisync"]["source"], member.facts["names"]["source"]
    running, status, entries = side["variables"], side["status"], []
    broken = []
    timeout = running.get("timeout")
    if timeout is not None and int(timeout) < promise.LEAST_MS:
        broken.append(
            f"{names['variables']['timeout']} is {timeout} ms: a commit that waited so long is"
            " confirmed alone"
        )
    if values.same_value(running.get("wait_no_replica"), "OFF"):
        broken.append(
            f"{names['variables']['wait_no_replica']} is OFF: without enough replicas commits are"
            " confirmed alone at once"
        )
    if broken and values.same_value(running.get("enabled"), "ON"):
        entries.append(finding("promise_not_kept", member, "; ".join(broken)))
    return entries + of_writers(member, running, status, names["statuses"], able)


def of_writers(
    member: Member,
    running: dict[str, Any],
    status: dict[str, Any],
    names: dict[str, str],
    able: int,
) -> list[dict[str, Any]]:
    """Writers that wait or are kept out."""
    entries = []
    waiting, clients = int(status.get("wait_sessions") or 0), status.get("clients")
    needed = int(running.get("wait_for_replica_count") or 1)
    clients = able if clients is None else min(int(clients), able)
    if waiting and clients < needed:
        entries.append(
            finding(
                "writers_frozen",
                member,
                f"{names['wait_sessions']} is {waiting} (the row of verify.yml may be one of"
                f" them), {clients} replica(s) acknowledge, a commit waits for {needed}",
            )
        )
    return entries + of_closed(member, {})


def of_closed(member: Member, differs: dict[str, str]) -> list[dict[str, Any]]:
    """A source that lets no writer in.

    Args:
        differs: what the finding says by a promise that is not lossless.
    """
    running = member.info["variables"].get("read_only") if member.info else None
    if member.side != "source" or running is None or values.canonical_value(running) == "0":
        return []
    up = member.facts["uptime"]["seconds"]
    words = f"read_only is {running}; its server runs since {up} s"
    return [finding("source_closed", member, words, **differs)]


def of_replica(member: Member) -> list[dict[str, Any]]:
    entries, running = [], member.facts["variables"].get("sync_relay_log")
    if running not in (None, "1"):
        words = f"sync_relay_log is {running}: what it acknowledged may be in its memory alone"
        entries.append(finding("promise_not_kept", member, words))
    return entries + of_recovery(member)


def of_recovery(member: Member) -> list[dict[str, Any]]:
    """A replica on MySQL whose next start throws away what it has received and not applied. On
    MariaDB each start does, whatever this is set to, where it follows by GTID.
    """
    value, origin = at_start(member.facts, "relay_log_recovery")
    if value is None:
        value, origin = member.facts["variables"].get("relay_log_recovery"), "as it runs"
    by_position = bool(member.link) and not member.link["gtid"]
    if member.facts["engine"] == "mariadb" or by_position or not values.same_value(value, "ON"):
        return []
    words = (
        f"relay_log_recovery is ON at its next start ({origin}): it throws away what it has"
        " received and not applied, and if the source has died nothing brings that back"
    )
    return [finding("promise_not_kept", member, words, remedy=RECOVERY)]


def of_start(member: Member) -> list[dict[str, Any]]:
    value, origin = at_start(member.facts, "read_only")
    if value is None or values.canonical_value(value) != "0":
        return []
    words = f"after a restart read_only is {value} ({origin})"
    return [finding("starts_writable", member, words)]
