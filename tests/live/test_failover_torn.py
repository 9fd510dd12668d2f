"""failover.yml where the source died while it sent a transaction: the replicas have its first half,
and MySQL's would wait for the rest of it for a minute each.
"""

from __future__ import annotations

import time

import pytest

from support.acknowledged import RELEASES
from support.dying import certificate, forbid_restart, io_thread, kill
from support.live_hosts import hosts, inventory, playbook, words

# Its hosts take a minute to set up.
pytestmark = pytest.mark.long

# 8 kB a row, each an event.
LONG = (
    "INSERT INTO app.big SELECT REPEAT('x', 8000) FROM information_schema.columns a,"
    " information_schema.columns b LIMIT"
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

    def tear(self, rows):
        """Kill the source while it sends the events of one transaction."""
        # Each event costs a write to the disk, so that sending takes a while.
        for host in self.replicas:
            host.sql("SET GLOBAL sync_relay_log = 1")
        client = f"{self.source.client} --batch --execute"
        sending = SENDING[self.source.server]
        forbid_restart(self.source)
        self.source.shell(f'{client}="{LONG} {rows}" >/dev/null 2>&1 &')
        until = f"until {client}='SHOW PROCESSLIST' | grep -q '{sending}'; do :; done"
        self.source.shell(f'timeout 60 sh -c "{until}"')
        kill(self.source)


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
    """The transaction that a MySQL replica has begun."""
    return host.value(
        "SELECT PROCESSING_TRANSACTION"
        " FROM performance_schema.replication_applier_status_by_coordinator"
    )


def take_over(cluster, *arguments):
    """The certificate of a failover in which half a transaction was given up."""
    mysql = cluster.source.server == "mysql"
    halves = [half_of(host) for host in cluster.replicas] if mysql else []
    done = playbook("failover", cluster.file, *arguments)
    print(done.stdout, done.stderr)
    assert done.returncode == 0, words(done)
    kept = certificate(cluster.folder)
    assert (kept["verdict"], kept["outcome"]) == ("proven", "done")
    events = [entry["event"] for entry in kept["timeline"]]
    # Otherwise nothing was tried: the machine was too fast, and a replica has it whole.
    assert all(halves) and events.count("half") == len(halves)
    return kept


def test_half_a_transaction_is_given_up_and_costs_no_minute(cluster):
    assert playbook("verify", cluster.file).returncode == 0
    cluster.tear(30000)
    kept = take_over(cluster)
    assert kept["first_commit_after_ms"] < 50000, kept["timeline"]
    for host in cluster.replicas:
        assert host.value("SELECT COUNT(*) FROM app.big") == "0"
    follower = next(host for host in cluster.replicas if host.name != kept["to"])
    assert io_thread(follower) == "Yes"
    heir = next(host for host in cluster.replicas if host is not follower)
    heir.sql("INSERT INTO app.big VALUES ('more')")
    assert heir.value("SHOW GLOBAL STATUS LIKE 'rpl_semi_sync%no_tx'").endswith("\t0")


@pytest.mark.parametrize("cluster", ["mysql"], indirect=True)
def test_the_transaction_of_which_there_is_half_can_be_salvaged(cluster):
    """Its GTID belongs to the applier that has begun it."""
    assert playbook("verify", cluster.file).returncode == 0
    cluster.tear(10000)
    salvage = ("-e", "semisync_failover_salvage=true")
    refused = playbook("failover", cluster.file, *salvage)
    assert refused.returncode != 0 and "SET GLOBAL max_allowed_packet" in words(refused)
    for host in cluster.replicas:
        # As it was: both threads go on, and the IO thread waits for its source.
        assert (io_thread(host), half_of(host) != "") == ("Connecting", True)
        host.sql("SET GLOBAL max_allowed_packet = 1073741824")
    kept = take_over(cluster, *salvage)
    assert kept["salvage"]["transactions"] == 1
    deadline = time.monotonic() + 60
    while {host.value("SELECT COUNT(*) FROM app.big") for host in cluster.replicas} != {"10000"}:
        assert time.monotonic() < deadline
        time.sleep(1)
