"""What the servers' own test suites assert about semi-sync, seen from outside on live servers;
docs/evidence/behaviours.md numbers them.
"""

import contextlib
import json
import re
import subprocess
import sys
import threading
import time

import pymysql
import pytest

from proving.reads import judge as judge_reads
from proving.verdicts import moments_of
from support.acknowledged import CLIENTS
from support.dying import forbid_restart
from support.eventually import eventually
from support.forwarder import Forwarder
from support.live_hosts import PROJECT
from support.plain_servers import IMMEDIATE_SECONDS, TIMEOUT_MS

# Milliseconds; longer than any of it takes.
LONG_MS = 120000
WRITERS = 8
YES, NO = {"yes_tx": 1, "no_tx": 0}, {"yes_tx": 0, "no_tx": 1}


def fall_back(source):
    """Let one write time out."""
    source.on()
    seconds, rise = source.write()
    assert seconds >= TIMEOUT_MS / 1000 and rise == NO
    assert source.status("status") == "OFF"


def counts(source):
    """Whether a commit can wait for several replicas: MySQL from 5.7.3 on (release notes), no
    MariaDB.
    """
    version = source.sql("SELECT VERSION()")[0][0]
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:3])
    return "MariaDB" not in version and numbers >= (5, 7, 3)


def need_count(source):
    """Skip where a commit waits for one replica, whatever is asked; a server that should have the
    variable has it.
    """
    assert source.has(source.words["wait_count"]) == counts(source)
    if not counts(source):
        pytest.skip("a commit waits for one replica, whatever is asked")


def test_01_enabled_without_replica_the_status_is_on(fresh):
    source, _dummy = fresh
    source.on()
    assert (source.status("status"), source.status("clients"), source.status("yes_tx")) == (
        "ON",
        "0",
        "0",
    )


def test_02_without_replica_one_write_waits_for_the_timeout_and_switches_off(fresh):
    source, _dummy = fresh
    source.on()
    seconds, rise = source.write()
    assert TIMEOUT_MS / 1000 <= seconds < TIMEOUT_MS / 1000 + 2
    assert rise == NO and source.status("status") == "OFF"


def test_03_a_replica_is_counted_once_its_io_thread_was_restarted(fresh):
    source, replicas = fresh
    replicas[0].set("enabled", "ON")
    time.sleep(0.5)
    assert source.status("clients") == "0"
    replicas[0].io("STOP")
    replicas[0].io("START")
    source.clients(1)


def test_04_every_commit_raises_yes_tx_by_one(fresh):
    source, replicas = fresh
    replicas[0].on()
    source.clients(1)
    source.on()
    before = source.counters()
    for _dummy in range(20):
        source.sql("INSERT INTO behave.rows (details) VALUES ('x')")
    after = source.counters()
    assert {name: after[name] - before[name] for name in after} == {"yes_tx": 20, "no_tx": 0}


def test_05_semisync_takes_no_connection_more(fresh):
    source, replicas = fresh
    count = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'repl'"
    eventually(lambda: source.sql(count)[0][0] == 2, "two asynchronous replicas, two connections")
    for replica in replicas:
        replica.on()
    source.clients(2)
    source.on()
    source.write()
    eventually(
        lambda: source.sql(count)[0][0] == 2, "two semi-synchronous replicas, two connections"
    )


def test_06_a_replica_that_left_unnoticed_leaves_the_status_on(fresh):
    source, replicas = fresh
    replicas[0].on()
    source.clients(1)
    source.on()
    replicas[0].io("STOP")
    assert source.status("status") == "ON"
    # Nothing is written: see docs/evidence/behaviours.md for when the servers notice.
    seen = source.status("clients")
    print("clients before anything was written:", seen)
    assert seen in ("0", "1")
    seconds, rise = source.write()
    assert seconds >= TIMEOUT_MS / 1000 and rise == NO
    assert source.status("status") == "OFF"
    # What is sent first after the end of a connection is lost without an error.
    assert source.status("clients") == ("1" if source.words["notices_late"] else "0")
    source.write()
    source.clients(0)


