# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reasons to stop before anything is changed: each names the host, what was found and what
to do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils._host import option_files
from ansible_collections.dbre.semisync.plugins.module_utils._server import plugin, values
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import durability_mode
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    LOST,
    Member,
    has_plugins,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import (
    account,
    answer,
    current_source,
    option_lines,
    replication_problems,
    tls,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.replication import (
    channel_step,
    is_fresh,
    wanted_id,
)

# What a module's Python says while its host is lost, and SSH passes on as its own words.
PYTHON_ENDS = re.compile(r"Exception ignored in:|Traceback \(most recent call last\)")


def no_replica(where: str, source: str, held: Sequence[str]) -> str:
    """What to do about a source that has no replica, or has held hosts only."""
    if held:
        return (
            f"{where} has no replica but {', '.join(held)}, which lost the source's role and is"
            f" held: no replica acknowledges the commits of {source}. rejoin.yml with"
            f" semisync_rejoin={held[0]} says whether it may come back, and brings it back; run"
            " site.yml after that"
        )
    return (
        f"{where} has no replica: nothing acknowledges the commits of source {source};"
        " put a host into group semisync_replica with the same semisync_cluster"
    )


def inventory_problems(
    cluster: str, members: list[Member], alone: bool = False, held: Sequence[str] = ()
) -> list[str]:
    """Clusters that are not one source with its replicas.

    Args:
        held: hosts of the cluster in quarantine since a failover, which are not among the members.
        alone: whether a source may be the last host.
    """
    sources = [member.host for member in members if member.group == "source"]
    replicas = [member.host for member in members if member.group == "replica"]
    both = sorted(set(sources) & set(replicas))
    where = f"cluster {cluster!r} (semisync_cluster)"
    if both:
        return [
            f"{where}: {', '.join(both)} is in both groups, semisync_source and semisync_replica;"
            " keep it in one"
        ]
    if not sources:
        return [
            f"{where} has no source: replica {', '.join(replicas)} has nothing to follow; put its"
            " source into group semisync_source with the same semisync_cluster"
        ]
    if len(sources) > 1:
        return [
            f"{where} has {len(sources)} sources: {', '.join(sources)}; one host is the source, the"
            " others belong into group semisync_replica or into a cluster of their own"
        ]
    return [] if replicas or alone else [no_replica(where, sources[0], held)]


def reading_problems(members: list[Member]) -> list[str]:
    """Hosts that could not be read, or whose state is unknown where a plan needs it; hosts that
    another's failure took out of the run only if there is no such other host.
    """
    unread = {
        member.host: member.error or unknown_options(member)
        for member in members
        if member.info is None or unknown_options(member)
    }
    first = {host: words for host, words in unread.items() if words != LOST}
    return [f"{host}: {words}" for host, words in (first or unread).items()]


def unknown_options(member: Member) -> str:
    """Why nothing can be planned for a server, because its start options are unknown; or empty."""
    reason = option_lines.unknown(member.facts)
    return reason and f"what its server starts with is not known: {reason}"


def source_problems(members: list[Member]) -> list[str]:
    """Servers that contradict each other about which is the source, or a role change that is
    neither done nor undone.
    """
    decided = current_source.decide(members)
    if decided.interrupted:
        return [
            *decided.problems,
            f"{decided.interrupted}; run switchover.yml again: it completes the switchover or"
            " rolls it back,"
            " and says what to do if a host of it is lost for good",
        ]
    return decided.problems


def cluster_problems(members: list[Member], settings: Settings) -> list[str]:
    """Everything that keeps a cluster from its settings, if all members were read."""
    reasons = engines_problems(members)
    if reasons:
        return reasons
    for member in members:
        reasons += server_problems(member) + answer.answer_problems(member, member.settings)
    reasons += plugin_names_problems(members, settings)
    reasons += identities_problems(members) + wait_count_problems(members, settings)
    reasons += durability_mode.cluster_problems(members)
    for member in replicas_of(members):
        reasons += replication_problems.channel_problems(member, source_of(members), members)
        configuring = channel_step(member, members) == "configure"
        for judge in (tls.tls_problems, account.login_problems):
            reasons += judge(settings, source_of(members), member, configuring)
        if configuring:
            reasons += replication_problems.new_replica_problems(
                member, source_of(members), members, settings
            )
    for member in members:
        reasons += overrides_problems(member, members, settings)
    return reasons


def engines_problems(members: list[Member]) -> list[str]:
    families: dict[str, list[str]] = {}
    for member in members:
        family = "MariaDB" if member.facts["engine"] == "mariadb" else "MySQL"
        families.setdefault(family, []).append(f"{member.host} ({member.facts['version_full']})")
    if len(families) < 2:
        return []
    listed = "; ".join(
        f"{family}: {', '.join(hosts)}" for family, hosts in sorted(families.items())
    )
    return [
        f"MySQL and MariaDB are mixed in one cluster: {listed}; they cannot be semi-synchronous"
        " with each other. Put them into separate clusters (semisync_cluster)"
    ]


def server_problems(member: Member) -> list[str]:
    """What is wrong with one server."""
    reasons, info = [], member.facts
    try:
        plugin.check_mix(info["plugins"], info["plugins_registered"], info["names"]["generation"])
    except plugin.ConflictError as error:
        reasons.append(f"{member.host}: {error}")
    if info["variables"].get("wsrep_on") == "ON":
        reasons.append(
            f"{member.host}: wsrep_on is ON; a Galera node replicates by other means."
            " Take it out of the inventory"
        )
    if info["variables"].get("skip_networking") == "ON" and member.side == "source":
        reasons.append(
            f"{member.host}: skip_networking is ON, no replica can reach it; remove it from the"
            " option file"
        )
    if member.channel is None and info["other_channels"] and member.side == "replica":
        reasons.append(
            f"{member.host}: replicates through the named channel"
            f" {', '.join(info['other_channels'])} only; semi-sync works on the default channel."
            " Set replication up on that"
        )
    return reasons


def identities_problems(members: list[Member]) -> list[str]:
    by_id: dict[int, list[str]] = {}
    for member in members:
        by_id.setdefault(wanted_id(member, members), []).append(member.host)
    return [
        f"server_id {number} is given to {' and '.join(hosts)}; set semisync_server_id to a"
        " different number on each"
        for number, hosts in sorted(by_id.items())
        if len(hosts) > 1
    ]


def may_rename(members: list[Member], settings: Settings) -> bool:
    """Whether plugins' names are asked for, or a server without plugins gets its source's."""
    source = source_of(members)
    bare = [] if not has_plugins(source) else [one for one in members if not has_plugins(one)]
    return any((one.settings or settings)["plugin_names"] != "auto" for one in members) or any(
        one.facts["names"]["generation"] != source.facts["names"]["generation"] for one in bare
    )


def plugin_names_problems(members: list[Member], settings: Settings) -> list[str]:
    """Why the names that were asked for cannot be had."""
    if not may_rename(members, settings):
        return []
    # Not at the top: Ansible would compile it in every run, and most have nothing to exchange.
    from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import naming

    return naming.names_problems(members, settings)


def wait_count_problems(members: list[Member], settings: Settings) -> list[str]:
    count, replicas = settings["wait_for_replica_count"], len(replicas_of(members))
    source = source_of(members)
    if count > 1 and "wait_for_replica_count" not in source.facts["names"]["source"]["variables"]:
        return [
            f"{source.host}: semisync_wait_for_replica_count is {count}, but"
            f" {source.facts['engine']} {source.facts['version']} waits for one acknowledgement"
            " only; set it to 1"
        ]
    # The last host of a cluster waits for no acknowledgement.
    if count > replicas > 0:
        return [
            f"{source.host}: semisync_wait_for_replica_count is {count}, but the cluster has"
            f" {replicas} replica(s): every commit would wait for the timeout; lower it, or add a"
            " replica"
        ]
    return []


def overrides_problems(member: Member, members: list[Member], settings: Settings) -> list[str]:
    """What overrides our option file with other values: SET PERSIST, and the server's
    command line.
    """
    sections = option_lines.sections(
        member.side,
        member.facts,
        settings,
        wanted_id(member, members),
        is_fresh(member, members),
        settings["stage"],
        bool(replicas_of(members)),
    )
    reasons, started_with = [], option_lines.command_line(member.facts)
    for option, value in [pair for dummy, pairs in sections for pair in pairs]:
        name = option_files.canonical_name(option)
        persisted, given = member.facts["persisted"].get(name), started_with.get(name)
        if persisted is not None and not values.same_value(persisted, value):
            reasons.append(
                f"{member.host}: {name} is persisted as {persisted} (SET PERSIST), which overrides"
                f" the wanted {value}; run RESET PERSIST {name}"
            )
        # Another name for a log is fine.
        logs = ("log_bin", "relay_log")
        if given is not None and name not in logs and not values.same_value(given or "ON", value):
            reasons.append(
                f"{member.host}: the server is started with --{name.replace('_', '-')}"
                f"{'=' + given if given else ''}, which overrides the wanted {value} of an option"
                " file; take it out of the unit or script that starts it"
            )
    return reasons


def unreadable(result: dict[str, Any] | None) -> str:
    """Why a semisync_info result has no state: the module's message, or what kept the host from
    answering.
    """
    if not result:
        return "was not read in this run; --limit must take a cluster whole"
    if result.get("unreachable"):
        words = " ".join(str(result.get("msg", "")).split())
        words = PYTHON_ENDS.split(words.removeprefix("Task failed: "))[0].rstrip(" :")
        return f"unreachable: {words}"
    return str(result.get("msg") or "could not be read")
