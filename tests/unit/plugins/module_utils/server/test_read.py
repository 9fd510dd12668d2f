# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import copy

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._replication import state_wait
from ansible_collections.dbre.semisync.plugins.module_utils._server import (
    channels,
    connection,
    names,
    read,
)
from ansible_collections.dbre.semisync.tests.unit import samples

UUID = "91c92dd4-e5a0-11f1-9b95-0242ac130002"

# Rows of SHOW … STATUS, the columns that are read and some that are not.
MYSQL_57 = {
    "Slave_IO_State": "Waiting for master to send event",
    "Master_Host": "db1",
    "Master_User": "repl",
    "Master_Port": 3306,
    "Connect_Retry": 60,
    "Master_Log_File": "mysql-bin.000003",
    "Slave_IO_Running": "Yes",
    "Slave_SQL_Running": "Yes",
    "Seconds_Behind_Master": 0,
    "Last_IO_Error": "",
    "Last_SQL_Error": "",
    "Master_Server_Id": 101,
    "Master_UUID": UUID,
    "Retrieved_Gtid_Set": UUID + ":1-5",
    "Executed_Gtid_Set": UUID + ":1-5",
    "Auto_Position": 1,
    "Channel_Name": "",
    "Master_TLS_Version": "",
    "SQL_Delay": 0,
    "Master_SSL_Allowed": "No",
}
MYSQL_55 = {
    "Slave_IO_State": "Waiting for master to send event",
    "Master_Host": "db1",
    "Master_User": "repl",
    "Master_Port": 3306,
    "Connect_Retry": 60,
    "Slave_IO_Running": "Yes",
    "Slave_SQL_Running": "Yes",
    "Seconds_Behind_Master": None,
    "Last_IO_Error": "",
    "Last_SQL_Error": "",
    "Master_Server_Id": 101,
}
MYSQL_97 = {
    "Replica_IO_State": "Waiting for source to send event",
    "Source_Host": "m1",
    "Source_User": "repl",
    "Source_Port": 3306,
    "Connect_Retry": 1,
    "Source_Log_File": "binlog.000003",
    "Replica_IO_Running": "Yes",
    "Replica_SQL_Running": "Yes",
    "Seconds_Behind_Source": 0,
    "Last_IO_Error": "",
    "Last_SQL_Error": "",
    "Source_Server_Id": 3226732337,
    "Source_UUID": UUID,
    "Source_Info_File": "mysql.slave_master_info",
    "Retrieved_Gtid_Set": UUID + ":1-3924",
    "Executed_Gtid_Set": UUID + ":1-3924",
    "Auto_Position": 1,
    "Channel_Name": "",
    "Get_Source_public_key": 1,
    "SQL_Delay": 0,
    "Source_SSL_Allowed": "No",
    "Read_Source_Log_Pos": 1512,
    "Relay_Source_Log_File": "binlog.000003",
    "Exec_Source_Log_Pos": 1512,
}
MARIADB = {
    "Connection_name": "",
    "Slave_SQL_State": "Slave has read all relay log; waiting for more updates",
    "Slave_IO_State": "Waiting for master to send event",
    "Master_Host": "u1",
    "Master_User": "repl",
    "Master_Port": 3306,
    "Connect_Retry": 1,
    "Slave_IO_Running": "Yes",
    "Slave_SQL_Running": "Yes",
    "Seconds_Behind_Master": 0,
    "Last_IO_Error": "",
    "Last_SQL_Error": "",
    "Master_Server_Id": 1112514424,
    "Using_Gtid": "Slave_Pos",
    "Gtid_IO_Pos": "0-1112514424-5",
    "Gtid_Slave_Pos": "0-1112514424-5",
    "Master_Log_File": "mysql-bin.000001",
    "Read_Master_Log_Pos": 1102,
    "Relay_Master_Log_File": "mysql-bin.000001",
    "Exec_Master_Log_Pos": 1102,
}


