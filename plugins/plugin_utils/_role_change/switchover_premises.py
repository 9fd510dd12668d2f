# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The premises of a switchover. Each has a host, what was found, and what to do if it does not
hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._host import option_files
from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtid_type import Gtids
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import lock_holder
from ansible_collections.dbre.semisync.plugins.module_utils._server import channels, values
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks import check
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Check
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import PASSED
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import option_lines
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.part_results import (
    LogsBegin,
    SwitchoverLook,
    SwitchoverLooks,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.records import (
    SwitchoverPremise,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.server_connections import (
    connection_premises,
    premise,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Side


def rows(
    members: list[Member], looks: SwitchoverLooks, settings: Settings, upgrades: bool = False
) -> list[SwitchoverPremise]:
    """All premises of a switchover, also those that do not hold; see premises()."""
    return [plan_row(one) for one in premises(members, looks, settings, upgrades)]


def plan_row(one: Check) -> SwitchoverPremise:
    """A premise as plans and switchover.json have it."""
    return {
        "premise": one["title"],
        "host": one["host"],
        "good": one["outcome"] == PASSED,
        "observed": one["observed"],
        "remedy": one["remedy"],
    }


def refusals(
    members: list[Member],
    looks: SwitchoverLooks,
    settings: Settings,
    upgrades: bool = False,
) -> list[str]:
    """The premises that do not hold, as messages; see premises()."""
    return [
        f"{one['host']}: {one['title']}: {one['observed']}; {one['remedy']}"
        for one in check.failed(list(premises(members, looks, settings, upgrades)))
    ]


def target_name_problem(
    to: str,
    members: list[Member],
    known: dict[str, str],
    cluster: str,
) -> str:
    """Why a host cannot be the target whatever it is like; empty if it can.

    Args:
        known: cluster of every host of the inventory that has one.
    """
    if not to:
        return "semisync_switchover_to is empty: name the replica to promote"
    if to not in known:
        return (
            f"semisync_switchover_to is {to!r}, which is not a host of groups semisync_source and"
            f" semisync_replica of this inventory; name a replica of cluster {cluster!r}"
        )
    if to not in [member.host for member in members]:
        return (
            f"semisync_switchover_to is {to}, a host of cluster {known[to]!r}, which this run"
            f" leaves out: it works on cluster {cluster!r}; widen --limit, or name a host of that"
            " cluster"
        )
    return ""


def premises(
    members: list[Member],
    looks: SwitchoverLooks,
    settings: Settings,
    upgrades: bool = False,
) -> Iterator[Check]:
    """Every premise, in the order in which they are shown.

    Args:
        upgrades: whether the former source is stopped next, to be upgraded.
    """
    source = source_of(members)
    (target,) = (member for member in members if member.host == settings["switchover_to"])
    if target is source:
        yield premise(
            "it is a replica",
            target.host,
            False,
            "it is the source already",
            "name a replica in semisync_switchover_to",
        )
        return
    yield from gtid_premises(members)
    yield from channels_premises(members)
    yield from versions_premises(source, target, members, upgrades)
    yield from semisync_premises(source, target, members)
    yield from positions_premises(source, target, members, looks, settings)
    yield from fence_premises(source)
    yield from connection_premises(source, target, members, looks, settings)
    yield from work_premises(source, target, looks, settings)


def gtid_premises(members: list[Member]) -> Iterator[Check]:
    """GTIDs, without which a replica cannot know where to continue from another source."""
    for member in replicas_of(members):
        channel = member.channel
        if channel is not None:
            yield premise(
                "it follows by GTID",
                member.host,
                bool(channel["gtid"]),
                "yes" if channel["gtid"] else "it follows by file and position",
                "run gtid.yml first to enable GTIDs",
            )
    for member in members:
        mode = member.facts["variables"].get("gtid_mode")
        if member.facts["engine"] != "mariadb":
            yield premise(
                "its transactions have GTIDs",
                member.host,
                mode == "ON",
                f"gtid_mode is {mode}",
                "run gtid.yml first to enable GTIDs",
            )


def channels_premises(members: list[Member]) -> Iterator[Check]:
    for member in replicas_of(members):
        yield premise(
            "its channel runs",
            member.host,
            channels.running(member.channel),
            channels.describe_channel(member.channel),
            "repair replication, or run site.yml",
        )
        delay = member.channel["delay"] if member.channel else 0
        yield premise(
            "it is not delayed",
            member.host,
            not delay,
            f"a delay of {delay} s",
            "remove the delay, or name another replica",
        )
    source = source_of(members)
    yield premise(
        "it follows no source",
        source.host,
        source.channel is None and not source.facts["other_channels"],
        channels.describe_channel(source.channel)
        if source.channel
        else ", ".join(source.facts["other_channels"]) or "no channel",
        "remove that channel if it is not needed (RESET REPLICA ALL; RESET SLAVE ALL on MariaDB): a"
        " switchover would overwrite it",
    )


def versions_premises(
    source: Member,
    target: Member,
    members: list[Member],
    upgrades: bool,
) -> Iterator[Check]:
    mine, theirs = version(target), version(source)
    yield premise(
        "its version is not lower than the source's",
        target.host,
        mine >= theirs,
        f"{target.facts['version']}, and {source.host} has {source.facts['version']}",
        "upgrade it first, or name another replica: it may not be able to read what the newer"
        " version wrote",
    )
    for member in members:
        if member is not target:
            # It need only receive and acknowledge until then; what its applier cannot do, it does
            # with the new version.
            next_one = upgrades and member is source
            yield premise(
                f"it can follow {target.host}",
                member.host,
                next_one or version(member)[:2] >= mine[:2],
                f"{member.facts['version']}, and {target.host} has {target.facts['version']}"
                + (", which it gets next" if next_one else ""),
                "upgrade it first: a replica must not be of an older series than its source",
            )


def version(member: Member) -> tuple[int, ...]:
    return tuple(int(number) for number in member.facts["version"].split("."))


def semisync_premises(source: Member, target: Member, members: list[Member]) -> Iterator[Check]:
    status = source.facts["semisync"]["source"]["status"]
    running = source.facts["semisync"]["source"]["variables"]
    count = int(running.get("wait_for_replica_count") or 1)
    yield premise(
        "it is semi-synchronous",
        source.host,
        status["status"] == "ON" and int(status["clients"] or 0) >= count,
        f"status {status['status']}, {status['clients']} replicas acknowledge, a commit waits for"
        f" {count}",
        "run verify.yml, and repair what it reports",
    )
    yield premise(
        "it acknowledges",
        target.host,
        target.facts["semisync"]["replica"]["status"]["status"] == "ON",
        f"its semi-sync status is {target.facts['semisync']['replica']['status']['status']}",
        "run site.yml, or name another replica",
    )
    yield premise(
        "enough replicas are left to acknowledge",
        target.host,
        len(members) - 1 >= count,
        f"{len(members) - 1} other hosts, a commit waits for {count}",
        "add a replica, or lower semisync_wait_for_replica_count and run site.yml",
    )
    sides_after: tuple[tuple[Member, Side], ...] = ((target, "source"), (source, "replica"))
    for member, side in sides_after:
        plugin = member.facts["names"][side]["plugin"]
        loaded = plugin is None or member.facts["plugins"].get(plugin) == "ACTIVE"
        yield premise(
            f"semi-sync's {side} side is loaded",
            member.host,
            loaded,
            "yes" if loaded else f"plugin {plugin} is not",
            "run site.yml",
        )


def positions_premises(
    source: Member,
    target: Member,
    members: list[Member],
    looks: SwitchoverLooks,
    settings: Settings,
) -> Iterator[Check]:
    behind = target.channel["seconds_behind"] if target.channel else None
    limit = settings["switchover_max_lag"]
    yield premise(
        "its lag is within the limit",
        target.host,
        behind is not None and int(behind) <= limit,
        f"lag {'unknown' if behind is None else f'{behind} s'}, limit {limit} s",
        "wait until it has caught up, or raise semisync_switchover_max_lag",
    )
    own = errant(source, target)
    yield premise(
        "it has no errant transactions",
        target.host,
        not own,
        str(own) or "none",
        f"name another replica, or seed it again from {source.host}: after a switchover every"
        " server would get them",
    )
    yield from log_premises(source, target, members, looks)


def log_premises(
    source: Member, target: Member, members: list[Member], looks: SwitchoverLooks
) -> Iterator[Check]:
    """Whether the others can replicate from the target, by its binary logs."""
    for member in (source, target):
        log_updates = member.facts["names"]["log_updates"]
        on = [member.facts["variables"].get(name) for name in ("log_bin", log_updates)]
        yield premise(
            "it logs what it applies",
            member.host,
            on == ["ON", "ON"],
            f"log_bin is {on[0]}, {log_updates} is {on[1]}",
            "run site.yml: the others could not replicate from it",
        )
    for member in members:
        if member is not target:
            lacks = purged(target, member, looks)
            yield premise(
                "its binary logs have what the others lack",
                target.host,
                not lacks,
                f"{member.host} lacks {lacks}, which is purged there" if lacks else member.host,
                f"let {member.host} catch up first, or seed it again",
            )


def fence_premises(source: Member) -> Iterator[Check]:
    """Whether the option file that makes the source start read-only while its role moves has the
    last word: SET PERSIST overrides it, and so does the command line.
    """
    persisted, given = source.facts["persisted"], option_lines.command_line(source.facts)
    overriding, remedies = list[str](), list[str]()
    for name in ("read_only", "super_read_only"):
        if not option_files.is_on(persisted.get(name, "ON")):
            overriding.append(f"SET PERSIST has {name} = {persisted[name]}")
            remedies.append(f"run RESET PERSIST {name} there")
        if not option_files.is_on(given.get(name, "ON")):
            overriding.append(f"its command line has {name} = {given[name]}")
            remedies.append(f"remove {name} from its unit and restart its server")
    means = "which overrides every option file: it could take writes although its role has moved"
    yield premise(
        "an option file can make it start read-only",
        source.host,
        not overriding,
        f"{' and '.join(overriding)}, {means}" if overriding else "nothing overrides it",
        " and ".join(remedies),
    )


def errant(source: Member, target: Member) -> Gtids:
    """What the target has and did not get from its source. They are not read at the same moment:
    what the source wrote meanwhile does not count.
    """
    kind = gtids.kind_of(target.facts["engine"])
    mine, theirs = (kind.parse(one.facts["gtid"].get(kind.STATE)) for one in (target, source))
    return mine.beyond(theirs).not_of_server(kind.server_of(source.facts["variables"]))


def purged(
    target: Member,
    member: Member,
    looks: Mapping[str, LogsBegin],
) -> Gtids:
    """What another member lacks and the target has purged."""
    kind, known = gtids.kind_of(target.facts["engine"]), member.facts["gtid"]
    if target.facts["engine"] != "mariadb":
        gone = kind.parse(target.facts["gtid"].get("gtid_purged"))
        return gone.minus(kind.parse(known.get("gtid_executed")))
    first = kind.parse((looks.get(target.host) or {}).get("first_gtids"))
    name = "gtid_binlog_pos" if member.side == "source" else "gtid_slave_pos"
    return first.minus(kind.parse(known.get(name)))


def lock_words(looked: SwitchoverLook) -> str:
    """Whether the lock of a role change is free, and which connection holds it."""
    if not looked.get("running"):
        return "free"
    return f"held by {looked.get('lock_of') or 'a connection'}"


def lock_and_filters_premises(member: Member, looked: SwitchoverLook) -> Iterator[Check]:
    """A lock or filters, which neither server may have."""
    yield premise(
        "no other switchover is in progress",
        member.host,
        not looked.get("running"),
        f"the lock {lock_holder.RUN_LOCK} is {lock_words(looked)}",
        "wait until it ends; if there is none, KILL that connection",
    )
    filters = looked.get("filters") or []
    yield premise(
        "nothing is filtered",
        member.host,
        not filters,
        ", ".join(filters) or "no filter",
        "remove the filter, or name another replica: it lacks, or does not log, what is filtered",
    )


def work_premises(
    source: Member,
    target: Member,
    looks: SwitchoverLooks,
    settings: Settings,
) -> Iterator[Check]:
    """What runs on the two servers."""
    for member in (source, target):
        yield from lock_and_filters_premises(member, looks.get(member.host) or {})
    here, there = looks.get(source.host) or {}, looks.get(target.host) or {}
    events = [event for event in here.get("events", []) if event["status"] == "ENABLED"]
    same = here.get("event_scheduler") == there.get("event_scheduler")
    yield premise(
        "event_scheduler is the same as on the source",
        target.host,
        same or not events,
        f"{there.get('event_scheduler')}, on {source.host} {here.get('event_scheduler')};"
        f" {len(events)} events",
        "set event_scheduler to the same value on both, at run time and in the option files",
    )
    yield premise(
        "it takes writes",
        source.host,
        values.same_value(source.facts["variables"]["read_only"], "OFF"),
        f"read_only is {source.facts['variables']['read_only']}",
        "run site.yml if the cluster promises lossless; otherwise, if no other server has taken"
        " over, run SET GLOBAL read_only = 0 there",
    )
    yield premise(
        "it is read-only",
        target.host,
        values.same_value(target.facts["variables"]["read_only"], "ON"),
        f"read_only is {target.facts['variables']['read_only']}",
        "SET GLOBAL read_only = 1 there: clients may write to it. site.yml does so only if it set"
        " up the replication",
    )
