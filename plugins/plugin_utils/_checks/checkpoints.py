# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The procedure's checkpoints P0 to P5, decided from what the servers reported."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from ansible_collections.dbre.semisync.plugins.module_utils._server import channels
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import canonical_value
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Check, Point
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import FAILED, PASSED
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import option_lines

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        Arrival,
        Info,
        Side,
    )

NOT_WRITTEN = "no row was written in this run"
LAG_SECONDS = 1.0
# Clocks that differ by less than this do not matter to a limit of one second.
CLOCK_TOLERANCE = 0.05
POINT_OF_SIDE = {"source": "P3", "replica": "P4"}
TITLES_OF_SIDE = (
    "the plugin is active",
    "the option files enable it",
    "the variable is ON",
    "the status is ON",
)


class CanaryRow(TypedDict):
    """One row that semisync_canary wrote: how long it took, and how far counters rose."""

    row: int
    latency_ms: float
    confirmed: bool
    counters: dict[str, int]


class Canary(TypedDict, total=False):
    """The result of semisync_canary on the source.

    Attributes:
        written: the rows.
        confirmed_at: when the last one was confirmed, in seconds since 1970 by the host's clock.
        msg: why no row was written.
        reason: the kind of failure: login, driver, …
    """

    written: list[CanaryRow]
    confirmed_at: float
    msg: str
    reason: str


class Observation(TypedDict):
    """A checkpoint that can be seen only once in a cluster's life, as results keep it.

    Attributes:
        server: identity() of the server on which it was seen.
        at: when, as results have times.
    """

    id: str
    host: str
    observed: str
    outcome: str
    server: str
    at: str


def evaluate(
    members: list[Member],
    canary: Canary | None,
    arrivals: Mapping[str, Arrival | None],
    recorded: Mapping[str, Observation],
) -> list[Check]:
    """All checkpoints of a cluster, in the procedure's order.

    Args:
        members: a Member for every host; one without info could not be read.
        canary: result of semisync_canary on the source, or None if no row was written.
        arrivals: host -> result of the waiting semisync_canary on a replica.
        recorded: points that can be seen only once (P2.1, P3.5), by identifier.
    """
    source, replicas = source_of(members), replicas_of(members)
    rows = [replicating(member, members) for member in members]
    rows.append(inserted(source, canary))
    rows += [arrived(replica, canary, arrivals.get(replica.host)) for replica in replicas]
    rows.append(baseline(source, recorded))
    rows += points_of_side(source)
    rows.append(first_client(source, recorded))
    for replica in replicas:
        rows += points_of_side(replica)
    return [*rows, clients(source, replicas), acknowledged(source, canary)]


def baseline(source: Member, recorded: Mapping[str, Observation]) -> Check:
    """P2.1: mysqlslap ran before semi-sync."""
    point = Point(
        "P2.1",
        source.host,
        "mysqlslap baseline before semi-sync is on",
        "a run with seconds for every iteration",
    )
    reason = (
        "no baseline was taken before semi-sync was switched on; site.yml takes one with"
        " semisync_baseline=true"
    )
    return seen_once(
        point,
        source,
        recorded,
        reason,
    )


def first_client(source: Member, recorded: Mapping[str, Observation]) -> Check:
    """P3.5: the source counted no client before its first replica."""
    point = Point(
        "P3.5",
        source.host,
        "no semi-sync client before the first replica",
        "0",
    )
    reason = "the first replica was configured before, or by another controller"
    return seen_once(
        point,
        source,
        recorded,
        reason,
    )


def seen_once(
    point: Point, member: Member, recorded: Mapping[str, Observation], reason: str
) -> Check:
    """A point that can be seen only once in a cluster's life: what was recorded then, for this
    same server.

    Args:
        reason: why it is not applicable if nothing was recorded.
    """
    seen = recorded.get(point.id)
    if seen and member.info is None:
        return point.unknown(member.unread_words)
    if seen and seen.get("server") == identity(member.facts):
        return point.seen(seen["observed"], seen["outcome"] == PASSED, f"recorded {seen['at']}")
    return point.not_applicable(reason)


def identity(info: Info) -> str:
    """What identifies a server: MySQL's server_uuid, MariaDB's host and data directory."""
    variables = info["variables"]
    return variables.get("server_uuid") or f"{variables['hostname']}:{variables['datadir']}"


