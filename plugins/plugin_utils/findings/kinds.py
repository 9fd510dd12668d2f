# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of findings: how bad each is, why it matters, where that is written, and what to do."""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.plugin_utils.findings import (
    kinds_lossless,
    kinds_topology,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.findings.manuals import (
    CRASH_SAFE,
    INSTALLATION,
    MANUAL,
    MARIADB,
    MONITORING,
    SEMISYNC,
    SERVER_VARIABLES,
    SOURCE_VARIABLES,
    SWITCH,
    Kind,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils.words import CRITICAL, INFO, WARNING

TABLE = {
    **kinds_topology.TABLE,
    "degraded": Kind(
        CRITICAL,
        "The source replicates asynchronously now",
        "An acknowledgement did not come within the timeout. Until a replica catches up, confirmed"
        " transactions are on the source alone and are lost with it.",
        (MONITORING, MARIADB),
        "Look at the replicas: their channels, disks and network (P0, P4.4, P5.1). Semi-sync comes"
        " back by itself when one has caught up; site.yml starts stopped channels.",
    ),
    "semisync_off": Kind(
        CRITICAL,
        "Semi-sync is not enabled",
        "Nothing waits for an acknowledgement: a confirmed transaction is on the source alone.",
        (INSTALLATION, MARIADB),
        "Run site.yml, which installs and enables what is missing.",
    ),
    "was_degraded": Kind(
        WARNING,
        "Transactions were confirmed without an acknowledgement since the last run",
        "They were on the source alone when their clients were told that they are safe. Had the"
        " source died then, they would be lost. The replicas have received them since.",
        (MONITORING, MARIADB),
        "Find out what happened then: the source's error log names the moment (timeout waiting for"
        " reply; switched OFF, switched ON). If it happens often, the network or the replica's disk"
        " is too slow for the timeout.",
    ),
    "settings_unfinished": Kind(
        WARNING,
        "A playbook began to change what the source waits for, and has not finished",
        "Until it has, a look at the source proves nothing to a failover: the change may come after"
        " it. The run may still be under way; an interrupted one stays open.",
        SWITCH,
        "Wait until the run has ended. If it was interrupted, run site.yml (or remove.yml) a"
        " quarter of an hour after it began, which closes it.",
    ),
    "clients_missing": Kind(
        WARNING,
        "Fewer semi-sync replicas are connected than the cluster has",
        "A replica that is not connected, or is connected without semi-sync, acknowledges nothing."
        " With fewer than the source waits for, each commit waits for the timeout and semi-sync"
        " falls back.",
        (MONITORING, MARIADB),
        "Look at P0, P4.3 and P4.4 of the replicas. One whose IO thread was not restarted since"
        " semi-sync was enabled stays asynchronous: site.yml restarts it.",
    ),
    "plugin_mix": Kind(
        WARNING,
        "Semi-sync plugins of the old and the new names are mixed",
        "The two kinds refuse to live on one server: which one loads at the next start is a matter"
        " of order, the options of the other are ignored, and the server may come up without"
        " semi-sync. Rows of an older version stay in mysql.plugin after an upgrade.",
        INSTALLATION,
        "Stop replication, UNINSTALL PLUGIN (or, for one that is not loaded, delete its row in"
        " mysql.plugin) for the old kind, replicas first; remove its plugin_load options; then run"
        " site.yml.",
    ),
    "plugin_not_loaded_at_start": Kind(
        WARNING,
        "The plugin would not be loaded at the next start",
        "It is active now, but neither mysql.plugin nor an option loads it: after the next restart"
        " semi-sync is gone. The loose_ options hide that.",
        MANUAL + "plugin-loading.html",
        "UNINSTALL PLUGIN and INSTALL PLUGIN register it (site.yml installs it), or add"
        " plugin_load_add to the option file.",
    ),
    "restart_changes_it": Kind(
        WARNING,
        "The next restart would change a value",
        "The running server and what it would start with differ. A restart, perhaps in a failover"
        " at night, brings another configuration than the one that was tested.",
        MANUAL + "option-files.html",
        "Decide which value is wanted, write it to the option file and set it at run time. site.yml"
        " does both for the values it manages.",
    ),
    "option_files_unknown": Kind(
        WARNING,
        "What the server starts with is not known",
        "The option files could not be read, so that nobody has seen whether semi-sync, its plugin"
        " and the values beside them would be there after the next restart.",
        MANUAL + "option-files.html",
        "Mend what the evidence names: run on the server's own host, as root, and let its program"
        " with --print-defaults read the option files without an error.",
    ),
    "source_not_read": Kind(
        CRITICAL,
        "The source was not read, and may be dead",
        "No client can write, or what is written is not seen here. A replica that is started"
        " may throw away what it has received, and a source that is started commits what no"
        " replica acknowledged.",
        SWITCH,
        "Start nothing. failover.yml --check says whether the source is dead, who can take over,"
        " and what would be lost. docs/night-source-dead.md has the way.",
    ),
    "not_read": Kind(
        WARNING,
        "A host was not read",
        "Nothing is known of it: neither whether it replicates, nor what endangers the cluster from"
        " there.",
        MANUAL + "replication-administration-status.html",
        "Mend what the evidence names, and run verify.yml again.",
    ),
    "differs_from_inventory": Kind(
        WARNING,
        "A value differs from the inventory",
        "How long and for what a commit waits was decided in the inventory, and this server does"
        " otherwise. The next site.yml changes it, perhaps to the surprise of whoever set it by"
        " hand.",
        (SOURCE_VARIABLES, MARIADB),
        "Run site.yml, which writes and sets the inventory's value, or says why it refuses to; or"
        " write into the inventory what is wanted.",
    ),
    "after_commit": Kind(
        WARNING,
        "The wait point is AFTER_COMMIT",
        "The source commits before it waits: other clients see a transaction that no replica has."
        " After a failover it never happened.",
        (SOURCE_VARIABLES, MARIADB),
        "Set semisync_wait_point to AFTER_SYNC and run site.yml.",
    ),
    "no_wait_without_replica": Kind(
        WARNING,
        "The source does not wait when too few replicas are connected",
        "With wait_no_replica OFF (wait_no_slave) semi-sync is off as soon as fewer replicas are"
        " connected than wanted: a short interruption of the network is enough to confirm"
        " transactions that are nowhere else.",
        (SOURCE_VARIABLES, MARIADB),
        "Set semisync_wait_no_replica to true and run site.yml.",
    ),
    "source_not_durable": Kind(
        WARNING,
        "The source confirms commits that are not on its own disk",
        "After a power cut the source comes back without transactions that its replicas have. The"
        " replicas are ahead of it, and replication breaks or diverges.",
        (
            MANUAL + "replication-options-binary-log.html",
            "https://mariadb.com/kb/en/replication-and-binary-log-system-variables/",
        ),
        "Set sync_binlog and innodb_flush_log_at_trx_commit to 1; site.yml does"
        " (semisync_sync_binlog, semisync_innodb_flush_log_at_trx_commit).",
    ),
    "relay_log_not_synced": Kind(
        INFO,
        "An acknowledgement does not mean that the replica's disk has the transaction",
        "A replica acknowledges when the event is in its relay log. With sync_relay_log other than"
        " 1 the relay log may be in memory only. A power cut of the replica loses it, and it is"
        " lost for good where the source dies before the replica has caught up again. 1 costs each"
        " commit a write to the replica's disk.",
        (CRASH_SAFE, "https://mariadb.com/kb/en/replication-and-binary-log-system-variables/"),
        "Where the replica's power may fail before the source dies: SET GLOBAL sync_relay_log = 1"
        " on the replica, and in its option file.",
    ),
    "relay_log_not_recovered": Kind(
        WARNING,
        "A replica that follows by file and position does not recover its relay log",
        "After a crash it goes on with a relay log that may be torn, or in a wrong place. With"
        " relay_log_recovery it throws the relay log away and fetches it again; a replica that"
        " follows by GTID needs no such thing. A replica that starts while its source is dead has"
        " nobody to fetch it from: what it had not applied is lost.",
        (CRASH_SAFE, "https://mariadb.com/kb/en/replication-and-binary-log-system-variables/"),
        "Write relay_log_recovery = ON into the replica's option file, and never start a replica"
        " between its source's death and the end of its applier's work; better, let it follow by"
        " GTID.",
    ),
    "replica_writable": Kind(
        INFO,
        "The replica takes writes of its own",
        "A row that is written on the replica by mistake is not on the source: the replica can no"
        " longer be promoted without losing or duplicating data.",
        SERVER_VARIABLES,
        "Where no application writes to it: SET GLOBAL read_only = ON, and in its option file."
        " site.yml does where it sets replication up (semisync_replica_read_only).",
    ),
    "timeout_freezes_writers": Kind(
        WARNING,
        "A lost replica would freeze every writer for hours",
        "The timeout is how long each commit waits when nobody acknowledges. Meanwhile all writers"
        " wait, and so do SET GLOBAL read_only and a clean shutdown.",
        (SOURCE_VARIABLES, MARIADB),
        "Set semisync_timeout to what your applications can wait; or promise lossless"
        " (semisync_promise), where that is what you want.",
    ),
    "known_bad_version": Kind(
        WARNING,
        "The source's version has a known defect in semi-sync",
        "",
        "",
        "Upgrade the server.",
    ),
    "clocks_differ": Kind(
        WARNING,
        "The clocks of the hosts differ",
        "The lag of the canary row cannot be measured, error logs of the hosts do not fit together,"
        " and after a failover NOW() jumps.",
        MANUAL + "replication-features-timezone.html",
        "Let chrony, systemd-timesyncd or ntpd run on every host.",
    ),
    "server_id_clash": Kind(
        CRITICAL,
        "Two servers of the cluster have the same server_id",
        "A replica ignores events that carry its own server_id, and a source ends the connection of"
        " one of two replicas that have the same: transactions go missing.",
        MANUAL + "replication-howto-repuniqueid.html",
        "Give each server a number of its own (semisync_server_id).",
    ),
    "applier_stopped": Kind(
        CRITICAL,
        "The replica acknowledges but does not apply",
        "The IO thread acknowledges what the SQL thread never applies. The data is safe in the"
        " relay log, but reads are old, and a promotion has to wait, or fails, at the transaction"
        " that stopped it.",
        (SEMISYNC, MARIADB),
        "Mend what the last error names, then START REPLICA SQL_THREAD (START SLAVE SQL_THREAD)."
        " site.yml starts a thread that was stopped without an error.",
    ),
    "applier_behind": Kind(
        WARNING,
        "The replica acknowledges but applies far behind",
        "An acknowledgement means that the relay log has the transaction, not that it is applied. A"
        " promotion has to wait until all of it is.",
        (SEMISYNC, MARIADB),
        "Look for a long transaction, a table without a primary key, a lock, a slow disk, or a"
        " configured delay; more replica_parallel_workers (slave_parallel_threads) may help.",
    ),
    "failover_slow": Kind(
        WARNING,
        "A failover would take long",
        "The replica acknowledges faster than it applies. Nothing is lost by that, but whoever"
        " takes over has to apply everything first, and nobody can write meanwhile.",
        (SEMISYNC, MARIADB),
        "Let it apply in parallel, in the source's order (docs/backlog.md has the settings); a"
        " faster disk, or shorter transactions. semisync_failover_fast_apply makes the failover"
        " itself shorter.",
    ),
    "answer_wrong": Kind(
        WARNING,
        "Routers are told something else than what is",
        "A router sends writers where GET /source is 200. Where the source says 503 nobody can"
        " write through it; where another server says 200, writes go to a server that the others do"
        " not follow.",
        MANUAL + "replication-solutions-switch.html",
        "The evidence has the reason. site.yml mends the service and its account; where the journal"
        " names another source, roles were changed without a row in it.",
    ),
    "target_loopback_only": Kind(
        WARNING,
        "The replica listens for its own host alone",
        "Promoted, it would be reached by nobody: neither by clients nor by the other replicas. The"
        " address cannot be changed without a restart.",
        SERVER_VARIABLES,
        "Run site.yml, which writes semisync_bind_address where it sets replication up and restarts"
        " the replica (with semisync_apply=online it waits for the next restart). Elsewhere write"
        " bind_address into the option file yourself.",
    ),
    "target_without_account": Kind(
        WARNING,
        "The replica lacks an account that the others replicate with",
        "The others could not log in to it once it is the source. So it is where the schema mysql"
        " is not replicated, or the account was made on the source alone.",
        (
            MANUAL + "replication-howto-repuser.html",
            "https://mariadb.com/kb/en/setting-up-replication/",
        ),
        "Create it on the source with the binary log on, or on the replica with SET SESSION"
        " sql_log_bin = 0, with the same password.",
    ),
    "target_without_binary_log": Kind(
        WARNING,
        "The replica does not log what it applies",
        "Promoted, it could give the other replicas nothing of what happened before, and nothing"
        " at all without log_bin.",
        (
            MANUAL + "replication-options-binary-log.html",
            "https://mariadb.com/kb/en/replication-and-binary-log-system-variables/",
        ),
        "Write log_bin and log_replica_updates = ON (log_slave_updates) into the replica's option"
        " file and restart it; site.yml does where it sets replication up.",
    ),
    "target_without_source_side": Kind(
        WARNING,
        "The replica is not ready to wait for acknowledgements",
        "The source's side of semi-sync must be loaded and set as it is on the source, and off:"
        " promoted, this server would confirm commits alone, wait for something else, or wait"
        " already now.",
        (INSTALLATION, MARIADB),
        "Run site.yml, which loads it, sets it and leaves it off.",
    ),
    "source_without_replica_side": Kind(
        WARNING,
        "The source is not ready to acknowledge as a replica",
        "After a change of roles it comes back as a replica. Without the replica's side of"
        " semi-sync, loaded and off until then, it would acknowledge nothing; with it on, an old"
        " MariaDB may cut the end of its binary log after a crash (MDEV-33465).",
        (INSTALLATION, MARIADB),
        "Run site.yml, which loads it, sets it and leaves it off.",
    ),
    "target_durability_differs": Kind(
        WARNING,
        "The replica is less careful with its disk than the source",
        "Promoted, it confirms commits that are not on its own disk, and a power cut takes them,"
        " although the source of today is careful.",
        (
            MANUAL + "replication-options-binary-log.html",
            "https://mariadb.com/kb/en/replication-and-binary-log-system-variables/",
        ),
        "Run site.yml, which sets both alike (semisync_sync_binlog,"
        " semisync_innodb_flush_log_at_trx_commit).",
    ),
    "applier_skips": Kind(
        WARNING,
        "The replica passes over what it cannot apply",
        "A transaction that fails there counts as applied, and its GTID as there: the replica may"
        " lack rows that its position says it has, and nothing tells.",
        (
            MANUAL + "replication-options-replica.html",
            "https://mariadb.com/kb/en/replication-and-binary-log-system-variables/",
        ),
        "Take replica_skip_errors out of its option file, set replica_exec_mode = STRICT"
        " (slave_... on MariaDB), and compare its rows with the source's before it takes over.",
    ),
    "replication_unverified": Kind(
        INFO,
        "The replica does not verify that it talks to its source",
        "TLS without an authority keeps eavesdroppers out, but not a host that answers in the"
        " source's place: it gets the replication account's password, or gives the replica rows of"
        " its own. Without TLS, eavesdroppers get all that is replicated as well.",
        (
            MANUAL + "replication-encrypted-connections.html",
            "https://mariadb.com/kb/en/replication-with-secure-connections/",
        ),
        "Set semisync_replication_ssl to required and semisync_replication_ssl_ca to the authority"
        " that signed the servers' certificates, and run site.yml: docs/existing-hosts.md. Name the"
        " replicas' network in semisync_replication_user_host, not %.",
    ),
    "target_writable_at_start": Kind(
        INFO,
        "The replica takes writes after its next start",
        "A router that goes by read_only sends writes to it, and a former source that comes back"
        " takes them beside the new one.",
        SERVER_VARIABLES,
        "Where no application writes to it: read_only = ON in its option file. site.yml does where"
        " it sets replication up (semisync_replica_read_only).",
    ),
    **kinds_lossless.TABLE,
}


def finding(
    kind: str, member: Member, evidence: str, severity: str | None = None, **words: Any
) -> dict[str, Any]:
    """One finding; words replace columns of the table where they depend on the case."""
    entry = dict(TABLE[kind]._asdict(), **words)
    source = entry["source"]
    if isinstance(source, tuple):
        source = source[1] if member.facts["engine"] == "mariadb" else source[0]
    return {
        "id": kind,
        "severity": severity or entry["severity"],
        "host": member.host,
        "title": entry["title"],
        "evidence": evidence,
        "why": entry["why"],
        "source": source,
        "remedy": entry["remedy"],
    }
