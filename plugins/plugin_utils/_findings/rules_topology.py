# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with who is the source: two that take writes, claims that contradict each other, a
role change that was interrupted.
"""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtid_type import Gtids
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Finding
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kinds import finding
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import current_source


def topology_findings(members: list[Member]) -> list[Finding]:
    """The findings about who is the source.

    Args:
        members: of one cluster; those without info say nothing.
    """
    decided = current_source.decide(members)
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
    """The source and every other server that takes writes, follows no source and has transactions
    of the cluster; none if there is only the source.
    """
    alone = [
        member for member in members if current_source.takes_writes(member) and not member.channel
    ]
    if source not in alone:
        return []
    beside = [member for member in alone if member is not source and related(member, source)]
    return [source, *beside] if beside else []


def related(member: Member, source: Member) -> bool:
    """Whether two servers have transactions of one origin."""
    both = executed(member).same_places(executed(source))
    mine, theirs = (
        str(int(which.facts["variables"]["server_id"] or 0)) for which in (member, source)
    )
    if member.facts["engine"] == "mariadb" and mine == theirs:
        # Servers without a configured server_id have the same one.
        both = both.not_of_server(mine)
    return bool(both)


def executed(member: Member) -> Gtids:
    """What a server has in its binary log or has applied, as a state."""
    known, kind = member.facts["gtid"], gtids.kind_of(member.facts["engine"])
    return kind.of(known.get(kind.STATE), known.get(kind.APPLIED))


def each_alone(writing: list[Member]) -> str:
    """What each server has that another lacks, in words."""
    parts = [f"{' and '.join(member.host for member in writing)} take writes"]
    if not all(executed(member) for member in writing):
        parts.append("without GTIDs it is not known what each has that the other lacks")
        return "; ".join(parts)
    for member in writing:
        for other in writing:
            if other is not member:
                parts.append(f"{member.host} has {alone(member, other)} that {other.host} lacks")
    return "; ".join(parts)


def alone(member: Member, other: Member) -> str:
    """What one server has and another lacks, in words."""
    mine, theirs = executed(member), executed(other)
    lacking = mine.beyond(theirs)
    if not lacking or member.facts["engine"] == "mariadb":
        return str(lacking) or "nothing"
    return f"{lacking} ({theirs.missing_of(mine)} transactions)"