def replicating(member: Member, members: list[Member]) -> Check:
    """P0: the host has its part in replication."""
    if member.side == "source":
        return logging_changes(member, members)
    expected = "IO thread Yes, SQL thread Yes"
    point = Point(
        "P0",
        member.host,
        "the replica's channel runs",
        expected,
    )
    if member.info is None:
        return point.unknown(member.unread_words)
    channel = member.channel
    return point.seen(channels.describe_channel(channel), channels.running(channel))


def logging_changes(source: Member, members: list[Member]) -> Check:
    """P0 of the source: it has a binary log and a server_id of its own."""
    expected = "log_bin ON, a unique server_id"
    point = Point(
        "P0",
        source.host,
        "the source writes a binary log",
        expected,
    )
    if source.info is None:
        return point.unknown(source.unread_words)
    others = [member for member in members if member is not source]
    taken = [member.info["variables"]["server_id"] for member in others if member.info]
    unread = [member.host for member in others if member.info is None]
    variables = source.info["variables"]
    good = variables["log_bin"] == "ON" and variables["server_id"] not in taken
    observed = f"log_bin {variables['log_bin']}, server_id {variables['server_id']}"
    if good and unread:
        return point.unknown(f"{observed}; the server_id of {', '.join(unread)} is not known")
    return point.seen(observed, good)


def written(canary: Canary) -> list[CanaryRow]:
    return canary.get("written") or []


def inserted(source: Member, canary: Canary | None) -> Check:
    """P1.1: a row is inserted on the source."""
    point = Point(
        "P1.1",
        source.host,
        "a canary row is inserted",
        "the insert is confirmed",
    )
    if canary is None:
        return point.not_applicable(NOT_WRITTEN)
    if not written(canary):
        return not_written(point, source, canary, canary.get("msg", "no row was written"))
    last = written(canary)[-1]
    took = last["latency_ms"]
    observed = f"confirmed after {took:.1f} ms"
    if not last["confirmed"]:
        observed = f"not confirmed within {took:.0f} ms"
    return point.seen(observed, last["confirmed"])


def not_written(point: Point, source: Member, canary: Canary, observed: str) -> Check:
    """A point that needs a row when there is none: unknown if the source could not be asked."""
    if source.info is None or canary.get("reason") == "login":
        return point.unknown(source.unread_words or observed)
    return point.seen(observed, False)


def arrived(replica: Member, canary: Canary | None, arrival: Arrival | None) -> Check:
    """P1.2: the row is on the replica within one second; the lag is measured."""
    point = Point(
        "P1.2",
        replica.host,
        "the row arrives",
        f"within {LAG_SECONDS:.0f} s",
    )
    if canary is None:
        return point.not_applicable(NOT_WRITTEN)
    confirmed_at = canary.get("confirmed_at")
    if not confirmed_at:
        return point.unknown("no row was confirmed on the source")
    if not arrival or arrival.get("unknown"):
        reason = (arrival.get("msg") if arrival else None) or replica.unread_words
        return point.unknown(reason or "the replica was not watched for the row")
    gave_up = arrival.get("gave_up_at")
    if gave_up is not None and gave_up < confirmed_at + LAG_SECONDS:
        return point.unknown(
            "the replica was no longer watched when the row was written, because other hosts"
            " took long"
        )
    arrived_at = arrival.get("arrived_at")
    if not arrival.get("arrived") or arrived_at is None:
        return point.seen(arrival.get("msg") or "the row was not seen", False)
    lag = arrived_at - confirmed_at
    # A commit that waits for its acknowledgement is on the replica before it is confirmed, by up to
    # what it took.
    early = CLOCK_TOLERANCE + sum(row["latency_ms"] for row in written(canary)[-1:]) / 1000.0
    if lag < -early:
        return point.unknown(
            f"seen {-lag:.2f} s before it was confirmed: the clocks of source and replica differ,"
            " and the lag cannot be measured; synchronise them"
        )
    return point.seen(f"after {max(lag, 0) * 1000:.0f} ms", lag <= LAG_SECONDS)


def points_of_side(member: Member) -> list[Check]:
    """P3.1 to P3.4 on the source, P4.1 to P4.4 on a replica."""
    prefix, side = POINT_OF_SIDE[member.side], member.side
    if member.info is None:
        return [
            Point(
                f"{prefix}.{number}",
                member.host,
                title,
                "ON",
            ).unknown(member.unread_words)
            for number, title in enumerate(TITLES_OF_SIDE, 1)
        ]
    return [
        plugin_active(f"{prefix}.1", member, side),
        in_option_files(f"{prefix}.2", member, side),
        variable_on(f"{prefix}.3", member, side),
        status_on(f"{prefix}.4", member, side),
    ]


