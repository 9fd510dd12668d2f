# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of findings about a source: it does not wait, waits for the wrong thing, or may lose what
it confirmed.
"""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import (
    CRITICAL,
    WARNING,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Kind, Variant
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.manuals import (
    POWER_CUTS,
    ROLE_CHANGE,
    SEMISYNC_INSTALLATION,
    SEMISYNC_MONITORING,
    SOURCE_OPTIONS,
)

OFF_FOR_A_TIME = "Semi-sync was off for a time since the last run"

TABLE = {
    "degraded": Kind(
        CRITICAL,
        "The source replicates asynchronously now",
        "semi-sync is enabled on the source and its status is OFF. The evidence says when a run"
        " saw it first and how many transactions were confirmed unacknowledged since the run"
        " before",
        "An acknowledgement did not arrive within the timeout. Until a replica catches up,"
        " confirmed transactions exist only on the source and are lost if it dies.",
        SEMISYNC_MONITORING,
        "Check the replicas: their channels, disks and network (P0, P4.4, P5.1). Semi-sync resumes"
        " by itself when one has caught up; site.yml starts stopped channels.",
    ),
    "semisync_off": Kind(
        CRITICAL,
        "Semi-sync is not enabled",
        "the variable `…_enabled` is not ON, or does not exist",
        "Commits do not wait for an acknowledgement: a confirmed transaction exists only on the"
        " source.",
        SEMISYNC_INSTALLATION,
        "Run site.yml, which installs and enables what is missing.",
        severities="critical on the source, warning on a replica",
        variants={
            "replica": Variant(
                "it is a replica",
                why="The replica acknowledges nothing, so commits wait for other replicas, or for"
                " the timeout.",
            ),
        },
    ),
    "was_degraded": Kind(
        WARNING,
        "Transactions were confirmed without an acknowledgement since the last run",
        "the status is ON, and `no_tx` or `no_times` rose since the last run",
        "They existed only on the source when their clients were told that they were committed,"
        " and would have been lost if the source had died then. The replicas have received them"
        " since.",
        SEMISYNC_MONITORING,
        "Find the cause: the source's error log has the moment (timeout waiting for reply;"
        " switched OFF, switched ON). If it happens often, the network or the replica's disk is"
        " too slow for the timeout.",
        variants={
            "nothing confirmed": Variant(
                "only `no_times` rose",
                title=OFF_FOR_A_TIME,
                why="No transaction was confirmed without an acknowledgement in that time. A"
                " commit then would have existed only on the source.",
            ),
            "not known": Variant(
                "only `no_times` rose, and the counters were reset since",
                title=OFF_FOR_A_TIME,
                why="The counters were reset since, so it is not known whether a transaction was"
                " confirmed without an acknowledgement. It would have been lost if the source had"
                " died then.",
            ),
        },
    ),
    "settings_unfinished": Kind(
        WARNING,
        "A playbook began to change what the source waits for, and has not finished",
        "the journal has a row `settings`, `begun`, and none of the same run that is `done`",
        "Until it has finished, a look at the source proves nothing to a failover, because the"
        " change may come after the look. The run may still be in progress; an interrupted run"
        " leaves its row open.",
        ROLE_CHANGE,
        "Wait until the run has ended. If it was interrupted, run site.yml (or remove.yml) at"
        " least a quarter of an hour after it began, which closes the row.",
    ),
    "clients_missing": Kind(
        WARNING,
        "Fewer semi-sync replicas are connected than the cluster has",
        "`…_clients` is below the number of replicas in the inventory",
        "A replica that is not connected, or is connected without semi-sync, acknowledges nothing."
        " If fewer are connected than a commit waits for, each commit waits for the timeout, and"
        " semi-sync falls back.",
        SEMISYNC_MONITORING,
        "Check P0, P4.3 and P4.4 of the replicas. A replica stays asynchronous until its IO thread"
        " is restarted after semi-sync was enabled; site.yml does that.",
        severities="critical if fewer are connected than a commit waits for, else warning",
    ),
    "differs_from_inventory": Kind(
        WARNING,
        "A value differs from the inventory",
        "semi-sync is enabled on the source, and its running timeout, wait point, number of"
        " acknowledgements (MySQL) or `…_wait_no_replica` (`wait_no_slave`) is not that of"
        " `semisync_timeout`, `semisync_wait_point`, `semisync_wait_for_replica_count`,"
        " `semisync_wait_no_replica`. A variable that the inventory does not set has the"
        " collection's default, which `site.yml` would set. One finding per variable; also if the"
        " names of its plugins are not those of `semisync_plugin_names`",
        "The inventory defines how long a commit waits and for what, and this server does"
        " something else. The next site.yml changes it, which may come as a surprise if it was set"
        " by hand.",
        SOURCE_OPTIONS,
        "Run site.yml, which writes and sets the inventory's value, or says why it refuses; or"
        " change the inventory. The plugins of a source keep their names: run switchover.yml, and"
        " then site.yml, which exchanges them on the former source.",
    ),
    "after_commit": Kind(
        WARNING,
        "The wait point is AFTER_COMMIT",
        "the wait point is AFTER_COMMIT",
        "The source commits before it waits: other clients can read a transaction that is on no"
        " replica. After a failover that transaction is gone.",
        SOURCE_OPTIONS,
        "Set semisync_wait_point to AFTER_SYNC and run site.yml.",
    ),
    "no_wait_without_replica": Kind(
        WARNING,
        "The source does not wait when too few replicas are connected",
        "`…_wait_no_replica` (`wait_no_slave`) is OFF",
        "With wait_no_replica OFF (wait_no_slave), semi-sync is off as soon as fewer replicas are"
        " connected than required: a short network fault is enough to confirm transactions that"
        " exist only on the source.",
        SOURCE_OPTIONS,
        "Set semisync_wait_no_replica to true and run site.yml.",
    ),
    "source_not_durable": Kind(
        WARNING,
        "The source confirms commits that are not on its own disk",
        "`sync_binlog` or `innodb_flush_log_at_trx_commit` on the source is not 1",
        "A power cut takes transactions that its replicas have: out of its binary log, if"
        " sync_binlog is not 1 (half a minute of them was seen; its tables lost few), or out of its"
        " tables, if innodb_flush_log_at_trx_commit is not 1. Replication then breaks or diverges.",
        POWER_CUTS,
        "Set sync_binlog and innodb_flush_log_at_trx_commit to 1; site.yml does that"
        " (semisync_sync_binlog, semisync_innodb_flush_log_at_trx_commit).",
    ),
    "timeout_freezes_writers": Kind(
        WARNING,
        "A lost replica would freeze every writer for hours",
        "the timeout is an hour or more, and [`semisync_promise`](promises.md) is not lossless",
        "The timeout is how long each commit waits if no replica acknowledges. Meanwhile all"
        " writers wait, and so do SET GLOBAL read_only and a clean shutdown.",
        SOURCE_OPTIONS,
        "Set semisync_timeout to what your applications can wait. If you want writers to wait, set"
        " semisync_promise to lossless.",
    ),
    "known_bad_version": Kind(
        WARNING,
        "The source's version has a known defect in semi-sync",
        "the source's version is in [the table below](#known-bad-versions), and what triggers the"
        " defect is set",
        "The defect itself, in a sentence.",
        "the defect's number, or release notes",
        "Upgrade to the version that has the fix; if there is none, do not use the two together.",
    ),
}
