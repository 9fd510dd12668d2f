"""A replica that was away while another took over: it follows the former source as before, and
rejoin.yml says what it has alone, and brings it over; the former source is held all the while.
"""

from __future__ import annotations

import json

import pytest

from support.acknowledged import RELEASES
from support.dying import UNITS, certificate, forbid_restart, io_thread, kill
from support.eventually import eventually
from support.live_hosts import hosts, inventory, playbook, words

# Its hosts take a minute to set up.
pytestmark = pytest.mark.long

COUNT = "SELECT COUNT(*) FROM app.written"
ALONE = "SELECT GROUP_CONCAT(id) FROM app.alone"


class Cluster:
    """Three hosts whose second replica has taken over while the first one was away."""

    def __init__(self, made, folder):
        self.folder = folder
        self.source, self.away, self.new = made
        self.file = inventory(
            folder, {made[0]: {}}, {host: {} for host in made[1:]}, semisync_timeout=3600000
        )

    def run(self, name, *arguments, good=True):
        done = playbook(name, self.file, *arguments)
        assert (done.returncode == 0) is good, done.stdout + done.stderr
        return words(done)

    def rejoin(self, *arguments, good=True):
        return self.run("rejoin", "-e", f"semisync_rejoin={self.away.name}", *arguments, good=good)

    def write(self, host):
        host.sql("INSERT INTO app.written VALUES ()")

    def start(self, host):
        host.shell(f"systemctl start {UNITS[host.server]}")
        host.wait()

    def is_whole(self):
        """The new source and the replica wait for each other again, and have the same rows."""
        self.run("site")
        assert "is held" in self.run("verify")
        self.write(self.new)
        rows = self.new.value(COUNT)
        eventually(lambda: self.away.value(COUNT) == rows)
        assert io_thread(self.away) == "Yes"


@pytest.fixture(params=["mysql", "mariadb"], name="cluster")
def fixture_cluster(request, tmp_path):
    server = request.param
    wanted = ((name, server, RELEASES[server]) for name in ("source", "replica1", "replica2"))
    for made in hosts(*wanted, turn="live-failover-missed"):
        cluster = Cluster(made, tmp_path)
        cluster.run("site")
        cluster.source.sql(
            "CREATE DATABASE app; CREATE TABLE app.written (id INT PRIMARY KEY AUTO_INCREMENT);"
            " CREATE TABLE app.alone (id INT PRIMARY KEY)"
        )
        cluster.run("verify")
        for host in (cluster.away, cluster.source):
            forbid_restart(host)
            kill(host)
            if host is cluster.away:
                cluster.write(cluster.source)
        accepted = f"semisync_failover_accept=unread:{cluster.away.name},alone"
        cluster.run("failover", "-e", accepted)
        assert certificate(tmp_path)["to"] == cluster.new.name
        cluster.write(cluster.new)
        yield cluster


def test_one_without_anything_of_its_own_follows_the_new_source(cluster):
    cluster.start(cluster.away)
    before = cluster.away.fingerprint()
    assert "VERDICT clean" in cluster.rejoin("--check")
    assert cluster.away.fingerprint() == before
    said = cluster.rejoin()
    assert f"{cluster.away.name} follows {cluster.new.name}" in said
    # Once more there is nothing to do.
    assert "follows" in cluster.rejoin()
    cluster.is_whole()


def test_one_that_a_killed_run_left_without_a_channel_is_site_ymls(cluster):
    cluster.start(cluster.away)
    word = "REPLICA" if cluster.away.server == "mysql" else "SLAVE"
    cluster.away.sql(f"STOP {word}; RESET {word} ALL")
    assert "site.yml says what it is" in cluster.rejoin(good=False)
    cluster.is_whole()


def test_one_that_got_more_from_the_former_source_is_not_let_over_with_it(cluster):
    """As behind a power cut of a rack: that one's server is there again, and takes writes."""
    former, away = cluster.source, cluster.away
    former.shell("rm -f /etc/mysql/*/zz-dbre-semisync-switchover.cnf")
    cluster.start(former)
    cluster.start(away)
    eventually(lambda: io_thread(away) == "Yes", seconds=90)
    former.sql("INSERT INTO app.alone VALUES (7)")
    eventually(lambda: away.value(ALONE) == "7")
    assert f"semisync_rejoin={away.name}" in cluster.run("site", good=False)
    assert "(follows_held)" in cluster.run("verify", good=False)
    first = ("-e", f"semisync_rejoin={former.name}")
    assert "missed the failover" in cluster.run("rejoin", *first, "--check", good=False)
    assert "VERDICT phantoms" in cluster.rejoin("--check", good=False)
    before = away.fingerprint()
    assert "semisync_rejoin_way=seed" in cluster.rejoin(good=False)
    assert away.fingerprint() == before
    if former.server == "mysql":
        kept = cluster.folder / "results" / "default" / "latest" / "rejoin.json"
        named = json.loads(kept.read_text(encoding="utf-8"))["phantoms"]["gtids"]
        cluster.rejoin(
            *("-e", "semisync_rejoin_way=replay", "-e", f"semisync_rejoin_phantoms={named}")
        )
        assert cluster.new.value(ALONE) == "7"
    else:
        cluster.rejoin("-e", "semisync_rejoin_way=seed")
    # As verify.yml says of one that takes writes.
    former.sql("SET GLOBAL read_only = 1")
    cluster.is_whole()
    assert away.value(ALONE) == cluster.new.value(ALONE)
    assert former.value("SELECT COUNT(*) FROM app.written") == "1", "nobody wrote there"
