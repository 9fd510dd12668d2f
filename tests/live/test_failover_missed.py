"""A replica that was away while another took over, or two: each follows the former source as
before, and rejoin.yml says what it has alone, and brings it over; that one is held all the while.
"""

from __future__ import annotations

import json
from functools import partial

import pytest

from support.acknowledged import RELEASES
from support.dying import UNITS, certificate, forbid_restart, io_thread, kill
from support.eventually import eventually
from support.live_hosts import hosts, inventory, playbook, words

# Its hosts take a minute to set up.
pytestmark = pytest.mark.long

COUNT = "SELECT COUNT(*) FROM app.written"
ALONE = "SELECT GROUP_CONCAT(id) FROM app.alone"


def has_rows(host, rows):
    return host.value(COUNT) == rows


class Cluster:
    """Hosts whose last replica has taken over while the others were away."""

    def __init__(self, made, folder):
        self.folder = folder
        self.source, *self.missing, self.new = made
        self.away = self.missing[0]
        self.file = inventory(
            folder, {made[0]: {}}, {host: {} for host in made[1:]}, semisync_timeout=3600000
        )

    def run(self, name, *arguments, good=True):
        done = playbook(name, self.file, *arguments)
        assert (done.returncode == 0) is good, done.stdout + done.stderr
        return words(done)

    def rejoin(self, *arguments, good=True, host=None):
        named = f"semisync_rejoin={(host or self.away).name}"
        return self.run("rejoin", "-e", named, *arguments, good=good)

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
        for host in self.missing:
            eventually(partial(has_rows, host, rows))
            assert io_thread(host) == "Yes"


def failed_over(server, folder, replicas):
    """A fixture's body: all but the last replica are away, and the source has died."""
    names = ["source", *(f"replica{number}" for number in range(1, replicas + 1))]
    wanted = ((name, server, RELEASES[server]) for name in names)
    for made in hosts(*wanted, turn="live-failover-missed"):
        cluster = Cluster(made, folder)
        cluster.run("site")
        cluster.source.sql(
            "CREATE DATABASE app; CREATE TABLE app.written (id INT PRIMARY KEY AUTO_INCREMENT);"
            " CREATE TABLE app.alone (id INT PRIMARY KEY)"
        )
        cluster.run("verify")
        for host in (*cluster.missing, cluster.source):
            forbid_restart(host)
            kill(host)
            if host is cluster.missing[-1]:
                cluster.write(cluster.source)
        unread = ",".join(f"unread:{host.name}" for host in cluster.missing)
        cluster.run("failover", "-e", f"semisync_failover_accept={unread},alone")
        assert certificate(folder)["to"] == cluster.new.name
        cluster.write(cluster.new)
        yield cluster


@pytest.fixture(params=["mysql", "mariadb"], name="cluster")
def fixture_cluster(request, tmp_path):
    yield from failed_over(request.param, tmp_path, 2)


@pytest.fixture(params=["mysql", "mariadb"], name="four")
def fixture_four(request, tmp_path):
    yield from failed_over(request.param, tmp_path, 3)


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


def test_of_two_that_were_away_one_run_brings_one_over_and_leaves_the_other(four):
    first, second = four.missing
    for host in four.missing:
        four.start(host)
    before = second.fingerprint()
    assert f"{first.name} follows {four.new.name}" in four.rejoin()
    assert second.fingerprint() == before
    assert f"semisync_rejoin={second.name}" in four.run("site", good=False)
    assert f"{second.name} follows {four.new.name}" in four.rejoin(host=second)
    four.is_whole()


def test_one_that_a_killed_run_left_without_a_channel_is_site_ymls(cluster):
    cluster.start(cluster.away)
    word = "REPLICA" if cluster.away.server == "mysql" else "SLAVE"
    cluster.away.sql(f"STOP {word}; RESET {word} ALL")
    assert "run site.yml, which reports what it is" in cluster.rejoin(good=False)
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
