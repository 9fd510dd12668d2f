"""Servers that replicate without the collection: statements and counters alone, as the servers'
own test suites have them.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import pymysql

from support.eventually import eventually
from support.live_hosts import Host, run

PASSWORD = "behave"
# Milliseconds a commit waits; long enough to be told from any other delay on a busy machine.
TIMEOUT_MS = 1500
IMMEDIATE_SECONDS = 0.8
SERVERS: dict[str, dict[str, Any]] = {
    "mysql": {
        "release": "",
        "file": "/etc/mysql/mysql.conf.d/zz-behaviours.cnf",
        "options": "bind_address = *\ngtid_mode = ON\nenforce_gtid_consistency = ON\n",
        "source": "rpl_semi_sync_source",
        "replica": "rpl_semi_sync_replica",
        "wait_no": "wait_no_replica",
        "wait_count": "wait_for_replica_count",
        "process": "mysqld",
        "notices_late": False,
        "thread": "REPLICA",
        "status": "SHOW REPLICA STATUS",
        "plugins": {
            "source": ("rpl_semi_sync_source", "semisync_source.so"),
            "replica": ("rpl_semi_sync_replica", "semisync_replica.so"),
        },
        "follow": (
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '%s', SOURCE_USER = 'repl', SOURCE_PASSWORD"
            " = 'repl', SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1,"
            " SOURCE_CONNECT_RETRY = 1"
        ),
    },
    "mariadb": {
        "release": "12",
        "file": "/etc/mysql/mariadb.conf.d/zz-behaviours.cnf",
        "options": "bind_address = *\nlog_bin = mysql-bin\n",
        "source": "rpl_semi_sync_master",
        "replica": "rpl_semi_sync_slave",
        "wait_no": "wait_no_slave",
        "wait_count": "wait_for_slave_count",
        "process": "mariadbd",
        "notices_late": False,
        "thread": "SLAVE",
        "status": "SHOW SLAVE STATUS",
        "plugins": {},
        "follow": (
            "CHANGE MASTER TO MASTER_HOST = '%s', MASTER_USER = 'repl', MASTER_PASSWORD = 'repl',"
            " MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1"
        ),
    },
}
# MySQL whose plugins have the older names, from a tarball: by file and position, which 5.5 has too.
# It listens everywhere unless told otherwise, and 5.5 knows no asterisk.
OLD: dict[str, Any] = {
    "release": None,
    "file": "/etc/my.cnf",
    "options": "log_bin = mysql-bin\n",
    "source": "rpl_semi_sync_master",
    "replica": "rpl_semi_sync_slave",
    "wait_no": "wait_no_slave",
    "wait_count": "wait_for_slave_count",
    "process": "mysqld",
    "notices_late": True,
    "thread": "SLAVE",
    "status": "SHOW SLAVE STATUS",
    "plugins": {
        "source": ("rpl_semi_sync_master", "semisync_master.so"),
        "replica": ("rpl_semi_sync_slave", "semisync_slave.so"),
    },
    "follow": (
        "CHANGE MASTER TO MASTER_HOST = '%s', MASTER_USER = 'repl', MASTER_PASSWORD = 'repl',"
        " MASTER_LOG_FILE = 'mysql-bin.000001', MASTER_LOG_POS = 4, MASTER_CONNECT_RETRY = 1"
    ),
}
# From 8.0.26 to 9.4 MySQL has both generations of plugins, of which one can be loaded.
FIRST_WITH_NEW_NAMES, FIRST_WITHOUT_OLD_NAMES = (8, 0, 26), (9, 5, 0)
GENERATIONS = ("old", "new")


def of_tarball(version: tuple[int, ...], generation: str) -> dict[str, Any] | None:
    """What a MySQL from a tarball calls things, with that generation's plugins; None if it has
    none of it.
    """
    if version < FIRST_WITH_NEW_NAMES:
        return OLD if generation == "old" else None
    # 8.0.45 and 8.4.3 notice at the second write, 9.7 at the first.
    late = version < (9,)
    newer = {**SERVERS["mysql"], "release": None, "file": OLD["file"], "notices_late": late}
    if generation == "new":
        return newer
    names = ("source", "replica", "wait_no", "wait_count", "plugins")
    older = {**newer, **{name: OLD[name] for name in names}}
    return older if version < FIRST_WITHOUT_OLD_NAMES else None


class Server:
    """One server, asked through a connection from outside its host."""

    def __init__(self, host: Host, number: int, role: str, words: dict[str, Any]) -> None:
        self.host, self.number, self.role, self.words = host, number, role, words
        self.connection: Any = None

    def configure(self) -> None:
        """Give the server its options and an account, and connect to it."""
        text = f"[mysqld]\nserver_id = {self.number}\nsync_binlog = 1\n{self.words['options']}"
        self.host.shell(
            f"cat >> {self.words['file']} && systemctl restart {self.host.server}",
            input=text,
        )
        self.host.wait()
        self.host.sql(
            f"SET SESSION sql_log_bin = 0; CREATE USER tester@'%' IDENTIFIED BY '{PASSWORD}';"
            "GRANT ALL ON *.* TO tester@'%' WITH GRANT OPTION"
        )
        address = run(
            "docker",
            "inspect",
            "--format",
            "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}",
            self.host.name,
        ).stdout.strip()
        self.login = {
            "host": address,
            "user": "tester",
            "password": PASSWORD,
            "autocommit": True,
            "connect_timeout": 10,
        }
        self.connection = pymysql.connect(**self.login)

    def connect(self) -> Any:
        """One more connection."""
        return pymysql.connect(**self.login)

    def sql(self, *statements: str, connection: Any = None) -> Any:
        """Run statements; the rows of the last one."""
        with (connection or self.connection).cursor() as cursor:
            for statement in statements:
                cursor.execute(statement.format(**self.words))
            return cursor.fetchall()

    def set(self, name: str, value: object, side: str | None = None) -> None:
        """Set one of semi-sync's variables."""
        self.sql(f"SET GLOBAL {self.words[side or self.role]}_{name} = {value}")

    def has(self, name: str) -> bool:
        """Whether this server has one of semi-sync's variables."""
        return bool(self.sql(f"SHOW GLOBAL VARIABLES LIKE '{self.words[self.role]}_{name}'"))

    def install(self) -> None:
        """Install semi-sync's plugin, where it is one."""
        if self.words["plugins"]:
            name, library = self.words["plugins"][self.role]
            self.sql(f"INSTALL PLUGIN {name} SONAME '{library}'")

    def status(self, name: str) -> str:
        """One of semi-sync's statuses of this server's role, as text."""
        return self.sql(f"SHOW GLOBAL STATUS LIKE '{self.words[self.role]}_{name}'")[0][1]

    def counters(self) -> dict[str, int]:
        """How many commits were acknowledged, and how many were not."""
        return {name: int(self.status(name)) for name in ("yes_tx", "no_tx")}

    def running(self) -> bool:
        """Whether the IO thread runs."""
        with self.connection.cursor(pymysql.cursors.DictCursor) as cursor:
            cursor.execute(self.words["status"])
            row = cursor.fetchone() or {}
        return [value for key, value in row.items() if key.endswith("_IO_Running")] == ["Yes"]