@pytest.mark.parametrize(
    "row,host,number,uuid,gtid,retrieved,retry",
    [
        (MYSQL_55, "db1", 101, None, False, "", 60),
        (MYSQL_57, "db1", 101, UUID, True, UUID + ":1-5", 60),
        (dict(MYSQL_57, Auto_Position=0), "db1", 101, UUID, False, UUID + ":1-5", 60),
        (MYSQL_97, "m1", 3226732337, UUID, True, UUID + ":1-3924", 1),
        (MARIADB, "u1", 1112514424, None, True, "0-1112514424-5", 1),
        (dict(MARIADB, Using_Gtid="No", Gtid_IO_Pos=""), "u1", 1112514424, None, False, "", 1),
        (
            dict(MARIADB, Using_Gtid="Current_Pos"),
            "u1",
            1112514424,
            None,
            True,
            "0-1112514424-5",
            1,
        ),
    ],
)
def test_a_channel_has_one_shape_on_every_server(row, host, number, uuid, gtid, retrieved, retry):
    channel = channels.normalise_channel(row)
    assert (channel["source_host"], channel["source_port"], channel["source_user"]) == (
        host,
        3306,
        "repl",
    )
    assert (channel["source_server_id"], channel["source_uuid"]) == (number, uuid)
    assert (channel["gtid"], channel["retrieved"], channel["connect_retry"]) == (
        gtid,
        retrieved,
        retry,
    )
    assert channel["name"] == ""
    assert channels.running(channel)
    assert set(channel) == set(samples.captured("mysql", "replica")["channel"])


def test_the_captured_channels_have_this_shape():
    for row, engine in ((MYSQL_97, "mysql"), (MARIADB, "mariadb")):
        assert channels.normalise_channel(row) == samples.captured(engine, "replica")["channel"]


def test_a_channel_row_of_bytes_is_text():
    row = {
        key: value.encode() if isinstance(value, str) else value for key, value in MYSQL_97.items()
    }
    assert channels.normalise_channel(row) == channels.normalise_channel(MYSQL_97)


@pytest.mark.parametrize(
    "row,name",
    [
        (dict(MYSQL_97, Channel_Name="analytics"), "analytics"),
        (dict(MARIADB, Connection_name="analytics"), "analytics"),
    ],
)
def test_a_named_channel_is_not_the_default_one(row, name):
    channel = channels.normalise_channel(row)
    assert channel["name"] == name
    assert channels.default_channel([channel]) is None
    assert (
        channels.default_channel([channel, channels.normalise_channel(MYSQL_97)])["source_host"]
        == "m1"
    )


@pytest.mark.parametrize(
    "io,sql,expected",
    [
        ("Yes", "Yes", True),
        ("Connecting", "Yes", False),
        ("Preparing", "Yes", False),
        ("No", "Yes", False),
        ("Yes", "No", False),
        ("No", "No", False),
        (None, None, False),
    ],
)
def test_a_channel_runs_only_when_both_threads_do(io, sql, expected):
    assert channels.running({"io_running": io, "sql_running": sql}) is expected


@pytest.mark.parametrize(
    "row,delay,tls",
    [
        (MYSQL_55, 0, False),
        (MYSQL_97, 0, False),
        (dict(MYSQL_97, SQL_Delay=3600, Source_SSL_Allowed="Yes"), 3600, True),
        (dict(MARIADB, SQL_Delay=60, Master_SSL_Allowed="Yes"), 60, True),
    ],
)
def test_a_channel_says_its_delay_and_whether_it_is_encrypted(row, delay, tls):
    channel = channels.normalise_channel(row)
    assert (channel["delay"], channel["tls"]) == (delay, tls)


def test_no_channel_does_not_run():
    assert not channels.running(None)
    assert channels.describe_channel(None) == "no channel"


def test_a_channel_is_described_with_its_errors():
    row = dict(
        MYSQL_97,
        Replica_IO_Running="Connecting",
        Last_IO_Error="Access denied",
        Last_SQL_Error="Duplicate entry",
    )
    assert (
        channels.describe_channel(channels.normalise_channel(row))
        == "IO thread Connecting, SQL thread Yes: Access denied; Duplicate entry"
    )


HASH = "*D821809F681A40A6E379B50D0463EFAE20BDD122"


