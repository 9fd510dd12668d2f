# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which server is the source of a cluster. The inventory's groups decide at the beginning; once the
cluster replicates, the servers do: which one the others follow, and which one the journal names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._replication import journal
from ansible_collections.dbre.semisync.plugins.module_utils._server import values
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        Channel,
        HeldRow,
        JournalRow,
        Variables,
    )


class CurrentSource(NamedTuple):
    """The source, and what contradicts it.

    Attributes:
        source: its inventory name; with problems, the likeliest. None if the inventory has none.
        outdated: whether the inventory's groups name another.
        problems: what contradicts it, in words.
        row: the newest row of the journal, or None.
        interrupted: an operation that is neither done nor undone, in words, or "".
        writing: hosts that accept writes independently and claim to be the source, if there are
            several. Their claims are the first of the problems.
    """

    source: str | None
    outdated: bool
    problems: list[str]
    row: JournalRow | None = None
    interrupted: str = ""
    writing: tuple[str, ...] = ()


def rivals_of(
    members: list[Member],
    likeliest: str | None,
    heads: list[str],
    edges: dict[str, str],
    row: JournalRow | None,
) -> list[str]:
    """Hosts that claim to be the source, besides the likeliest.

    Args:
        heads: hosts that others follow and that follow none, and the one that the journal certainly
            names.
        edges: host -> the host it follows.
        row: the newest row of the journal.
    """
    left_behind = [known["id"] for known in held_rows(members)]
    return [
        member.host
        for member in members
        if member.host != likeliest
        and (
            member.host in heads
            or (member.group == "source" and follows_nobody(member, edges))
            or (
                (in_row(member, row) or identity(member) in left_behind)
                and writes_alone(member, edges)
            )
        )
    ]


def interruption(row: JournalRow | None) -> str:
    """An operation that the journal shows as begun, in words, or ""."""
    if not row or row["state"] != journal.BEGUN:
        return ""
    return (
        f"a {row['operation']} from {row['from_host']} to {row['to_host']} began at"
        f" {row['happened']} and is neither done nor undone"
    )


def decide(members: list[Member]) -> CurrentSource:
    """Decide which member is the source from what the members reported; some may not have been
    read.
    """
    members = list({member.host: member for member in reversed(members)}.values())[::-1]
    row, problems = newest_row(members)
    named, surely = named_by(row, members)
    edges = followed(members, row)
    tops, rings = tops_of(edges)
    problems += [
        f"{' and '.join(ring)} follow each other in a ring, so none of them is the source: remove"
        " the channel of the one that is to be the source"
        for ring in rings
    ]
    by_group = [member.host for member in members if member.group == "source"]
    likeliest = choose(members, edges, tops, named, row, by_group)
    claims = {
        member.host: claims_of(member, edges, named if surely or not tops else None, row)
        for member in members
    }
    heads = [*tops, named] if surely and named else tops
    rivals = rivals_of(members, likeliest, heads, edges, row)
    writing: tuple[str, ...] = ()
    if rivals and likeliest:
        hosts = [likeliest, *rivals]
        writing = tuple(
            member.host
            for member in members
            if member.host in hosts and writes_alone(member, edges)
        )
        writing = writing if len(writing) > 1 else ()
        problems.insert(0, contradiction(hosts, writing, claims))
    outdated = bool(by_group) and likeliest not in by_group
    return CurrentSource(likeliest, outdated, problems, row, interruption(row), writing)


def newest_row(members: list[Member]) -> tuple[JournalRow | None, list[str]]:
    """(the newest row of all members' journals or None, contradictions between them)."""
    journals = [
        (member.host, member.info.get("journal")) for member in members if member.info is not None
    ]
    rows = [(host, row) for host, row in journals if row]
    if not rows:
        return None, []
    number = max(row["number"] for _host, row in rows)
    last = [(host, row) for host, row in rows if row["number"] == number]
    words = [f"{host}'s says: {row_words(row)}" for host, row in last]
    kinds = {(row["run"], row["state"], row["to_id"], row["from_id"]) for _host, row in last}
    if len(kinds) < 2:
        return last[0][1], []
    return last[0][1], [
        f"the journals differ in row {number}: {'; '.join(words)}. Add a row that names the source"
        " (docs/operations.md)"
    ]


