# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to be done on one host, decided from what the servers of its cluster reported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils.host import option_files
from ansible_collections.dbre.semisync.plugins.module_utils.server import channels, values
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import WORDS
from ansible_collections.dbre.semisync.plugins.plugin_utils import durability_mode
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import (
    account,
    answer,
    heartbeat,
    option_lines,
    problems,
    replication,
    replication_problems,
    seed,
    tls,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.settings import Settings

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils.plans.plan_shapes import (
        ChannelPart,
        ChannelTls,
        ClusterPart,
        Drift,
        HostPlan,
        Line,
        OptionFileStep,
        Plan,
        ReceivedStep,
        ServerPart,
        Spending,
        StagePart,
    )
    from ansible_collections.dbre.semisync.plugins.types.shapes import Info, Side, WaitFor
# What a source waits for, under the collection's keys.
WAITS_BY = ("enabled", "timeout", "wait_no_replica", "wait_point", "wait_for_replica_count")


def option_file_step(member: Member, text: str | None) -> OptionFileStep:
    """Where our lines go, and whether they are already there."""
    place = member.facts["option_files"]
    if text is not None and place["kind"] == "drop-in":
        text = option_files.HEADER + text
    return {
        "path": place["path"],
        "kind": place["kind"],
        "marker": place["marker"],
        "before": place["ours"],
        "content": text,
        "changed": place["ours"] != text,
    }


def can_wait(member: Member, apply: str) -> tuple[str, ...]:
    """Variables that need a restart, but can wait for the next one: a working replica needs its
    address for others only when it is promoted, and apply=online restarts it only for what it needs
    now.
    """
    if apply == "online" and member.side == "replica" and channels.running(member.channel):
        return ("bind_address",)
    return ()


def restart_reasons(
    drift: Drift, file_changed: bool, apply: str, waiting: tuple[str, ...] = ()
) -> list[str]:
    """Why the server must restart; an empty list if every difference can be set at run time, or
    nothing differs.

    The procedure enables semi-sync by option file and restart. If semi-sync is on, or the file is
    already right, only a variable that cannot be set at run time justifies a restart; apply=online
    never restarts for a variable that can.
    """
    switching_on = (
        file_changed
        and apply == "restart"
        and any(option_lines.switches_on(name, value) for name, (dummy, value) in drift.items())
    )
    needs = sorted(name for name in drift if switching_on or not option_lines.is_dynamic(name))
    if set(needs) <= set(waiting):
        return []
    return [f"{name} is {drift[name][0]}, {drift[name][1]} is wanted" for name in needs]


def set_up_plan(
    member: Member,
    members: list[Member],
    settings: Settings,
    hold_back: bool = True,
) -> Plan:
    """The plan of one host; see the RETURN section of semisync_plan.

    Args:
        member: the host.
        members: all hosts of its cluster, itself included; every one has info. A member without its
            own settings gets those of this host.
        settings: the settings for this host.
        hold_back: whether a source enables semi-sync only when its replicas' channels run.
    """
    later = after_exchanges(members, settings)
    plans = {
        other.host: host_plan(
            other,
            later,
            settings if other.host == member.host else other.settings or settings,
            hold_back,
        )
        for other in later
    }
    return {
        **plans[member.host],
        "cluster_changes": any(plan["changes"] for plan in plans.values()),
        "turns": len(members),
        "source_restarts": plans[source_of(members).host]["restart_reasons"],
        "rotate_problem": replication_problems.rotation_problem(member, settings),
    }


def after_exchanges(members: list[Member], settings: Settings) -> list[Member]:
    """The members as they are once their plugins have the wanted names, which is the first thing
    that happens on a host.
    """
    full = settings["stage"] == "full" or replication.semisync_is_on(members)
    if not full or not problems.may_rename(members, settings):
        return members
    # Not at the top: Ansible would compile it in every run, and most have nothing to exchange.
    from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import naming

    source = source_of(members)
    return [naming.renamed(one, one.settings or settings, source) for one in members]


def unsafe_places(members: list[Member], settings: Settings, hold_back: bool) -> list[str]:
    """Hosts whose lines would go to a place where root must not write, in words."""
    reasons = []
    for member in members:
        unsafe = member.facts["option_files"].get("unsafe")
        if not unsafe:
            continue
        plan = host_plan(member, members, member.settings or settings, hold_back)
        if plan["option_file"]["changed"] or plan["held"]:
            reasons.append(f"{member.host}: {unsafe}")
    return reasons


def received_step(member: Member, settings: Settings) -> ReceivedStep:
    """What has to be done with the service of plans/received.py."""
    now = member.facts.get("received")
    if not now or not (now["files"] or now["enabled"] or durability_mode.is_lossless(settings)):
        return {"step": "none"}
    # Not at the top: Ansible would compile it in every run.
    from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import received

    return received.what_to_do(member, now, settings)


def host_plan(
    member: Member,
    members: list[Member],
    settings: Settings,
    hold_back: bool,
) -> HostPlan:
    """The part of set_up_plan() that concerns one host alone."""
    stage = stage_part(member, members, settings, hold_back)
    server = server_part(member, members, settings, stage)
    channel = channel_part(member, members, settings, stage["stage"])
    link = channel_tls(member, members, settings)
    leftover, answering = seed.leftover(member), answer.step(member, members, settings)
    cluster, beating = cluster_part(member, members), heartbeat.step(member, settings)
    keeping = received_step(member, settings)
    return {
        **cluster,
        **stage,
        **server,
        **channel,
        "seed": seed.step(member, members, settings),
        "seed_leftover": leftover,
        "answer": answering,
        "heartbeat": beating,
        "received": keeping,
        "changes": bool(
            server["server_changes"]
            or channel["account"]
            or stage["held"]
            or cluster["fell_back"]
            or server["settles"]
            or channel["channel"] != "none"
            or link["differs"]
            or link["new_authority"]
            or leftover
            or answering["step"] != "none"
            or beating["step"] != "none"
            or keeping["step"] != "none"
        ),
    }


def cluster_part(member: Member, members: list[Member]) -> ClusterPart:
    """A host's position in its cluster."""
    source, replicas = source_of(members), replicas_of(members)
    return {
        "side": member.side,
        "source": source.host,
        "source_address": source.address,
        "source_port": source.port,
        "replicas": [other.host for other in replicas],
        "replica_addresses": [other.address for other in replicas],
        "turn": replication.turn(member, members),
        "followers": replication.followers(member, members),
        "clients": len(replicas),
        "clients_after": replication.clients_after(member, members),
        "baseline": not replication.semisync_is_on(members),
        "before_first_replica": replication.no_replica_is_semisync(members),
        "fell_back": member.side == "source" and replication.fell_back(member.facts),
        "unit": member.facts["unit"],
    }


def stage_part(
    member: Member, members: list[Member], settings: Settings, hold_back: bool
) -> StagePart:
    """How far this run goes: a source may have to wait for its replicas before it enables
    semi-sync.
    """
    requested = settings["stage"]
    if requested == "replication" and replication.semisync_is_on(members):
        requested = "full"
    full = requested == "full"
    waits = hold_back and member.side == "source" and full and replication.must_wait(members)
    install = missing_plugins(member) if full else []
    return {
        "stage": "replication" if waits else requested,
        "held": waits,
        "requested_stage": requested,
        "install_plugin": bool(install),
        "install": install,
        "plugin_names": WORDS[member.facts["names"]["generation"]],
        "renames": member.renames if full else "",
        "plugin": member.facts["names"][member.side]["plugin"] if full else None,
    }


def server_part(
    member: Member, members: list[Member], settings: Settings, stage: StagePart
) -> ServerPart:
    """The server's options, what is set at run time, and whether it restarts."""
    info, opens = member.facts, durability_mode.opens_when_running(member, stage["stage"], settings)
    number, fresh = replication.wanted_id(member, members), replication.is_fresh(member, members)
    accompanied = bool(replicas_of(members))
    sections = option_lines.sections(
        member.side, info, settings, number, fresh, stage["stage"], accompanied
    )
    options = [pair for _comment, pairs in sections for pair in pairs]
    group = info["option_files"]["group"]
    text = option_files.render(sections, group) if options else None
    option_file = option_file_step(member, text)
    drift = differing(info, options, opens)
    later = can_wait(member, settings["apply"])
    reasons = restart_reasons(drift, option_file["changed"], settings["apply"], later)
    now = {name: pair[1] for name, pair in drift.items() if name not in later}
    set_global = {} if reasons else now
    restart_io = not reasons and needs_new_connection(member, stage["stage"], set_global)
    return {
        "server_id": number,
        "fresh": fresh,
        "option_file": option_file,
        "restart": bool(reasons),
        "restart_reasons": reasons,
        **spending(member, drift, reasons),
        "opens": opens,
        "set_global": set_global,
        "restart_io": restart_io,
        "server_changes": bool(
            stage["install"]
            or stage["renames"]
            or option_file["changed"]
            or reasons
            or set_global
            or restart_io
        ),
    }


def spending(member: Member, drift: Drift, reasons: list[str]) -> Spending:
    """`spends`, see spends(), and `settles`: whether the journal must record as made such a change
    of this run, or one that an interrupted run began.
    """
    words = spends(member, drift, reasons)
    begun = member.side == "source" and member.facts.get("settings_open")
    return {"spends": words, "settles": bool(words or begun)}


def spends(member: Member, drift: Drift, reasons: list[str]) -> str:
    """Why a plan invalidates the last look at a source, in words: it changes what the source waits
    for, or shuts it down cleanly, which confirms waiting commits. Empty if it does neither.

    Args:
        drift: variable -> (what it is, what is wanted), of what is set on the running server too.
        reasons: of restart_reasons().
    """
    if member.side != "source":
        return ""
    names = member.facts["names"]["source"]["variables"]
    waiting = sorted(names[key] for key in WAITS_BY if key in names and names[key] in drift)
    words = [f"{name} goes from {drift[name][0]} to {drift[name][1]}" for name in waiting]
    return "; ".join(words + (["its server is restarted"] if reasons else []))


def differing(info: Info, options: list[Line], opens: bool) -> Drift:
    """What must change in the running server.

    Args:
        opens: whether it must start to take writes.
    """
    drift = option_lines.drift(options, info) | option_lines.withdrawn(options, info)
    if opens:
        # At run time only: its line keeps writers out at the next start.
        running = info["variables"].get("read_only")
        drift.pop("read_only", None)
        if not values.same_value(running, "OFF"):
            drift["read_only"] = (running, "OFF")
    return drift


def needs_new_connection(member: Member, stage: str, set_global: Mapping[str, object]) -> bool:
    """Whether a replica's IO thread must reconnect, to acknowledge as configured."""
    if member.side != "replica":
        return False
    replica = member.facts["semisync"]["replica"]
    runs = channels.running(member.channel)
    waiting = stage == "full" and runs and replica["status"]["status"] != "ON"
    return waiting or touches_acknowledging(member.facts, set_global)


def channel_part(
    member: Member, members: list[Member], settings: Settings, stage: str
) -> ChannelPart:
    """A replica's channel and its account, and whether other hosts' channels change."""
    replicas, step = replicas_of(members), replication.channel_step(member, members)
    link, login = channel_tls(member, members, settings), account.step(member, members, settings)
    links = [channel_tls(other, members, settings) for other in replicas]
    return {
        "channel": step,
        "channels_change": any(
            replication.channel_step(other, members) != "none" for other in replicas
        ),
        "tries_login": step == "configure" and account.lets_try(members, settings),
        "catch_up": replication.has_to_catch_up(member.side, step, member.facts),
        "wait_for": expected_after_restart(member, members, step, stage),
        "tls": link["wanted"],
        "tls_differs": link["differs"],
        "tls_authority": link["authority"],
        "tls_changes": any(other["differs"] for other in links),
        "account": login["create"],
        "account_needs_ssl": login["needs_ssl"],
        "account_open_because": login["open_because"],
    }


def missing_plugins(member: Member) -> list[Side]:
    """The sides of semi-sync whose plugin a host lacks, its own first.

    Every host needs both: a promoted replica waits for acknowledgements at once, and a former
    source that rejoins sends them.
    """
    missing: list[Side] = []
    for side in (member.side, option_lines.OTHER_SIDE[member.side]):
        name = member.facts["names"][side]["plugin"]
        if name and member.facts["plugins"].get(name) != "ACTIVE":
            missing.append(side)
    return missing


def touches_acknowledging(info: Info, variables: Iterable[str]) -> bool:
    """Whether a variable belongs to semi-sync's replica side, so that a running IO thread does not
    use its new value.
    """
    return any(name in info["names"]["replica"]["variables"].values() for name in variables)


def expected_after_restart(member: Member, members: list[Member], step: str, stage: str) -> WaitFor:
    """What must hold after a restart before the next host's turn, as semisync_info's wait_for.

    Args:
        step: result of channel_step(); the run does not wait for a channel that does not exist yet.
        stage: replication or full.
    """
    replicates = member.side == "replica" and step == "none"
    expected: WaitFor = {
        "answering": True,
        "channel": replicates,
        "replica_status": replicates and stage == "full",
        "source_status": member.side == "source" and stage == "full" and bool(replicas_of(members)),
    }
    if expected["source_status"]:
        expected["clients"] = replication.connected(members)
    return expected


def channel_tls(member: Member, members: list[Member], settings: Settings) -> ChannelTls:
    """What a replica's channel needs of TLS."""
    if member.side != "replica":
        return {"wanted": None, "differs": False, "authority": None, "new_authority": False}
    source, configuring = (
        source_of(members).facts,
        replication.channel_step(member, members) == "configure",
    )
    want = tls.wanted(settings, source, member.facts, configuring)
    authority = tls.copy_of_authority(settings, source, member.facts, configuring)
    return {
        "wanted": want,
        "differs": not configuring and tls.differs(want, member.link),
        "authority": authority,
        "new_authority": bool(authority and authority["changed"]),
    }
