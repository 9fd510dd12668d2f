"""What a MariaDB replica had received is applied before its replication starts, with the promise
lossless; without it, it is gone (MDEV-4698).
"""

from __future__ import annotations

import re
import time

import pytest

from support.acknowledged import RELEASES
from support.dying import forbid_restart, kill
from support.eventually import eventually
from support.live_hosts import hosts, inventory, playbook

pytestmark = pytest.mark.long

LOSSLESS = ("-e", "semisync_promise=lossless")
ROWS = 20
UNIT = "dbre-semisync-received-3306.service"


class Pair:
    def __init__(self, source, replica, folder):
        self.source, self.replica = source, replica
        self.file = inventory(folder, {source: {}}, {replica: {}}, semisync_timeout=None)
        self.next = 1

    def run(self, name, *more):
        done = playbook(name, self.file, *more)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def hold_up(self):
        """Rows that the replica has acknowledged, and cannot apply; how many it has then."""
        lock = "LOCK TABLES kept.t WRITE; SELECT SLEEP(600)"
        self.replica.shell(f"nohup mariadb -e '{lock}' >/dev/null 2>&1 &")
        time.sleep(1)
        have = int(self.source.value("SELECT COUNT(*) FROM kept.t"))
        for number in range(self.next, self.next + ROWS):
            self.source.sql(f"INSERT INTO kept.t VALUES ({number})")
        self.next += ROWS
        kill(self.replica)
        return have

    def die(self):
        """The source dies; the replica is killed with rows that it has not applied, and starts."""
        forbid_restart(self.replica)
        have = self.hold_up()
        kill(self.source)
        self.replica.shell("systemctl start mariadb")
        self.replica.wait()
        eventually(lambda: "Connecting" in self.status(), "its threads are started", 60)
        return have

    def source_back(self):
        self.source.shell("systemctl start mariadb")
        self.source.wait()
        self.source.sql("SET GLOBAL read_only = 0")
        eventually(lambda: self.count() == self.next - 1, "it has all rows", 60)

    def status(self):
        return self.replica.shell("mariadb -e 'SHOW SLAVE STATUS\\G'").stdout

    def count(self):
        return int(self.replica.value("SELECT COUNT(*) FROM kept.t"))


@pytest.fixture(scope="module", name="pair")
def fixture_pair(tmp_path_factory):
    wanted = [(name, "mariadb", RELEASES["mariadb"]) for name in ("source", "replica")]
    for source, replica in hosts(*wanted, turn="live-received"):
        pair = Pair(source, replica, tmp_path_factory.mktemp("pair"))
        pair.run("site")
        forbid_restart(source)
        source.sql("CREATE DATABASE kept")
        source.sql("CREATE TABLE kept.t (id INT PRIMARY KEY)")
        yield pair


def test_without_the_promise_what_was_received_is_gone(pair):
    have = pair.die()
    assert pair.count() == have
    pair.source_back()


def test_with_it_the_replica_has_each_row_that_it_acknowledged(pair):
    pair.run("site", *LOSSLESS)
    again = pair.run("site", *LOSSLESS)
    assert set(re.findall(r"changed=(\d+)", again.stdout)) == {"0"}, again.stdout
    have = pair.die()
    assert pair.count() == have + ROWS
    assert "by position: 20" in pair.replica.shell(f"journalctl -u {UNIT} -n 5").stdout
    assert "Slave_Pos" in pair.status()
    pair.source_back()


def test_it_goes_on_if_it_was_killed_and_returns_to_gtids(pair):
    program = "/usr/local/lib/dbre-semisync/received.py"
    # It dies between the two changes of the channel.
    dies = "s/^    wanted = .*/    os.kill(os.getpid(), 9)/"
    pair.replica.shell(f"cp {program} /root/whole && sed -i '{dies}' {program}")
    try:
        forbid_restart(pair.replica)
        have = pair.hold_up()
        kill(pair.source)
        pair.replica.shell("systemctl start mariadb")
        pair.replica.wait()
        time.sleep(3)
        assert "Using_Gtid: No" in pair.status()
    finally:
        pair.replica.shell(f"mv /root/whole {program}")
    eventually(lambda: "Using_Gtid: Slave_Pos" in pair.status(), "it follows by GTID", 60)
    assert pair.count() == have + ROWS
    pair.source_back()


def test_it_goes_with_the_promise_and_leaves_nothing(pair):
    pair.run("site")
    again = pair.run("site")
    assert set(re.findall(r"changed=(\d+)", again.stdout)) == {"0"}, again.stdout
    for host in (pair.source, pair.replica):
        left = host.shell("find /etc /usr/local -name '*received*'").stdout
        assert left.strip() == ""
        assert host.shell(f"systemctl is-enabled {UNIT}", check=False).stdout.strip() != "enabled"
    have = pair.die()
    assert pair.count() == have
    pair.source_back()
