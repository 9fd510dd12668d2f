# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scheduled events: what a look keeps of them for the next source, and what is wrong if one runs
nowhere, or on a replica.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._server import values
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import WARNING
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Finding
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kinds import finding
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import current_source

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import EventState

ENABLED = "ENABLED"
# An event that its source's server is to run.
ELSEWHERE = ("SLAVESIDE_DISABLED", "REPLICA_SIDE_DISABLED")
# How many are named.
NAMED = 5


def of_dead(last: object, source_id: str) -> list[EventState] | None:
    """The events of a dead source, as the last look saw them; None if the look was at another
    server, or saw none.

    Args:
        last: what was kept.
        source_id: what the journal knows the dead one by.
    """
    if not isinstance(last, dict) or not source_id:
        return None
    known = (str(last.get("server") or "").lower(), str(last.get("server_id")))
    seen: list[EventState] | None = last.get("events")
    return seen if source_id.lower() in known else None


def event_findings_of_source(member: Member) -> list[Finding]:
    """Events that run nowhere; none if they could not be read."""
    away = [one for one in events_of(member) if one["status"] in ELSEWHERE]
    own = [one for one in events_of(member) if one["status"] == ENABLED]
    said = []
    if away:
        said.append(f"{named(away)} {'is' if len(away) == 1 else 'are'} {away[0]['status']}")
    scheduler = current_source.variables_of(member).get("event_scheduler") or ""
    if own and scheduler and values.canonical_value(scheduler) != "1":
        said.append(f"event_scheduler is {scheduler}, and {named(own)} would run")
    return [finding("events_nowhere", member, "; ".join(said))] if said else []


def event_findings_of_replica(member: Member) -> list[Finding]:
    """Events that a replica runs itself; a warning if something keeps them from writing now."""
    own = [one for one in events_of(member) if one["status"] == ENABLED]
    if not own:
        return []
    variables = member.facts["variables"]
    scheduler = str(variables.get("event_scheduler") or "")
    words = f"{named(own)} {'is' if len(own) == 1 else 'are'} ENABLED"
    if scheduler and values.canonical_value(scheduler) != "1":
        return [finding("events_on_replica", member, f"{words}; event_scheduler OFF", WARNING)]
    if values.same_value(variables.get("super_read_only"), "ON"):
        return [finding("events_on_replica", member, f"{words}; super_read_only ON", WARNING)]
    return [finding("events_on_replica", member, words)]


def events_of(member: Member) -> list[EventState]:
    """Its events; none if they could not be read."""
    return (member.info.get("events") if member.info else None) or []


def named(events: list[EventState]) -> str:
    names = [f"{one['schema']}.{one['name']}" for one in events]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