def held_rows(members: list[Member]) -> list[HeldRow]:
    """What the longest of the members' journals says of quarantined servers: a held host's own
    journal ends earlier.
    """
    read = [member.info for member in members if member.info is not None]
    journals = [info.get("journal") for info in read]
    numbers = [row["number"] if row else 0 for row in journals]
    if not numbers or not max(numbers):
        return []
    return read[numbers.index(max(numbers))].get("held") or []


def row_words(row: JournalRow) -> str:
    """One row of the journal for people."""
    return (
        f"{row['operation']} from {row['from_host']} to {row['to_host']} {row['state']} at"
        f" {row['happened']}"
    )


def named_by(row: JournalRow | None, members: list[Member]) -> tuple[str | None, bool]:
    """(the member that the journal's newest row names as the source or None, whether that is the
    same server and not only the same name).
    """
    if row is None:
        return None, False
    if row["state"] == journal.DONE or row["operation"] == journal.REJOIN:
        number, name = journal.ends(row)[0]
    elif row["state"] == journal.UNDONE:
        number, name = journal.ends(row)[1]
    else:
        return None, False
    for member in members:
        if number and identity(member) == number:
            return member.host, True
    for member in members:
        if member.host == name:
            # Data copied from another cluster include its journal.
            return member.host, member.info is None
    return None, False


def identity(member: Member) -> str:
    """A member's identity in the journal; empty if it could not be read."""
    return journal.identity(variables_of(member))


def in_row(member: Member, row: JournalRow | None) -> bool:
    """Whether a member is one of the two servers of a journal row."""
    return row is not None and bool(
        identity(member) and identity(member) in (row["from_id"], row["to_id"])
    )


def variables_of(member: Member) -> Variables:
    """A member's server variables, empty if it could not be read."""
    return member.info["variables"] if member.info else {}


def channel_of(member: Member) -> Channel | None:
    return member.info.get("channel") if member.info else None


def takes_writes(member: Member) -> bool:
    """Whether a member was read and takes its clients' writes."""
    return values.same_value(variables_of(member).get("read_only"), "OFF")


def follows_nobody(member: Member, edges: dict[str, str]) -> bool:
    return member.info is not None and member.host not in edges


def writes_alone(member: Member, edges: dict[str, str]) -> bool:
    return takes_writes(member) and follows_nobody(member, edges)


def active(member: Member) -> bool:
    """Whether any thread of a member's channel runs, or tries to."""
    channel = channel_of(member)
    return channel is not None and (channel["io_running"], channel["sql_running"]) != ("No", "No")


def followed(members: list[Member], row: JournalRow | None) -> dict[str, str]:
    """Which host follows which within the cluster, by host.

    A stopped channel on a server that takes writes, and that another follows or the journal shows
    as promoted, is left over from its time as a replica: it no longer follows any server.
    """
    targets = {member.host: target_of(member, members, row) for member in members}
    edges = {host: target for host, target in targets.items() if target}
    alive = {edges[member.host] for member in members if member.host in edges and active(member)}
    promoted = row["to_id"] if row and row["state"] != journal.UNDONE else ""
    for member in members:
        is_promoted = member.host in alive or (promoted and identity(member) == promoted)
        if is_promoted and takes_writes(member) and not active(member):
            edges.pop(member.host, None)
    return edges


def target_of(member: Member, members: list[Member], row: JournalRow | None) -> str | None:
    """The member that a member's channel follows; None if that is outside the cluster.

    A channel that has run knows its source's server_uuid or server_id. One that never ran has only
    the address, and so has a member that could not be read.
    """
    channel, others = channel_of(member), [other for other in members if other is not member]
    if not channel:
        return None
    uuid, number = channel["source_uuid"], int(channel["source_server_id"] or 0)
    same = [other.host for other in others if followed_by(channel, variables_of(other))]
    if len(same) == 1:
        return same[0]
    for other in others:
        port = variables_of(other).get("port", channel["source_port"])
        if channel["source_host"] == other.address and str(port) == str(channel["source_port"]):
            return other.host
    unread = [other.host for other in others if other.info is None]
    if not unread or not (uuid or number):
        return None
    # Its address is outside the cluster, but it may be a member that could not be read.
    for identifier, host in journal.ends(row) if row else ():
        if identifier == (uuid or str(number)) and host in unread:
            return host
    groups = [other.host for other in others if other.info is None and other.group == "source"]
    return (groups or unread)[0]


