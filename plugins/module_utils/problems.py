# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reasons to stop before anything is touched: each names the host, what was found and what to do."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

from ansible_collections.dbre.semisync.plugins.module_utils import plan, seed, tls, wanted
from ansible_collections.dbre.semisync.plugins.module_utils import options as optfile
from ansible_collections.dbre.semisync.plugins.module_utils import plugin as plugins

WAIT_POINTS = ("AFTER_SYNC", "AFTER_COMMIT")
RANGES = {
    "timeout": (1, 4294967295, "milliseconds"),
    "trace_level": (0, 4294967295, "a bit mask"),
    "wait_for_replica_count": (1, 65535, "replicas"),
    "sync_binlog": (0, 4294967295, "commits"),
    "innodb_flush_log_at_trx_commit": (0, 2, "0, 1 or 2"),
    "connect_retry": (1, 86400, "seconds"),
}


def of_settings(settings):
    """Values that no server would take."""
    found = []
    for name, (low, high, unit) in sorted(RANGES.items()):
        if not low <= settings[name] <= high:
            public = "semisync_replication_connect_retry" if name == "connect_retry" else "semisync_" + name
            found.append("%s is %s; it must be %d to %d (%s)" % (public, settings[name], low, high, unit))
    if settings["wait_point"] not in WAIT_POINTS:
        found.append("semisync_wait_point is %s; it must be %s" % (settings["wait_point"], " or ".join(WAIT_POINTS)))
    for name in ("replication_user", "replication_user_host"):
        if not settings[name]:
            found.append("semisync_%s is empty" % name)
    if "\n" in settings["bind_address"] or " " in settings["bind_address"]:
        found.append("semisync_bind_address is %r; it must be one address, a comma-separated list, or *"
                     % settings["bind_address"])
    return found


def of_inventory(cluster, members):
    """Clusters that are no source with its replicas."""
    sources = [member.host for member in members if member.role == "source"]
    replicas = [member.host for member in members if member.role == "replica"]
    both = sorted(set(sources) & set(replicas))
    where = "cluster %r (semisync_cluster)" % cluster
    if both:
        return ["%s: %s is in both groups, semisync_source and semisync_replica; keep it in one"
                % (where, ", ".join(both))]
    if not sources:
        return ["%s has no source: replica %s has nothing to follow; put its source into group semisync_source with "
                "the same semisync_cluster" % (where, ", ".join(replicas))]
    if len(sources) > 1:
        return ["%s has %d sources: %s; one host is the source, the others belong into group semisync_replica or into "
                "a cluster of their own" % (where, len(sources), ", ".join(sources))]
    if not replicas:
        return ["%s has no replica: source %s has nobody to acknowledge its commits; put a host into group "
                "semisync_replica with the same semisync_cluster" % (where, sources[0])]
    return []


def of_reading(members):
    """Hosts whose state could not be had."""
    return ["%s: %s" % (member.host, member.error) for member in members if member.info is None]


def of_cluster(members, settings, stage="full"):
    """Everything that keeps a cluster, whose members all answered, from becoming what is wanted."""
    found = of_engines(members)
    if found:
        return found
    for member in members:
        found += of_server(member)
    found += of_identities(members) + of_wait_count(members, settings)
    for member in plan.replicas_of(members):
        found += of_channel(member, plan.source_of(members))
        found += tls.problems(settings, plan.source_of(members), member, plan.channel_step(member, members) == "configure")
        if plan.channel_step(member, members) == "configure":
            found += of_new_replica(member, plan.source_of(members), members, settings)
    for member in members:
        found += of_persisted(member, members, settings, stage)
    return found


def of_engines(members):
    families = {}
    for member in members:
        family = "MariaDB" if member.info["engine"] == "mariadb" else "MySQL"
        families.setdefault(family, []).append("%s (%s)" % (member.host, member.info["version_full"]))
    if len(families) < 2:
        return []
    return ["MySQL and MariaDB are mixed in one cluster: %s; they cannot be semi-synchronous with each other"
            % "; ".join("%s: %s" % (family, ", ".join(hosts)) for family, hosts in sorted(families.items()))]


def of_server(member):
    """What is wrong with one server by itself."""
    found, info = [], member.info
    try:
        plugins.check_mix(info["plugins"], info["plugins_registered"], info["names"]["generation"])
    except plugins.Conflict as error:
        found.append("%s: %s" % (member.host, error))
    if info["variables"].get("wsrep_on") == "ON":
        found.append("%s: wsrep_on is ON; a Galera node replicates by other means" % member.host)
    if info["variables"].get("skip_networking") == "ON" and member.role == "source":
        found.append("%s: skip_networking is ON, no replica can reach it; remove it from the option file" % member.host)
    if member.channel is None and info["other_channels"] and member.role == "replica":
        found.append("%s: replicates through the named channel %s only; semi-sync works on the default channel"
                     % (member.host, ", ".join(info["other_channels"])))
    return found


