"""What clients wrote on one server, salvaged from its binary log when it is dead and carried out on
another: both have the same, or salvage refuses. Never a difference.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
import time
from typing import Any

import pymysql
import pytest

from support import written
from support.acknowledged import RELEASES
from support.dying import forbid_restart, kill
from support.live_hosts import PROJECT, hosts
from support.plain_servers import Server

# Some 3,000 statements a server, one at a time.
pytestmark = pytest.mark.long

SEED, VISITS, AT_LEAST = 20261125, 330, 2000
LOG = "log_bin = /var/lib/mysql/round\nsync_binlog = 0\ninnodb_flush_log_at_trx_commit = 2\n"
OPTIONS = {
    "mysql": "bind_address = *\ngtid_mode = ON\nenforce_gtid_consistency = ON\n"
    "binlog_rows_query_log_events = ON\nevent_scheduler = OFF\n"
    "log_bin_trust_function_creators = 1\n",
    "mariadb": "bind_address = *\ngtid_strict_mode = ON\nlog_bin_trust_function_creators = 1\n"
    "event_scheduler = OFF\nlog_bin_compress_min_len = 10\n",
}
FILES = {
    "mysql": "/etc/mysql/mysql.conf.d/zz-round.cnf",
    "mariadb": "/etc/mysql/mariadb.conf.d/zz-round.cnf",
}
SCRIPT = PROJECT / "tests" / "support" / "carried.py"
INNER = "ansible_collections/dbre/semisync/"
OWN = ("mysql", "sys", "information_schema", "performance_schema")
SOCKET = "/run/mysqld/mysqld.sock"
# Each with and without compression; a format without rows has no images.
WAYS = [
    ("ROW", "FULL"),
    ("ROW", "MINIMAL"),
    ("ROW", "NOBLOB"),
    ("STATEMENT", ""),
    ("MIXED", "FULL"),
]


class Pair:
    """A server that is written to, and one that gets what it wrote."""

    def __init__(self, made):
        self.source, self.target = made
        self.engine = self.source.server
        self.compress = (
            "SET SESSION binlog_transaction_compression = %d"
            if self.engine == "mysql"
            else "SET GLOBAL log_bin_compress = %d"
        )
        words = {"file": FILES[self.engine], "options": OPTIONS[self.engine] + LOG}
        self.servers = [Server(host, number, "", words) for number, host in enumerate(made, 1)]
        for server in self.servers:
            server.configure()
        forbid_restart(self.source)
        self.place()
        reset = "RESET BINARY LOGS AND GTIDS" if self.engine == "mysql" else "RESET MASTER"
        for server in self.servers:
            server.sql(reset)
        self.ran = self.refused = 0
        self.why = []

    def place(self):
        """Put our code on both hosts."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for path in sorted((PROJECT / "plugins" / "module_utils").rglob("*.py")):
                archive.add(path, INNER + str(path.relative_to(PROJECT)))
            archive.add(SCRIPT, "carried.py")
        for host in (self.source, self.target):
            self.put(host, packed.getvalue(), "mkdir -p /root/ours && tar x -C /root/ours")

    @staticmethod
    def put(host, content, command):
        import subprocess

        words = ["docker", "exec", "-i", host.name, "sh", "-c", command]
        subprocess.run(words, input=content, check=True, capture_output=True)

    def connect(self, server):
        # Bytes go to the server as they are.
        return pymysql.connect(**server.login, charset="utf8mb4")

    def write(self, visits, ahead=()):
        """Let one client after the other do what it wants; what is refused is none of the log."""
        for visit in visits:
            connection = self.connect(self.servers[0])
            with connection.cursor() as cursor:
                for statement in [*ahead, *visit]:
                    if self.engine == "mysql" and written.is_rewritten(visit, statement):
                        # That is refused: see below.
                        continue
                    try:
                        cursor.execute(statement)
                        self.ran += statement not in ahead
                    except pymysql.MySQLError as error:
                        self.refused += 1
                        self.why.append((error.args[0], statement[:60]))
                        assert statement not in ahead, statement
            connection.close()

    def salvage(self, first=""):
        """What is read of the source, which is dead then."""
        kill(self.source)
        self.source.shell("timeout 60 sh -c 'while pidof mysqld mariadbd; do sleep 0.2; done'")
        given = {
            "engine": self.engine,
            "received": "",
            "files": {
                "basename": "/var/lib/mysql/round",
                "datadir": "/var/lib/mysql/",
                "pid_file": "mysqld.pid",
                "program": "/usr/sbin/mariadbd" if self.engine == "mariadb" else "/usr/sbin/mysqld",
                "basedir": "",
                "first": first,
            },
        }
        self.put(self.source, json.dumps(given).encode(), "cat > /root/given")
        self.source.shell("python3 /root/ours/carried.py read /root/ours /root/given /root/read")
        seen = json.loads(self.source.shell("cat /root/read").stdout)
        self.payload = json.dumps(seen).encode()
        return seen

    def carry_out(self):
        self.put(self.target, self.payload, "cat > /root/read")
        command = f"python3 /root/ours/carried.py write /root/ours {SOCKET} /root/read"
        return int(self.target.shell(command).stdout)

    def state(self, server):
        """All that a client can see of a server: everything by its name."""
        state: dict[Any, Any] = {}
        with pymysql.connect(**server.login, charset="utf8mb4").cursor() as cursor:

            def rows(statement):
                cursor.execute(statement)
                return list(cursor.fetchall())

            rows("SET SESSION sql_mode = ''")
            rows("SET SESSION time_zone = '+00:00'")
            for (schema,) in rows("SHOW DATABASES"):
                if schema in OWN:
                    continue
                quoted = written.name(schema)
                state["schema", schema] = rows(f"SHOW CREATE DATABASE {quoted}")
                for table, kind in rows(f"SHOW FULL TABLES FROM {quoted}"):
                    full = f"{quoted}.{written.name(table)}"
                    made = rows(f"SHOW CREATE TABLE {full}")[0][1]
                    # What was rolled back has moved it, and is in no log.
                    made = re.sub(r" AUTO_INCREMENT=\d+", "", made)
                    state["table", schema, table] = made
                    if kind == "BASE TABLE":
                        names = [one[0] for one in rows(f"SHOW COLUMNS FROM {full}")]
                        every = ", ".join(f"HEX(CONCAT('', {written.name(one)}))" for one in names)
                        state["rows", schema, table] = sorted(
                            map(repr, rows(f"SELECT {every} FROM {full}"))
                        )
                        # Of what is stored; a JSON value may be stored in several ways.
                        if "j" not in names:
                            state["sum", schema, table] = rows(f"CHECKSUM TABLE {full} EXTENDED")
            for table, unseen in (
                ("ROUTINES", ("CREATED", "LAST_ALTERED")),
                ("TRIGGERS", ("CREATED",)),
                ("EVENTS", ("CREATED", "LAST_ALTERED", "STARTS", "ORIGINATOR")),
                ("VIEWS", ()),
            ):
                rows(f"SELECT * FROM information_schema.{table} LIMIT 0")
                columns = [one[0] for one in cursor.description if one[0] not in unseen]
                what = f"{', '.join(columns)} FROM information_schema.{table}"
                key = "_SCHEMA NOT IN ('" + "', '".join(OWN) + "')"
                key = {"ROUTINES": "ROUTINE", "VIEWS": "TABLE"}.get(table, table[:-1]) + key
                state[table] = sorted(
                    map(
                        repr,
                        rows(f"SELECT {what} WHERE {key}"),
                    )
                )
            for user, host in rows("SELECT User, Host FROM mysql.user"):
                if host == "%" and user != "tester":
                    account = f"{written.name(user)}@{written.name(host)}"
                    state["account", user, host] = sorted(rows(f"SHOW GRANTS FOR {account}"))
            which = "gtid_executed" if self.engine == "mysql" else "gtid_binlog_state"
            state["gtids"] = rows(f"SELECT @@GLOBAL.{which}")
        return state

    def start(self):
        """Let the source's server come back."""
        self.source.shell(f"systemctl start {self.engine}")
        self.source.wait()
        self.servers[0].connection = self.servers[0].connect()


