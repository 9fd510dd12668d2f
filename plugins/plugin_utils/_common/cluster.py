# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts of one cluster as the inventory and this run know them; runs on the controller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.checkpoints import Canary
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import (
    durability_mode,
    refusal,
    settings,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import LOST, Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import (
    current_source,
    problems,
    quarantined_hosts,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Arrival, Side

GROUPS: tuple[tuple[Side, str], ...] = (
    ("source", "semisync_source"),
    ("replica", "semisync_replica"),
)
DEFAULT = "default"
# The fact that rejoin.yml gives a host which may come back, for the rest of its run.
CLEARED = "__semisync_rejoin_cleared"
REPLACED = "__semisync_rejoin_replaced"
# And the one of a replica that another run is to bring over.
LEFT_BEHIND = "__semisync_rejoin_behind"

display = Display()


class TaskVariables(Mapping[str, Any]):
    """A task's variables, each templated when it is read."""

    def __init__(self, task_vars: Mapping[str, Any], templar: Any) -> None:
        self.task_vars, self.templar = task_vars, templar

    def __getitem__(self, name: str) -> Any:
        return self.templar.template(self.task_vars[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.task_vars)

    def __len__(self) -> int:
        return len(self.task_vars)


def members(
    task_vars: Mapping[str, Any],
    info_from: str,
    active_only: bool = False,
    own: settings.Settings | None = None,
) -> tuple[str, list[Member]]:
    """(cluster's name, its Members): the hosts of both groups with the same semisync_cluster as
    this host, each with the side that it has by what the servers said, the source first.

    Args:
        task_vars: a task's variables.
        info_from: name of the variable that holds each host's semisync_info result.
        active_only: whether what a host said counts for nothing once it has failed in this play.
        own: what this host's task wants, where the Members' settings are asked for.

    Raises:
        HeldError: a failover left this host behind.
    """
    name, cluster = known_members(task_vars, info_from, active_only, own)
    cluster = [one for one in cluster if not task_vars["hostvars"][one.host].get(LEFT_BEHIND)]
    cluster, away = apart(task_vars, cluster)
    decided = current_source.decide(cluster)
    if len({member.host for member in cluster}) == len(cluster) and decided.source is not None:
        for member in cluster:
            member.side = "source" if member.host == decided.source else "replica"
        # The source speaks for its cluster, as long as it is in the play.
        cluster.sort(key=lambda member: member.side != "source")
    me = task_vars["inventory_hostname"]
    for words in [
        current_source.announcement(name, decided),
        *map(quarantined_hosts.held_reason, away),
    ]:
        if words and refusal.said_by(words, me) is None:
            display.display(words)
    for one in away:
        if one.member.host == me:
            raise refusal.HeldError(f"Nothing was changed. {quarantined_hosts.held_reason(one)}")
    return name, cluster


def apart(
    task_vars: Mapping[str, Any], cluster: list[Member]
) -> tuple[list[Member], list[quarantined_hosts.QuarantinedHost]]:
    """quarantined_hosts.apart(): a host is no longer held if its data may be overwritten, or if a
    verdict of this run says that it may come back.
    """
    if not current_source.held_rows(cluster):
        return cluster, []
    overwriting = [settings.KEYS["seed_overwrite"]]
    given_up = [
        member.host
        for member in cluster
        if settings.read(task_vars["hostvars"][member.host], overwriting)[0].get("seed_overwrite")
        or task_vars["hostvars"][member.host].get(CLEARED)
    ]
    return quarantined_hosts.apart(cluster, given_up)


def held_hosts(
    task_vars: Mapping[str, Any], info_from: str
) -> list[quarantined_hosts.QuarantinedHost]:
    """The hosts of this host's cluster that are held."""
    return apart(task_vars, known_members(task_vars, info_from)[1])[1]


def inventory_problems(
    task_vars: Mapping[str, Any],
    info_from: str,
    name: str,
    members: list[Member],
    alone: bool = False,
) -> list[str]:
    """problems.inventory_problems() of what members() has left of a cluster."""
    wrong = problems.inventory_problems(name, members, alone)
    # Those that are held change only the words, and cost another look at every host's variables.
    away = [one.member.host for one in held_hosts(task_vars, info_from)] if wrong else []
    return problems.inventory_problems(name, members, alone, away) if away else wrong


def known_members(
    task_vars: Mapping[str, Any],
    info_from: str,
    active_only: bool = False,
    own: settings.Settings | None = None,
) -> tuple[str, list[Member]]:
    """(cluster's name, a Member for each of its hosts, by the inventory); see members()."""
    hostvars, groups = task_vars["hostvars"], task_vars["groups"]
    me = task_vars["inventory_hostname"]
    name = str(task_vars.get("semisync_cluster", DEFAULT))
    mine = (
        durability_mode.promised_settings(hostvars[me])[0]
        if own is not None
        else settings.Settings()
    )
    cluster = []
    for side, group in GROUPS:
        for host in groups.get(group, []):
            variables = hostvars[host]
            if str(variables.get("semisync_cluster", DEFAULT)) != name:
                continue
            member = one_member(host, side, variables, info_from)
            # The host's own reason why it cannot be read says more than that it is lost.
            unsaid = active_only if member.info is not None else not variables.get(info_from)
            if unsaid and lost(task_vars, host):
                member.info, member.error = None, LOST
            if own is not None:
                theirs = durability_mode.promised_settings(variables)[0]
                member.settings = own if host == me else settings.of_another_host(own, mine, theirs)
            cluster.append(member)
    return name, cluster


def hosts_of(task_vars: Mapping[str, Any]) -> list[str]:
    """The hosts of this host's cluster; hosts whose cluster name cannot be read belong to none."""
    name = str(
        task_vars["hostvars"][task_vars["inventory_hostname"]].get("semisync_cluster", DEFAULT)
    )
    hosts = []
    for _side, group in GROUPS:
        for host in task_vars["groups"].get(group, []):
            if host not in hosts and cluster_of(task_vars["hostvars"][host]) == name:
                hosts.append(host)
    return hosts


def left_out(task_vars: Mapping[str, Any]) -> str:
    """That --limit takes a part of this host's cluster, in words; empty if it takes the whole. A
    part proves nothing, because the other hosts would not have been read.
    """
    playing = task_vars["ansible_play_hosts_all"]
    outside = [host for host in hosts_of(task_vars) if host not in playing]
    if not outside:
        return ""
    name = str(task_vars.get("semisync_cluster", DEFAULT))
    return f"--limit leaves out {', '.join(outside)} of cluster {name}; take the cluster whole."


def playing(task_vars: Mapping[str, Any]) -> list[str]:
    """The names of the clusters that this run is about."""
    names = [cluster_of(task_vars["hostvars"][one]) for one in task_vars["ansible_play_hosts_all"]]
    return sorted({name for name in names if name is not None})


def cluster_of(variables: Mapping[str, Any]) -> str | None:
    """The name of a host's cluster; None if it cannot be read, which that host says itself."""
    try:
        return str(variables.get("semisync_cluster", DEFAULT))
    except Exception:  # Ansible's templating has many
        return None


def judge_inputs(task_vars: Mapping[str, Any], ask_back: bool = True) -> None:
    """Judge every public variable that is set for a host of this host's cluster.

    Args:
        ask_back: whether a value that is possible and hardly meant is refused as well.

    Raises:
        RefusedError: all that is wrong, at once.
    """
    hostvars, me = task_vars["hostvars"], task_vars["inventory_hostname"]
    wrong = durability_mode.promised_settings(hostvars[me], explicit=True)[1]
    where = me
    if not any(words.startswith("semisync_cluster ") for words in wrong):
        where = f"Cluster {str(hostvars[me].get('semisync_cluster', DEFAULT))!r}"
        wrong = [
            f"{host}: {words}"
            for host in hosts_of(task_vars)
            for words in durability_mode.promised_settings(hostvars[host], explicit=True)[1]
        ] + of_several_hosts(task_vars, settings.unknown)
        if ask_back:
            wrong += of_several_hosts(task_vars, durability_mode.hardly_meant)
    if wrong:
        raise refusal.RefusedError(f"Nothing was changed. {where}: {'; '.join(wrong)}")


def of_several_hosts(
    task_vars: Mapping[str, Any], judge: Callable[[Mapping[str, object]], list[str]]
) -> list[str]:
    """What is wrong with variables of this host's cluster, in words: once for all hosts with it."""
    hosts: dict[str, list[str]] = {}
    for host in hosts_of(task_vars):
        for words in judge(task_vars["hostvars"][host]):
            hosts.setdefault(words, []).append(host)
    return [f"{', '.join(those)}: {words}" for words, those in hosts.items()]


def lost(task_vars: Mapping[str, Any], host: str) -> bool:
    """True for a host that began this play and has failed or become unreachable."""
    return (
        host in task_vars["ansible_play_hosts_all"] and host not in task_vars["ansible_play_hosts"]
    )


def one_member(host: str, side: Side, variables: Mapping[str, Any], info_from: str) -> Member:
    """One host with its state, or with the reason why there is none."""
    info: Any = variables.get(info_from) or {}
    usable = "variables" in info
    member = Member(
        host,
        side,
        info if usable else None,
        "" if usable else problems.unreadable(info),
        address=variables.get("semisync_address") or variables.get("ansible_host") or host,
        explicit_id=int(variables.get("semisync_server_id") or 0),
    )
    member.disk_full = str(info.get("disk_full") or "")
    if not usable and info:
        member.unread = "unreachable" if info.get("unreachable") else str(info.get("reason") or "")
    member.replaced = bool(variables.get(REPLACED))
    return member


def judged(
    task_vars: Mapping[str, Any], info_from: str, judge: Callable[[list[Member]], list[str]]
) -> tuple[str, list[Member], Member]:
    """(cluster's name, its Members, this host's Member), where nothing speaks against working on
    the cluster.

    Args:
        task_vars, info_from: as for members().
        judge: takes the Members, all of them read, and returns what is wrong with them, in words.

    Raises:
        RefusedError: the inventory, a host that could not be read, or what the judge found.
    """
    name, cluster = members(task_vars, info_from)
    wrong = (
        inventory_problems(task_vars, info_from, name, cluster)
        or problems.reading_problems(cluster)
        or problems.source_problems(cluster)
        or judge(cluster)
    )
    refusal.refuse(task_vars, name, cluster, wrong)
    return name, cluster, of_host(task_vars, cluster)


def of_host(task_vars: Mapping[str, Any], cluster: list[Member]) -> Member:
    """This host among the Members."""
    return next(member for member in cluster if member.host == task_vars["inventory_hostname"])


def speaker(task_vars: Mapping[str, Any], cluster: list[Member]) -> str | None:
    """The first host of a cluster that is still in the play: the one that acts once for all."""
    active = task_vars["ansible_play_hosts"]
    return next((member.host for member in cluster if member.host in active), None)


def speaks(task_vars: Mapping[str, Any], cluster: list[Member], task: object) -> bool:
    """Whether this host acts for its cluster in this task. If the host that acted has failed with
    its message, no other one acts again: it would take that host for lost.
    """
    me = task_vars["inventory_hostname"]
    if me != speaker(task_vars, cluster):
        return False
    name = task_vars.get("semisync_cluster", DEFAULT)
    return refusal.said_by(f"{getattr(task, '_uuid', '')} of {name}", me) in (None, me)


def canary(
    task_vars: Mapping[str, Any], cluster: list[Member], written_from: str | None, info_from: str
) -> tuple[Canary | None, dict[str, Arrival | None]]:
    """(the source's canary result or None, replica -> its arrival) from each host's variables of
    those names.
    """
    if not written_from:
        return None, {}
    source = next(member for member in cluster if member.side == "source")
    hostvars = task_vars["hostvars"]
    unclear = "; ".join(problems.source_problems(cluster))
    if unclear:
        return {"msg": f"no row was written: {unclear}"}, {}
    unwritten: Canary = {"msg": source.error or "no row was written"}
    return (
        hostvars[source.host].get(written_from) or unwritten,
        {
            member.host: arrival(member, hostvars[member.host].get(info_from) or {})
            for member in cluster
            if member.side == "replica"
        },
    )


def arrival(member: Member, info: Mapping[str, Any]) -> Arrival | None:
    """What a replica saw of the row; a server that follows no source was not watched."""
    if member.info is not None and member.channel is None:
        return {"arrived": False, "msg": "it follows no source"}
    return info.get("arrival")
