# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with who is the source: two that take writes, claims that contradict each other, a
change of roles that was broken off.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.replication import gtid
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import sides
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict.finding_kinds import finding


def of_sides(members: list[Member]) -> list[dict[str, Any]]:
    """The findings about who is the source.

    Args:
        members: of one cluster; those without info say nothing.
    """
    decided = sides.decide(members)
    by_host = {member.host: member for member in members}
    where = by_host.get(decided.source or "")
    if where is None or where.info is None:
        where = next((member for member in members if member.info is not None), None)
    if where is None:
        return []
    entries = []
    if decided.writing:
        writing, unclear = [by_host[host] for host in decided.writing], decided.problems[1:]
    else:
        writing, unclear = strays(members, where), decided.problems
    if writing:
        entries.append(finding("two_sources", writing[0], each_alone(writing)))
    entries += [finding("source_unclear", where, words) for words in unclear]
    if decided.interrupted:
        entries.append(finding("change_interrupted", where, decided.interrupted))
    return entries


def strays(members: list[Member], source: Member) -> list[Member]:
    """The source and every server that takes writes beside it, follows nobody and has transactions
    of the cluster; none where there is only the source.
    """
    alone = [member for member in members if sides.takes_writes(member) and not member.channel]
    if source not in alone:
        return []
    beside = [member for member in alone if member is not source and related(member, source)]
    return [source, *beside] if beside else []


def related(member: Member, source: Member) -> bool:
    """True where two servers have transactions of one origin."""
    if member.info["engine"] != "mariadb":
        return bool(
            gtid.parse_set(executed(member)).keys() & gtid.parse_set(executed(source)).keys()
        )
    # Servers that nobody has given a number have the same one.
    own = {int(which.info["variables"]["server_id"] or 0) for which in (member, source)}
    both = gtid.parse_list(executed(member)).keys() & gtid.parse_list(executed(source)).keys()
    return any(len(own) > 1 or server not in own for _domain, server in both)


def executed(member: Member) -> str:
    """What a server has in its binary log or has applied, as MySQL's set or MariaDB's list."""
    known = member.info["gtid"]
    if member.info["engine"] != "mariadb":
        return known.get("gtid_executed") or ""
    states = (known.get("gtid_binlog_state"), known.get("gtid_slave_pos"))
    return ",".join(state for state in states if state)


def each_alone(writing: list[Member]) -> str:
    """What each server has that another lacks, in words."""
    parts = [f"{' and '.join(member.host for member in writing)} take writes"]
    if not all(executed(member) for member in writing):
        parts.append("without GTIDs nothing tells what each has that the other lacks")
        return "; ".join(parts)
    for member in writing:
        for other in writing:
            if other is not member:
                parts.append(f"{member.host} has {alone(member, other)} that {other.host} lacks")
    return "; ".join(parts)


def alone(member: Member, other: Member) -> str:
    """What one server has and another lacks, in words."""
    if member.info["engine"] == "mariadb":
        return gtid.ahead(executed(member), executed(other)) or "nothing"
    lacking = gtid.subtract(executed(member), executed(other))
    return f"{lacking} ({gtid.count(lacking)} transactions)" if lacking else "nothing"