def plugin_active(number: str, member: Member, side: Side) -> Check:
    info = member.facts
    name = info["names"][side]["plugin"]
    if name is None:
        built_in = f"semi-sync is built into {info['engine']} {info['version']}"
        title = "SHOW PLUGINS has the plugin"
        return Point(
            number,
            member.host,
            title,
            "",
        ).not_applicable(built_in)
    status = info["plugins"].get(name)
    point = Point(
        number,
        member.host,
        f"SHOW PLUGINS has {name}",
        "ACTIVE",
    )
    return point.seen(status or "not installed", status == "ACTIVE")


def in_option_files(number: str, member: Member, side: Side) -> Check:
    name = member.facts["names"][side]["variables"]["enabled"]
    point = Point(
        number,
        member.host,
        f"the option files set {name}",
        "1",
    )
    unknown = option_lines.unknown(member.facts)
    if unknown:
        return point.unknown(unknown)
    value = member.facts["option_files"]["options"].get(name)
    if value is None:
        return point.seen("not set", False)
    return point.seen(value or "set without a value", canonical_value(value) in ("1", ""))


def variable_on(number: str, member: Member, side: Side) -> Check:
    names = member.facts["names"][side]["variables"]
    values = member.facts["semisync"][side]["variables"]
    point = Point(
        number,
        member.host,
        f"{names['enabled']} is ON",
        "ON",
    )
    enabled = values["enabled"]
    if enabled is None:
        return point.seen("no such variable", False)
    rest = ", ".join(
        f"{re.sub(r'^rpl_semi_sync_[a-z]+_', '', names[key])} {values[key]}"
        for key in sorted(values)
        if key != "enabled" and values[key] is not None
    )
    return point.seen(f"{enabled}; {rest}", enabled == "ON")


def status_on(number: str, member: Member, side: Side) -> Check:
    name = member.facts["names"][side]["statuses"]["status"]
    status = member.facts["semisync"][side]["status"]["status"]
    point = Point(
        number,
        member.host,
        f"{name} is ON",
        "ON",
    )
    return point.seen(status or "no such status", status == "ON")


def clients(source: Member, replicas: Sequence[Member]) -> Check:
    """P5.1: the source counts as many semi-sync clients as the cluster has replicas."""
    expected = str(len(replicas))
    if source.info is None:
        point = Point(
            "P5.1",
            source.host,
            "semi-sync clients",
            expected,
        )
        return point.unknown(source.unread_words)
    name = source.info["names"]["source"]["statuses"]["clients"]
    count = source.info["semisync"]["source"]["status"]["clients"]
    point = Point(
        "P5.1",
        source.host,
        name,
        expected,
    )
    if count is None:
        return point.seen("no such status", False)
    return point.seen(str(count), int(count) == len(replicas))


def acknowledged(source: Member, canary: Canary | None) -> Check:
    """P5.2: each row raises yes_tx by 1. Other sessions' commits raise it too, so more is no
    failure; no_tx is.
    """
    point = Point(
        "P5.2",
        source.host,
        "every row is acknowledged",
        "yes_tx +1 per row",
    )
    if canary is None:
        return point.not_applicable(NOT_WRITTEN)
    rows = written(canary)
    counted = [entry["counters"] for entry in rows if "yes_tx" in entry["counters"]]
    if not counted:
        return not_written(point, source, canary, canary.get("msg", "no such status"))
    yes, no = sum(entry["yes_tx"] for entry in counted), sum(entry["no_tx"] for entry in counted)
    good = len(counted) == len(rows) and all(entry["yes_tx"] >= 1 for entry in counted) and no == 0
    exact = point._replace(expected=f"yes_tx +{len(rows)}, no_tx +0")
    return exact.seen(f"yes_tx +{yes}, no_tx +{no}", good)


def observation(
    point: str, host: str, observed: str, good: bool, info: Info, at: str
) -> Observation:
    """What seen_once() looks for: a point seen at the only time it can be, and on which server."""
    return {
        "id": point,
        "host": host,
        "observed": observed,
        "outcome": PASSED if good else FAILED,
        "server": identity(info),
        "at": at,
    }
