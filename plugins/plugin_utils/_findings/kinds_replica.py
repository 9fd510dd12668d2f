# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of findings about a replica: it does not apply, keep or verify what it receives."""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import (
    CRITICAL,
    INFO,
    WARNING,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Kind
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.manuals import (
    CRASH_SAFE,
    ENCRYPTION,
    POWER_CUTS,
    REPLICA_OPTIONS,
    SEMISYNC,
    SERVER_VARIABLES,
)

TABLE = {
    "applier_stopped": Kind(
        CRITICAL,
        "The replica acknowledges but does not apply",
        "the IO thread runs, the SQL thread does not",
        "The IO thread acknowledges transactions that the SQL thread does not apply. They are safe"
        " in the relay log, but reads are stale, and a promotion has to wait, or fails at the"
        " transaction that stopped the SQL thread.",
        SEMISYNC,
        "Fix the last error, then run START REPLICA SQL_THREAD (START SLAVE SQL_THREAD). site.yml"
        " starts a thread that was stopped without an error.",
    ),
    "applier_behind": Kind(
        WARNING,
        "The replica acknowledges but lags behind the source",
        "both threads run, and `Seconds_Behind_Source` is above `semisync_verify_lag_limit`, 60"
        " seconds by default",
        "An acknowledgement means that the transaction is in the relay log, not that it is"
        " applied. A promotion has to wait until everything is applied.",
        SEMISYNC,
        "Look for a long transaction, a table without a primary key, a lock, a slow disk, or a"
        " configured delay; more replica_parallel_workers (slave_parallel_threads) may help.",
    ),
    "failover_slow": Kind(
        WARNING,
        "A failover would take a long time",
        "what a replica has received and not applied takes it `semisync_failover_max_seconds` or"
        " longer, by the rate at which it applied while it was busy ([how that is"
        " measured](backlog.md)); or it applied nothing while it was measured, although its"
        " applier runs",
        "The replica acknowledges faster than it applies. No data is lost by that, but a new"
        " source has to apply everything before it takes writes.",
        SEMISYNC,
        "Let it apply in parallel, in the source's order (docs/backlog.md has the settings). A"
        " faster disk or shorter transactions help, too. semisync_failover_fast_apply shortens the"
        " failover itself.",
        severities="warning; info if the time is not known",
    ),
    "applier_skips": Kind(
        WARNING,
        "The replica skips what it cannot apply",
        "`replica_skip_errors` of a replica is not OFF, or `replica_exec_mode` is IDEMPOTENT"
        " (`slave_...` on MariaDB and older MySQL)",
        "A transaction that fails there counts as applied, with its GTID: the replica may lack"
        " rows that its position says it has, without any error.",
        REPLICA_OPTIONS,
        "Remove replica_skip_errors from its option file, set replica_exec_mode = STRICT"
        " (slave_... on MariaDB), and compare its rows with the source's before it takes over.",
    ),
    "relay_log_not_synced": Kind(
        INFO,
        "An acknowledgement does not mean that the replica's disk has the transaction",
        "`sync_relay_log` on a replica is not 1",
        "A replica acknowledges when the event is in its relay log, which may be only in memory if"
        " sync_relay_log is not 1. A power cut of the replica loses it (seven seconds of it were"
        " seen), and it is lost for good if the source dies before the replica has caught up"
        " again. The value 1 costs each commit a write to the replica's disk.",
        POWER_CUTS,
        "If the replica's power may fail before the source dies: SET GLOBAL sync_relay_log = 1 on"
        " the replica, and in its option file.",
    ),
    "relay_log_not_recovered": Kind(
        WARNING,
        "A replica that follows by file and position does not recover its relay log",
        "`relay_log_recovery` is OFF on a replica that follows by file and position",
        "After a crash it continues with a relay log that may be torn, or at a wrong position."
        " With relay_log_recovery it discards the relay log and fetches it again; a replica that"
        " follows by GTID does not need this. But if the source is dead when the replica starts,"
        " what it had not applied cannot be fetched again and is lost.",
        CRASH_SAFE,
        "Write relay_log_recovery = ON into the replica's option file, and never start a replica"
        " after its source died until it has applied everything. Better, let it follow by GTID"
        " (gtid.yml).",
    ),
    "replication_unverified": Kind(
        INFO,
        "The replica does not verify that it talks to its source",
        "a replica's channel has no TLS, or has it without an authority"
        " (`semisync_replication_ssl_ca`) and without MariaDB's verification of the certificate"
        " by the account's password (11.4 and later)",
        "TLS without an authority keeps eavesdroppers out, but not a host that poses as the"
        " source: it gets the replication account's password, or feeds the replica rows of its"
        " own. Without TLS, eavesdroppers also get everything that is replicated.",
        ENCRYPTION,
        "Set semisync_replication_ssl to required and semisync_replication_ssl_ca to the authority"
        " that signed the servers' certificates, and run site.yml: docs/existing-hosts.md. Set"
        " semisync_replication_user_host to the replicas' network, not to %.",
    ),
    "replica_writable": Kind(
        INFO,
        "The replica takes writes of its own",
        "`read_only` is OFF on a replica",
        "A row that is written on the replica by mistake is not on the source. After that, a"
        " promotion of this replica loses or duplicates data.",
        SERVER_VARIABLES,
        "If no application writes to it: SET GLOBAL read_only = ON, and in its option file."
        " site.yml does both if it set up replication (semisync_replica_read_only).",
        severities="warning if our option file sets read_only, else info",
    ),
}
