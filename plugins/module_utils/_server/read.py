# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything about one server, read through one connection and brought to one shape for both
engines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._server import sessions, skipped_errors
from ansible_collections.dbre.semisync.plugins.module_utils._server.channels import default_channel
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import (
    Server,
    identify,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import (
    REPLICA,
    SOURCE,
    Names,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        Gtid,
        NamesInUse,
        ReplicationState,
        SemisyncSide,
        ServerState,
        Side,
        SideNames,
        Values,
        Variables,
    )

# Server variables the roles compare; semi-sync's own come from the names table.
SERVER_VARIABLES = (
    "version",
    "version_comment",
    "hostname",
    "port",
    "log_error",
    "log_error_services",
    "socket",
    "datadir",
    "basedir",
    "pid_file",
    "plugin_dir",
    "server_id",
    "server_uuid",
    "log_bin",
    "log_bin_basename",
    "gtid_mode",
    "enforce_gtid_consistency",
    "gtid_domain_id",
    "gtid_strict_mode",
    "log_slave_updates",
    "log_replica_updates",
    "relay_log",
    "relay_log_basename",
    "sync_binlog",
    "innodb_flush_log_at_trx_commit",
    "sync_relay_log",
    "relay_log_recovery",
    "read_only",
    "super_read_only",
    "bind_address",
    "skip_networking",
    "binlog_format",
    "wsrep_on",
    "lower_case_table_names",
    "binlog_storage_engine",
    "event_scheduler",
    "performance_schema",
    *skipped_errors.VARIABLES,
    "replication_sender_observe_commit_only",
    "have_ssl",
    "ssl_ca",
    "ssl_cert",
)
GTID_VARIABLES = (
    "gtid_executed",
    "gtid_purged",
    "gtid_binlog_pos",
    "gtid_binlog_state",
    "gtid_current_pos",
    "gtid_slave_pos",
)


def by_key(table: Mapping[str, str], values: Variables) -> Values:
    """The server's values under our keys; None for a name that the server does not show."""
    return {key: values.get(name.lower()) for key, name in table.items()}


def names_in_use(names: Names) -> NamesInUse:
    """The names table of one server in a form that a playbook can read."""
    return {
        "generation": names.generation,
        "builtin": names.builtin,
        "slapper": names.slapper,
        "log_updates": names.log_updates,
        "log_bin_by_default": names.log_bin_by_default,
        "gtid": names.has_gtid,
        "gtid_online": names.gtid_online,
        "copy_series": names.copy_series,
        "account_plugin": names.account_plugin,
        "show_channels": names.show_channels,
        "longest_source_password": names.longest_source_password,
        "defaults": names.defaults(),
        "verifies_source_by_default": names.verifies_source_by_default,
        "proves_itself_by_password": names.proves_itself_by_password,
        "source": names_of_side(names, SOURCE),
        "replica": names_of_side(names, REPLICA),
    }


def names_of_side(names: Names, side: Side) -> SideNames:
    """What the server calls semi-sync's plugin, variables and statuses on one side."""
    plugin = names.plugin(side)
    return {
        "plugin": plugin[0] if plugin else None,
        "library": plugin[1] if plugin else None,
        "variables": names.variables(side),
        "statuses": names.statuses(side),
    }


def semisync_of_side(
    names: Names, side: Side, variables: Variables, status: Variables
) -> SemisyncSide:
    """Semi-sync's variables and statuses on one side, under the collection's keys."""
    return {
        "variables": by_key(names.variables(side), variables),
        "status": by_key(names.statuses(side), status),
    }


def gtids_of(variables: Variables) -> Gtid:
    """The GTID sets and positions that the server has."""
    return {key: variables[key] or "" for key in GTID_VARIABLES if key in variables}


def replication_state(server: Server, names: Names) -> ReplicationState:
    """What the server is, and how it replicates: the part of server_state() that is read when every
    moment counts.
    """
    variables, status = server.variables(), server.semisync_status()
    channels = server.channels(names)
    moment = server.rows("SELECT UNIX_TIMESTAMP(NOW(6)) AS now, CONNECTION_ID() AS id")[0]
    return {
        "engine": names.engine,
        "version": ".".join(str(number) for number in names.version),
        "version_full": variables["version"] or "",
        "version_comment": variables["version_comment"] or "",
        "names": names_in_use(names),
        "plugins": server.plugins(),
        "variables": {key: variables.get(key) for key in SERVER_VARIABLES},
        "gtid": gtids_of(variables),
        "semisync": {
            "source": semisync_of_side(names, SOURCE, variables, status),
            "replica": semisync_of_side(names, REPLICA, variables, status),
        },
        "channel": default_channel(channels),
        "other_channels": [channel["name"] for channel in channels if channel["name"]],
        **sessions.read_sessions(server, names, variables, channels),
        "tls": server.tls(variables),
        "uptime": server.uptime(),
        "clock": float(moment["now"]),
        "connection_id": int(moment["id"]),
    }


def server_state(server: Server) -> ServerState:
    """Everything about the server: see the RETURN section of semisync_info.

    Raises:
        UnknownServerError: a fork or a version that this collection does not know.
    """
    names = identify(server)
    return {
        **replication_state(server, names),
        "plugins_registered": server.registered_plugins(),
        "persisted": server.persisted() if names.has_persisted_variables else {},
        "accounts": server.accounts(),
        "native_accounts": server.native_accounts() if names.has_native_accounts else [],
        "registered": sessions.registered(server, names),
        "schemas": server.schemas(),
        "empty_schemas": server.empty_schemas(),
        "events": server.event_states(),
    }
