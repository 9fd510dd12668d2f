"""failover.yml on real servers: it refuses while the source lives and where too little is known,
takes over from a source that was killed under writers, and nothing that was confirmed is lost.
"""

from __future__ import annotations

import time

import pytest

from support.acknowledged import RELEASES, Writers, judge, rows_of
from support.dying import UNITS, certificate, forbid_restart, io_thread, kill
from support.live_hosts import hosts, inventory, playbook, words

# Its hosts take a minute to set up.
pytestmark = pytest.mark.long

LOST_NOTHING: dict[str, list[object]] = {"lost": [], "unexpected": [], "twice": []}


class Cluster:
    """Three hosts, the first of which is the source, with a timeout that outlasts the test."""

    def __init__(self, made, folder):
        self.hosts, self.folder = made, folder
        self.file = inventory(
            folder, {made[0]: {}}, {host: {} for host in made[1:]}, semisync_timeout=3600000
        )

    def failover(self, *arguments):
        return playbook("failover", self.file, *arguments)


@pytest.fixture(scope="module", params=["mysql", "mariadb"], name="cluster")
def fixture_cluster(request, tmp_path_factory):
    server = request.param
    names = ["source", "replica1", "replica2"]
    wanted = ((name, server, RELEASES[server]) for name in names)
    for made in hosts(*wanted, turn="live-failover"):
        cluster = Cluster(made, tmp_path_factory.mktemp("cluster"))
        done = playbook("site", cluster.file)
        assert done.returncode == 0, done.stdout + done.stderr
        yield cluster


def test_a_source_that_answers_is_left_alone(cluster):
    before = [host.fingerprint() for host in cluster.hosts]
    for arguments in ((), ("--check",)):
        done = cluster.failover(*arguments)
        assert done.returncode != 0
        assert "source_answers" in words(done)
    assert [io_thread(host) for host in cluster.hosts[1:]] == ["Yes", "Yes"]
    assert [host.fingerprint() for host in cluster.hosts] == before


def test_a_replica_takes_over_from_a_source_that_was_killed_under_writers(cluster):
    source, *replicas = cluster.hosts
    writers = Writers(replicas[-1], cluster.hosts, 50)
    writers.prepare(source)
    verified = playbook("verify", cluster.file)
    assert verified.returncode == 0, verified.stdout
    writers.start()
    time.sleep(5)
    forbid_restart(source)
    kill(source)
    died = time.time()
    before = [host.fingerprint() for host in replicas]
    planned = cluster.failover("--check")
    assert planned.returncode == 0, planned.stdout + planned.stderr
    assert "VERDICT proven (so far: C2 and C6" in words(planned), planned.stdout
    assert [io_thread(host) for host in replicas] == ["Connecting", "Connecting"]
    assert [host.fingerprint() for host in replicas] == before
    begin = time.monotonic()
    done = cluster.failover()
    seconds = time.monotonic() - begin
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    kept = certificate(cluster.folder)
    print(
        f"{source.server}: playbook {seconds:.1f} s", kept["opened_after_ms"], "ms to the opening"
    )
    assert (kept["verdict"], kept["outcome"]) == ("proven", "done")
    target = next(host for host in replicas if host.name == kept["to"])
    (follower,) = [host for host in replicas if host is not target]
    assert target.value("SELECT @@GLOBAL.read_only") in ("0", "OFF")
    assert io_thread(follower) == "Yes"
    time.sleep(3)
    known = writers.stop()
    time.sleep(2)
    last = max(at for at, _wait in known["waits"])
    assert last > died, "nobody wrote behind the failover"
    confirmed = sum(len(rows) for rows in known["confirmed"])
    print(f"{source.server}: {confirmed} rows confirmed")
    for host in replicas:
        assert judge(known, rows_of(host)) == LOST_NOTHING, host.name
    again = cluster.failover()
    assert again.returncode != 0
    assert target.value("SELECT @@GLOBAL.read_only") in ("0", "OFF")


def test_a_second_source_that_dies_in_the_same_night_is_failed_over_from(cluster):
    """The first one is held: it has no part in this."""
    heir = next(
        host
        for host in cluster.hosts[1:]
        if host.value("SELECT @@GLOBAL.read_only") in ("0", "OFF")
    )
    (follower,) = [host for host in cluster.hosts[1:] if host is not heir]
    forbid_restart(heir)
    kill(heir)
    refused = cluster.failover()
    assert refused.returncode != 0 and "semisync_failover_accept=alone" in words(refused)
    done = cluster.failover("-e", "semisync_failover_accept=alone,unwatched")
    for said in (refused, done):
        assert "has no attribute" not in words(said), words(said)
    assert certificate(cluster.folder)["to"] == follower.name
    assert follower.value("SELECT @@GLOBAL.read_only") in ("0", "OFF")
    # A source without replicas does not wait, and takes writes after its next start as well.
    assert done.returncode == 0, done.stdout + done.stderr
    follower.shell(f"systemctl restart {UNITS[follower.server]}")
    follower.wait()
    assert follower.value("SELECT @@GLOBAL.read_only") in ("0", "OFF")
    begin = time.monotonic()
    follower.sql("INSERT INTO app.written (client, number) VALUES (99, 1)")
    assert time.monotonic() - begin < 10
