# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of findings about a cluster that promises to be lossless (semisync_promise)."""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import (
    CRITICAL,
    WARNING,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Kind, Variant
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.manuals import (
    SERVER_VARIABLES,
    SOURCE_OPTIONS,
)

TABLE = {
    "promise_not_kept": Kind(
        CRITICAL,
        "The promise lossless does not hold",
        "`semisync_promise` is lossless, and the source's timeout is below a day, or its"
        " `…_wait_no_replica` (`wait_no_slave`) is OFF, or `sync_relay_log` of a replica is not 1,"
        " or a replica on MySQL that follows by GTID has `relay_log_recovery` ON at its next start",
        "The inventory promises that a commit is confirmed only if it is on two hosts. These"
        " values break that promise: the source may stop waiting, or a replica's power cut may"
        " lose an acknowledged commit.",
        SOURCE_OPTIONS,
        "Run site.yml, which sets what lossless needs, or set semisync_promise to available.",
        variants={
            "recovery": Variant(
                "`relay_log_recovery` is ON at the next start",
                remedy="Remove relay_log_recovery from the replica's option files (RESET PERSIST"
                " if it is persisted), and restart its server while the source is up.",
            ),
            "received": Variant(
                "MariaDB: no service applies what was received before replication starts",
                remedy="Run site.yml, which sets that service up on MariaDB 10.5 or later whose"
                " server is a unit of systemd and reads a folder of option files.",
            ),
        },
    ),
    "writers_frozen": Kind(
        CRITICAL,
        "Writers wait, because too few replicas acknowledge",
        "`semisync_promise` is lossless, sessions wait for an acknowledgement, and fewer replicas"
        " are connected than a commit waits for",
        "This is what lossless promises: a commit is not confirmed until a replica has it. Writers"
        " continue as soon as a replica is back, and their commits are not lost.",
        SOURCE_OPTIONS,
        "Bring a replica back. Do not stop the source's server and do not disable semi-sync: both"
        " confirm the waiting commits, which are on no replica. docs/night-frozen-writers.md has"
        " the steps.",
    ),
    "source_closed": Kind(
        CRITICAL,
        "The source is read-only",
        "`read_only` is ON on the source",
        "A lossless member starts read-only, so that a source that comes back after a failover"
        " confirms nothing. It has not been opened for writers since its last start.",
        SERVER_VARIABLES,
        "Run site.yml: it opens the source for writers if servers and journal agree that this is"
        " the source.",
        variants={
            "available": Variant(
                "`semisync_promise` is available",
                why="Applications get error 1290 for every write. This cluster promises to be"
                " available, and no playbook opens its source.",
                remedy="If no other server has taken over, run SET GLOBAL read_only = 0, and"
                " remove read_only and super_read_only from what the server starts with (option"
                " files, SET PERSIST).",
            ),
        },
    ),
    "starts_writable": Kind(
        WARNING,
        "The server takes writes after its next start",
        "`semisync_promise` is lossless, and a member would start with `read_only` OFF",
        "If this server comes back after a failover, it takes writes beside the new source until"
        " the split brain is noticed.",
        SERVER_VARIABLES,
        "Run site.yml, which writes read_only = ON into its option file on every lossless member."
        " If another option file sets read_only to OFF after that, remove the line there.",
    ),
}