class Source(Server):
    """The server that is written to."""

    def write(self) -> tuple[float, dict[str, int]]:
        """(seconds, {'yes_tx', 'no_tx': rise}) of one insert."""
        before, begin = self.counters(), time.monotonic()
        self.sql("INSERT INTO behave.rows (details) VALUES ('x')")
        seconds, after = time.monotonic() - begin, self.counters()
        return seconds, {name: after[name] - before[name] for name in before}

    def write_meanwhile(self) -> tuple[threading.Thread, list[float]]:
        """Start an insert that waits; (thread, list that gets its seconds)."""
        took: list[float] = []
        connection = self.connect()

        def work() -> None:
            begin = time.monotonic()
            self.sql("INSERT INTO behave.rows (details) VALUES ('x')", connection=connection)
            took.append(time.monotonic() - begin)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread, took

    def on(self) -> None:
        """Switch semi-sync on."""
        self.set("enabled", "ON")

    def clients(self, number: int) -> None:
        """Wait until so many semi-sync replicas are connected."""
        eventually(lambda: self.status("clients") == str(number), f"{number} client(s)")


class Replica(Server):
    """A server that follows the source."""

    def io(self, verb: str) -> None:
        """Start or stop the IO thread."""
        self.sql(verb + " {thread} IO_THREAD")
        if verb == "START":
            eventually(self.running, f"the IO thread of {self.host.name} runs")

    def on(self) -> None:
        """Switch semi-sync on."""
        self.set("enabled", "ON")
        self.io("STOP")
        self.io("START")

    def off(self) -> None:
        """Switch semi-sync off."""
        self.set("enabled", "OFF")
        self.io("STOP")
        self.io("START")
