"""A source and two replicas without the collection: statements and counters alone, as the servers' own test suites have them."""

import pathlib
import sys
import threading
import time

import pymysql
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "live"))

import only  # noqa: E402
from live_hosts import hosts, run  # noqa: E402

pytest_collection_modifyitems = only.deselect

PASSWORD = "behave"
# Milliseconds a commit waits; long enough to be told from any other delay on a busy machine.
TIMEOUT_MS = 1500
IMMEDIATE_SECONDS = 0.8
SERVERS = {
    "mysql": {
        "release": "", "folder": "/etc/mysql/mysql.conf.d", "options": "gtid_mode = ON\nenforce_gtid_consistency = ON\n",
        "source": "rpl_semi_sync_source", "replica": "rpl_semi_sync_replica", "wait_no": "wait_no_replica",
        "thread": "REPLICA", "status": "SHOW REPLICA STATUS", "plugins": True,
        "follow": "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '%s', SOURCE_USER = 'repl', SOURCE_PASSWORD = 'repl',"
                  " SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1",
    },
    "mariadb": {
        "release": "12", "folder": "/etc/mysql/mariadb.conf.d", "options": "log_bin = mysql-bin\n",
        "source": "rpl_semi_sync_master", "replica": "rpl_semi_sync_slave", "wait_no": "wait_no_slave",
        "thread": "SLAVE", "status": "SHOW SLAVE STATUS", "plugins": False,
        "follow": "CHANGE MASTER TO MASTER_HOST = '%s', MASTER_USER = 'repl', MASTER_PASSWORD = 'repl',"
                  " MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1",
    },
}


def eventually(condition, what, seconds=40):
    """Wait for a condition, with a bound."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)


class Server:
    """One server, asked through a connection from outside its host."""

    def __init__(self, host, number, role, words):
        self.host, self.number, self.role, self.words = host, number, role, words
        self.connection = None

    def configure(self):
        text = f"[mysqld]\nserver_id = {self.number}\nbind_address = *\nsync_binlog = 1\n{self.words['options']}"
        self.host.shell(f"cat > {self.words['folder']}/zz-behaviours.cnf && systemctl restart {self.host.server}", input=text)
        self.host.wait()
        self.host.sql(f"SET SESSION sql_log_bin = 0; CREATE USER tester@'%' IDENTIFIED BY '{PASSWORD}';"
                      "GRANT ALL ON *.* TO tester@'%' WITH GRANT OPTION")
        address = run("docker", "inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}",
                      self.host.name).stdout.strip()
        self.login = dict(host=address, user="tester", password=PASSWORD, autocommit=True, connect_timeout=10)
        self.connection = pymysql.connect(**self.login)

    def connect(self):
        return pymysql.connect(**self.login)

    def sql(self, *statements, connection=None):
        """Run statements; the rows of the last one."""
        with (connection or self.connection).cursor() as cursor:
            for statement in statements:
                cursor.execute(statement.format(**self.words))
            return cursor.fetchall()

    def set(self, name, value, side=None):
        self.sql(f"SET GLOBAL {self.words[side or self.role]}_{name} = {value}")

    def status(self, name):
        """One of semi-sync's statuses of this server's role, as text."""
        return self.sql(f"SHOW GLOBAL STATUS LIKE '{self.words[self.role]}_{name}'")[0][1]

    def counters(self):
        return {name: int(self.status(name)) for name in ("yes_tx", "no_tx")}

    def running(self):
        with self.connection.cursor(pymysql.cursors.DictCursor) as cursor:
            cursor.execute(self.words["status"])
            row = cursor.fetchone() or {}
        return [value for key, value in row.items() if key.endswith("_IO_Running")] == ["Yes"]


class Source(Server):
    """The server that is written to."""

    def write(self):
        """(seconds, {'yes_tx', 'no_tx': rise}) of one insert."""
        before, begin = self.counters(), time.monotonic()
        self.sql("INSERT INTO behave.rows (details) VALUES ('x')")
        seconds, after = time.monotonic() - begin, self.counters()
        return seconds, {name: after[name] - before[name] for name in before}

    def write_meanwhile(self):
        """Start an insert that waits; (thread, list that gets its seconds)."""
        took, connection = [], self.connect()

        def work():
            begin = time.monotonic()
            self.sql("INSERT INTO behave.rows (details) VALUES ('x')", connection=connection)
            took.append(time.monotonic() - begin)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread, took

    def on(self):
        self.set("enabled", "ON")

    def clients(self, number):
        eventually(lambda: self.status("clients") == str(number), f"{number} client(s)")


class Replica(Server):
    """A server that follows the source."""

    def io(self, verb):
        self.sql(verb + " {thread} IO_THREAD")
        if verb == "START":
            eventually(self.running, f"the IO thread of {self.host.name} runs")

    def on(self):
        self.set("enabled", "ON")
        self.io("STOP")
        self.io("START")

    def off(self):
        self.set("enabled", "OFF")
        self.io("STOP")
        self.io("START")


@pytest.fixture(scope="module", params=list(SERVERS))
def cluster(request):
    """(source, its two replicas), replicating asynchronously; semi-sync's plugins are installed."""
    words = SERVERS[request.param]
    wanted = [(name, request.param, words["release"]) for name in ("source", "replica", "replica2")]
    for machines in hosts(*wanted, turn="behaviours"):
        source = Source(machines[0], 1, "source", words)
        replicas = [Replica(machine, number, "replica", words) for number, machine in enumerate(machines[1:], 2)]
        threads = [threading.Thread(target=server.configure) for server in (source, *replicas)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if words["plugins"]:
            source.sql("INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'")
        source.sql("CREATE USER repl@'%' IDENTIFIED BY 'repl'", "GRANT REPLICATION SLAVE ON *.* TO repl@'%'",
                   "CREATE DATABASE behave", "CREATE TABLE behave.rows (id INT AUTO_INCREMENT PRIMARY KEY, details TEXT)")
        for replica in replicas:
            if words["plugins"]:
                replica.sql("INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'")
            replica.sql(words["follow"] % source.host.name, "START {thread}")
            eventually(replica.running, "the channel runs")
        yield source, replicas


@pytest.fixture
def fresh(cluster):
    """The cluster with semi-sync off everywhere, no client counted, both replicas connected, counters at zero."""
    source, replicas = cluster
    source.set("enabled", "OFF")
    source.set("timeout", TIMEOUT_MS)
    source.set("wait_point", "AFTER_SYNC")
    source.set(source.words["wait_no"], "ON")
    if source.words["plugins"]:
        source.set("wait_for_replica_count", 1)
    for replica in replicas:
        replica.off()

    # The source learns of a replica that left when it sends.
    def nobody():
        source.sql("INSERT INTO behave.rows (details) VALUES ('nobody')")
        return source.status("clients") == "0"

    eventually(nobody, "no client is left")
    source.sql("FLUSH NO_WRITE_TO_BINLOG STATUS")
    return source, replicas