@pytest.fixture(scope="module", params=["mysql", "mariadb"], name="pair")
def fixture_pair(request):
    wanted = ((name, request.param, RELEASES[request.param]) for name in ("source", "target"))
    for made in hosts(*wanted, turn="live-salvage-round-trip"):
        yield Pair(made)


def test_all_that_was_written_is_the_same_on_the_other_server(pair):
    print(f"seed {SEED}")
    pair.write([["CREATE DATABASE app", "USE app", *written.TABLES]])
    pair.write([["CREATE USER m@'%'", "GRANT ALL ON app.* TO m@'%'"]])
    assert not pair.refused, pair.why
    begin = time.monotonic()
    visits = written.by_hypothesis(SEED, VISITS)
    ways = [(way, compress) for way in WAYS for compress in (0, 1)]
    share = len(visits) // len(ways)
    for number, ((form, image), compress) in enumerate(ways):
        ahead = [f"SET SESSION binlog_format = {form}", pair.compress % compress]
        ahead += [f"SET SESSION binlog_row_image = {image}"] if image else []
        refused = pair.refused
        by_hand = [*(written.DROPPED if number else []), *written.BY_HAND]
        if pair.engine == "mariadb" and form == "ROW":
            # That is refused: see below.
            by_hand = [
                "CREATE TABLE copied LIKE note" if " copied AS " in one else one for one in by_hand
            ]
        pair.write([by_hand], ahead)
        assert pair.refused == refused, pair.why[refused:]
        pair.write(visits[number * share : (number + 1) * share], ahead)
        pair.servers[0].sql("FLUSH BINARY LOGS")
    print(
        f"{pair.ran} statements ran, {pair.refused} were refused, {time.monotonic() - begin:.0f} s"
    )
    assert pair.ran >= AT_LEAST
    before = pair.state(pair.servers[0])
    seen = pair.salvage()
    assert seen["case"] == "", seen["words"]
    assert pair.carry_out() == seen["count"]
    after = pair.state(pair.servers[1])
    different = [key for key in {*before, *after} if before.get(key) != after.get(key)]
    for key in different[:5]:
        print(key, before.get(key), after.get(key), sep="\n  ")
    assert not different
    pair.start()


