"""failover.yml where the source died while it sent a transaction: the replicas have its first half,
and MySQL's would wait for the rest of it for a minute each.
"""

from __future__ import annotations

import pytest

from support.acknowledged import RELEASES
from support.dying import UNITS, certificate, forbid_restart, io_thread
from support.live_hosts import hosts, inventory, playbook, words

# Its hosts take a minute to set up.
pytestmark = pytest.mark.long

# 240 MB in 30000 events.
LONG = (
    "INSERT INTO app.big SELECT REPEAT('x', 8000) FROM information_schema.columns a,"
    " information_schema.columns b LIMIT 30000"
)
SENDING = {"mysql": "ending binlog event", "mariadb": "Writing to net\\|ending binlog event"}


class Cluster:
    """Three hosts, the first of which is the source."""

    def __init__(self, made, folder):
        self.hosts, self.folder = made, folder
        self.source, *self.replicas = made
        self.file = inventory(
            folder, {made[0]: {}}, {host: {} for host in made[1:]}, semisync_timeout=3600000
        )

    def tear(self):
        """Kill the source while it sends the events of one transaction."""
        client = f"{self.source.client} --batch --execute"
        forbid_restart(self.source)
        self.source.shell(f'{client}="{LONG}" >/dev/null 2>&1 &')
        self.source.shell(
            f"until {client}='SHOW PROCESSLIST' | grep -q '{SENDING[self.source.server]}'; do :;"
            f" done; sleep 0.15; systemctl kill --signal=KILL {UNITS[self.source.server]}.service"
        )


@pytest.fixture(params=["mysql", "mariadb"], name="cluster")
def fixture_cluster(request, tmp_path):
    server = request.param
    wanted = ((name, server, RELEASES[server]) for name in ("source", "replica1", "replica2"))
    for made in hosts(*wanted, turn="live-failover-torn"):
        cluster = Cluster(made, tmp_path)
        done = playbook("site", cluster.file)
        assert done.returncode == 0, done.stdout + done.stderr
        made[0].sql("CREATE DATABASE app; CREATE TABLE app.big (words TEXT) ENGINE=InnoDB")
        yield cluster


def half_of(host):
    """The transaction of which a MySQL replica has received the first half."""
    return host.value(
        "SELECT QUEUEING_TRANSACTION FROM performance_schema.replication_connection_status"
    )


def test_half_a_transaction_is_given_up_and_costs_no_minute(cluster):
    assert playbook("verify", cluster.file).returncode == 0
    cluster.tear()
    mysql = cluster.source.server == "mysql"
    halves = [half_of(host) for host in cluster.replicas] if mysql else []
    done = playbook("failover", cluster.file)
    print(done.stdout, done.stderr)
    assert done.returncode == 0, words(done)
    kept = certificate(cluster.folder)
    assert (kept["verdict"], kept["outcome"]) == ("proven", "done")
    assert kept["first_commit_after_ms"] < 50000, kept["timeline"]
    events = [entry["event"] for entry in kept["timeline"]]
    # Otherwise nothing was tried: the machine was too fast, and a replica has it whole.
    assert all(halves) and events.count("half") == len(halves)
    for host in cluster.replicas:
        assert host.value("SELECT COUNT(*) FROM app.big") == "0"
    follower = next(host for host in cluster.replicas if host.name != kept["to"])
    assert io_thread(follower) == "Yes"
    heir = next(host for host in cluster.replicas if host is not follower)
    heir.sql("INSERT INTO app.big VALUES ('more')")
    assert heir.value("SHOW GLOBAL STATUS LIKE 'rpl_semi_sync%no_tx'").endswith("\t0")
