# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything about one server, read through one connection and brought to one shape for both engines."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import re

from ansible_collections.dbre.semisync.plugins.module_utils import names as naming

# The last two are directories that MariaDB takes for schemas: a file system's, and the one of a seeding that was cut off.
SYSTEM_SCHEMAS = ("information_schema", "performance_schema", "mysql", "sys", "ndbinfo", "#mysql50#lost+found",
                  "#mysql50#dbre-semisync-seed")

# Server variables the roles compare; semi-sync's own come from the names table.
SERVER_VARIABLES = (
    "version", "version_comment", "hostname", "port", "log_error", "socket", "datadir", "pid_file", "plugin_dir", "server_id",
    "server_uuid", "log_bin", "log_bin_basename", "gtid_mode", "enforce_gtid_consistency", "gtid_domain_id",
    "gtid_strict_mode", "log_slave_updates", "log_replica_updates", "relay_log", "relay_log_basename", "sync_binlog",
    "innodb_flush_log_at_trx_commit", "sync_relay_log", "relay_log_recovery", "read_only", "super_read_only",
    "bind_address", "skip_networking", "binlog_format", "wsrep_on", "lower_case_table_names",
    "binlog_storage_engine", "replication_sender_observe_commit_only", "have_ssl", "ssl_ca", "ssl_cert",
)
GTID_VARIABLES = (
    "gtid_executed", "gtid_purged", "gtid_binlog_pos", "gtid_binlog_state", "gtid_current_pos", "gtid_slave_pos",
)


class Server(object):
    """A server behind a dictionary cursor: the few statements this collection reads with.

    Args:
        cursor: a DB-API cursor that returns rows as dictionaries.
    """

    def __init__(self, cursor):
        self.cursor = cursor

    def rows(self, statement, arguments=None):
        self.cursor.execute(statement, arguments)
        return list(self.cursor.fetchall() or ())

    def pairs(self, statement):
        """A two-column result as a dictionary with lower-case keys."""
        found = {}
        for row in self.rows(statement):
            name, value = list(row.values())
            found[name.lower()] = value
        return found

    def variables(self):
        return self.pairs("SHOW GLOBAL VARIABLES")

    def semisync_status(self):
        return self.pairs("SHOW GLOBAL STATUS LIKE 'Rpl\\_semi\\_sync%'")

    def uptime(self):
        """Seconds since the server started, and since FLUSH STATUS set its counters to zero."""
        found = self.pairs("SHOW GLOBAL STATUS LIKE 'Uptime%'")
        return {"seconds": int(found.get("uptime") or 0), "since_reset": as_number(found.get("uptime_since_flush_status"))}

    def plugins(self):
        """Semi-sync plugins the server has loaded: name -> status."""
        return dict((row["name"], row["status"]) for row in self.rows(
            "SELECT PLUGIN_NAME AS name, PLUGIN_STATUS AS status FROM information_schema.PLUGINS"
            " WHERE PLUGIN_NAME LIKE 'rpl\\_semi\\_sync%' AND PLUGIN_TYPE = 'REPLICATION'"))

    def registered_plugins(self):
        """Semi-sync plugins that mysql.plugin loads at the next start: name -> library."""
        return dict((row["name"], row["dl"]) for row in self.rows(
            "SELECT name, dl FROM mysql.plugin WHERE name LIKE 'rpl\\_semi\\_sync%'"))

    def schemas(self):
        """Schemas that are not the server's own."""
        rows = self.rows("SHOW DATABASES")
        return sorted(name for row in rows for name in row.values() if name.lower() not in SYSTEM_SCHEMAS)

    def persisted(self):
        """Variables that SET PERSIST wrote; they override the option files (MySQL manual, "Persisted System Variables")."""
        return dict((row["name"].lower(), row["value"]) for row in self.rows(
            "SELECT VARIABLE_NAME AS name, VARIABLE_VALUE AS value FROM performance_schema.persisted_variables"))

    def accounts(self):
        """Accounts whose one purpose is replication, or a seeding of ours: user, host and privileges."""
        found = []
        for row in self.rows("SELECT User AS user, Host AS host FROM mysql.user"
                             " WHERE Repl_slave_priv = 'Y' AND Super_priv = 'N' OR User = 'dbre_semisync_seed'"
                             " ORDER BY User, Host"):
            grants = []
            for grant in self.rows("SHOW GRANTS FOR %s@%s", (text(row["user"]), text(row["host"]))):
                grants.extend(parse_grant(text(list(grant.values())[0])))
            found.append({"user": text(row["user"]), "host": text(row["host"]), "privileges": grants})
        return found

    def senders(self):
        """Connection numbers of the threads that send the binary log to replicas."""
        return [int(row["Id"]) for row in self.rows("SHOW PROCESSLIST") if text(row["Command"]).startswith("Binlog Dump")]

    def readers(self, names=None):
        """Sessions that read the binary log: user and host of each, and whether by TLS, None where nothing tells.

        Args:
            names: the server's, where its performance schema can be asked; without them it is not.
        """
        if names:
            return [{"user": text(row["user"]), "host": text(row["host"]), "tls": row["type"] == "SSL/TLS"}
                    for row in self.rows("SELECT PROCESSLIST_USER AS user, PROCESSLIST_HOST AS host, CONNECTION_TYPE AS type"
                                         " FROM performance_schema.threads WHERE PROCESSLIST_COMMAND LIKE 'Binlog Dump%'")]
        return [{"user": text(row["User"]), "host": text(row["Host"]).rsplit(":", 1)[0], "tls": None}
                for row in self.rows("SHOW PROCESSLIST") if text(row["Command"]).startswith("Binlog Dump")]

    def tls(self, variables):
        """Whether the server has TLS for its clients."""
        if variables.get("have_ssl") is not None:
            return {"on": variables["have_ssl"] == "YES"}
        # MySQL 8.4 and later have no such variable; MariaDB's status is that of the session.
        return {"on": bool(self.pairs("SHOW GLOBAL STATUS LIKE 'Ssl\\_server\\_not\\_after'").get("ssl_server_not_after"))}

    def applied(self, names):
        """The GTIDs that a replica has applied, as one line of text."""
        name = "gtid_slave_pos" if names.mariadb else "gtid_executed"
        return "".join(text(self.rows("SELECT @@GLOBAL.%s AS value" % name)[0]["value"] or "").split())

    def channels(self, names):
        return [normalise_channel(row) for row in self.rows(names.show_channels)]


