# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to be done on one host, decided from what the servers of its cluster said."""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.host import option_files
from ansible_collections.dbre.semisync.plugins.module_utils.server import channels, values
from ansible_collections.dbre.semisync.plugins.module_utils.shapes import Info, Side, Variables
from ansible_collections.dbre.semisync.plugins.plugin_utils import promise
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import (
    account,
    answer,
    catch_up,
    option_lines,
    problems,
    seed,
    spends,
    tls,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans.replication import (
    channel_step,
    is_fresh,
    never_connected,
    wanted_id,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.settings import Settings


def option_file_step(member: Member, text: str | None) -> dict[str, Any]:
    """Where our lines go, and whether they are there already."""
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
    """Variables that need a restart, but none of their own: a replica that replicates needs its
    address for others on the day it is promoted, and apply=online restarts it for what it needs
    now alone.
    """
    if apply == "online" and member.side == "replica" and channels.running(member.channel):
        return ("bind_address",)
    return ()


def restart_reasons(
    drift: dict[str, Any], file_changed: bool, apply: str, waiting: tuple[str, ...] = ()
) -> list[str]:
    """Why the server must restart; an empty list when what differs can be set at run time or
    nothing differs.

    The procedure's way is option file and restart, and so semi-sync is switched on. Where it is on,
    or the file is right already, only a variable that cannot be set at run time justifies one;
    apply=online never restarts for a variable that can.
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


def make(
    member: Member,
    members: list[Member],
    settings: Settings,
    hold_back: bool = True,
) -> dict[str, Any]:
    """The plan of one host; see the RETURN section of semisync_plan.

    Args:
        member: the host.
        members: all hosts of its cluster, itself included; every one has info. One without
            settings of its own is wanted to have those of this host.
        settings: what is wanted of this host.
        hold_back: whether a source waits with semi-sync until its replicas' channels run.
    """
    plans = {
        other.host: host_plan(
            other, members, settings if other is member else other.settings or settings, hold_back
        )
        for other in members
    }
    return dict(
        plans[member.host],
        cluster_changes=any(plan["changes"] for plan in plans.values()),
        turns=len(members),
        source_restarts=plans[source_of(members).host]["restart_reasons"],
        rotate_problem=problems.of_rotation(member, settings),
    )


def unsafe_places(members: list[Member], settings: Settings, hold_back: bool) -> list[str]:
    """Hosts whose lines would go where root does not write, in words."""
    reasons = []
    for member in members:
        unsafe = member.facts["option_files"].get("unsafe")
        plan = unsafe and host_plan(member, members, member.settings or settings, hold_back)
        if plan and (plan["option_file"]["changed"] or plan["held"]):
            reasons.append(f"{member.host}: {unsafe}")
    return reasons


def host_plan(
    member: Member,
    members: list[Member],
    settings: Settings,
    hold_back: bool,
) -> dict[str, Any]:
    """What make() says of one host by itself."""
    info, side, stage = member.facts, member.side, settings["stage"]
    if stage == "replication" and semisync_is_on(members):
        stage = "full"
    plugin = info["names"][side]["plugin"] if stage == "full" else None
    install = missing_plugins(member) if stage == "full" else []
    requested = stage
    if hold_back and side == "source" and stage == "full" and must_wait(members):
        stage = "replication"
    number, fresh = wanted_id(member, members), is_fresh(member, members)
    accompanied = bool(replicas_of(members))
    sections = option_lines.sections(side, info, settings, number, fresh, stage, accompanied)
    options = [pair for dummy, pairs in sections for pair in pairs]
    option_file = option_file_step(
        member, option_files.render(sections, info["option_files"]["group"]) if options else None
    )
    opens = promise.opens(member, stage, settings)
    drift = option_lines.drift(options, info) | option_lines.withdrawn(options, info)
    if opens:
        # At run time alone: its line says that the next start lets nobody in.
        running = info["variables"].get("read_only")
        drift.pop("read_only", None)
        drift |= {} if values.same_value(running, "OFF") else {"read_only": (running, "OFF")}
    waiting_for_restart = can_wait(member, settings["apply"])
    reasons = restart_reasons(drift, option_file["changed"], settings["apply"], waiting_for_restart)
    set_global = (
        {}
        if reasons
        else {name: pair[1] for name, pair in drift.items() if name not in waiting_for_restart}
    )
    step = channel_step(member, members)
    link = channel_tls(member, members, settings)
    login = account.step(member, members, settings)
    waiting = (
        stage == "full"
        and side == "replica"
        and channels.running(info["channel"])
        and info["semisync"]["replica"]["status"]["status"] != "ON"
    )
    result = {
        "side": side,
        "stage": stage,
        "held": stage != requested,
        "fell_back": side == "source" and fell_back(info),
        "requested_stage": requested,
        "server_id": number,
        "fresh": fresh,
        "source": source_of(members).host,
        "source_address": source_of(members).address,
        "source_port": source_of(members).port,
        "replicas": [other.host for other in replicas_of(members)],
        "replica_addresses": [other.address for other in replicas_of(members)],
        "turn": turn(member, members),
        "install_plugin": bool(install),
        "install": install,
        "plugin": plugin,
        "option_file": option_file,
        "restart": bool(reasons),
        "restart_reasons": reasons,
        **spends.of_plan(member, drift, reasons),
        "opens": opens,
        "set_global": set_global,
        "restart_io": not reasons
        and (waiting or (side == "replica" and touches_acknowledging(info, set_global))),
        "wait_for": expected_after_restart(member, members, step, stage),
        "followers": followers(member, members),
        "channel": step,
        "catch_up": catch_up.due(side, step, info),
        "tls": link["wanted"],
        "tls_differs": link["differs"],
        "tls_authority": link["authority"],
        "tls_changes": any(
            channel_tls(other, members, settings)["differs"] for other in replicas_of(members)
        ),
        "unit": info["unit"],
        "account": login["create"],
        "account_needs_ssl": login["needs_ssl"],
        "account_open_because": login["open_because"],
        "channels_change": any(
            channel_step(other, members) != "none" for other in replicas_of(members)
        ),
        "clients": len(replicas_of(members)),
        "clients_after": clients_after(member, members),
        "baseline": not semisync_is_on(members),
        "before_first_replica": no_replica_is_semisync(members),
        "seed": seed.step(member, members, settings),
        "seed_leftover": seed.leftover(member),
        "answer": answer.step(member, members, settings),
    }
    result["server_changes"] = bool(
        install or option_file["changed"] or reasons or set_global or result["restart_io"]
    )
    result["changes"] = bool(
        result["server_changes"]
        or result["account"]
        or result["held"]
        or result["fell_back"]
        or result["settles"]
        or step != "none"
        or link["differs"]
        or link["new_authority"]
        or result["seed_leftover"]
        or result["answer"]["step"] != "none"
    )
    return result


def missing_plugins(member: Member) -> list[Side]:
    """The sides of semi-sync whose plugin a host lacks, its own first.

    Both belong on every host: a replica that is promoted waits for acknowledgements at once, and
    a source that comes back gives them.
    """
    missing: list[Side] = []
    for side in (member.side, option_lines.OTHER_SIDE[member.side]):
        name = member.facts["names"][side]["plugin"]
        if name and member.facts["plugins"].get(name) != "ACTIVE":
            missing.append(side)
    return missing


def touches_acknowledging(info: Info, variables: Variables) -> bool:
    """True where a variable is of semi-sync's replica side, which a running IO thread has not
    taken over.
    """
    return any(name in info["names"]["replica"]["variables"].values() for name in variables)


def expected_after_restart(
    member: Member, members: list[Member], step: str, stage: str
) -> dict[str, Any]:
    """What must hold after a restart before the next host's turn, as semisync_info's wait_for.

    Args:
        step: result of channel_step(); a channel that is not there yet is not waited for.
        stage: replication or full.
    """
    replicates = member.side == "replica" and step == "none"
    expected: dict[str, Any] = {
        "answering": True,
        "channel": replicates,
        "replica_status": replicates and stage == "full",
        "source_status": member.side == "source" and stage == "full" and bool(replicas_of(members)),
    }
    if expected["source_status"]:
        expected["clients"] = connected(members)
    return expected


def followers(member: Member, members: list[Member]) -> list[str]:
    """Replicas that read this source, and lose it when it restarts."""
    return [
        other.host
        for other in replicas_of(members)
        if member.side == "source" and other.channel and other.channel["io_running"] == "Yes"
    ]


def channel_tls(member: Member, members: list[Member], settings: Settings) -> dict[str, Any]:
    """What a replica's channel needs of TLS: see module_utils/tls.py."""
    if member.side != "replica":
        return {"wanted": None, "differs": False, "authority": None, "new_authority": False}
    source, configuring = source_of(members).facts, channel_step(member, members) == "configure"
    want = tls.wanted(settings, source, member.facts, configuring)
    authority = tls.copy_of_authority(settings, source, member.facts, configuring)
    return {
        "wanted": want,
        "differs": not configuring and tls.differs(want, member.link),
        "authority": authority,
        "new_authority": bool(authority and authority["changed"]),
    }


def fell_back(info: Info) -> bool:
    """True on a source that has semi-sync enabled and replicates asynchronously now.

    Its next acknowledged commit switches it on again; without one it stays so (MariaDB on an idle
    server).
    """
    source = info["semisync"]["source"]
    return source["variables"]["enabled"] == "ON" and source["status"]["status"] == "OFF"


def must_wait(members: list[Member]) -> bool:
    """True where semi-sync on the source would hold the next commit for the timeout: no replica
    could acknowledge it.

    A source that is semi-synchronous already, or will be at its next start, is left so.
    """
    source = source_of(members)
    name = source.facts["names"]["source"]["variables"]["enabled"]
    on = source.facts["semisync"]["source"]["variables"]["enabled"] == "ON"
    return (
        not on
        and not option_lines.switches_on(
            name, option_files.parse_ours(source.facts["option_files"]["ours"]).get(name, 0)
        )
        and any(channel_step(other, members) != "none" for other in replicas_of(members))
    )


def turn(member: Member, members: list[Member]) -> int:
    """The host's turn: replicas one after another in inventory order, then the source."""
    order = [other.host for other in replicas_of(members)] + [source_of(members).host]
    return order.index(member.host)


def connected(members: list[Member]) -> int:
    """Replicas whose channel exists, so that a restarted source can expect them back."""
    return len(
        [
            member
            for member in replicas_of(members)
            if member.channel is not None and not never_connected(member.channel)
        ]
    )


def semisync_is_on(members: list[Member]) -> bool:
    """True where semi-sync is enabled anywhere in the cluster, running or in the option files: no
    more baseline.
    """
    for member in members:
        name = member.facts["names"][member.side]["variables"]["enabled"]
        running = member.facts["semisync"][member.side]["variables"]["enabled"]
        configured = member.facts["option_files"]["options"].get(name, "0")
        if running == "ON" or values.canonical_value(configured) != "0":
            return True
    return False


def no_replica_is_semisync(members: list[Member]) -> bool:
    return all(
        values.canonical_value(
            member.facts["semisync"]["replica"]["variables"].get("enabled") or "OFF"
        )
        == "0"
        for member in replicas_of(members)
    )


def clients_after(member: Member, members: list[Member]) -> int:
    """Semi-sync replicas the source must at least count after this one's turn: those it had, and
    this one.
    """
    return len(
        [
            other
            for other in replicas_of(members)
            if channels.running(other.channel)
            and (other is member or other.facts["semisync"]["replica"]["status"]["status"] == "ON")
        ]
    )
