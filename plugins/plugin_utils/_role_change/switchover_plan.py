# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the source's role may move to a host, what an interrupted switchover still needs, and
what each host does.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, cast

from ansible_collections.dbre.semisync.plugins.module_utils._host import option_files
from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids, journal
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import lock_holder
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import (
    OptionFile,
    Peer,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    FINISH,
    REPLICA,
    SOURCE,
    SWITCH,
    TARGET,
    UNDO,
    ChannelTls,
    SwitchoverPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import channels, values
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import (
    current_source,
    option_lines,
    problems,
    tls,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    interrupted_switchover,
    switchover_statements,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.part_results import (
    SwitchoverLooks,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.peers import (
    where_they_listen,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.records import (
    PartPlan,
    SwitchoverRun,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import JournalRow

# Modes in which no host has a part: only settling is left, or another cluster is meant.
SETTLE, NONE = "settle", "none"


def member_of(members: list[Member], host: str) -> Member:
    return next(member for member in members if member.host == host)


def taking_part(members: list[Member], row: JournalRow | None) -> list[Member]:
    """The hosts with a part: when an interrupted switchover is completed, all that were read."""
    return (
        [one for one in members if one.info is not None]
        if interrupted_switchover.half_done(members, row)
        else members
    )


def unread(members: list[Member], row: JournalRow | None) -> list[str]:
    """Hosts that could not be read and are needed."""
    if row is None or not interrupted_switchover.half_done(members, row):
        return problems.reading_problems(members)
    said = interrupted_switchover.refused(members, row, current_source.decide(members).interrupted)
    return said or problems.reading_problems(taking_part(members, row))


def mode_of(
    members: list[Member],
    row: JournalRow | None,
    to: str,
) -> str:
    """What a run does first: switch, or finish, undo or settle an interrupted switchover.

    Args:
        row: the newest of the journal.
        to: the host that shall be the source.
    """
    members = taking_part(members, row)
    hosts = {member.host for member in members}
    if row is None or row["operation"] != journal.SWITCHOVER:
        return SWITCH
    known = {row["from_host"], row["to_host"]} <= hosts
    if row["state"] == journal.BEGUN:
        return FINISH if known and was_opened(members, row) else UNDO
    if known and row["state"] == journal.DONE and row["to_host"] == to:
        former = member_of(members, row["from_host"])
        if member_of(members, to).channel is not None or interrupted_switchover.is_fenced(former):
            return FINISH if astray(members, to) else SETTLE
    return SWITCH


def astray(members: list[Member], source: str) -> list[str]:
    """Members that are not yet in the state after a switchover to a host: it accepts writes, and
    all others follow it.
    """
    target = member_of(members, source)
    frozen = values.same_value(target.facts["variables"]["read_only"], "ON")
    others = [member for member in members if member is not target]
    return [source] * frozen + [
        member.host
        for member in others
        if current_source.target_of(member, members, None) != source
    ]


def was_opened(members: list[Member], row: JournalRow) -> bool:
    """Whether the target of an interrupted switchover accepted writes: it still does, or it has
    what the old source lacks.
    """
    target, source = member_of(members, row["to_host"]), member_of(members, row["from_host"])
    if not values.same_value(target.facts["variables"]["read_only"], "ON"):
        return True
    kind = gtids.kind_of(target.facts["engine"])
    there, here = (kind.parse(one.facts["gtid"].get(kind.STATE)) for one in (target, source))
    return bool(there.beyond(here))


def without_target(members: list[Member], row: JournalRow) -> bool:
    """Whether an interrupted switchover is rolled back without its unreachable target: the target
    was never allowed to open, or the old source is the source again already.
    """
    hosts = {member.host for member in members}
    gone = row["from_host"] in hosts and row["to_host"] not in hosts
    return gone and (
        interrupted_switchover.never_allowed(members, row)
        or interrupted_switchover.took_back(members, row)
    )


def interrupted_problems(
    members: list[Member],
    row: JournalRow,
    looks: SwitchoverLooks,
) -> list[str]:
    """Why an interrupted switchover can be neither completed nor rolled back now."""
    members = taking_part(members, row)
    running = [host for host, looked in looks.items() if looked.get("running")]
    if running:
        has = looks[running[0]].get("lock_of") or "it"
        return [
            f"{running[0]}: another role change is in progress: {has} holds the lock"
            f" {lock_holder.RUN_LOCK}; wait until it has ended"
        ]
    hosts = {member.host for member in members}
    gone = [row[key] for key in ("from_host", "to_host") if row[key] not in hosts]
    if gone and not without_target(members, row):
        return [
            f"a switchover from {row['from_host']} to {row['to_host']} was interrupted at"
            f" {row['happened']}, and {' and '.join(gone)} is not in this cluster of the inventory:"
            " put it back with the same semisync_cluster, and run this again"
        ]
    writing = [
        host
        for host in (row["from_host"], row["to_host"])
        if host not in gone
        and values.same_value(member_of(members, host).facts["variables"]["read_only"], "OFF")
    ]
    if len(writing) > 1:
        return [
            f"{' and '.join(writing)} both take writes since a switchover was interrupted at"
            f" {row['happened']}. Make one of them read-only; verify.yml says what each has that"
            " the other lacks (two_sources)"
        ]
    return []


def planned_switchover(
    name: str,
    members: list[Member],
    looks: SwitchoverLooks,
    settings: Settings,
    token: str,
    mode: str,
    row: JournalRow | None,
) -> SwitchoverRun:
    """The plan of a cluster; see the RETURN section of semisync_switchover.

    Args:
        members: all hosts of the cluster, with the sides that they have.
        looks: host -> what semisync_switchover's look returned.
        token: of this run.
        mode: switch, or finish or undo for the switchover of the journal's row.
    """
    known, members = members, taking_part(members, row)
    if mode == SWITCH or row is None:
        source, target = source_of(members), member_of(members, settings["switchover_to"])
    else:
        token, source = row["run"], member_of(members, row["from_host"])
        if without_target(members, row):
            hosts = taken_back(known, source, looks, settings, row)
            return of_cluster(name, mode, source.host, row["to_host"], token, hosts)
        target = member_of(members, row["to_host"])
    hosts = {
        member.host: switchover_part(member, source, target, members, looks, settings, token, mode)
        for member in members
    }
    made = of_cluster(name, mode, source.host, target.host, token, hosts)
    if mode == SWITCH:
        made["statements"] = switchover_statements.in_order(
            source, target, members, looks, settings, hosts
        )
    return made


def of_cluster(
    name: str,
    mode: str,
    source: str,
    target: str,
    token: str,
    hosts: dict[str, SwitchoverPlan],
) -> SwitchoverRun:
    """The plan of a cluster, without what only a switch has."""
    return {
        "mode": mode,
        "cluster": name,
        "from": source,
        "to": target,
        "token": token,
        "hosts": {host: cast(PartPlan, plan.to_dict()) for host, plan in hosts.items()},
        "statements": [],
        "premises": [],
    }


def taken_back(
    members: list[Member],
    source: Member,
    looks: SwitchoverLooks,
    settings: Settings,
    row: JournalRow,
) -> dict[str, SwitchoverPlan]:
    """What each host does if the source takes its role back without the target."""
    # It is still queried, if possible: perhaps only the controller cannot reach it.
    asked = [
        Peer(one.host, one.address, source.port, tls=False)
        for one in members
        if one.host == row["to_host"]
    ]
    members = taking_part(members, row)
    hosts = {}
    for member in members:
        # Only what is replaced here depends on the target.
        made = switchover_part(member, source, source, members, looks, settings, row["run"], UNDO)
        hosts[member.host] = dataclasses.replace(
            made,
            target=row["to_host"],
            target_id=row["to_id"],
            without_target=True,
            part=SOURCE if member is source else REPLICA,
            members=[*made.members, *asked],
        )
    return hosts


def wait_count(source: Member) -> int:
    """How many acknowledgements a commit on the source waits for, by its running value."""
    count = source.facts["semisync"]["source"]["variables"].get("wait_for_replica_count")
    return int(count or 1)


def switchover_part(
    member: Member,
    source: Member,
    target: Member,
    members: list[Member],
    looks: SwitchoverLooks,
    settings: Settings,
    token: str,
    mode: str,
) -> SwitchoverPlan:
    """The plan of one host, without the password."""
    part = {source.host: SOURCE, target.host: TARGET}.get(member.host, REPLICA)
    looked = looks.get(source.host) or {}
    super_read_only = target.facts["variables"].get("super_read_only")
    return SwitchoverPlan(
        mode=mode,
        part=part,
        host=member.host,
        token=token,
        source=source.host,
        target=target.host,
        source_id=journal.identity(source.facts["variables"]),
        target_id=journal.identity(target.facts["variables"]),
        members=where_they_listen(members),
        user=settings["replication_user"],
        connect_retry=settings["replication_connect_retry"],
        tls=tls_of(source, target, settings),
        wait_count=wait_count(source),
        timeout=settings["switchover_timeout"],
        drain=settings["switchover_drain"],
        long_transactions=settings["switchover_long_transactions"],
        catch_up=max(settings["switchover_max_lag"], 10),
        schema=settings["canary_schema"],
        events=bool(switchover_statements.runs_events(looked)),
        event_states=looked.get("events"),
        super_read_only=values.same_value(super_read_only, "ON"),
        option_file=option_file(member),
        verdict="",
        ends_lock=False,
    )


def option_file(member: Member) -> OptionFile:
    """Where the collection's lines are."""
    place = member.facts["option_files"]
    given = option_lines.command_line(member.facts)
    return OptionFile(
        place["path"],
        place["kind"],
        place["group"],
        place["reader"],
        command_line={name: given[name] for name in option_files.SWITCHES if name in given},
    )


def tls_of(source: Member, target: Member, settings: Settings) -> ChannelTls:
    """How the old source follows the new one: as the inventory says, else with the settings of the
    new source's old channel.
    """
    want = tls.wanted(settings, target.facts, source.facts, True)
    if settings["replication_ssl"] == "auto" and target.channel and not target.channel["tls"]:
        want = {"ssl": False, "ca": None, "verify": None}
    want = want or {"ssl": False, "ca": None, "verify": None}
    silent = source.facts["names"]["verifies_source_by_default"]
    unsaid = not want["ssl"] and silent and want["verify"] is None
    return ChannelTls(want["ssl"], want["ca"], False if unsaid else want["verify"])


def replicates(member: Member) -> bool:
    return channels.running(member.channel)