def of_identities(members):
    by_id = {}
    for member in members:
        by_id.setdefault(plan.wanted_id(member, members), []).append(member.host)
    return ["server_id %d is given to %s; set semisync_server_id to a number of its own on each" %
            (number, " and ".join(hosts)) for number, hosts in sorted(by_id.items()) if len(hosts) > 1]


def of_wait_count(members, settings):
    count, replicas = settings["wait_for_replica_count"], len(plan.replicas_of(members))
    source = plan.source_of(members)
    if count > 1 and "wait_for_replica_count" not in source.info["names"]["source"]["variables"]:
        return ["%s: semisync_wait_for_replica_count is %d, but %s %s waits for one acknowledgement only; set it to 1"
                % (source.host, count, source.info["engine"], source.info["version"])]
    if count > replicas:
        return ["%s: semisync_wait_for_replica_count is %d, but the cluster has %d replica(s): every commit would wait "
                "for the timeout" % (source.host, count, replicas)]
    return []


def of_channel(member, source):
    """A replica that follows somebody else."""
    channel = member.channel
    if channel is None:
        return []
    uuid, number = channel["source_uuid"], int(channel["source_server_id"] or 0)
    right_uuid, right_number = source.info["variables"]["server_uuid"], int(source.info["variables"]["server_id"])
    if uuid and right_uuid and uuid != right_uuid:
        return ["%s replicates from another source: %s:%s (server_uuid %s), not from %s (%s); correct the inventory or "
                "point it there yourself" % (member.host, channel["source_host"], channel["source_port"], uuid,
                                             source.host, right_uuid)]
    if not right_uuid and number and number != right_number:
        return ["%s replicates from another source: %s:%s (server_id %d), not from %s (%d); correct the inventory or "
                "point it there yourself" % (member.host, channel["source_host"], channel["source_port"], number,
                                             source.host, right_number)]
    return []


def of_new_replica(member, source, members, settings):
    """A replica without a working channel: is it safe to make it follow the source from the beginning?"""
    found = []
    for one in (source, member):
        if not one.info["names"]["gtid"]:
            found.append("%s: %s %s has no GTIDs, without which the collection sets no replication up; let %s replicate "
                         "by file and position first" % (one.host, one.info["engine"], one.info["version"], member.host))
    if not settings["replication_password"]:
        found.append("%s: semisync_replication_password is empty, and replication has to be set up; give the account "
                     "%s a password, best from a vault" % (member.host, settings["replication_user"]))
    limit = member.info["names"]["longest_source_password"]
    if limit and len(settings["replication_password"]) > limit:
        found.append("%s: semisync_replication_password has %d characters; a MySQL replica takes at most %d"
                     % (member.host, len(settings["replication_password"]), limit))
    found += of_data(member, source, members, settings)
    return found


def of_data(member, source, members, settings):
    """A new replica must have the source's data, or be given it; what it has of its own is never overwritten."""
    if seed.needed(member, members, settings):
        reason = seed.problem(member, members, settings)
        return [reason] if reason else []
    own = seed.strangers(member, source)
    if own:
        return ["%s holds data that the source %s does not have: %s. It is not overwritten. Move it away, say "
                "semisync_seed_overwrite=true to have it replaced with a copy of the source, or make the host such a copy "
                "(a restored backup with its GTID set)" % (member.host, source.host, own)]
    missing = seed.missing_history(member, source, members, settings)
    if missing:
        return ["%s: %s, and semisync_seed_method is none. A replica that starts empty would lack it: restore a backup of "
                "the source with its GTID set on this host first" % (member.host, missing)]
    if seed.by_position(source, members):
        return ["%s: the source %s replicates by file and position (gtid_mode %s), and a new replica follows by GTID: "
                "set this replica up yourself"
                % (member.host, source.host, source.info["variables"]["gtid_mode"])]
    return []


def of_persisted(member, members, settings, stage):
    """SET PERSIST overrides option files: a persisted value that differs would win at the next start."""
    sections = wanted.sections(member.role, member.info, settings, plan.wanted_id(member, members),
                               plan.is_fresh(member, members), stage)
    found = []
    for option, value in [pair for dummy, pairs in sections for pair in pairs]:
        name = optfile.canonical_name(option)
        persisted = member.info["persisted"].get(name)
        if persisted is not None and not optfile.same_value(persisted, value):
            found.append("%s: %s is persisted as %s (SET PERSIST), which overrides the wanted %s; run RESET PERSIST %s"
                         % (member.host, name, persisted, value, name))
    return found


def unreadable(result):
    """Why a semisync_info result has no state: the module's message, or what kept the host from answering."""
    if not result:
        return "was not read in this run; --limit must take a cluster whole"
    if result.get("unreachable"):
        return "unreachable: %s" % " ".join(str(result.get("msg", "")).split())
    return str(result.get("msg") or "could not be read")