def test_07_a_replica_that_catches_up_switches_it_on_again(fresh):
    source, replicas = fresh
    fall_back(source)
    replicas[0].on()
    source.clients(1)
    source.sql("INSERT INTO behave.rows (details) VALUES ('x')")
    eventually(lambda: source.status("status") == "ON", "on by itself")
    _seconds, rise = source.write()
    assert rise == YES


def test_08_once_off_no_write_waits(fresh):
    source, _replicas = fresh
    fall_back(source)
    for _dummy in range(5):
        seconds, rise = source.write()
        assert seconds < IMMEDIATE_SECONDS and rise == NO


def test_09_disabled_and_enabled_live_the_status_follows(fresh):
    source, replicas = fresh
    replicas[0].on()
    source.clients(1)
    source.on()
    assert source.status("status") == "ON"
    source.set("enabled", "OFF")
    assert source.status("status") == "OFF"
    source.on()
    assert source.status("status") == "ON"
    assert source.write()[1] == YES


def test_10_flush_status_sets_the_counters_to_zero(fresh):
    source, replicas = fresh
    replicas[0].on()
    source.clients(1)
    source.on()
    source.write()
    assert source.counters()["yes_tx"] >= 1
    source.sql("FLUSH NO_WRITE_TO_BINLOG STATUS")
    assert source.counters() == {"yes_tx": 0, "no_tx": 0}


def test_10_flush_status_itself_is_a_transaction_that_is_counted(fresh):
    source, replicas = fresh
    replicas[0].on()
    source.clients(1)
    source.on()
    source.sql("FLUSH STATUS")
    assert source.counters() == {"yes_tx": 1, "no_tx": 0}


def test_11_replication_slave_alone_suffices(fresh):
    source, replicas = fresh
    grants = [row[0] for row in source.sql("SHOW GRANTS FOR repl@'%'")]
    assert len(grants) == 1 and grants[0].startswith("GRANT REPLICATION SLAVE ON *.* TO")
    replicas[0].on()
    source.clients(1)
    source.on()
    assert source.write()[1] == YES


def test_12_a_replica_counts_and_says_on_while_the_source_is_disabled(fresh):
    source, replicas = fresh
    replicas[0].on()
    source.clients(1)
    assert source.status("status") == "OFF"
    assert replicas[0].status("status") == "ON"


def test_13_a_commit_waits_for_as_many_replicas_as_are_asked_for(fresh):
    source, replicas = fresh
    need_count(source)
    source.set(source.words["wait_count"], 2)
    replicas[0].on()
    source.clients(1)
    source.on()
    seconds, rise = source.write()
    assert seconds >= TIMEOUT_MS / 1000 and rise == NO
    replicas[1].on()
    source.clients(2)
    eventually(lambda: source.write()[1] == YES, "both acknowledge")


def test_14_a_lower_count_releases_a_commit_that_waits(fresh):
    source, replicas = fresh
    need_count(source)
    source.set("timeout", 30000)
    source.set(source.words["wait_count"], 2)
    replicas[0].on()
    source.clients(1)
    source.on()
    thread, took = source.write_meanwhile()
    eventually(lambda: source.status("wait_sessions") == "1", "a commit waits")
    source.set(source.words["wait_count"], 1)
    thread.join(10)
    assert took and took[0] < 15


def test_15_without_waiting_for_replicas_it_is_off_at_once(fresh):
    source, _dummy = fresh
    source.on()
    source.set(source.words["wait_no"], "OFF")
    if source.words["plugins"] and not source.has(source.words["wait_count"]):
        # Before 5.7 it is a replica's leaving that switches it off.
        seconds, rise = source.write()
        assert seconds >= TIMEOUT_MS / 1000 and rise == NO
    seconds, rise = source.write()
    assert seconds < IMMEDIATE_SECONDS and rise == NO
    # MariaDB's status does not show it: it stays ON without acknowledgements.
    assert source.status("status") == ("OFF" if source.words["plugins"] else "ON")


