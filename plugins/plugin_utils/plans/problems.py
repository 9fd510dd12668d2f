# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reasons to stop before anything is changed: each names the host, what was found and what
to do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ansible_collections.dbre.semisync.plugins.module_utils.host import option_files
from ansible_collections.dbre.semisync.plugins.module_utils.server import plugin, values
from ansible_collections.dbre.semisync.plugins.plugin_utils import durability_mode
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import (
    LOST,
    Member,
    has_plugins,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import (
    account,
    answer,
    current_source,
    option_lines,
    seed,
    tls,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans.replication import (
    channel_step,
    is_fresh,
    wanted_id,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.settings import Settings

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.types.shapes import HeldRow

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
        reasons += channel_problems(member, source_of(members), members)
        configuring = channel_step(member, members) == "configure"
        for judge in (tls.tls_problems, account.login_problems):
            reasons += judge(settings, source_of(members), member, configuring)
        if configuring:
            reasons += new_replica_problems(member, source_of(members), members, settings)
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
    from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import naming

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


def channel_problems(member: Member, source: Member, members: list[Member]) -> list[str]:
    """A replica that follows another server."""
    channel = member.channel
    if channel is None:
        return []
    if member.missed:
        return [missed_words(member, source, member.missed)]
    uuid, number = channel["source_uuid"], int(channel["source_server_id"] or 0)
    right_uuid, right_number = (
        source.facts["variables"]["server_uuid"],
        int(source.facts["variables"]["server_id"] or 0),
    )
    if uuid and right_uuid:
        named, right, known_by = uuid, right_uuid, "server_uuid"
    elif number and not right_uuid:
        named, right, known_by = str(number), str(right_number), "server_id"
    else:
        return []
    if named == right:
        return []
    row = next((row for row in current_source.held_rows(members) if row["id"] == named), None)
    if row:
        # It is no longer in the inventory, and rejoin.yml needs every host of that failover.
        return [
            f"{missed_words(member, source, row)}; first put {row['host']} back into the inventory"
        ]
    return [
        f"{member.host} replicates from another source:"
        f" {channel['source_host']}:{channel['source_port']} ({known_by} {named}), not from"
        f" {source.host} ({right}); correct the inventory, or attach it to that source yourself"
    ]


def missed_words(member: Member, source: Member, row: HeldRow) -> str:
    """What to do about a replica that missed a failover."""
    return (
        f"{member.host} was away when {row['host']} lost its role, and still follows it: run"
        f" rejoin.yml with semisync_rejoin={member.host}, which says whether it has what"
        f" {source.host} lacks, and attaches it to {source.host}"
    )


def new_replica_problems(
    member: Member, source: Member, members: list[Member], settings: Settings
) -> list[str]:
    """A replica without a working channel: can it safely follow the source from the beginning?"""
    reasons = []
    for server in (source, member):
        if not server.facts["names"]["gtid"]:
            reasons.append(
                f"{server.host}: {server.facts['engine']} {server.facts['version']} has no GTIDs,"
                " without which the collection does not set up replication; let"
                f" {member.host} replicate by file and position first"
            )
    if not settings["replication_password"]:
        reasons.append(
            f"{member.host}: semisync_replication_password is empty, and replication has to be set"
            f" up; give the account {settings['replication_user']} a password, best from a vault"
        )
    too_long = password_too_long(member, settings)
    if too_long:
        reasons.append(f"{member.host}: {too_long}")
    reasons += data_problems(member, source, members, settings)
    return reasons


def password_too_long(member: Member, settings: Settings) -> str:
    """Why a server could not log in with the replication password; empty if it can."""
    limit, length = (
        member.facts["names"]["longest_source_password"],
        len(settings["replication_password"]),
    )
    if not limit or length <= limit:
        return ""
    return (
        f"semisync_replication_password has {length} characters; a MySQL replica takes at most"
        f" {limit}"
    )


def rotation_problem(member: Member, settings: Settings) -> str:
    """Why a host cannot be given the new replication password; empty if it can."""
    if not settings["replication_password"]:
        return "semisync_replication_password is empty; set it to the new password"
    too_long = password_too_long(member, settings)
    if too_long or member.side == "source":
        return too_long
    channel = member.channel
    if channel is None:
        return "it has no replication channel; run site.yml first"
    if channel["source_user"] != settings["replication_user"]:
        return f"its channel logs in as {channel['source_user']}; set semisync_replication_user"
    if channel["last_sql_error"]:
        return f"its applier has stopped: {channel['last_sql_error']}; repair it first"
    return ""


def data_problems(
    member: Member, source: Member, members: list[Member], settings: Settings
) -> list[str]:
    """A new replica must have the source's data, or be seeded; its own data are never
    overwritten.
    """
    if seed.needed(member, members, settings):
        reason = seed.problem(member, members, settings)
        return [reason] if reason else []
    own = seed.strangers(member, source)
    if own:
        return [
            f"{member.host} holds data that the source {source.host} does not have: {own}. It is"
            " not overwritten. Move it away, set semisync_seed_overwrite=true to have it replaced"
            " with a copy of the source, or make the host such a copy (a restored backup with its"
            " GTID set)"
        ]
    missing = seed.missing_history(member, source, members, settings)
    if missing:
        return [
            f"{member.host}: {missing}, and semisync_seed_method is none. A replica that starts"
            " empty would lack it: restore a backup of the source with its GTID set on this host"
            " first"
        ]
    if seed.by_position(source, members):
        return [
            f"{member.host}: the source {source.host} replicates by file and position (gtid_mode"
            f" {source.facts['variables']['gtid_mode']}), and a new replica follows by GTID: set"
            " this replica up yourself"
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