@pytest.mark.parametrize(
    "grant,privileges",
    [
        ("GRANT REPLICATION SLAVE ON *.* TO `repl`@`%`", ["REPLICATION SLAVE ON *.*"]),
        (
            "GRANT REPLICATION SLAVE ON *.* TO `repl`@`%` IDENTIFIED BY PASSWORD '" + HASH + "'",
            ["REPLICATION SLAVE ON *.*"],
        ),
        (
            "GRANT REPLICATION SLAVE ON *.* TO 'repl'@'%' IDENTIFIED BY PASSWORD '"
            + HASH
            + "' REQUIRE SSL WITH GRANT OPTION",
            ["REPLICATION SLAVE ON *.*"],
        ),
        ("GRANT USAGE ON *.* TO `repl`@`%` IDENTIFIED VIA ed25519 USING '" + HASH + "'", []),
        (
            "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO `repl`@`%`",
            ["REPLICATION SLAVE ON *.*", "REPLICATION CLIENT ON *.*"],
        ),
        (
            "GRANT SELECT, INSERT ON `shop`.* TO `repl`@`%`",
            ["SELECT ON `shop`.*", "INSERT ON `shop`.*"],
        ),
        (
            "GRANT SELECT ON `my shop`.`order lines` TO `repl`@`%`",
            ["SELECT ON `my shop`.`order lines`"],
        ),
        (
            "GRANT SELECT (`a`, `b`), UPDATE (`c`) ON `shop`.`t` TO `repl`@`%`",
            ["SELECT (`a`, `b`) ON `shop`.`t`", "UPDATE (`c`) ON `shop`.`t`"],
        ),
        (
            "GRANT ALL PRIVILEGES ON *.* TO 'root'@'localhost' IDENTIFIED BY PASSWORD '"
            + HASH
            + "' WITH GRANT OPTION",
            ["ALL PRIVILEGES ON *.*"],
        ),
        ("GRANT `reader`@`%` TO `repl`@`%`", []),
        ("GRANT PROXY ON ''@'%' TO 'root'@'localhost' WITH GRANT OPTION", ["PROXY ON ''@'%'"]),
        ("SET PASSWORD FOR 'repl'@'%' = '" + HASH + "'", []),
        ("", []),
    ],
)
def test_a_grant_is_its_privileges_and_never_a_hash(grant, privileges):
    found = connection.parse_grant(grant)
    assert found == privileges
    assert HASH not in repr(found)


class Cursor:
    """Answers of the captured pair's servers to the statements of Server, by the statement's
    beginning.
    """

    def __init__(self, answers):
        self.answers, self.asked = answers, []

    def execute(self, statement, arguments=None):
        self.asked.append(statement)
        self.rows = next(rows for start, rows in self.answers if statement.startswith(start))

    def fetchall(self):
        return self.rows


@pytest.mark.parametrize(
    "ssl_type,needs_ssl", [("", False), (b"", False), (None, False), ("ANY", True), (b"X509", True)]
)
def test_accounts_carry_neither_hash_nor_accounts_of_people(ssl_type, needs_ssl):
    cursor = Cursor(
        [
            ("SELECT User", [{"user": b"repl", "host": b"%", "ssl_type": ssl_type}]),
            (
                "SHOW GRANTS",
                [
                    {
                        "Grants for repl@%": (
                            "GRANT REPLICATION SLAVE ON *.* TO `repl`@`%` IDENTIFIED BY PASSWORD '"
                            + HASH
                            + "'"
                        )
                    }
                ],
            ),
        ]
    )
    assert connection.Server(cursor).accounts() == [
        {
            "user": "repl",
            "host": "%",
            "privileges": ["REPLICATION SLAVE ON *.*"],
            "needs_ssl": needs_ssl,
        }
    ]
    assert "Repl_slave_priv = 'Y' AND Super_priv = 'N'" in cursor.asked[0]


def test_the_servers_own_schemas_are_left_out():
    found = (
        "information_schema",
        "mysql",
        "performance_schema",
        "sys",
        "shop",
        "Important",
        "#mysql50#lost+found",
        "#mysql50#dbre-semisync-seed",
    )
    rows = [{"Database": name} for name in found]
    assert connection.Server(Cursor([("SHOW DATABASES", rows)])).schemas() == ["Important", "shop"]


def test_an_event_comes_with_what_changing_it_has_to_keep():
    row = {
        "schema": "app",
        "name": b"nightly",
        "definer": "app@%",
        "status": "ENABLED",
        "sql_mode": "",
        "time_zone": "SYSTEM",
    }
    server = connection.Server(Cursor([("SELECT EVENT_SCHEMA", [row])]))
    assert server.events() == [{**row, "name": "nightly"}]


ROOT = "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION"
DBA = "GRANT SELECT, INSERT, EVENT ON *.* TO `dba`@`%`"


@pytest.mark.parametrize(
    "grants,empty",
    [
        ([ROOT], ["test"]),
        ([DBA, "GRANT BACKUP_ADMIN ON *.* TO `dba`@`%`"], ["test"]),
        # Who may not see what is in a schema does not know that there is nothing.
        ([DBA.replace(", EVENT", "")], []),
        ([DBA.replace("*.*", "`shop`.*")], []),
        ([DBA, "REVOKE SELECT ON `test`.* FROM `dba`@`%`"], []),
    ],
)
def test_a_schema_is_empty_where_its_contents_could_be_seen(grants, empty):
    names_of = ("Shop", "routine", "event", "test", "mysql")
    cursor = Cursor(
        [
            ("SHOW DATABASES", [{"Database": name} for name in names_of]),
            ("SELECT DISTINCT TABLE_SCHEMA", [{"name": b"shop"}, {"name": "mysql"}]),
            ("SELECT DISTINCT ROUTINE_SCHEMA", [{"name": "routine"}]),
            ("SELECT DISTINCT EVENT_SCHEMA", [{"name": "event"}]),
            ("SHOW GRANTS", [{"Grants": grant} for grant in grants]),
        ]
    )
    assert connection.Server(cursor).empty_schemas() == empty


