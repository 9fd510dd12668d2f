# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of findings about any server of a cluster, or two of them together."""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import (
    CRITICAL,
    INFO,
    WARNING,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Kind, Variant
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.manuals import (
    FULL_DISK,
    MIXED_PLUGINS,
    NEXT_VERSION,
    OPTION_FILES,
    PLUGINS,
    ROLE_CHANGE,
    SERVER_ID,
    STATUS,
    TIME_ZONES,
)

TABLE = {
    "source_not_read": Kind(
        CRITICAL,
        "The source was not read, and may be dead",
        "the source's host was unreachable, its server does not run, or accepted a connection and"
        " did not respond",
        "Clients may be unable to write, or may write to a server that cannot be seen from here."
        " Starting a replica may discard what it has received. Starting the source commits what no"
        " replica acknowledged.",
        ROLE_CHANGE,
        "Start nothing. failover.yml --check reports whether the source is dead, which replica can"
        " take over, and what would be lost. docs/night-source-dead.md has the steps.",
        severities="critical; its checkpoints are unknown",
    ),
    "disk_full": Kind(
        CRITICAL,
        "A server's disk is full",
        "less than 8 MB are left on the file system of the data directory, the binary log or the"
        " relay log. If the server cannot be asked: on that of `/var/lib/mysql`, or of the folder"
        " in which a server runs",
        "A server without space keeps commits waiting, ends itself, or refuses logins. It may do so"
        " without an error, or name another folder. A replica receives nothing, and may acknowledge"
        " nothing. What was confirmed before is not lost.",
        FULL_DISK,
        "Free space there, or enlarge it; delete nothing that belongs to the server. A server that"
        " waits continues within a minute. One that ended has to be started; if it is the source,"
        " failover.yml --check says first what a failover would do.",
    ),
    "not_read": Kind(
        WARNING,
        "A host was not read",
        "the host was unreachable, or its server did not let the collection in. For a source only"
        " the latter; otherwise it is [source_not_read](#source_not_read)",
        "It is not known whether it replicates, or whether it endangers the cluster.",
        STATUS,
        "Fix what the evidence names, and run verify.yml again.",
        severities="warning; its checkpoints are unknown, and the exit status is 2, or 4 if a"
        " host was unreachable",
        variants={
            "source may be dead": Variant(
                "there is also a source_not_read",
                remedy="Start nothing before failover.yml --check has reported what is left.",
            ),
        },
    ),
    "option_files_unknown": Kind(
        WARNING,
        "What the server starts with is not known",
        "the server's process or program is not found on its host, its program refuses"
        " `--print-defaults`, or a file is not readable by Ansible's login there. No other finding"
        " is judged by the option files then, and `site.yml`, `gtid.yml`, `drill.yml` and"
        " `remove.yml` refuse",
        "The option files could not be read, so it is not known whether semi-sync, its plugin and"
        " its values survive the next restart.",
        OPTION_FILES,
        "Fix what the evidence names: run on the server's own host, as root, and let its program"
        " with --print-defaults read the option files without an error.",
        severities="warning; P3.2 or P4.2 is unknown then, and the exit status is 2",
    ),
    "restart_changes_it": Kind(
        WARNING,
        "The next restart would change a value",
        "a running value differs from what SET PERSIST, the option files or else the server's"
        " default say. This covers semi-sync's variables of the host's side, `server_id` and"
        " `gtid_mode`; on the source `sync_binlog` and `innodb_flush_log_at_trx_commit`; on a"
        " replica `read_only`, `super_read_only`, `sync_relay_log` and `relay_log_recovery`. One"
        " finding per variable. The command line of the running server overrides the option files."
        " If these could not be read, only what overrides them is judged",
        "The running server and its start configuration differ. A restart, perhaps in a failover"
        " at night, brings another configuration than the one that was tested.",
        OPTION_FILES,
        "Decide which value you want, write it to the option file and set it at run time. site.yml"
        " does both for the values that it manages.",
    ),
    "plugin_mix": Kind(
        WARNING,
        "Semi-sync plugins of the old and the new names are mixed",
        "plugins of both name generations are loaded, in `mysql.plugin` or in `plugin_load`,"
        " `plugin_load_add`",
        "A server cannot run both kinds. The order decides which one loads at the next start, the"
        " options of the other are ignored, and the server may come up without semi-sync. An"
        " upgrade leaves the rows of the older version in mysql.plugin.",
        MIXED_PLUGINS,
        "Stop replication, and run UNINSTALL PLUGIN for the old kind, replicas first (if one is"
        " not loaded, delete its row in mysql.plugin). Remove its plugin_load options, then run"
        " site.yml.",
    ),
    "plugin_not_loaded_at_start": Kind(
        WARNING,
        "The plugin would not be loaded at the next start",
        "the plugin is ACTIVE, and neither `mysql.plugin` nor `plugin_load`, `plugin_load_add` has"
        " it",
        "It is active now, but neither mysql.plugin nor an option loads it: after the next restart"
        " semi-sync is gone. The prefix loose_ of its options hides the error.",
        PLUGINS,
        "UNINSTALL PLUGIN and INSTALL PLUGIN register it (site.yml installs it), or add"
        " plugin_load_add to the option file.",
    ),
    "next_version": Kind(
        INFO,
        "A newer version refuses what this server has",
        "the option files, the command line or SET PERSIST give an option that a newer version of"
        " the server has removed, or a plugin has one of semi-sync's old names, which MySQL 9.5"
        " removed, on a server that knows the new ones, or accounts that are not locked log in by"
        " `mysql_native_password`, which MySQL 8.4 loads only if it is told to, and 9.0 not at all."
        " The evidence has each with the first such version. Data is not judged",
        "A server does not start with an option that it does not know. If the option has the"
        " prefix loose_, it starts and ignores it, so that semi-sync may be off. A server without"
        " the plugin of the old name starts without semi-sync. Applications, and replicas, whose"
        " accounts cannot log in are locked out once the role is on the new version.",
        NEXT_VERSION,
        "Before the upgrade, remove the option, or replace it with what the manual names. site.yml"
        " with semisync_plugin_names=new replaces the old plugins (docs/existing-hosts.md). Give"
        " accounts another plugin (ALTER USER ... IDENTIFIED WITH caching_sha2_password BY ...), or"
        " lock those that are not used; 8.4 loads the old plugin with loose_mysql_native_password ="
        " ON in its option file. For data, run MySQL Shell's util.checkForServerUpgrade().",
    ),
    "server_id_clash": Kind(
        CRITICAL,
        "Two servers of the cluster have the same server_id",
        "two hosts of the cluster have the same `server_id`",
        "A replica ignores events with its own server_id, and a source disconnects one of two"
        " replicas with the same server_id. Transactions go missing.",
        SERVER_ID,
        "Give each server a unique number (semisync_server_id).",
    ),
    "clocks_differ": Kind(
        WARNING,
        "The clocks of the hosts differ",
        "the servers' clocks certainly differ by more than a second: each was read between two"
        " readings of the controller's clock, and what this leaves open is not counted. A smaller"
        " difference shows in P1.2",
        "The lag of the canary row cannot be measured, error logs of the hosts do not match, and"
        " NOW() jumps after a failover.",
        TIME_ZONES,
        "Run chrony, systemd-timesyncd or ntpd on every host.",
    ),
}
