# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which replica has received most, when the source is gone and one must be promoted.

An acknowledgement means that a replica's relay log has the transaction, not that it is applied
(MySQL manual, "Semisynchronous Replication"), so what is compared is what was received. By GTID
where every replica has them, by the source's file and position otherwise.
"""

from __future__ import annotations

import functools
import re
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.replication import gtids
from ansible_collections.dbre.semisync.plugins.module_utils.replication.gtid_type import Gtids
from ansible_collections.dbre.semisync.plugins.module_utils.shapes import Info
from ansible_collections.dbre.semisync.plugins.plugin_utils.findings import backlog
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import Member, followed
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change import survivors


class Transactions:
    """GTIDs, where all replicas are of one engine and have them."""

    unit = "transaction(s)"

    @staticmethod
    def usable(info: Info) -> bool:
        if info["engine"] == "mariadb":
            return bool(followed(info)["gtid"] and info["gtid"].get("gtid_slave_pos"))
        return survivors.names_all(info)

    @staticmethod
    def applied(info: Info) -> Gtids:
        kind = gtids.kind_of(info["engine"])
        return kind.parse(info["gtid"].get(kind.APPLIED))

    @staticmethod
    def received(info: Info) -> Gtids:
        return survivors.received_of(gtids.kind_of(info["engine"]), info["gtid"], followed(info))

    @staticmethod
    def join(positions: list[Gtids]) -> Gtids:
        return functools.reduce(lambda one, other: one.union(other), positions)

    @staticmethod
    def missing(whole: Gtids, has: Gtids) -> int:
        return has.missing_of(whole)

    @staticmethod
    def named(whole: Gtids, has: Gtids) -> str:
        return str(whole.minus(has))


class Positions:
    """File and position in the source's binary log; comparable only where all follow the same
    source.
    """

    unit = "byte(s) of the source's binary log"

    @staticmethod
    def usable(info: Info) -> bool:
        return bool(followed(info)["read_file"])

    @staticmethod
    def applied(info: Info) -> tuple[int, int]:
        channel = followed(info)
        return number(channel["applied_file"]), channel["applied_position"]

    @staticmethod
    def received(info: Info) -> tuple[int, int]:
        channel = followed(info)
        return number(channel["read_file"]), channel["read_position"]

    join = staticmethod(max)

    @staticmethod
    def missing(whole: tuple[int, int], has: tuple[int, int]) -> int | None:
        """None where they are in different files, whose length is not known here."""
        if whole <= has:
            return 0
        return whole[1] - has[1] if whole[0] == has[0] else None

    @staticmethod
    def named(_whole: tuple[int, int], _has: tuple[int, int]) -> str:
        return ""


def number(file: str) -> int:
    """The number of a binary log file: binlog.000012 is 12."""
    match = re.search(r"\.(\d+)$", file or "")
    return int(match.group(1)) if match else 0


def measure_of(infos: list[Info]) -> Any | None:
    """What these replicas can be compared by, or None."""
    kinds = {gtids.kind_of(info["engine"]) for info in infos}
    if len(kinds) == 1 and all(Transactions.usable(info) for info in infos):
        return Transactions
    channels = [followed(info) for info in infos]
    sources = {(channel["source_host"], channel["source_port"]) for channel in channels}
    return (
        Positions if len(sources) == 1 and all(Positions.usable(info) for info in infos) else None
    )


def rank(members: list[Member], needed: int) -> dict[str, Any]:
    """The replicas of a cluster, the one that received most first.

    Args:
        members: the cluster's plan.Members; the source is not looked at.
        needed: acknowledgements that a commit waits for.

    Returns:
        candidates (hosts that have all that any has), ranking (dicts), unread (host -> why),
        measured (False where they cannot be compared, None where none was read) and statement
        (sentences).
    """
    replicas = [member for member in members if member.side == "replica"]
    read = [member for member in replicas if member.info is not None and member.channel]
    unread = {
        member.host: member.error or "it follows nobody"
        for member in replicas
        if member not in read
    }
    measure = measure_of([member.facts for member in read]) if read else None
    ranking = []
    if measure:
        whole = measure.join([measure.received(member.info) for member in read])
        ranking = [standing(member, measure, whole) for member in read]
        # What lies in another file is more than what lies in the same.
        ranking.sort(
            key=lambda replica: (
                replica["lacks"] is None,
                replica["lacks"] or 0,
                replica["to_apply"] is None,
                replica["to_apply"] or 0,
            )
        )
    ranked = {
        "candidates": [replica["host"] for replica in ranking if replica["lacks"] == 0],
        "ranking": ranking,
        "unread": unread,
        "measured": (measure is not None) if read else None,
    }
    return dict(ranked, statement=sentences(ranked, needed))


def standing(member: Member, measure: Any, whole: Any) -> dict[str, Any]:
    """How one replica stands against all that any has received."""
    received = measure.received(member.info)
    return {
        "host": member.host,
        "lacks": measure.missing(whole, received),
        "to_apply": measure.missing(received, measure.applied(member.info)),
        # An applier that stands still is said by itself.
        "how_long": how_long(member) if member.link["sql_running"] == "Yes" else "",
        "unit": measure.unit,
        "missing": measure.named(whole, received),
        "receives": member.link["io_running"] == "Yes",
        "sql_running": member.link["sql_running"],
        "last_sql_error": member.link["last_sql_error"],
        "acknowledges": member.facts["semisync"]["replica"]["variables"].get("enabled") == "ON",
    }


def how_long(member: Member) -> str:
    """What the replica has to apply, and for how long; empty where nobody has measured it."""
    estimate = backlog.of_member(member)
    return backlog.words(estimate) if estimate else ""


def amount(count: int | None, unit: str) -> str:
    return "more than a file" if count is None else f"{count} {unit}"


def line(replica: dict[str, Any]) -> str:
    """One replica in a line."""
    parts = [
        (
            "has everything that any replica has received"
            if replica["lacks"] == 0
            else f"lacks {amount(replica['lacks'], replica['unit'])}"
            + (f" ({replica['missing']})" if replica["missing"] else "")
        )
    ]
    parts.append(
        "all applied"
        if replica["to_apply"] == 0
        else replica["how_long"] or f"{amount(replica['to_apply'], replica['unit'])} to apply"
    )
    if replica["sql_running"] != "Yes":
        parts.append(
            "its SQL thread is"
            f" stopped{': ' + replica['last_sql_error'] if replica['last_sql_error'] else ''}"
        )
    if not replica["acknowledges"]:
        parts.append("semi-sync is off there")
    return f"{replica['host']}: {'; '.join(parts)}"


def sentences(ranked: dict[str, Any], needed: int) -> list[str]:
    """The ranking for people, what to do first, and what it cannot know."""
    lines = [line(replica) for replica in ranked["ranking"]]
    lines += [f"{host} is not compared: {why}" for host, why in sorted(ranked["unread"].items())]
    best = next((replica for replica in ranked["ranking"] if replica["lacks"] == 0), None)
    if not best:
        return lines
    receiving = [replica["host"] for replica in ranked["ranking"] if replica["receives"]]
    if receiving:
        lines.append(
            f"{' and '.join(receiving)} received from a source while this was read: it holds for"
            " that moment. Stop the writers, or the source, and ask again."
        )
    if best["to_apply"] != 0:
        lines.append(f"Let {best['host']} apply what it has before anybody writes to it.")
    if len(ranked["unread"]) < needed:
        lines.append(
            f"Every commit that a replica of this inventory acknowledged is on {best['host']}: a"
            f" commit waits for {needed}, and {len(ranked['unread'])} could not be read. What went"
            " out while the source was degraded may be on none. A source that lives, and is only"
            " cut off, may still get acknowledgements: failover.yml stops the IO threads before it"
            " reads."
        )
    else:
        lines.append(
            f"A commit may have been acknowledged by {' or '.join(sorted(ranked['unread']))} alone,"
            " which could not be read: try to bring it back before you promote another."
        )
    return lines


def why_none(ranked: dict[str, Any]) -> str:
    """Why there is no candidate."""
    if ranked["measured"] is None:
        return "no replica can be compared: " + "; ".join(
            f"{host}: {why}" for host, why in sorted(ranked["unread"].items())
        )
    if not ranked["measured"]:
        return (
            "the replicas follow different sources without GTIDs, so nothing tells which has"
            " received most"
        )
    return (
        "no replica has everything: each lacks what another has. Compare what is missing before you"
        " promote one"
    )