# Semi-sync is built into MariaDB.
@pytest.mark.only("mysql")
def test_16_plugins_of_an_active_link_cannot_be_uninstalled(fresh):
    source, replicas = fresh
    replicas[0].on()
    source.clients(1)
    source.on()
    for server in (source, replicas[0]):
        plugin, _library = server.words["plugins"][server.role]
        with pytest.raises(pymysql.err.MySQLError) as refusal:
            server.sql("UNINSTALL PLUGIN " + plugin)
        # 5.5 has no words for it.
        words, number = str(refusal.value).lower(), refusal.value.args[0]
        assert "cannot be uninstalled" in words or number in (1105, 3042), refusal.value
        state = server.sql(
            f"SELECT PLUGIN_STATUS FROM information_schema.PLUGINS WHERE PLUGIN_NAME = '{plugin}'"
        )
        row = server.sql(f"SELECT dl FROM mysql.plugin WHERE name = '{plugin}'")
        print(server.role, refusal.value, state, row)
        assert state == (("ACTIVE",),) and row == ((server.words["plugins"][server.role][1],),)
    assert source.write()[1] == YES


def test_17_one_slow_replica_of_two_holds_nobody_up(fresh):
    source, replicas = fresh
    for replica in replicas:
        replica.on()
    source.clients(2)
    source.on()
    process = source.words["process"]
    replicas[0].host.shell(f"kill -STOP $(pidof {process})")
    try:
        for _dummy in range(3):
            seconds, rise = source.write()
            assert seconds < IMMEDIATE_SECONDS and rise == YES
        assert source.status("status") == "ON"
    finally:
        replicas[0].host.shell(f"kill -CONT $(pidof {process})")


def rows(server):
    """How many rows a client of this server is shown."""
    return server.sql("SELECT COUNT(*) FROM behave.rows")[0][0]


def let_one_wait(source, replicas, away, point="AFTER_SYNC"):
    """Have a commit wait that no replica receives of those that are away, the first of which is the
    only semi-sync one; how many rows there were before, and the thread that waits.
    """
    if not source.has("wait_point"):
        pytest.skip("this server has one wait point only")
    source.set("wait_point", point)
    source.set("timeout", LONG_MS)
    replicas[0].on()
    source.clients(1)
    source.on()
    before = rows(source)
    eventually(
        lambda: all(rows(replica) == before for replica in replicas), "all have the same rows"
    )
    for replica in away:
        replica.io("STOP")
    connection = source.connect()

    def insert():
        # Its server may be killed.
        with contextlib.suppress(pymysql.err.Error):
            source.sql("INSERT INTO behave.rows (details) VALUES ('x')", connection=connection)

    thread = threading.Thread(target=insert, daemon=True)
    thread.start()
    eventually(lambda: source.status("wait_sessions") == "1", "a commit waits")
    return before, thread


@pytest.mark.parametrize(("point", "shown"), [("AFTER_SYNC", 0), ("AFTER_COMMIT", 1)])
def test_18_others_read_a_commit_that_waits_under_after_commit_only(fresh, point, shown):
    source, replicas = fresh
    before, thread = let_one_wait(source, replicas, replicas, point)
    assert rows(source) == before + shown and thread.is_alive()
    assert [rows(replica) for replica in replicas] == [before, before]
    replicas[0].io("START")
    thread.join(30)
    assert not thread.is_alive() and rows(source) == before + 1


def test_19_a_replica_that_does_not_acknowledge_shows_a_commit_before_its_source(fresh):
    source, replicas = fresh
    before, thread = let_one_wait(source, replicas, replicas[:1])
    eventually(lambda: rows(replicas[1]) == before + 1, "the asynchronous replica has applied it")
    assert rows(source) == before and thread.is_alive()
    replicas[0].io("START")
    thread.join(30)
    assert not thread.is_alive() and rows(source) == before + 1


def start_again(source):
    """Start a server that was killed, unless systemd does, and connect to it."""
    source.host.shell(f"systemctl start {source.host.server}")
    source.host.wait()
    source.connection = source.connect()


def test_20_a_source_that_starts_again_shows_a_commit_that_no_replica_has(fresh):
    source, replicas = fresh
    before, thread = let_one_wait(source, replicas, replicas)
    assert rows(source) == before
    source.host.shell(f"systemctl kill --signal=KILL {source.host.server}")
    thread.join(30)
    start_again(source)
    assert rows(source) == before + 1
    assert [rows(replica) for replica in replicas] == [before, before]


