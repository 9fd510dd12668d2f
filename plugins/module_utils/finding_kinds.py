# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of findings: how bad each is, why it matters, where that is written, and what to do."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import collections

CRITICAL, WARNING, INFO = "critical", "warning", "info"
SEVERITIES = (CRITICAL, WARNING, INFO)

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
    "differs_from_inventory": Kind(
        WARNING, "A value differs from the inventory",
        "How long and for what a commit waits was decided in the inventory, and this server does otherwise. The next "
        "site.yml changes it, perhaps to the surprise of whoever set it by hand.",
        (SOURCE_VARIABLES, MARIADB),
        "Run site.yml, which writes and sets the inventory's value, or says why it refuses to; or write into the inventory "
        "what is wanted."),
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