def followed_by(channel: Channel, variables: Variables) -> bool:
    """Whether a channel that ran followed the server with these variables."""
    if channel["source_uuid"]:
        return bool(channel["source_uuid"] == variables.get("server_uuid"))
    number = int(channel["source_server_id"] or 0)
    return bool(
        number
        and not variables.get("server_uuid")
        and number == int(variables.get("server_id") or 0)
    )


def tops_of(edges: dict[str, str]) -> tuple[list[str], list[list[str]]]:
    """(hosts that are followed and follow none, rings)."""
    tops: list[str] = []
    rings: list[list[str]] = []
    for host in edges:
        way = [host]
        while way[-1] in edges and edges[way[-1]] not in way:
            way.append(edges[way[-1]])
        if way[-1] not in edges:
            if way[-1] not in tops:
                tops.append(way[-1])
            continue
        ring = sorted(way[way.index(edges[way[-1]]) :])
        if ring not in rings:
            rings.append(ring)
    return tops, rings


def choose(
    members: list[Member],
    edges: dict[str, str],
    tops: list[str],
    named: str | None,
    row: JournalRow | None,
    by_group: list[str],
) -> str | None:
    """The likeliest source: the followed host, then the one that the journal names, then the
    inventory's.
    """
    by_host = {member.host: member for member in members}
    if len(tops) == 1 and not (
        by_host[tops[0]].info is None and named and writes_alone(by_host[named], edges)
    ):
        return tops[0]
    if named and (named in tops or not tops or writes_alone(by_host[named], edges)):
        return named
    if row and row["state"] == journal.BEGUN and not tops:
        writing = [
            member.host for member in members if writes_alone(member, edges) and in_row(member, row)
        ]
        before = [member.host for member in members if identity(member) == row["from_id"]]
        if len(writing) == 1 or before:
            return writing[0] if len(writing) == 1 else before[0]
    for host in [*by_group, *tops]:
        if not tops or host in tops:
            return host
    return by_group[0] if by_group else None


def claims_of(
    member: Member, edges: dict[str, str], named: str | None, row: JournalRow | None
) -> list[str]:
    """What speaks for a member as the source, in words."""
    followers = [host for host, target in edges.items() if target == member.host]
    claims = []
    if followers:
        claims.append(f"{' and '.join(followers)} {'follow' if followers[1:] else 'follows'} it")
    if row is not None and member.host == named:
        claims.append(f"the journal names it ({row_words(row)})")
    if member.group == "source":
        claims.append("the inventory's group semisync_source has it")
    if member.info is None:
        claims.append("it could not be read")
    elif takes_writes(member):
        claims.append("it takes writes")
    else:
        claims.append("it is read-only")
    if member.host in edges:
        claims.append(f"it follows {edges[member.host]}")
    elif member.info is not None:
        claims.append("it follows no source")
    return claims


def contradiction(hosts: list[str], writing: tuple[str, ...], claims: dict[str, list[str]]) -> str:
    """The claims of the hosts, and what to do."""
    listed = "; ".join(f"{host}: {', '.join(claims[host])}" for host in hosts)
    if writing:
        return (
            f"{' and '.join(writing)} take writes, a split brain ({listed}). Keep clients on one"
            " of them and make the other read-only; verify.yml says what each has that the"
            " other lacks (two_sources)"
        )
    return (
        f"it is not clear which server is the source ({listed}). Make the others follow the source;"
        " if its role was moved without this collection, add a row to the journal"
        " (docs/operations.md). Until only one server claims to be the source, no playbook changes"
        " anything"
    )


def announcement(name: str, source: CurrentSource) -> str:
    """The one line that the groups are out of date; empty if they are not."""
    if not source.outdated or source.problems:
        return ""
    since = ""
    row = source.row
    if row and row["state"] == journal.DONE and row["to_host"] == source.source:
        since = f" since {row['happened']} ({row['operation']})"
    return (
        f"The inventory's groups are out of date: {source.source} is the source of cluster"
        f" {name}{since}"
    )