def as_number(value):
    return None if value is None else int(value)


def text(value):
    return value.decode("utf-8", "replace") if isinstance(value, (bytes, bytearray)) else str(value)


def parse_grant(grant):
    """The privileges of one SHOW GRANTS line, without anything that identifies a password.

    'GRANT REPLICATION SLAVE ON *.* TO ...' gives ['REPLICATION SLAVE ON *.*']; USAGE is no privilege.
    """
    match = re.match(r"GRANT (.+?) ON (.+?) TO ", grant)
    if not match:
        return []
    privileges = [privilege.strip() for privilege in re.split(r",(?![^(]*\))", match.group(1))]
    return ["%s ON %s" % (privilege, match.group(2)) for privilege in privileges if privilege != "USAGE"]


def normalise_channel(row):
    """One row of SHOW REPLICA STATUS or SHOW SLAVE STATUS under one set of lower-case names."""
    short = {}
    for key, value in row.items():
        name = key.lower().replace("master", "source").replace("slave", "replica")
        short[name] = text(value) if isinstance(value, (bytes, bytearray)) else value
    gtid = short.get("using_gtid")
    return {
        "name": short.get("channel_name") or short.get("connection_name") or "",
        "source_host": short.get("source_host"),
        "source_port": short.get("source_port"),
        "source_user": short.get("source_user"),
        "source_uuid": short.get("source_uuid") or None,
        "source_server_id": short.get("source_server_id"),
        "io_running": short.get("replica_io_running"),
        "sql_running": short.get("replica_sql_running"),
        "gtid": (gtid not in (None, "No")) if gtid is not None else bool(int(short.get("auto_position") or 0)),
        "retrieved": short.get("retrieved_gtid_set") or short.get("gtid_io_pos") or "",
        "read_file": short.get("source_log_file") or "",
        "read_position": int(short.get("read_source_log_pos") or 0),
        "applied_file": short.get("relay_source_log_file") or "",
        "applied_position": int(short.get("exec_source_log_pos") or 0),
        "seconds_behind": short.get("seconds_behind_source"),
        "last_io_error": short.get("last_io_error") or "",
        "last_sql_error": short.get("last_sql_error") or "",
        "connect_retry": short.get("connect_retry"),
        "delay": int(short.get("sql_delay") or 0),
        "tls": str(short.get("source_ssl_allowed")).lower() == "yes",
        "tls_ca": short.get("source_ssl_ca_file") or "",
        "tls_verify": str(short.get("source_ssl_verify_server_cert")).lower() == "yes",
    }


def running(channel):
    """True where both threads of a channel run and the IO thread is connected."""
    return bool(channel) and channel["io_running"] == "Yes" and channel["sql_running"] == "Yes"


def default_channel(channels):
    """The channel without a name: the only one semi-sync works on (MySQL manual, "Semisynchronous Replication")."""
    for channel in channels:
        if channel["name"] == "":
            return channel
    return None


def by_key(table, values):
    """The server's values under our keys; a name that the server does not show has the value None."""
    return dict((key, values.get(name.lower())) for key, name in table.items())


