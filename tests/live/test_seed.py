"""A new replica of a source that holds data and takes writes: it gets them all, by every way; what it has is not lost."""

import json
import os
import threading

import pytest
from live_hosts import hosts, inventory, playbook, words

# make seed fills in what no test of every day has time for.
MEGABYTES = int(os.environ.get("SEMISYNC_SEED_MB", "3"))
CASES = [("mysql", "", "clone"), ("mysql", "", "dump"), ("mariadb", "12", "backup"), ("mariadb", "12", "dump")]
WANTED = os.environ.get("SEMISYNC_SEED_CASES", "mysql-clone,mariadb-backup").split(",")
GROW = "INSERT INTO shop.orders (t) SELECT REPEAT(MD5(RAND()), 31) FROM shop.orders LIMIT 8000;"


def fill(source, megabytes):
    """Tables with about so many megabytes of data; an account and, on MariaDB, a role."""
    source.sql("CREATE DATABASE shop; CREATE DATABASE `odd ``name%s`; CREATE TABLE `odd ``name%s`.`t` (id INT PRIMARY KEY);"
               "CREATE TABLE shop.orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, t TEXT);"
               "CREATE TABLE shop.written (id BIGINT AUTO_INCREMENT PRIMARY KEY, at TIMESTAMP(6) DEFAULT NOW(6));"
               "INSERT INTO shop.orders (t) VALUES ('a'), ('b'); CREATE USER app@'%' IDENTIFIED BY 'it''s';"
               "GRANT SELECT, INSERT ON shop.* TO app@'%'")
    for dummy in range(12):
        source.sql(GROW)
    for dummy in range(megabytes // 8):
        source.sql(GROW)


class Writer(threading.Thread):
    """Inserts rows all the time and keeps count of those that the source confirmed."""

    def __init__(self, source):
        super().__init__(daemon=True)
        self.source, self.confirmed, self.ended = source, 0, threading.Event()

    def run(self):
        while not self.ended.is_set():
            if self.source.sql("INSERT INTO shop.written () VALUES (); SELECT SLEEP(0.05)", check=False).returncode == 0:
                self.confirmed += 1

    def stop(self):
        self.ended.set()
        self.join()
        return self.confirmed


def install_backup(host):
    host.shell("apt-get update -qq && apt-get install -qq --no-install-recommends mariadb-backup")


@pytest.fixture(params=[case for case in CASES if "%s-%s" % (case[0], case[2]) in WANTED],
                ids=lambda case: "%s-%s" % (case[0], case[2]))
def pair(request):
    server, release, method = request.param
    for source, replica in hosts(("source", server, release), ("replica", server, release)):
        if method == "backup":
            install_backup(source)
            install_backup(replica)
        fill(source, MEGABYTES)
        yield source, replica, method


def tables(host):
    names = host.value("SELECT CONCAT('`', TABLE_SCHEMA, '`.`', TABLE_NAME, '`') FROM information_schema.TABLES WHERE"
                       " TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA IN ('shop', 'important') ORDER BY 1").splitlines()
    return host.value("CHECKSUM TABLE " + ", ".join(names))


def caught_up(source, replica):
    """Wait until the replica has executed what the source has."""
    if source.server == "mysql":
        executed = source.value("SELECT @@GLOBAL.gtid_executed").replace("\\n", "")
        return replica.value("SELECT WAIT_FOR_EXECUTED_GTID_SET('%s', 60)" % executed) == "0"
    return replica.value("SELECT MASTER_GTID_WAIT('%s', 60)" % source.value("SELECT @@gtid_binlog_pos")) == "0"


def test_every_row_arrives_while_the_source_takes_writes(pair, tmp_path):
    source, replica, method = pair
    file = inventory(tmp_path, {source: {}}, {replica: {}}, semisync_seed_method=method)
    writer = Writer(source)
    writer.start()
    try:
        result = playbook("site", file)
    finally:
        confirmed = writer.stop()
    said = words(result)
    assert result.returncode == 0, said
    assert "is seeded from %s by %s" % (source.name, method) in said
    assert "seed %s: done" % replica.name in said
    assert caught_up(source, replica)
    assert int(replica.value("SELECT COUNT(*) FROM shop.written")) >= confirmed > 0
    assert tables(source) == tables(replica)
    accounts = "SELECT User FROM mysql.user WHERE User IN ('app', 'dbre_semisync_seed')"
    assert source.value(accounts) == replica.value(accounts) == "app"
    with open(tmp_path / "results/default/latest/checkpoints.json") as handle:
        assert {row["outcome"] for row in json.load(handle)} <= {"passed", "not_applicable"}
    print("\n%s by %s: %s" % (source.server, method, [line for line in said.split("seed ") if "done" in line][:1]))


@pytest.fixture(scope="module")
def one():
    yield from hosts(("source", "mariadb", "12"), ("replica", "mariadb", "12"))


def marker(replica, **facts):
    replica.shell("mkdir -p /var/lib/dbre-semisync && cat > /var/lib/dbre-semisync/seed-3306.json", input=json.dumps(facts))


def test_own_data_are_kept_without_consent_and_a_half_seeded_replica_is_seeded_again(one, tmp_path):
    source, replica = one
    fill(source, 0)
    replica.sql("CREATE DATABASE mine; CREATE TABLE mine.t (id INT PRIMARY KEY); INSERT INTO mine.t VALUES (7)")
    file = inventory(tmp_path, {source: {}}, {replica: {}}, semisync_seed_method="dump")
    refused = playbook("site", file)
    assert refused.returncode != 0 and "It is not overwritten" in words(refused)
    assert replica.value("SELECT id FROM mine.t") == "7"
    # What a seeding that was killed leaves: the same schemas, and our marker.
    marker(replica, state="loading", source=source.name, method="dump")
    seeded = playbook("site", file)
    assert seeded.returncode == 0, words(seeded)
    assert "because a seeding of it was interrupted" in words(seeded)
    assert "mine" not in replica.value("SHOW DATABASES").split()
    assert caught_up(source, replica) and tables(source) == tables(replica)
