# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who works with a server's logs. What servers say was captured from MySQL 9.7.4 and MariaDB
10.11.19.
"""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._server import sessions
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

NEW = Names("mysql", (9, 7, 4))
MYSQL_57 = Names("mysql", (5, 7, 23))
MYSQL_56 = Names("mysql", (5, 6, 21))
MARIADB = Names("mariadb", (10, 11, 19))
ON = {"performance_schema": "ON"}
UUID = "1b9bd6a1-e862-11f1-80b6-0242ac140003"


class Cursor:
    """Answers by how a statement begins; an exception is raised."""

    def __init__(self, **answers):
        self.answers, self.asked = answers, []

    def execute(self, statement, _arguments=None):
        self.asked.append(statement)
        begins = statement.split(" AS ")[0].replace(" ", "_")
        self.rows = self.answers[begins]
        if isinstance(self.rows, Exception):
            raise self.rows

    def fetchall(self):
        return self.rows


def thread(name, number, user=None, kind=None):
    return {"name": name, "id": number, "user": user, "host": user and "db2", "type": kind}


MYSQL_THREADS = [
    thread("thread/sql/one_connection", 11, "repl", "SSL/TLS"),
    thread("thread/sql/one_connection", 12, "repl", "TCP/IP"),
    thread("thread/sql/replica_sql", 13),
]
# The id of the pool's workers, the applier and the IO thread, with slave_parallel_threads = 3.
MARIADB_LIST = [
    {"Id": number, "User": user, "Host": host, "Command": command}
    for number, user, host, command in (
        (34, "system user", "", "Slave_IO"),
        (38, "system user", "", "Slave_worker"),
        (37, "system user", "", "Slave_worker"),
        (36, "system user", "", "Slave_worker"),
        (35, "system user", "", "Slave_SQL"),
        (40, "repl", "db3:52822", "Binlog Dump"),
        (39, "root", "localhost", "Query"),
    )
]
MYSQL_LIST = [
    {"Id": 5, "User": "system user", "Host": "", "Command": "Connect"},
    {"Id": 7, "User": "repl", "Host": "db3:52822", "Command": "Binlog Dump GTID"},
]
RUNS = {"name": "", "sql_running": "Yes"}


def seen(names, channels, variables=None, **answers):
    variables = ON if variables is None else variables
    cursor = Cursor(**answers)
    return sessions.read_sessions(Server(cursor), names, variables, channels), cursor.asked


@pytest.mark.parametrize("names", [NEW, MYSQL_57], ids=["9.7", "5.7"])
def test_one_statement_names_readers_and_the_applier_where_there_is_a_performance_schema(names):
    found, asked = seen(names, [RUNS], SELECT_NAME=MYSQL_THREADS)
    assert found["applier_ids"] == [13]
    assert [reader["tls"] for reader in found["readers"]] == [True, False]
    assert found["readers"][0] == {"user": "repl", "host": "db2", "tls": True}
    assert len(asked) == 1


def test_mariadbs_process_list_names_the_applier_and_not_the_pools_workers():
    found, asked = seen(
        MARIADB, [RUNS], {"performance_schema": "OFF"}, SHOW_PROCESSLIST=MARIADB_LIST
    )
    assert found == {
        "readers": [{"user": "repl", "host": "db3", "tls": None}],
        "applier_ids": [35],
    }
    assert asked == ["SHOW PROCESSLIST"]


@pytest.mark.parametrize(
    "schema,threads,expected",
    [
        ("ON", [{"id": 5}], [5]),
        # What the login may not read, and a schema that is off, say nothing.
        ("ON", Exception(1142, "SELECT command denied"), None),
        ("OFF", [{"id": 5}], None),
    ],
)
def test_old_mysql_names_its_applier_in_the_performance_schema_alone(schema, threads, expected):
    found, _asked = seen(
        MYSQL_56,
        [RUNS],
        {"performance_schema": schema},
        SHOW_PROCESSLIST=MYSQL_LIST,
        SELECT_PROCESSLIST_ID=threads,
    )
    assert found["applier_ids"] == expected
    assert [reader["host"] for reader in found["readers"]] == ["db3"]


@pytest.mark.parametrize(
    "channels,ids,expected",
    [
        ([RUNS], [13], [13]),
        ([], [], []),
        ([{"name": "", "sql_running": "No"}], [], []),
        # It runs, and the login sees its own sessions alone.
        ([RUNS], [], None),
        # Which of them is the default channel's?
        ([RUNS, {"name": "other", "sql_running": "Yes"}], [13, 14], None),
        ([RUNS, {"name": "other", "sql_running": "No"}], [13], None),
        ([{"name": "other", "sql_running": "Yes"}], [13], []),
        ([RUNS], [13, 14], None),
    ],
)
def test_only_the_default_channels_applier_counts_and_an_unseen_one_is_unknown(
    channels, ids, expected
):
    assert sessions.of_default_channel(ids, channels) == expected


@pytest.mark.parametrize(
    "names,statement,row,expected",
    [
        (
            NEW,
            "SHOW_REPLICAS",
            {"Server_Id": 616442473, "Host": "", "Port": 3306, "Replica_UUID": UUID},
            {"server_id": 616442473, "uuid": UUID},
        ),
        (
            MYSQL_57,
            "SHOW_SLAVE_HOSTS",
            {"Server_id": 102, "Host": "", "Port": 3306, "Slave_UUID": UUID},
            {"server_id": 102, "uuid": UUID},
        ),
        (
            MARIADB,
            "SHOW_SLAVE_HOSTS",
            {"Server_id": 616442473, "Host": "replica1", "Port": 3306, "Master_id": 1602912117},
            {"server_id": 616442473, "uuid": None},
        ),
    ],
)
def test_registered_replicas_have_their_identity(names, statement, row, expected):
    assert sessions.registered(Server(Cursor(**{statement: [row]})), names) == [expected]
    refused = Exception(1227, "Access denied; you need REPLICATION SLAVE")
    assert sessions.registered(Server(Cursor(**{statement: refused})), names) is None


@pytest.mark.parametrize(
    "rows,expected",
    [
        ([{"File": "b.1", "Position": 4, "Binlog_Do_DB": "", "Binlog_Ignore_DB": ""}], []),
        (
            [{"File": "b.1", "Position": 4, "Binlog_Do_DB": "a,b", "Binlog_Ignore_DB": b"c"}],
            ["binlog_do_db = a,b", "binlog_ignore_db = c"],
        ),
        # No binary log.
        ([], []),
        (None, None),
    ],
)
def test_what_keeps_changes_out_of_the_binary_log_is_named(rows, expected):
    assert sessions.binlog_filters(rows) == expected


def test_a_server_that_is_gone_is_no_server_that_refuses():
    for error in (Exception(2013, "Lost connection"), Exception("no number")):
        with pytest.raises(ServerError):
            sessions.if_allowed(Server(Cursor(SHOW_REPLICAS=error)), "SHOW REPLICAS")