def names_in_use(names):
    """The names table of one server in a form that a playbook can read."""
    result = {"generation": names.generation, "builtin": names.builtin, "slapper": names.slapper,
              "log_updates": names.log_updates, "log_bin_by_default": names.log_bin_by_default,
              "gtid": names.has_gtid, "gtid_online": names.gtid_online,
              "copy_series": names.copy_series, "account_plugin": names.account_plugin,
              "longest_source_password": names.longest_source_password, "defaults": names.defaults(),
              "verifies_source_by_default": names.verifies_source_by_default,
              "proves_itself_by_password": names.proves_itself_by_password}
    for side in (naming.SOURCE, naming.REPLICA):
        plugin = names.plugin(side)
        result[side] = {
            "plugin": plugin[0] if plugin else None,
            "library": plugin[1] if plugin else None,
            "variables": names.variables(side),
            "statuses": names.statuses(side),
        }
    return result


def identify(server):
    """The names table of the server behind a connection.

    Raises:
        naming.UnknownServer: a fork or a version that this collection does not know.
    """
    row = server.rows("SELECT @@version AS version, @@version_comment AS comment")[0]
    engine, version = naming.identify(row["version"], row["comment"])
    return naming.Names(engine, version, server.plugins())


def read(server):
    """Everything about the server: see the RETURN section of semisync_info.

    Raises:
        naming.UnknownServer: a fork or a version that this collection does not know.
    """
    names = identify(server)
    variables, status = server.variables(), server.semisync_status()
    channels = server.channels(names)
    return {
        "engine": names.engine,
        "version": ".".join(str(number) for number in names.version),
        "version_full": variables["version"],
        "version_comment": variables["version_comment"],
        "names": names_in_use(names),
        "plugins": server.plugins(),
        "plugins_registered": server.registered_plugins(),
        "variables": dict((key, variables.get(key)) for key in SERVER_VARIABLES),
        "gtid": dict((key, variables[key]) for key in GTID_VARIABLES if key in variables),
        "semisync": dict((side, {
            "variables": by_key(names.variables(side), variables),
            "status": by_key(names.statuses(side), status),
        }) for side in (naming.SOURCE, naming.REPLICA)),
        "persisted": server.persisted() if names.has_persisted_variables else {},
        "channel": default_channel(channels),
        "other_channels": [channel["name"] for channel in channels if channel["name"]],
        "accounts": server.accounts(),
        "readers": server.readers(names if names.shows_connection_types and variables.get("performance_schema") == "ON"
                                  else None),
        "tls": server.tls(variables),
        "schemas": server.schemas(),
        "uptime": server.uptime(),
        "clock": float(server.rows("SELECT UNIX_TIMESTAMP(NOW(6)) AS now")[0]["now"]),
    }


def pulse(server, names):
    """What changes while a source is at work: all statuses, semi-sync's by our keys, the GTIDs in its binary log, its
    uptime in seconds, and how many replicas it sends to."""
    status = server.pairs("SHOW GLOBAL STATUS")
    gtids = server.pairs("SHOW GLOBAL VARIABLES LIKE 'gtid\\_%'")
    return {"status": status, "uptime": int(status["uptime"]), "senders": len(server.senders()),
            "semisync": by_key(names.statuses(naming.SOURCE), status),
            "gtid": gtids.get("gtid_binlog_pos", gtids.get("gtid_executed"))}


def unmet(wanted, info):
    """What a wait still lacks, in words; an empty list when every wanted condition holds.

    Args:
        wanted: {'channel': bool, 'clients': int, 'no_clients': bool, 'source_status': bool, 'replica_status': bool,
            'tls_only': str}.
        info: result of read().
    """
    lacking = []
    source, replica = info["semisync"]["source"]["status"], info["semisync"]["replica"]["status"]
    if wanted.get("channel") and not running(info["channel"]):
        lacking.append("the replication channel does not run: " + describe_channel(info["channel"]))
    if wanted.get("clients") is not None and int(source["clients"] or 0) < wanted["clients"]:
        lacking.append("%s semi-sync replicas are connected, %d are wanted"
                       % (source["clients"] or 0, wanted["clients"]))
    if wanted.get("no_clients") and int(source["clients"] or 0) > 0:
        lacking.append("%s semi-sync replicas are still connected" % source["clients"])
    if wanted.get("source_status") and source["status"] != "ON":
        lacking.append("semi-sync's status on the source is %s" % source["status"])
    if wanted.get("replica_status") and replica["status"] != "ON":
        lacking.append("semi-sync's status on the replica is %s" % replica["status"])
    plain = [reader["host"] for reader in info["readers"]
             if reader["user"] == wanted.get("tls_only") and reader["tls"] is False]
    if plain:
        lacking.append("sessions read the binary log as %s without TLS, from %s" % (wanted["tls_only"], ", ".join(plain)))
    return lacking


def describe_channel(channel):
    """A channel's state in one line, with its last errors."""
    if not channel:
        return "no channel"
    words = "IO thread %s, SQL thread %s" % (channel["io_running"], channel["sql_running"])
    errors = [error for error in (channel["last_io_error"], channel["last_sql_error"]) if error]
    return words + (": " + "; ".join(errors) if errors else "")
