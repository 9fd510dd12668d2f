# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of findings about what a host lacks for the role that it does not have today."""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import INFO, WARNING
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Kind
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.manuals import (
    ACCOUNT,
    BINARY_LOG,
    POWER_CUTS,
    ROLE_CHANGE,
    SEMISYNC_INSTALLATION,
    SERVER_VARIABLES,
)

TABLE = {
    "answer_wrong": Kind(
        WARNING,
        "Routers get a wrong answer from this host",
        "[the HTTP answer](clients.md) of a host is set up and does not respond, or contradicts"
        " the host's role",
        "A router sends writers to the host whose GET /source is 200. If the source reports 503,"
        " no client can write through the router. If another server reports 200, it gets writes"
        " that the replicas do not receive.",
        ROLE_CHANGE,
        "The evidence has the reason. site.yml repairs the service and its account. If the journal"
        " names another source, the role was moved without a row in it: add one, see"
        " docs/operations.md.",
        severities="critical if a replica's `GET /source` is 200, else warning",
    ),
    "target_loopback_only": Kind(
        WARNING,
        "The replica listens on loopback only",
        "`bind_address` of a replica is only loopback, running or in the option files, or"
        " `skip_networking` is ON",
        "After a promotion, neither clients nor the other replicas could reach it. The address"
        " cannot be changed without a restart.",
        SERVER_VARIABLES,
        "Run site.yml: if it set up replication, it writes semisync_bind_address and restarts the"
        " replica (with semisync_apply=online it waits for the next restart). Otherwise write"
        " bind_address into the option file yourself.",
    ),
    "target_without_account": Kind(
        WARNING,
        "The replica lacks an account that the others replicate with",
        "an account on the source that a channel of the cluster logs in with is not on this"
        " replica. An account with more privileges than replication needs is not judged",
        "After a promotion, the other replicas could not log in to it. This happens if the schema"
        " mysql is not replicated, or if the account was created only on the source.",
        ACCOUNT,
        "Create it with the same password: on the source with the binary log on, or on the replica"
        " after SET SESSION sql_log_bin = 0.",
    ),
    "target_without_binary_log": Kind(
        WARNING,
        "The replica does not log what it applies",
        "`log_bin` or `log_replica_updates` (`log_slave_updates`) is not ON on a replica",
        "After a promotion, the other replicas could get nothing from it that happened before, and"
        " nothing at all without log_bin.",
        BINARY_LOG,
        "Write log_bin and log_replica_updates = ON (log_slave_updates) into the replica's option"
        " file and restart it; site.yml does that if it set up replication.",
    ),
    "target_without_source_side": Kind(
        WARNING,
        "The replica is not ready to wait for acknowledgements",
        "the plugin is not loaded on a replica, the source's side is ON there, or one of its"
        " values is not the inventory's",
        "The source's side of semi-sync must be loaded, have the source's values, and be off."
        " Otherwise this server would confirm commits without an acknowledgement after a"
        " promotion, wait for something else, or wait already now.",
        SEMISYNC_INSTALLATION,
        "Run site.yml, which loads it, sets it and leaves it off.",
    ),
    "target_durability_differs": Kind(
        WARNING,
        "The replica is less durable than the source",
        "`sync_binlog` or `innodb_flush_log_at_trx_commit` of a replica is neither 1 nor the"
        " source's",
        "After a promotion it confirms commits that are not on its own disk. A power cut loses"
        " them, which it would not on today's source.",
        POWER_CUTS,
        "Run site.yml, which sets both to the same values (semisync_sync_binlog,"
        " semisync_innodb_flush_log_at_trx_commit).",
    ),
    "target_writable_at_start": Kind(
        INFO,
        "The replica takes writes after its next start",
        "a replica would start with `read_only` OFF",
        "A router that checks read_only sends writes to it. If a former source comes back like"
        " this, it takes writes beside the new source.",
        SERVER_VARIABLES,
        "If no application writes to it: read_only = ON in its option file. site.yml does that if"
        " it set up replication (semisync_replica_read_only).",
    ),
    "source_without_replica_side": Kind(
        WARNING,
        "The source is not ready to acknowledge as a replica",
        "the plugin is not loaded on the source, or the replica's side is ON there",
        "After a role change it comes back as a replica. It acknowledges nothing unless the"
        " replica's side of semi-sync is loaded, and off until then. If it is on, an old MariaDB"
        " may cut the end of its binary log after a crash (MDEV-33465).",
        SEMISYNC_INSTALLATION,
        "Run site.yml, which loads it, sets it and leaves it off.",
    ),
}
