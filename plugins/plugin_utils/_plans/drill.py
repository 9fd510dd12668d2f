# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide whether the drill may run, and plan it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._server.values import canonical_value
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import durability_mode
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.progress import duration_text
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import option_lines, problems

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.plan_shapes import DrillTask
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Info

# Seconds that a drill takes besides the wait for the fallback, before one was measured.
AROUND = 20


def blocks_too_long(source: Member, settings: Settings) -> list[str]:
    """Why writers could wait longer than the drill allows."""
    timeout = int(source.facts["semisync"]["source"]["variables"]["timeout"] or 0)
    if timeout <= settings["drill_max_block"] * 1000:
        return []
    advice = (
        "There is no fallback to rehearse under semisync_promise=lossless"
        if durability_mode.is_lossless(settings)
        else "Lower semisync_timeout, or raise semisync_drill_max_block"
    )
    return [
        f"{source.host}: the semi-sync timeout is {int(timeout)} ms, so writers could be"
        f" blocked for {timeout / 1000.0:g} s, and semisync_drill_max_block allows"
        f" {settings['drill_max_block']:g} s. {advice}"
    ]


def refusals(members: list[Member], settings: Settings, units: dict[str, str | None]) -> list[str]:
    """Why the drill must not begin.

    Args:
        members: of the cluster.
        settings: the public variables.
        units: host -> its semisync_service.
    """
    unfit = problems.reading_problems(members) or problems.source_problems(members)
    if unfit:
        return unfit
    reasons, source, replicas = [], source_of(members), replicas_of(members)
    if settings["drill_replica"] and settings["drill_replica"] not in [
        replica.host for replica in replicas
    ]:
        reasons.append(
            f"semisync_drill_replica is {settings['drill_replica']}, which is not a replica of this"
            f" cluster; name one of: {', '.join(replica.host for replica in replicas)}"
        )
    reasons += blocks_too_long(source, settings)
    for replica in drilled(members, settings):
        if not unit_of(replica, units):
            reasons.append(
                f"{replica.host}: its server belongs to no systemd unit, so it cannot be stopped"
                " and started; set semisync_service"
            )
        if not starts_its_channel(replica.facts):
            reasons.append(
                f"{replica.host}: skip_replica_start is set, so its channel would stay stopped"
                " after a start of its server; take it out of the option file, or drill by hand"
            )
    return reasons


def starts_its_channel(info: Info) -> bool:
    """Whether a replica's channel starts by itself with its server, or plans/received.py's service
    starts it.
    """
    service = info.get("received")
    if service and service["stands"]:
        return True
    values = [
        where[name]
        for where in (
            info["option_files"]["options"],
            option_lines.command_line(info),
            info["persisted"],
        )
        for name in ("skip_replica_start", "skip_slave_start")
        if name in where
    ]
    return not values or canonical_value(values[-1]) == "0"


def drilled(members: list[Member], settings: Settings) -> list[Member]:
    return [
        replica
        for replica in replicas_of(members)
        if settings["drill_replica"] in ("", replica.host)
    ]


def unit_of(replica: Member, units: dict[str, str | None]) -> str | None:
    return units.get(replica.host) or replica.facts["unit"]


def drill_plan(
    members: list[Member], settings: Settings, units: dict[str, str | None]
) -> list[DrillTask]:
    """The plan: a drill per replica, in the inventory's order.

    Returns:
        list of {'replica', 'source', 'unit', 'timeout_ms', 'needed', 'clients', 'waits',
        'expected_fallback', 'position', 'count'}: the acknowledgements that a commit needs, the
        number of clients now, whether the source waits at all for missing replicas, and which of
        how many drills it is.
    """
    source, stopped = source_of(members), drilled(members, settings)
    running = source.facts["semisync"]["source"]
    variables, status = running["variables"], running["status"]
    needed = int(variables.get("wait_for_replica_count") or 1)
    clients = int(status["clients"] or 0)
    return [
        {
            "replica": replica.host,
            "source": source.host,
            "unit": unit_of(replica, units) or "",
            "timeout_ms": int(variables["timeout"] or 0),
            "needed": needed,
            "clients": clients,
            "waits": variables.get("wait_no_replica") != "OFF",
            "expected_fallback": clients - 1 < needed,
            "position": position,
            "count": len(stopped),
        }
        for position, replica in enumerate(stopped, 1)
    ]


def announcement(cluster: str, drills: list[DrillTask]) -> str:
    """What will be drilled, about how long it takes, and how long writers may wait."""
    waits = [one["timeout_ms"] / 1000.0 if one["expected_fallback"] else 0.0 for one in drills]
    replicas = ", ".join(one["replica"] for one in drills)
    order = ", one after another" if len(drills) > 1 else ""
    blocked = f"writers may be blocked for {max(waits):g} s each time"
    return (
        f"Drill of cluster {cluster}: {replicas}{order}, about"
        f" {duration_text(sum(waits) + AROUND * len(drills))};"
        f" {blocked if any(waits) else 'the other replicas acknowledge, so no writer is blocked'}"
    )