@contextlib.contextmanager
def clients(folder, begun, program, *arguments):
    """Clients that write or read, once all have begun; what they know is in the file of this name
    when they were stopped.
    """
    words = [*program, *arguments[:-3], folder / "stop", folder / begun, *arguments[-3:]]
    log = folder / f"{begun}.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, *map(str, words)], cwd=PROJECT / "tests", stdout=stream, stderr=stream
        )
    try:
        eventually(lambda: begun in log.read_text(encoding="utf-8"), log.read_text)
        yield
        (folder / "stop").touch()
        assert process.wait(60) == 0, log.read_text(encoding="utf-8")
    finally:
        process.kill()


def rows_written(server):
    return server.sql("SELECT client, number FROM app.written")


def is_empty(server):
    """Whether it has the writers' table, without rows."""
    there = server.sql("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'app'")
    return there[0][0] == 1 and not rows_written(server)


def stands_still(server):
    """Whether it has no more rows after a second."""
    before = rows_written(server)
    time.sleep(1)
    return rows_written(server) == before


def prepare_clients(source, replica):
    """Their account and an empty table, on both."""
    source.sql(
        "CREATE DATABASE IF NOT EXISTS app",
        "CREATE TABLE IF NOT EXISTS app.written (client INT, number INT, KEY (client, number))",
        "TRUNCATE app.written",
        "CREATE USER IF NOT EXISTS app@'%' IDENTIFIED BY 'app'",
        "GRANT ALL ON app.* TO app@'%'",
    )
    eventually(lambda: is_empty(replica), "the replica has the empty table")


def move_role(source, replicas, router):
    """Have each writer wait for an acknowledgement, kill the source, and promote the replica that
    has received most.
    """
    # The one that acknowledges goes last.
    for replica in reversed(replicas):
        replica.io("STOP")
    time.sleep(1)
    forbid_restart(source.host)
    source.host.shell(f"systemctl kill --signal=KILL {source.host.server}")
    eventually(lambda: stands_still(replicas[0]), "all is applied")
    replicas[0].sql("STOP {thread}")
    before = len(rows_written(replicas[0]))
    router.lead(replicas[0].login["host"])
    eventually(lambda: len(rows_written(replicas[0])) > before + WRITERS, "clients write again")
    time.sleep(1)


@pytest.mark.parametrize("point", ["AFTER_SYNC", "AFTER_COMMIT"])
def test_21_readers_see_rows_that_a_dead_source_takes_with_it(fresh, tmp_path, point):
    source, replicas = fresh
    if not source.has("wait_point"):
        pytest.skip("this server has one wait point only")
    prepare_clients(source, replicas[0])
    source.set("wait_point", point)
    source.set("timeout", LONG_MS)
    replicas[0].on()
    source.clients(1)
    source.on()
    ports = f"{replicas[0].login['host']}:3306"
    with (
        contextlib.closing(Forwarder(source.login["host"])) as router,
        clients(tmp_path, "writing", [CLIENTS], router.address, WRITERS, 0.2, 0.2, 3),
        clients(
            tmp_path, "reading", ["-m", "support.clients.keep_reading"],
            router.address, ports, 6, 0.1, 0.2, 3,
        ),
    ):  # fmt: skip
        time.sleep(1)
        move_role(source, replicas, router)
    written, seen = (json.loads((tmp_path / name).read_text()) for name in ("writing", "reading"))
    there = set(rows_written(replicas[0]))
    (tmp_path / "there").write_text(json.dumps(sorted(there)), encoding="utf-8")
    start_again(source)
    replicas[0].sql("START {thread}")
    confirmed = moments_of(written)
    found = judge_reads(seen, {replicas[0].host.name: there}, confirmed)
    print(point, found)
    its, bad = found["source"], point == "AFTER_COMMIT"
    assert its["moved"] == its["readers"] and not set(confirmed) - there
    assert (its["lost"] > 0, its["back"] > 0) == (bad, bad)
    assert bad or its["stale"] == 0
    assert found["replicas"]["lost"] == found["replicas"]["back"] == 0