REFUSED = {
    "temporary": (
        ["SET SESSION binlog_format = STATEMENT", "CREATE TEMPORARY TABLE app.tmp (id INT)"],
        "temporary tables",
    ),
    "xa": (
        ["XA START 'x'", "INSERT INTO app.note (id) VALUES (900)", "XA END 'x'", "XA PREPARE 'x'"],
        "XA",
    ),
    "who": (["ALTER EVENT app.ev COMMENT 'other'"], "depends on its user"),
}

LETTERS = (
    [b"SET NAMES latin1", b"USE app", b"CREATE VIEW `v\xe9` AS SELECT 1"],
    "does not use UTF-8",
)
FILLED = (["SET binlog_format = ROW", "CREATE TABLE app.filled AS SELECT 1 AS a"], "filled it")


@pytest.mark.parametrize("what", [*sorted(REFUSED), "filled", "letters"])
def test_what_would_not_be_the_same_is_refused_before_anything_is_carried_out(pair, what):
    cases: dict[str, Any] = {**REFUSED, "filled": FILLED, "letters": LETTERS}
    statements, words = cases[what]
    if (what, pair.engine) in (("filled", "mysql"), ("letters", "mariadb")):
        pytest.skip("this server logs it so that it can be carried out again")
    pair.servers[0].sql("FLUSH BINARY LOGS")
    if what == "xa" and pair.engine == "mariadb":
        statements = [*statements, "XA COMMIT 'x'"]
    refused = pair.refused
    pair.write([[]], statements)
    assert pair.refused == refused
    (name, *_rest) = pair.servers[0].sql(
        "SHOW BINARY LOG STATUS" if pair.engine == "mysql" else "SHOW MASTER STATUS"
    )[0]
    seen = pair.salvage(name)
    pair.start()
    if what == "xa" and pair.engine == "mysql":
        pair.servers[0].sql("XA ROLLBACK 'x'")
    assert (seen["case"], "payload" in seen) == ("not_understood", False), seen
    assert words in seen["words"]
