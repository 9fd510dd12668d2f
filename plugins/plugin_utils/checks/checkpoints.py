# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The procedure's checkpoints P0 to P5, decided from what the servers said.

Every row has the point's identifier, its host, what was expected, what was observed, and an
outcome: passed, failed, or, with a reason, unknown or not_applicable.
"""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.server import channels
from ansible_collections.dbre.semisync.plugins.module_utils.server.values import canonical_value
from ansible_collections.dbre.semisync.plugins.module_utils.shapes import Info, Side
from ansible_collections.dbre.semisync.plugins.plugin_utils.checks.check import row, unseen
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import option_lines
from ansible_collections.dbre.semisync.plugins.plugin_utils.words import (
    FAILED,
    PASSED,
)

NOT_WRITTEN = "no row was written in this run"
LAG_SECONDS = 1.0
# Clocks that differ by less than this do not matter to a limit of one second.
CLOCK_TOLERANCE = 0.05
POINT_OF_SIDE = {"source": "P3", "replica": "P4"}


def evaluate(
    members: list[Member],
    canary: dict[str, Any] | None,
    arrivals: dict[str, Any],
    recorded: dict[str, Any],
) -> list[dict[str, Any]]:
    """All checkpoints of a cluster.

    Args:
        members: a Member for every host; one without info could not be read.
        canary: result of semisync_canary on the source, or None where no row was written.
        arrivals: host -> result of the waiting semisync_canary on a replica.
        recorded: rows of points that can be seen only once (P2.1, P3.5), by identifier.

    Returns:
        list of row(), in the procedure's order.
    """
    source, replicas = source_of(members), replicas_of(members)
    rows = [replicating(member, members) for member in members]
    rows += [inserted(source, canary)]
    rows += [arrived(replica, canary, arrivals.get(replica.host)) for replica in replicas]
    rows += [
        once(
            "P2.1",
            source,
            recorded,
            "mysqlslap baseline before semi-sync is on",
            "a run with seconds for every iteration",
            "no baseline was taken before semi-sync was switched on; "
            "site.yml takes one with semisync_baseline=true",
        )
    ]
    rows += points_of_side(source)
    rows += [
        once(
            "P3.5",
            source,
            recorded,
            "no semi-sync client before the first replica",
            "0",
            "the first replica was configured before, or by another controller",
        )
    ]
    for replica in replicas:
        rows += points_of_side(replica)
    return [*rows, clients(source, replicas), acknowledged(source, canary)]


def once(
    point: str, member: Member, recorded: dict[str, Any], title: str, expected: str, reason: str
) -> dict[str, Any]:
    """A point that can be seen only once in a cluster's life: what was recorded then, for this very
    server.
    """
    seen = recorded.get(point)
    if seen and member.info and seen.get("server") == identity(member.info):
        return row(
            point,
            member.host,
            title,
            expected,
            seen["observed"],
            seen["outcome"] == PASSED,
            f"recorded {seen['at']}",
        )
    if seen and member.info is None:
        return unseen(point, member.host, title, expected, member.unread_words)
    return row(point, member.host, title, expected, "", None, reason)


def identity(info: Info) -> str:
    """What tells this server from any other: MySQL's server_uuid, MariaDB's host and data
    directory.
    """
    variables = info["variables"]
    return variables.get("server_uuid") or f"{variables['hostname']}:{variables['datadir']}"


def replicating(member: Member, members: list[Member]) -> dict[str, Any]:
    """P0: the host has its part in replication."""
    if member.side == "source":
        title, expected = "the source writes a binary log", "log_bin ON, a server_id of its own"
        if member.info is None:
            return unseen("P0", member.host, title, expected, member.unread_words)
        variables = member.info["variables"]
        others = [
            other.info["variables"]["server_id"]
            for other in members
            if other.info and other is not member
        ]
        good = variables["log_bin"] == "ON" and variables["server_id"] not in others
        observed = f"log_bin {variables['log_bin']}, server_id {variables['server_id']}"
        unread = [other.host for other in members if other.info is None]
        if good and unread:
            reason = f"{observed}; the server_id of {', '.join(unread)} is not known"
            return unseen("P0", member.host, title, expected, reason)
        return row("P0", member.host, title, expected, observed, good)
    title, expected = "the replica's channel runs", "IO thread Yes, SQL thread Yes"
    if member.info is None:
        return unseen("P0", member.host, title, expected, member.unread_words)
    return row(
        "P0",
        member.host,
        title,
        expected,
        channels.describe_channel(member.channel),
        channels.running(member.channel),
    )


def written(canary: dict[str, Any]) -> list[dict[str, Any]]:
    return (canary or {}).get("written") or []


def inserted(source: Member, canary: dict[str, Any] | None) -> dict[str, Any]:
    """P1.1: a row is inserted on the source."""
    title, expected = "a canary row is inserted", "the insert is confirmed"
    if canary is None:
        return row("P1.1", source.host, title, expected, "", None, NOT_WRITTEN)
    if not written(canary):
        said = canary.get("msg", "no row was written")
        if source.info is None or canary.get("reason") == "login":
            return unseen("P1.1", source.host, title, expected, source.unread_words or said)
        return row("P1.1", source.host, title, expected, said, False)
    last = written(canary)[-1]
    took = last["latency_ms"]
    seen = f"confirmed after {took:.1f} ms"
    if not last["confirmed"]:
        seen = f"not confirmed within {took:.0f} ms"
    return row("P1.1", source.host, title, expected, seen, last["confirmed"])


def arrived(
    replica: Member, canary: dict[str, Any] | None, arrival: dict[str, Any] | None
) -> dict[str, Any]:
    """P1.2: the row is on the replica within one second; the lag is measured."""
    title, expected = "the row arrives", f"within {LAG_SECONDS:.0f} s"
    if canary is None:
        return row("P1.2", replica.host, title, expected, "", None, NOT_WRITTEN)
    if not canary.get("confirmed_at"):
        reason = "no row was confirmed on the source"
        return unseen("P1.2", replica.host, title, expected, reason)
    if not arrival or arrival.get("unknown"):
        reason = (arrival or {}).get("msg") or replica.unread_words or "nobody watched for the row"
        return unseen("P1.2", replica.host, title, expected, reason)
    gave_up = arrival.get("gave_up_at")
    if gave_up is not None and gave_up < canary["confirmed_at"] + LAG_SECONDS:
        reason = "nobody watched for the row any more when it was written; other hosts took long"
        return unseen("P1.2", replica.host, title, expected, reason)
    if not arrival.get("arrived"):
        said = arrival.get("msg") or "the row was not seen"
        return row("P1.2", replica.host, title, expected, said, False)
    lag = arrival["arrived_at"] - canary["confirmed_at"]
    # A commit that waits for its acknowledgement is on the replica before it is confirmed, by up to
    # what it took.
    if lag < -CLOCK_TOLERANCE - sum(entry["latency_ms"] for entry in written(canary)[-1:]) / 1000.0:
        return unseen(
            "P1.2",
            replica.host,
            title,
            expected,
            f"seen {-lag:.2f} s before it was confirmed: the clocks of source and replica differ,"
            " and the lag cannot be measured; synchronise them",
        )
    return row(
        "P1.2",
        replica.host,
        title,
        expected,
        f"after {max(lag, 0) * 1000:.0f} ms",
        lag <= LAG_SECONDS,
    )


def points_of_side(member: Member) -> list[dict[str, Any]]:
    """P3.1 to P3.4 on the source, P4.1 to P4.4 on a replica."""
    point, side = POINT_OF_SIDE[member.side], member.side
    if member.info is None:
        titles = (
            "the plugin is active",
            "the option files enable it",
            "the variable is ON",
            "the status is ON",
        )
        return [
            unseen(f"{point}.{number}", member.host, title, "ON", member.unread_words)
            for number, title in enumerate(titles, 1)
        ]
    return [
        plugin_active(point + ".1", member, side),
        in_option_files(point + ".2", member, side),
        variable_on(point + ".3", member, side),
        status_on(point + ".4", member, side),
    ]


def plugin_active(point: str, member: Member, side: Side) -> dict[str, Any]:
    name = member.facts["names"][side]["plugin"]
    if name is None:
        return row(
            point,
            member.host,
            "SHOW PLUGINS has the plugin",
            "",
            "",
            None,
            f"semi-sync is built into {member.facts['engine']} {member.facts['version']}",
        )
    status = member.facts["plugins"].get(name)
    return row(
        point,
        member.host,
        f"SHOW PLUGINS has {name}",
        "ACTIVE",
        status or "not installed",
        status == "ACTIVE",
    )


def in_option_files(point: str, member: Member, side: Side) -> dict[str, Any]:
    name = member.facts["names"][side]["variables"]["enabled"]
    title = f"the option files set {name}"
    unknown = option_lines.unknown(member.facts)
    if unknown:
        return unseen(point, member.host, title, "1", unknown)
    value = member.facts["option_files"]["options"].get(name)
    return row(
        point,
        member.host,
        title,
        "1",
        "not set" if value is None else value or "set without a value",
        value is not None and canonical_value(value) in ("1", ""),
    )


def variable_on(point: str, member: Member, side: Side) -> dict[str, Any]:
    names, values = (
        member.facts["names"][side]["variables"],
        member.facts["semisync"][side]["variables"],
    )
    enabled = values["enabled"]
    rest = ", ".join(
        f"{re.sub(r'^rpl_semi_sync_[a-z]+_', '', names[key])} {values[key]}"
        for key in sorted(values)
        if key != "enabled" and values[key] is not None
    )
    return row(
        point,
        member.host,
        f"{names['enabled']} is ON",
        "ON",
        "no such variable" if enabled is None else f"{enabled}; {rest}",
        enabled == "ON",
    )


def status_on(point: str, member: Member, side: Side) -> dict[str, Any]:
    name = member.facts["names"][side]["statuses"]["status"]
    status = member.facts["semisync"][side]["status"]["status"]
    return row(
        point, member.host, f"{name} is ON", "ON", status or "no such status", status == "ON"
    )


def clients(source: Member, replicas: list[Member]) -> dict[str, Any]:
    """P5.1: the source counts as many semi-sync clients as the cluster has replicas."""
    title, expected = "semi-sync clients", str(len(replicas))
    if source.info is None:
        return unseen("P5.1", source.host, title, expected, source.unread_words)
    names = source.info["names"]["source"]["statuses"]
    count = source.info["semisync"]["source"]["status"]["clients"]
    return row(
        "P5.1",
        source.host,
        names["clients"],
        expected,
        "no such status" if count is None else str(count),
        count is not None and int(count) == len(replicas),
    )


def acknowledged(source: Member, canary: dict[str, Any] | None) -> dict[str, Any]:
    """P5.2: each row raises yes_tx by 1. Other sessions' commits raise it too, so more is no
    failure; no_tx is.
    """
    title, expected = "every row is acknowledged", "yes_tx +1 per row"
    if canary is None:
        return row("P5.2", source.host, title, expected, "", None, NOT_WRITTEN)
    rows = written(canary)
    counted = [entry["counters"] for entry in rows if "yes_tx" in entry["counters"]]
    if not counted:
        observed = canary.get("msg", "no such status")
        if source.info is None or canary.get("reason") == "login":
            return unseen("P5.2", source.host, title, expected, source.unread_words or observed)
        return row("P5.2", source.host, title, expected, observed, False)
    yes, no = sum(entry["yes_tx"] for entry in counted), sum(entry["no_tx"] for entry in counted)
    good = len(counted) == len(rows) and all(entry["yes_tx"] >= 1 for entry in counted) and no == 0
    return row(
        "P5.2",
        source.host,
        title,
        f"yes_tx +{len(rows)}, no_tx +0",
        f"yes_tx +{yes}, no_tx +{no}",
        good,
    )


def observation(
    point: str, host: str, observed: str, good: bool, info: Info, at: str
) -> dict[str, Any]:
    """What once() looks for: a point seen at the only time it can be seen, and on which server."""
    return {
        "id": point,
        "host": host,
        "observed": observed,
        "outcome": PASSED if good else FAILED,
        "server": identity(info),
        "at": at,
    }
