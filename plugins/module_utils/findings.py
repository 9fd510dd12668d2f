# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong, or will be, with a cluster whose servers answer: one table of findings, and the rules that find them.

A checkpoint says whether a point of the procedure holds. A finding says what is dangerous, why, and what to do.
"""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import collections

from ansible_collections.dbre.semisync.plugins.module_utils import known_bad, names
from ansible_collections.dbre.semisync.plugins.module_utils import options as optfile

CRITICAL, WARNING, INFO = "critical", "warning", "info"
SEVERITIES = (CRITICAL, WARNING, INFO)
# Milliseconds from which a timeout freezes writers for longer than anybody waits.
FREEZING_TIMEOUT = 3600 * 1000
# Seconds that clocks may differ for certain.
CLOCK_SECONDS = 1.0

MANUAL = "https://dev.mysql.com/doc/refman/8.4/en/"
SEMISYNC = MANUAL + "replication-semisync.html"
INSTALLATION = MANUAL + "replication-semisync-installation.html"
MONITORING = MANUAL + "replication-semisync-monitoring.html"
SOURCE_VARIABLES = MANUAL + "replication-options-source.html"
CRASH_SAFE = MANUAL + "replication-solutions-unexpected-replica-halt.html"
MARIADB = "https://mariadb.com/kb/en/semisynchronous-replication/"

Kind = collections.namedtuple("Kind", "severity title why source remedy")

# source: one place, or MySQL's and MariaDB's.
TABLE = {
    "degraded": Kind(
        CRITICAL, "The source replicates asynchronously now",
        "An acknowledgement did not come within the timeout. Until a replica catches up, confirmed transactions are on the "
        "source alone and are lost with it.",
        (MONITORING, MARIADB),
        "Look at the replicas: their channels, disks and network (P0, P4.4, P5.1). Semi-sync comes back by itself when one "
        "has caught up; site.yml starts stopped channels."),
    "semisync_off": Kind(
        CRITICAL, "Semi-sync is not enabled",
        "Nothing waits for an acknowledgement: a confirmed transaction is on the source alone.",
        (INSTALLATION, MARIADB), "Run site.yml, which installs and enables what is missing."),
    "was_degraded": Kind(
        WARNING, "Transactions were confirmed without an acknowledgement since the last run",
        "They were on the source alone when their clients were told that they are safe. Had the source died then, they "
        "would be lost. The replicas have received them since.",
        (MONITORING, MARIADB),
        "Find out what happened then: the source's error log names the moment (timeout waiting for reply; switched OFF, "
        "switched ON). If it happens often, the network or the replica's disk is too slow for the timeout."),
    "clients_missing": Kind(
        WARNING, "Fewer semi-sync replicas are connected than the cluster has",
        "A replica that is not connected, or is connected without semi-sync, acknowledges nothing. With fewer than the "
        "source waits for, each commit waits for the timeout and semi-sync falls back.",
        (MONITORING, MARIADB),
        "Look at P0, P4.3 and P4.4 of the replicas. One whose IO thread was not restarted since semi-sync was enabled "
        "stays asynchronous: site.yml restarts it."),
    "plugin_mix": Kind(
        WARNING, "Semi-sync plugins of the old and the new names are mixed",
        "The two kinds refuse to live on one server: which one loads at the next start is a matter of order, the options of "
        "the other are ignored, and the server may come up without semi-sync. Rows of an older version stay in "
        "mysql.plugin after an upgrade.",
        INSTALLATION,
        "Stop replication, UNINSTALL PLUGIN (or, for one that is not loaded, delete its row in mysql.plugin) for the old "
        "kind, replicas first; remove its plugin_load options; then run site.yml."),
    "plugin_not_loaded_at_start": Kind(
        WARNING, "The plugin would not be loaded at the next start",
        "It is active now, but neither mysql.plugin nor an option loads it: after the next restart semi-sync is gone. The "
        "loose_ options hide that.",
        MANUAL + "plugin-loading.html",
        "UNINSTALL PLUGIN and INSTALL PLUGIN register it (site.yml installs it), or add plugin_load_add to the option file."),
    "restart_changes_it": Kind(
        WARNING, "The next restart would change a value",
        "The running server and what it would start with differ. A restart, perhaps in a failover at night, brings "
        "another configuration than the one that was tested.",
        MANUAL + "option-files.html",
        "Decide which value is wanted, write it to the option file and set it at run time. site.yml does both for the "
        "values it manages."),
    "after_commit": Kind(
        WARNING, "The wait point is AFTER_COMMIT",
        "The source commits before it waits: other clients see a transaction that no replica has. After a failover it "
        "never happened.",
        (SOURCE_VARIABLES, MARIADB), "Set semisync_wait_point to AFTER_SYNC and run site.yml."),
    "no_wait_without_replica": Kind(
        WARNING, "The source does not wait when too few replicas are connected",
        "With wait_no_replica OFF (wait_no_slave) semi-sync is off as soon as fewer replicas are connected than wanted: a "
        "short interruption of the network is enough to confirm transactions that are nowhere else.",
        (SOURCE_VARIABLES, MARIADB), "Set semisync_wait_no_replica to true and run site.yml."),
    "source_not_durable": Kind(
        WARNING, "The source confirms commits that are not on its own disk",
        "After a power cut the source comes back without transactions that its replicas have. The replicas are ahead of "
        "it, and replication breaks or diverges.",
        (MANUAL + "replication-options-binary-log.html", "https://mariadb.com/kb/en/replication-and-binary-log-system-variables/"),
        "Set sync_binlog and innodb_flush_log_at_trx_commit to 1; site.yml does (semisync_sync_binlog, "
        "semisync_innodb_flush_log_at_trx_commit)."),
    "relay_log_not_synced": Kind(
        INFO, "An acknowledgement does not mean that the replica's disk has the transaction",
        "A replica acknowledges when the event is in its relay log. With sync_relay_log other than 1 the relay log may be in "
        "memory only: a power cut of the replica together with the loss of the source loses it. 1 costs each commit a "
        "write to the replica's disk.",
        (CRASH_SAFE, "https://mariadb.com/kb/en/replication-and-binary-log-system-variables/"),
        "Where one power cut can take both hosts: SET GLOBAL sync_relay_log = 1 on the replica, and in its option file."),
    "relay_log_not_recovered": Kind(
        WARNING, "A replica that follows by file and position does not recover its relay log",
        "After a crash it goes on with a relay log that may be torn, or in a wrong place. With relay_log_recovery it "
        "throws the relay log away and fetches it again; a replica that follows by GTID needs no such thing.",
        (CRASH_SAFE, "https://mariadb.com/kb/en/replication-and-binary-log-system-variables/"),
        "Write relay_log_recovery = ON into the replica's option file; better, let it follow by GTID."),
    "replica_writable": Kind(
        INFO, "The replica takes writes of its own",
        "A row that is written on the replica by mistake is not on the source: the replica can no longer be promoted "
        "without losing or duplicating data.",
        (MANUAL + "server-system-variables.html", "https://mariadb.com/kb/en/server-system-variables/"),
        "Where no application writes to it: SET GLOBAL read_only = ON, and in its option file. site.yml does where it sets "
        "replication up (semisync_replica_read_only)."),
    "timeout_freezes_writers": Kind(
        WARNING, "A lost replica would freeze every writer for hours",
        "The timeout is how long each commit waits when nobody acknowledges. Meanwhile all writers wait, and so do SET "
        "GLOBAL read_only and a clean shutdown.",
        (SOURCE_VARIABLES, MARIADB),
        "Set semisync_timeout to what your applications can wait, or have a tool that takes a lost replica out."),
    "known_bad_version": Kind(
        WARNING, "The source's version has a known defect in semi-sync",
        "", "", "Upgrade the server."),
    "clocks_differ": Kind(
        WARNING, "The clocks of the hosts differ",
        "The lag of the canary row cannot be measured, error logs of the hosts do not fit together, and after a failover "
        "NOW() jumps.",
        MANUAL + "replication-features-timezone.html", "Let chrony, systemd-timesyncd or ntpd run on every host."),
    "server_id_clash": Kind(
        CRITICAL, "Two servers of the cluster have the same server_id",
        "A replica ignores events that carry its own server_id, and a source ends the connection of one of two replicas "
        "that have the same: transactions go missing.",
        MANUAL + "replication-howto-repuniqueid.html", "Give each server a number of its own (semisync_server_id)."),
    "applier_stopped": Kind(
        CRITICAL, "The replica acknowledges but does not apply",
        "The IO thread acknowledges what the SQL thread never applies. The data is safe in the relay log, but reads are old, "
        "and a promotion has to wait, or fails, at the transaction that stopped it.",
        (SEMISYNC, MARIADB),
        "Mend what the last error names, then START REPLICA SQL_THREAD (START SLAVE SQL_THREAD). site.yml starts a thread "
        "that was stopped without an error."),
    "applier_behind": Kind(
        WARNING, "The replica acknowledges but applies far behind",
        "An acknowledgement means that the relay log has the transaction, not that it is applied. A promotion has to wait "
        "until all of it is.",
        (SEMISYNC, MARIADB),
        "Look for a long transaction, a table without a primary key, a lock, a slow disk, or a configured delay; more "
        "replica_parallel_workers (slave_parallel_threads) may help."),
}


def finding(kind, member, evidence, severity=None, **words):
    """One finding; words replace columns of the table where they depend on the case."""
    entry = dict(TABLE[kind]._asdict(), **words)
    source = entry["source"]
    if isinstance(source, tuple):
        source = source[1] if member.info["engine"] == "mariadb" else source[0]
    return {"id": kind, "severity": severity or entry["severity"], "host": member.host, "title": entry["title"],
            "evidence": evidence, "why": entry["why"], "source": source, "remedy": entry["remedy"]}


def evaluate(members, past=None, since=None, lag_limit=60, ahead=None):
    """All findings of a cluster, the worst first.

    Args:
        members: plan.Member of every host; one without info is the checkpoints' business.
        past: result of history.compare(), or None.
        since: result of history.degraded_since(), or None.
        lag_limit: seconds a replica may be behind.
        ahead: host -> (least, most) seconds its clock is ahead of the controller's; hosts that were not compared are
            left out.
    """
    read = [member for member in members if member.info is not None]
    replicas = [member for member in read if member.role == "replica"]
    wanted = len([member for member in members if member.role == "replica"])
    found = []
    for member in read:
        found += of_plugins(member) + of_restart(member)
        if member.role == "source":
            found += of_service(member, past, since) + of_clients(member, wanted)
            found += of_settings(member) + of_version(member, replicas)
        else:
            found += of_replica(member, members) + of_applier(member, lag_limit)
    found += of_clocks(read, ahead or {}) + of_identities(read)
    return sorted(found, key=lambda entry: SEVERITIES.index(entry["severity"]))


def off(value):
    return optfile.canonical_value(value) == "0"


def of_service(member, past, since):
    """Does the source wait for acknowledgements, and did it since the last run?"""
    side = member.info["semisync"]["source"]
    status, words = side["status"], rise(past)
    if side["variables"]["enabled"] != "ON":
        return [finding("semisync_off", member, "%s is %s" % (
            member.info["names"]["source"]["variables"]["enabled"], side["variables"]["enabled"] or "not there"))]
    if status["status"] != "ON":
        return [finding("degraded", member, "%s is %s, %s client(s); first seen %s%s" % (
            member.info["names"]["source"]["statuses"]["status"], status["status"], status["clients"], since,
            "; " + words if words else ""))]
    if words:
        return [finding("was_degraded", member, words)]
    return []


def rise(past):
    """What went out unacknowledged since the last run, in words; empty where nothing did, or nobody knows."""
    if not past or not (past["no_tx"] or past["no_times"]):
        return ""
    return "%sno_tx +%d, no_times +%d since %s%s" % (
        "at least " if past["reset"] else "", past["no_tx"], past["no_times"], past["since"],
        " (the counters began anew since then: a restart or FLUSH STATUS)" if past["reset"] else "")


def of_clients(member, wanted):
    side = member.info["semisync"]["source"]
    if side["status"]["clients"] is None or side["variables"]["enabled"] != "ON":
        return []
    there, enough = int(side["status"]["clients"]), int(side["variables"].get("wait_for_replica_count") or 1)
    if there >= wanted:
        return []
    return [finding("clients_missing", member, "%s is %d, the cluster has %d replica(s), a commit waits for %d" % (
        member.info["names"]["source"]["statuses"]["clients"], there, wanted, enough),
        CRITICAL if there < enough else WARNING)]


def loading_options(info):
    """The semi-sync plugins that options load at start: their names."""
    found = []
    for option in ("plugin_load", "plugin_load_add"):
        for part in info["option_files"]["options"].get(option, "").strip("'\"").split(";"):
            name, dummy, library = part.strip().partition("=")
            for plugin, its_library in names.PLUGINS.values():
                # Without a name, all plugins of the library are loaded.
                if plugin == name or (not library and name and name in (its_library, its_library.rpartition(".")[0])):
                    found.append(plugin)
    return found


def of_plugins(member):
    info, found = member.info, []
    loads = set(info["plugins_registered"]) | set(loading_options(info))
    everywhere = loads | set(info["plugins"])
    old = sorted(everywhere & set(names.OLD_PLUGINS))
    new = sorted(everywhere & set(names.NEW_PLUGINS))
    if old and new:
        found.append(finding("plugin_mix", member, "%s and %s are loaded, registered in mysql.plugin or named in the option "
                             "files" % (", ".join(old), ", ".join(new))))
    plugin = info["names"][member.role]["plugin"]
    if plugin and info["plugins"].get(plugin) == "ACTIVE" and plugin not in loads:
        found.append(finding("plugin_not_loaded_at_start", member, "%s is ACTIVE, but neither in mysql.plugin nor in "
                             "plugin_load or plugin_load_add of the option files" % plugin))
    return found


def at_start(info, name):
    """(the value a variable has after the next start, where from)."""
    if name in info["persisted"]:
        return info["persisted"][name], "SET PERSIST"
    if name in info["option_files"]["options"]:
        # An option without a value switches a variable on.
        return info["option_files"]["options"][name] or "ON", "option file"
    return info["names"]["defaults"].get(name), "server's default, no option file sets it"


def watched(member):
    """Variable -> its running value, for what a restart must not change on this host."""
    info, role = member.info, member.role
    side = info["semisync"][role]["variables"]
    found = dict((name, side[key]) for key, name in info["names"][role]["variables"].items())
    more = ["server_id", "gtid_mode"]
    more += ["sync_binlog", "innodb_flush_log_at_trx_commit"] if role == "source" else [
        "read_only", "super_read_only", "sync_relay_log", "relay_log_recovery"]
    found.update((name, info["variables"].get(name)) for name in more)
    return dict((name, value) for name, value in found.items() if value is not None)


def of_restart(member):
    found = []
    for name, running in sorted(watched(member).items()):
        value, origin = at_start(member.info, name)
        if value is not None and not optfile.same_value(running, value):
            found.append(finding("restart_changes_it", member, "%s is %s, after a restart it is %s (%s)" % (
                name, running, value, origin)))
    return found


def of_settings(member):
    variables, found = member.info["variables"], []
    semisync, called = (member.info["semisync"]["source"]["variables"], member.info["names"]["source"]["variables"])
    if semisync.get("wait_point") == "AFTER_COMMIT":
        found.append(finding("after_commit", member, "%s is AFTER_COMMIT" % called["wait_point"]))
    if semisync.get("wait_no_replica") == "OFF":
        found.append(finding("no_wait_without_replica", member, "%s is OFF%s" % (
            called["wait_no_replica"], "; the status of MariaDB stays ON then, whether anybody acknowledges or not"
            if member.info["engine"] == "mariadb" else "")))
    if int(semisync.get("timeout") or 0) >= FREEZING_TIMEOUT:
        milliseconds = int(semisync["timeout"])
        found.append(finding("timeout_freezes_writers", member, "%s is %d ms: %.1f hours" % (
            called["timeout"], milliseconds, milliseconds / 3600000.0)))
    loose = ["%s is %s" % (name, variables[name]) for name in ("sync_binlog", "innodb_flush_log_at_trx_commit")
             if variables.get(name) not in (None, "1")]
    if loose:
        found.append(finding("source_not_durable", member, ", ".join(loose)))
    return found


def of_version(member, replicas):
    version = tuple(int(number) for number in member.info["version"].split("."))
    found = []
    for defect in known_bad.of_source(member.info, [replica.info for replica in replicas]):
        good = known_bad.first_good(defect, version)
        found.append(finding("known_bad_version", member, "%s %s: %s" % (
            member.info["engine"], member.info["version_full"], defect.id), why=defect.what[0].upper() + defect.what[1:] + ".",
            source=defect.source, remedy="Upgrade to %s or later." % good if good else "Do not use the two together."))
    return found


def of_replica(member, members):
    info, variables, found = member.info, member.info["variables"], []
    enabled = info["semisync"]["replica"]["variables"]["enabled"]
    if enabled != "ON":
        found.append(finding("semisync_off", member, "%s is %s" % (
            info["names"]["replica"]["variables"]["enabled"], enabled or "not there"), WARNING,
            why="The replica acknowledges nothing, so that commits wait for others, or for the timeout."))
    if variables.get("sync_relay_log") not in (None, "1"):
        found.append(finding("relay_log_not_synced", member, "sync_relay_log is %s" % variables["sync_relay_log"]))
    if member.channel and not member.channel["gtid"] and off(variables.get("relay_log_recovery") or "OFF"):
        found.append(finding("relay_log_not_recovered", member, "relay_log_recovery is OFF, and the channel follows by file "
                             "and position"))
    if off(variables.get("read_only") or "OFF"):
        # Ours is read-only unless somebody undid it; whether others' applications write there is not for us to judge.
        ours = "read_only" in optfile.parse_ours(info["option_files"]["ours"])
        found.append(finding("replica_writable", member, "read_only is OFF", WARNING if ours else INFO))
    return found


def of_applier(member, lag_limit):
    """A replica whose IO thread acknowledges what its SQL thread does not apply."""
    channel = member.channel
    if not channel or channel["io_running"] != "Yes":
        return []
    if channel["sql_running"] != "Yes":
        return [finding("applier_stopped", member, "SQL thread %s%s" % (
            channel["sql_running"], ": " + channel["last_sql_error"] if channel["last_sql_error"] else ""))]
    behind = channel["seconds_behind"]
    if behind is not None and int(behind) > lag_limit:
        return [finding("applier_behind", member, "%d seconds behind its source (more than %d)%s" % (
            int(behind), lag_limit, ", of which %d are configured" % channel["delay"] if channel["delay"] else ""))]
    return []


def of_clocks(read, ahead):
    compared = [member for member in read if member.host in ahead]
    if len(compared) < 2:
        return []
    source = next((member for member in compared if member.role == "source"), compared[0])
    found = []
    for member in compared:
        (least, most), (source_least, source_most) = ahead[member.host], ahead[source.host]
        apart, words = max((least - source_most, "ahead of"), (source_least - most, "behind"))
        if apart > CLOCK_SECONDS:
            found.append(finding("clocks_differ", member, "at least %.1f seconds %s %s" % (apart, words, source.host)))
    return found


def of_identities(read):
    by_id = {}
    for member in read:
        by_id.setdefault(member.info["variables"]["server_id"], []).append(member)
    return [finding("server_id_clash", others[1], "server_id %s on %s" % (
        number, " and ".join(member.host for member in others))) for number, others in sorted(by_id.items())
        if len(others) > 1]


def critical(found):
    return [entry for entry in found if entry["severity"] == CRITICAL]


def table(found, name):
    """The findings as text for people: what and where, then why and what to do for all but the mere notes."""
    if not found:
        return "Findings of cluster %s: none" % name
    width = max(len(entry["host"]) for entry in found)
    lines = ["Findings of cluster %s" % name]
    for entry in found:
        lines.append("  %-8s  %-*s  %s: %s (%s)" % (entry["severity"], width, entry["host"], entry["title"],
                                                    entry["evidence"], entry["id"]))
        if entry["severity"] != INFO:
            lines += ["            why: %s [%s]" % (entry["why"], entry["source"]), "            do:  " + entry["remedy"]]
    return "\n".join(lines)


def reasons(found):
    """The critical findings in one line."""
    return ", ".join("%s on %s" % (entry["id"], entry["host"]) for entry in critical(found))