def test_variables_are_found_whatever_the_case_of_their_names():
    server = connection.Server(
        Cursor([("SHOW", [{"Variable_name": "Rpl_semi_sync_source_status", "Value": "ON"}])])
    )
    assert server.semisync_status() == {"rpl_semi_sync_source_status": "ON"}
    table = names.Names("mysql", (9, 7, 4)).statuses("source")
    found = read.by_key(table, server.semisync_status())
    assert (
        found["status"] == "ON"
        and found["clients"] is None
        and set(found) == set(names.SOURCE_STATUSES)
    )


def test_a_wait_that_is_met_lacks_nothing():
    source, replica = samples.captured("mysql", "source"), samples.captured("mysql", "replica")
    assert (
        state_wait.unmet(
            {
                "answering": True,
                "channel": False,
                "clients": 1,
                "source_status": True,
                "replica_status": False,
            },
            source,
        )
        == []
    )
    assert (
        state_wait.unmet(
            {
                "answering": True,
                "channel": True,
                "max_lag": 0,
                "clients": None,
                "source_status": False,
                "replica_status": True,
            },
            replica,
        )
        == []
    )


@pytest.mark.parametrize(
    "wanted,role,change,words",
    [
        ({"channel": True}, "source", {}, "the replication channel does not run: no channel"),
        (
            {"channel": True},
            "replica",
            {"channel": {"io_running": "Connecting", "last_io_error": "Access denied"}},
            "does not run: IO thread Connecting, SQL thread Yes: Access denied",
        ),
        ({"clients": 2}, "source", {}, "1 semi-sync replicas are connected, 2 are wanted"),
        ({"clients": 1}, "replica", {}, "0 semi-sync replicas are connected, 1 are wanted"),
        ({"source_status": True}, "source", {"source": "OFF"}, "status on the source is OFF"),
        ({"source_status": True}, "replica", {}, "status on the source is OFF"),
        ({"replica_status": True}, "replica", {"replica": "OFF"}, "status on the replica is OFF"),
        ({"max_lag": 0}, "source", {}, "its lag is unknown, at most 0 s are wanted"),
        (
            {"max_lag": 2},
            "replica",
            {"channel": {"seconds_behind": 3}},
            "its lag is 3 s, at most 2",
        ),
        ({"max_lag": 2}, "replica", {"channel": {"seconds_behind": None}}, "its lag is unknown"),
    ],
)
def test_a_wait_says_what_it_still_lacks(wanted, role, change, words):
    info = copy.deepcopy(samples.captured("mysql", role))
    for side in ("source", "replica"):
        if side in change:
            info["semisync"][side]["status"]["status"] = change[side]
    info["channel"] = (
        dict(info["channel"], **change["channel"]) if "channel" in change else info["channel"]
    )
    lacking = state_wait.unmet(wanted, info)
    assert len(lacking) == 1 and words in lacking[0]


@pytest.mark.parametrize(
    "user,by_tls,lacking",
    [("repl", True, 0), ("repl", None, 0), ("other", False, 0), ("repl", False, 1)],
)
def test_a_session_without_tls_is_seen_where_the_server_tells(user, by_tls, lacking):
    info = dict(
        samples.captured("mysql", "source"), readers=[{"user": user, "host": "db2", "tls": by_tls}]
    )
    found = state_wait.unmet({"tls_only": "repl"}, info)
    assert len(found) == lacking and all(
        "as repl without TLS, from db2" in words for words in found
    )


def test_everything_lacking_is_said_at_once():
    assert (
        len(
            state_wait.unmet(
                {"channel": True, "clients": 1, "source_status": True, "replica_status": True},
                samples.server("mysql"),
            )
        )
        == 4
    )


