# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An interrupted switchover, one of whose two servers is lost. What the other members have shows
whether its target can have been open; the journal's row does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._host import clock
from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids, journal
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtid_type import Gtids
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import role_statements
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Case
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import current_source

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        Info,
        JournalRow,
    )

# The case that one is for a failover.
INTERRUPTED = "interrupted"


def is_fenced(member: Member) -> bool:
    """Whether the option file that closes a source while its role moves is on its host."""
    return bool(member.info and member.info.get("fence"))


def half_done(members: list[Member], row: JournalRow | None) -> bool:
    """Whether the newest row is of a switchover that began and did not end, or of a completed one
    whose target is read-only, because it was restarted with its old option file.
    """
    if row is None or row["operation"] != journal.SWITCHOVER or row["state"] == journal.UNDONE:
        return False
    target = ends(members, row).target
    frozen = (
        target is not None and target.info is not None and not current_source.takes_writes(target)
    )
    return begun(row) or frozen


class Ends(NamedTuple):
    """The two servers of a row, each None if the inventory does not have it."""

    source: Member | None
    target: Member | None


def begun(row: JournalRow | None) -> bool:
    """Whether the newest row of the journal is of a switchover that did not end."""
    return bool(row and row["operation"] == journal.SWITCHOVER and row["state"] == journal.BEGUN)


def ends(members: list[Member], row: JournalRow) -> Ends:
    """The two servers of a row: by identity, or by name if they were not read."""
    after, before = journal.ends(row)
    return Ends(server(members, *before), server(members, *after))


def server(
    members: list[Member],
    number: str,
    name: str,
) -> Member | None:
    """The member with this identity; if it was not read, the one of this name."""
    for member in members:
        if number and current_source.identity(member) == number:
            return member
    named = (one for one in members if one.host == name and not (number and one.info))
    return next(named, None)


def started_since(member: Member, row: JournalRow) -> bool:
    """Whether a server was started after a row of its journal, by its own clock."""
    started = member.facts["clock"] - int(member.facts["uptime"]["seconds"])
    return bool(started > clock.moment_of(row["happened"]))


def closed_by_hand(members: list[Member], row: JournalRow | None) -> Member | None:
    """The target of a completed role change, if it is read-only although its server was not
    restarted: a statement closed it, and no playbook opens it again. None otherwise.
    """
    roles = (journal.FAILOVER, journal.SWITCHOVER)
    if row is None or row["operation"] not in roles or row["state"] != journal.DONE:
        return None
    target = ends(members, row).target
    if target is None or target.info is None or current_source.takes_writes(target):
        return None
    return None if current_source.active(target) or started_since(target, row) else target


def opens_by_hand(target: Member) -> str:
    """What to do about a target that was closed_by_hand()."""
    return (
        f"{target.host} was made read-only by hand: its server was not restarted since it became"
        " the source. If it is to be the source, run SET GLOBAL read_only = 0 there; verify.yml"
        " then says what is left to do"
    )


def is_read(member: Member | None) -> bool:
    return member is not None and member.info is not None


def own(members: list[Member], row: JournalRow) -> str:
    """What the target of a row wrote after the switchover began, on any host that was read. A
    read-only server writes nothing, and its source had what it wrote before.
    """
    infos = [member.info for member in members if member.info is not None]
    if not row.get("to_id") or not infos:
        return ""
    known = gtids.parse(infos[0]["engine"], row.get("position"))
    whole = known.parse("")
    for info in infos:
        whole = whole.union(everything(info))
    return str(whole.of_server(row["to_id"]).minus(known))


def everything(info: Info) -> Gtids:
    """All that a server has, or has received."""
    known, kind = info["gtid"], gtids.kind_of(info["engine"])
    channel = info.get("channel")
    received = channel["retrieved"] if channel else None
    return kind.of(known.get(kind.STATE), known.get(kind.APPLIED), received)


def opened(members: list[Member], row: JournalRow | None) -> tuple[Member, Member] | None:
    """(the source, the target) of a switchover whose source is lost and whose target has
    accepted writes: it can only be completed. None otherwise, or if that is not known.
    """
    if row is None or not begun(row):
        return None
    source, target = ends(members, row)
    if source is None or target is None or source.info is not None or target.info is None:
        return None
    return (source, target) if current_source.takes_writes(target) or own(members, row) else None


