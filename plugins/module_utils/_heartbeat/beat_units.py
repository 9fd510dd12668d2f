# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the files of the heartbeat's service say, and its account on its own server. Only what sets
it up imports this: a run that changes nothing would carry it to every host.

Each host makes its own password, which never leaves it, so the statements go to no binary log.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._answer.units import HARDENED
from ansible_collections.dbre.semisync.plugins.module_utils._heartbeat import beat_place, rows
from ansible_collections.dbre.semisync.plugins.module_utils._heartbeat.beat_place import ACCOUNT
from ansible_collections.dbre.semisync.plugins.module_utils._replication import journal
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import (
    NEVER,
    SOURCE,
    Names,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Step
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Variables

# Whether its account is there.
EXISTS = ("SELECT User FROM mysql.user WHERE User = %s AND Host = %s", ACCOUNT)
# The service has three connections; a server on which their statements hang gets no more.
CONNECTIONS = 8
# MySQL: who reads the binary log and who commits, and which replicas acknowledge, from tables of
# which the account sees these columns alone. Otherwise the process list, which says no names.
COLUMNS = ("PROCESSLIST_ID", "PROCESSLIST_COMMAND", "PROCESSLIST_STATE")
THREADS = (
    "SELECT PROCESSLIST_ID AS id, PROCESSLIST_COMMAND AS command, PROCESSLIST_STATE AS state FROM"
    " performance_schema.threads WHERE PROCESSLIST_ID IS NOT NULL"
)
PROCESS_LIST = (
    "SELECT ID AS id, COMMAND AS command, STATE AS state FROM information_schema.PROCESSLIST"
)
# Semi-sync's statuses and variables in a beat.
STATUSES = ("status", "clients", "yes_tx", "no_tx", "no_times", "wait_sessions")
KEYS = ("enabled", "timeout", "wait_point", "wait_for_replica_count", "wait_no_replica")
# What a replica's IO thread sets in its session on the source.
ACKNOWLEDGERS = (
    "SELECT own.VARIABLE_VALUE AS server FROM performance_schema.user_variables_by_thread AS own"
    " JOIN performance_schema.user_variables_by_thread AS semi USING (THREAD_ID) WHERE"
    " own.VARIABLE_NAME IN ('replica_uuid', 'slave_uuid') AND semi.VARIABLE_NAME IN"
    " ('rpl_semi_sync_replica', 'rpl_semi_sync_slave') AND semi.VARIABLE_VALUE = '1'"
)


class Wanted(NamedTuple):
    """What a service is to be.

    Attributes:
        interval: seconds between two beats.
        schema: of the journal and of the heartbeat.
        begins: whether the cluster began with this server as its source.
        python: that has PyMySQL.
        names: of its server.
        variables: of its server.
    """

    interval: int
    schema: str
    begins: bool
    python: str
    names: Names
    variables: Variables


def sees_threads(names: Names, variables: Variables) -> bool:
    """Whether the performance schema tells all that is asked (MySQL 5.7.3 release notes)."""
    return names.since((5, 7, 3), NEVER) and variables.get("performance_schema") == "ON"


def select_gtid(names: Names) -> str:
    """The statement that says what a server has; empty if it has no GTIDs."""
    if not names.has_gtid:
        return ""
    return f"SELECT @@GLOBAL.{'gtid_binlog_state' if names.mariadb else 'gtid_executed'}"


def service_text(server_port: int, python: str) -> str:
    """The unit of the service."""
    where = beat_place.paths(server_port)
    # It reaches its server by its socket and nothing else.
    hardened = HARDENED.replace("AF_UNIX AF_INET AF_INET6", "AF_UNIX")
    return f"""\
# Written by the Ansible collection dbre.semisync. Edits are overwritten.
[Unit]
Description=Writes what the source at port {server_port} knows of itself into its binary log
StartLimitIntervalSec=0

[Service]
User={beat_place.SYSTEM_USER}
ExecStart={python} {where["program"]} {where["settings"]} %b
NotifyAccess=main
Restart=always
RestartSec=1
IPAddressDeny=any
{hardened}
[Install]
WantedBy=multi-user.target
"""


def settings_of(server_port: int, wanted: Wanted) -> dict[str, object]:
    """What the service reads; see heartbeat.py, Asker."""
    names, threads = wanted.names, sees_threads(wanted.names, wanted.variables)
    return {
        "acknowledgers": ACKNOWLEDGERS if threads else "",
        "begins": wanted.begins,
        "channels": names.show_channels,
        "filters": names.show_binary_log_status,
        "gtid": select_gtid(names),
        "insert": rows.insert_statement(wanted.schema),
        "interval": wanted.interval,
        "journal": journal.table_name(wanted.schema),
        # MySQL 9.7 goes on waiting for the acknowledgement of a session that is killed.
        "kills": names.mariadb,
        "password_file": beat_place.paths(server_port)["password"],
        "sessions": THREADS if threads else PROCESS_LIST,
        "socket": wanted.variables["socket"] or "",
        "statuses": {key: name for key, name in names.statuses(SOURCE).items() if key in STATUSES},
        "table": rows.table_name(wanted.schema),
        "user": ACCOUNT[0],
        "variables": {
            {"wait_for_replica_count": "wait_count"}.get(key, key): name
            for key, name in names.variables(SOURCE).items()
            if key in KEYS
        },
    }


def files(server_port: int, wanted: Wanted, programs: dict[str, str]) -> dict[str, str]:
    """Path -> text of every file but the password's.

    Args:
        programs: text of `program`, and of `answer` and `places`, from which it imports.
    """
    where = beat_place.paths(server_port)
    settings = json.dumps(settings_of(server_port, wanted), indent=1, sort_keys=True)
    return {
        **{where[name]: programs[name] for name in beat_place.SHARED},
        where["settings"]: settings + "\n",
        where["service"]: service_text(server_port, wanted.python),
    }


def creation(names: Names, schema: str, password: str, threads: bool) -> list[Step]:
    """The statements that create the account.

    Args:
        threads: of sees_threads().
    """
    by = f"WITH {names.account_plugin} BY" if names.account_plugin else "BY"
    if names.mariadb:
        from ansible_collections.dbre.semisync.plugins.module_utils._replication.account import (
            native_hash,
        )

        # Its general log has the statement as it was.
        by, password = "BY PASSWORD", native_hash(password)
    most = f" WITH MAX_USER_CONNECTIONS {CONNECTIONS}"
    beats, changes = rows.table_name(schema), journal.table_name(schema)
    after = names.alter_user
    sees = [names.sees_channels, *(() if threads else ("PROCESS",))]
    # MariaDB from 10.5.9 on shows the channels by SLAVE MONITOR, and the log's filters by this.
    sees += ["BINLOG MONITOR"] if names.sees_channels == "SLAVE MONITOR" else []
    steps: list[Step] = [
        (f"CREATE USER %s@%s IDENTIFIED {by} %s{most if after else ''}", (*ACCOUNT, password)),
        (f"GRANT {', '.join(sees)} ON *.* TO %s@%s{'' if after else most}", ACCOUNT),
        # A privilege on a table that may not be there yet is given only with CREATE (MySQL manual,
        # "GRANT Statement"), which goes at once.
        (f"GRANT CREATE, SELECT, INSERT, DELETE ON {beats} TO %s@%s", ACCOUNT),
        (f"REVOKE CREATE ON {beats} FROM %s@%s", ACCOUNT),
        (f"GRANT CREATE, SELECT ON {changes} TO %s@%s", ACCOUNT),
        (f"REVOKE CREATE ON {changes} FROM %s@%s", ACCOUNT),
    ]
    if threads:
        schema_tables = "performance_schema"
        steps += [
            (f"GRANT SELECT ({', '.join(COLUMNS)}) ON {schema_tables}.threads TO %s@%s", ACCOUNT),
            (f"GRANT SELECT ON {schema_tables}.user_variables_by_thread TO %s@%s", ACCOUNT),
        ]
    return steps


def removal() -> list[Step]:
    return [("DROP USER %s@%s", ACCOUNT)]