def answers(engine, role):
    """What the captured server answers to each statement of state.read()."""
    info = samples.captured(engine, role)
    variables = {name: value for name, value in info["variables"].items() if value is not None}
    variables.update(
        info["gtid"], version=info["version_full"], version_comment=info["version_comment"]
    )
    status = {}
    for side in ("source", "replica"):
        for table, values, found in (
            ("variables", variables, info["semisync"][side]["variables"]),
            ("statuses", status, info["semisync"][side]["status"]),
        ):
            values.update(
                (info["names"][side][table][key], value)
                for key, value in found.items()
                if value is not None
            )
    channel = {"mysql": MYSQL_97, "mariadb": MARIADB}[engine]
    return info, [
        (
            "SELECT @@version",
            [{"version": info["version_full"], "comment": info["version_comment"]}],
        ),
        (
            "SELECT PLUGIN_NAME",
            [{"name": name, "status": value} for name, value in info["plugins"].items()],
        ),
        (
            "SELECT name, dl",
            [{"name": name, "dl": value} for name, value in info["plugins_registered"].items()],
        ),
        (
            "SHOW GLOBAL VARIABLES",
            [
                dict(zip(("Variable_name", "Value"), item, strict=False))
                for item in variables.items()
            ],
        ),
        (
            "SHOW GLOBAL STATUS LIKE 'Ssl",
            [{"Variable_name": "Ssl_server_not_after", "Value": "2036" * info["tls"]["on"]}],
        ),
        ("SHOW PROCESSLIST", ()),
        ("SELECT NAME", ()),
        ("SHOW REPLICAS" if engine == "mysql" else "SHOW SLAVE HOSTS", ()),
        (
            "SHOW GLOBAL STATUS LIKE 'Uptime",
            [
                dict(zip(("Variable_name", "Value"), item, strict=False))
                for item in (
                    ("Uptime", str(info["uptime"]["seconds"])),
                    ("Uptime_since_flush_status", str(info["uptime"]["since_reset"])),
                )
            ],
        ),
        (
            "SHOW GLOBAL STATUS",
            [dict(zip(("Variable_name", "Value"), item, strict=False)) for item in status.items()],
        ),
        (
            "SHOW REPLICA STATUS" if engine == "mysql" else "SHOW ALL SLAVES STATUS",
            [channel] if role == "replica" else (),
        ),
        ("SELECT VARIABLE_NAME", ()),
        ("SELECT User", [{"user": "repl", "host": "%", "ssl_type": ""}]),
        ("SELECT DISTINCT TABLE_SCHEMA", [{"name": name} for name in ("important", "mysql")]),
        ("SELECT DISTINCT", ()),
        (
            "SHOW GRANTS FOR",
            [{"Grants for repl@%": "GRANT REPLICATION SLAVE ON *.* TO `repl`@`%`"}],
        ),
        ("SHOW GRANTS", [{"Grants": "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost`"}]),
        ("SELECT EVENT_SCHEMA", ()),
        ("SHOW DATABASES", [{"Database": name} for name in ("important", "mysql", "sys")]),
        ("SELECT UNIX_TIMESTAMP", [{"now": info["clock"], "id": 7}]),
    ]


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
@pytest.mark.parametrize("role", ["source", "replica"])
def test_a_server_is_read_into_the_shape_that_everything_else_takes(engine, role):
    info, replies = answers(engine, role)
    cursor = Cursor(replies)
    found = read.server_state(connection.Server(cursor))
    new = {"connection_id", "applier_ids", "registered"}
    assert {key: found[key] for key in found if key not in new} == {
        key: info[key] for key in found if key not in new
    }
    assert found["connection_id"] == 7
    assert set(info) - set(found) == {  # of its host
        "answer",
        "certificates",
        "option_files",
        "pid",
        "program",
        "seed",
        "tools",
        "unit",
    }
    assert ("SELECT VARIABLE_NAME" in "".join(cursor.asked)) is (engine == "mysql")


@pytest.mark.parametrize(
    "status,variables,on",
    [
        ([{"n": "Ssl_server_not_after", "v": "Nov 18 2036"}], {}, True),
        ([{"n": "Ssl_server_not_after", "v": ""}], {}, False),
        ([], {"have_ssl": "YES"}, True),
        ([], {}, False),
        ([], {"have_ssl": "DISABLED"}, False),
        ([{"n": "Ssl_server_not_after", "v": ""}], {"have_ssl": "YES"}, True),
    ],
)
def test_a_server_has_tls_when_it_has_a_certificate(status, variables, on):
    assert connection.Server(Cursor([("SHOW GLOBAL STATUS", status)])).tls(variables) == {"on": on}


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_the_names_in_a_result_are_those_of_the_table(engine):
    info = samples.captured(engine, "source")
    table = names.Names(info["engine"], samples.parsed(info), info["plugins"])
    assert read.names_in_use(table) == info["names"]