def never_allowed(members: list[Member], row: JournalRow) -> bool:
    """Whether the target of an interrupted switchover cannot have been opened: the source
    follows the target before it allows that, and this source follows no server.
    """
    source = ends(members, row).source
    if source is None or source.info is None or source.channel is not None:
        return False
    if source.info["engine"] != "mariadb" or current_source.takes_writes(source):
        return True
    # A power cut may lose the file that says what it followed. The start position is in a table and
    # includes its own writes.
    begins, wrote = (
        source.info["gtid"].get(name) or "" for name in ("gtid_slave_pos", "gtid_binlog_pos")
    )
    return role_statements.merged(begins, wrote) != gtids.MariadbGtids.parse(begins)


def took_back(members: list[Member], row: JournalRow) -> bool:
    """Whether the source of an interrupted switchover accepts writes again, as after an interrupted
    rollback, and has all that the target wrote, as far as any host that was read shows.
    """
    source = ends(members, row).source
    if source is None or source.info is None or not current_source.takes_writes(source):
        return False
    return own(members, row) == own([source], row)


def moved(
    members: list[Member],
    row: JournalRow | None,
    following: str | None,
) -> bool:
    """Whether a replica that does not follow the source follows the other of the two servers,
    as before or after a switchover, and that server has all that the replica has.
    """
    if row is None or row["operation"] != journal.SWITCHOVER or row["state"] == journal.UNDONE:
        return False
    return following in [one.host for one in ends(members, row) if one and one.info is not None]


def was_source(
    members: list[Member],
    row: JournalRow | None,
    member: Member,
) -> bool:
    """Whether a server was the source before an interrupted switchover, and so wrote its own
    transactions in that role.
    """
    return row is not None and begun(row) and ends(members, row).source is member


def found(
    members: list[Member],
    row: JournalRow,
    words: str,
) -> Case | None:
    """What an interrupted switchover means for a failover; None if nothing.

    Args:
        words: that it was interrupted.
    """
    source, target = ends(members, row)
    here, there = row["from_host"], row["to_host"]
    if is_read(source) and is_read(target):
        return Case(
            INTERRUPTED,
            words,
            "run switchover.yml again: it completes the switchover or rolls it back",
        )
    if is_read(target):
        if opened(members, row) is None:
            return None
        return Case(INTERRUPTED, f"{words}; {there} became writable", f"bring {here} back")
    why = "it is not in the inventory" if target is None else target.error
    if is_read(source) and never_allowed(members, row):
        return Case(
            INTERRUPTED,
            f"{words}; {here} follows no server, so {there} never became writable",
            f"run switchover.yml again with the same host: {here} is the source again without it",
        )
    return Case(
        INTERRUPTED,
        f"{words}; {there} may have been writable, and could not be read ({why}): what it confirmed"
        " then may be on no host that was read",
        f"bring {there} back without starting its replication, and run this again",
        True,
    )


def refused(
    members: list[Member],
    row: JournalRow,
    words: str,
) -> list[str]:
    """Why switchover.yml can neither complete nor roll back an interrupted switchover without a
    host that could not be read; empty if it can.

    Args:
        words: that it was interrupted.
    """
    source, target = ends(members, row)
    words = words or (
        f"a switchover from {row['from_host']} to {row['to_host']} is done, and {row['to_host']}"
        " is read-only"
    )
    whole = is_read(source) and (is_read(target) or never_allowed(members, row))
    if whole or took_back(members, row):
        return []
    lost = [
        f"{name} ({'it is not in the inventory' if one is None else one.error})"
        for name, one in ((row["from_host"], source), (row["to_host"], target))
        if one is None or one.info is None
    ]
    unread = f"{words}; {' and '.join(lost)} could not be read"
    closed = closed_by_hand(members, row)
    if closed:
        return [f"{unread}. {opens_by_hand(closed)}"]
    accept = "" if is_read(target) else " with -e semisync_failover_accept=interrupted"
    return [
        f"{unread}. Bring it back and run this again. If it is lost for good, run"
        f" failover.yml{accept}, which continues with the others"
    ]
