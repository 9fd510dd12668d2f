"""A pair whose source dies: its replica takes over alone, keeps the role after a restart, and
waits for acknowledgements again when the former source is back. And one whose replica came back
without its replication, on MariaDB.
"""

from __future__ import annotations

import time

import pytest

from support.acknowledged import RELEASES
from support.dying import UNITS, certificate, forbid_restart, kill
from support.live_hosts import hosts, inventory, playbook, words

# Its hosts take a minute to set up.
pytestmark = pytest.mark.long

STATUS = "SHOW GLOBAL STATUS WHERE Variable_name LIKE 'rpl_semi_sync_%_status' AND Value = 'ON'"


class Pair:
    """A source and its replica, with a timeout that outlasts the test."""

    def __init__(self, made, folder):
        self.folder = folder
        self.source, self.replica = made
        self.file = inventory(
            folder, {self.source: {}}, {self.replica: {}}, semisync_timeout=3600000
        )

    def run(self, name, *arguments, good=True):
        done = playbook(name, self.file, *arguments)
        assert (done.returncode == 0) is good, done.stdout + done.stderr
        return words(done)

    def write(self, host):
        begin = time.monotonic()
        host.sql("INSERT INTO app.written VALUES ()")
        assert time.monotonic() - begin < 10


@pytest.fixture(params=["mysql", "mariadb"], name="pair")
def fixture_pair(request, tmp_path):
    server = request.param
    wanted = ((name, server, RELEASES[server]) for name in ("source", "replica"))
    for made in hosts(*wanted, turn="live-failover-pair"):
        pair = Pair(made, tmp_path)
        pair.run("site")
        pair.source.sql(
            "CREATE DATABASE app; CREATE TABLE app.written (id INT PRIMARY KEY AUTO_INCREMENT)"
        )
        pair.write(pair.source)
        pair.run("verify")
        yield pair


def test_the_replica_of_a_pair_takes_over_alone_until_the_former_source_is_back(pair):
    forbid_restart(pair.source)
    kill(pair.source)
    assert "semisync_failover_accept=alone" in pair.run("failover", good=False)
    pair.run("failover", "-e", "semisync_failover_accept=alone")
    kept = certificate(pair.folder)
    assert (kept["verdict"], kept["outcome"], kept["to"]) == ("proven", "done", pair.replica.name)
    for _start in range(2):
        assert pair.replica.value("SELECT @@GLOBAL.read_only") in ("0", "OFF")
        assert pair.replica.value(STATUS) == ""
        pair.write(pair.replica)
        pair.replica.shell(f"systemctl restart {UNITS[pair.replica.server]}")
        pair.replica.wait()
    for name in ("site", "verify"):
        assert "has no replica" in pair.run(name, good=False)
    pair.run("rejoin", "-e", f"semisync_rejoin={pair.source.name}")
    pair.run("site")
    pair.run("verify")
    for host in (pair.source, pair.replica):
        assert host.value(STATUS) != "", host.name
    pair.write(pair.replica)
    assert pair.source.value("SELECT COUNT(*) FROM app.written") == "4"


@pytest.mark.parametrize("pair", ["mariadb"], indirect=True)
def test_a_replica_whose_replication_was_not_started_takes_over_as_the_refusal_says(pair):
    """MariaDB discards what was received when both threads start, so a host that was away is
    brought back without them.
    """
    unit = UNITS[pair.replica.server]
    pair.replica.shell(
        f"systemctl stop {unit}; systemctl set-environment MYSQLD_OPTS=--skip-slave-start"
    )
    forbid_restart(pair.source)
    kill(pair.source)
    name = pair.replica.name
    assert "no replica" in pair.run("failover", "--check", good=False)
    pair.replica.shell(f"systemctl start {unit}")
    pair.replica.wait()
    said = pair.run("failover", "--check", good=False)
    assert f"applier:{name}" in said and f"restarted:{name}" in said
    pair.replica.sql("START SLAVE")
    accepted = f"semisync_failover_accept=restarted:{name},alone"
    assert accepted in pair.run("failover", "--check", good=False)
    pair.run("failover", "-e", accepted)
    assert certificate(pair.folder)["to"] == name
    pair.write(pair.replica)
