# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to be done on one host, decided from what the servers of its cluster reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._server.names import WORDS
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import durability_mode
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import (
    account,
    answer,
    heartbeat,
    option_lines,
    problems,
    replication,
    replication_problems,
    seed,
    server_part,
    tls,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.plan_shapes import (
        ChannelPart,
        ChannelTls,
        ClusterPart,
        HostPlan,
        Plan,
        ReceivedStep,
        StagePart,
    )
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Side, WaitFor


def set_up_plan(
    member: Member, members: list[Member], settings: Settings, hold_back: bool = True
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
        "cluster_differs": any(plan["differs"] for plan in plans.values()),
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
    from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import naming

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
    from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import received

    return received.what_to_do(member, now, settings)


def host_plan(
    member: Member, members: list[Member], settings: Settings, hold_back: bool
) -> HostPlan:
    """The part of set_up_plan() that concerns one host alone."""
    stage = stage_part(member, members, settings, hold_back)
    server = server_part.server_part(member, members, settings, stage)
    channel = channel_part(member, members, settings, stage["stage"])
    link = channel_tls(member, members, settings)
    leftover, answering = seed.leftover(member), answer.step(member, members, settings)
    cluster, beating = cluster_part(member, members), heartbeat.step(member, settings)
    keeping = received_step(member, settings)
    differs = bool(
        server["server_changes"]
        or channel["account"]
        or stage["held"]
        or cluster["fell_back"]
        or channel["channel"] != "none"
        or link["differs"]
        or link["new_authority"]
        or leftover
        or answering["step"] != "none"
        or beating["step"] != "none"
        or keeping["step"] != "none"
    )
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
        "differs": differs,
        "changes": differs or server["settles"],
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
