"""The source's role moves, in a pair by hand, with three hosts by switchover.yml, and the inventory
stays as it is: everything goes on by what the servers and their journal say. What contradicts
itself is refused.
"""

import json
import re

import pytest

from support import live_hosts, moves
from support.eventually import eventually

# A cluster of its own per engine and size, and every playbook on it.
pytestmark = pytest.mark.long

CONSENT = ("-e", "semisync_allow_disruption=true")
NEW_PASSWORD = "another one"
OUT_OF_DATE = "The inventory's groups are out of date: "
SUITE = """
title: A small one
repetitions: 1
time_limit: 30
load:
  tool: client
  seconds: 1
  create: CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v VARCHAR(100)) ENGINE=InnoDB
  query: INSERT INTO t (v) VALUES ('x')
cells:
  - {id: async, replication: async}
  - {id: semisync, replication: semisync, baseline: async}
"""


class Cluster:
    """A source, its replicas, and an inventory that never learns of a change."""

    def __init__(self, made, folder):
        self.first, self.second, *self.rest = made
        self.hosts, self.folder, self.password = made, folder, live_hosts.PASSWORD
        self.suite = folder / "ours.yml"
        self.suite.write_text(SUITE)

    def play(self, name, *arguments, **variables):
        variables = {"semisync_replication_password": self.password, **variables}
        file = live_hosts.inventory(
            self.folder, {self.first: {}}, {host: {} for host in self.hosts[1:]}, **variables
        )
        return live_hosts.playbook(name, file, *arguments)

    def works(self, name, *arguments, source=None, **variables):
        """Run a playbook that must not fail; what it said. It says once that the groups are old."""
        done = self.play(name, *arguments, **variables)
        said = live_hosts.words(done)
        assert done.returncode == 0, done.stdout + done.stderr
        source = source or self.second
        line = f"{OUT_OF_DATE}{source.name} is the source of cluster default since "
        assert said.count(line) == (source is not self.first), said
        assert said.count(OUT_OF_DATE) == said.count(line)
        return said

    def document(self, name):
        return json.loads((self.folder / "results/default/latest" / name).read_text())

    def outcome(self, point):
        """Host and outcome of a checkpoint of the newest run."""
        return [
            (row["host"], row["outcome"])
            for row in self.document("checkpoints.json")
            if row["id"] == point
        ]

    def findings(self):
        return {entry["id"]: entry for entry in self.document("findings.json")}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((server, release, size), id=f"{server}-{size}")
        for server, release in (("mysql", ""), ("mariadb", "12"))
        for size in (2, 3)
    ],
)
def cluster(request, tmp_path_factory):
    server, release, size = request.param
    names = [(f"db{number + 1}", server, release) for number in range(size)]
    for made in live_hosts.hosts(*names, turn="live-sides"):
        one = Cluster(made, tmp_path_factory.mktemp("sides"))
        for host in made:
            host.shell(moves.LISTEN)
            host.shell(f"systemctl restart {host.server}")
        for host in made:
            host.wait()
        one.works("site", source=one.first)
        one.works("verify", source=one.first)
        yield one


def test_site_gives_each_side_what_it_needs_after_a_change(cluster):
    if cluster.rest:
        to = f"semisync_switchover_to={cluster.second.name}"
        # It begins with the groups that are right, and ends with those that are old.
        done = cluster.play("switchover", "-e", to)
        assert done.returncode == 0, done.stdout + done.stderr
    else:
        moves.move(cluster.first, cluster.second)
    cluster.works("site")
    if cluster.rest:
        # switchover.yml left nothing to do, and where nothing changes site.yml writes no row.
        cluster.works("verify")
    assert cluster.outcome("P1.1") == [(cluster.second.name, "passed")]
    assert cluster.outcome("P3.4") == [(cluster.second.name, "passed")]
    assert set(cluster.findings()) <= {
        "relay_log_not_synced",
        "replica_writable",
        "replication_unverified",
    }


def test_a_second_run_changes_nothing_and_asks_each_host_once(cluster):
    said = cluster.works("site", "-vvv")
    assert set(re.findall(r"changed=(\d+)", said)) == {"0"}
    for host in cluster.hosts:
        assert said.count(f"<{host.name}> EXEC ") == 1


def test_verify_writes_on_the_source(cluster):
    cluster.works("verify")
    assert cluster.outcome("P1.1") == [(cluster.second.name, "passed")]
    arrived = [host for host in cluster.hosts if host is not cluster.second]
    assert cluster.outcome("P1.2") == [(host.name, "passed") for host in arrived]


def test_a_restart_of_every_server_keeps_the_sides(cluster):
    for host in cluster.hosts:
        host.shell(f"systemctl restart {host.server}")
    for host in cluster.hosts:
        host.wait()
    host = cluster.first
    word = "SLAVE" if host.server == "mariadb" else "REPLICA"
    eventually(
        lambda: host.sql(f"SHOW {word} STATUS", form="--vertical").stdout.count("Running: Yes") == 2
    )
    said = cluster.works("site")
    assert set(re.findall(r"changed=(\d+)", said)) == {"0"}


def test_a_drill_stops_who_is_a_replica_now(cluster):
    cluster.works("drill", *CONSENT, "-e", f"semisync_drill_replica={cluster.first.name}")
    (drill,) = cluster.document("drill.json")["drills"]
    assert (drill["replica"], drill["source"]) == (cluster.first.name, cluster.second.name)
    assert (cluster.folder / "results/default/latest/summary.md").exists()


def test_the_whole_procedure_with_its_benchmark_loads_the_source(cluster):
    replica = ("-e", f"semisync_drill_replica={cluster.first.name}")
    cluster.works("procedure", *CONSENT, *replica, "-e", f"semisync_suite={cluster.suite}")
    measured = cluster.document("benchmark-ours.json")
    assert all(cell["valid"] for cell in measured["cells"])
    assert cluster.document("drill.json")["drills"][0]["source"] == cluster.second.name
    assert (cluster.folder / "results/default/latest/summary.md").exists()


def test_the_password_is_rotated_from_the_source(cluster):
    cluster.password = NEW_PASSWORD
    cluster.works("rotate")
    cluster.works("verify")


def test_gtids_have_nothing_to_convert(cluster):
    cluster.works("gtid")


def test_the_candidate_is_named_when_the_source_dies(cluster):
    live_hosts.run("docker", "kill", cluster.second.name)
    said = cluster.works("candidate")
    assert f"{cluster.first.name}: has everything that any replica has received" in said
    live_hosts.run("docker", "start", cluster.second.name)
    cluster.second.wait()
    eventually(lambda: cluster.play("verify").returncode == 0, seconds=90)


def test_semisync_goes_and_comes_with_a_baseline(cluster):
    cluster.works("remove")
    cluster.works("site", *CONSENT, semisync_baseline=True)
    assert cluster.outcome("P2.1") == [(cluster.second.name, "passed")]


def test_a_source_that_was_cut_off_is_a_contradiction(cluster):
    """A replica is promoted by hand although the source takes writes. After a failover the former
    source is held: see test_rejoin.py.
    """
    first, second = cluster.first, cluster.second
    moves.promote(first)
    moves.write_row(first, second, first)
    second.sql("INSERT INTO important.stuff (details) VALUES ('on the old source')")
    before = [host.fingerprint() for host in cluster.hosts]
    done = cluster.play("site")
    said = live_hosts.words(done)
    assert done.returncode == 2
    # Whom a third host still follows is named first.
    assert re.search(
        rf"({first.name} and {second.name}|{second.name} and {first.name}) take writes, each for"
        " itself",
        said,
    ), said[-2000:]
    assert [host.fingerprint() for host in cluster.hosts] == before
    for name in ("remove", "rotate", "gtid"):
        done = cluster.play(name)
        assert done.returncode == 2 and "take writes, each" in live_hosts.words(done), name
    done = cluster.play("drill", *CONSENT)
    assert done.returncode == 2
    rows = [host.value("SELECT COUNT(*) FROM important.stuff") for host in cluster.hosts]
    done = cluster.play("verify")
    assert done.returncode == 2
    assert rows == [host.value("SELECT COUNT(*) FROM important.stuff") for host in cluster.hosts]
    found = cluster.findings()["two_sources"]
    assert found["severity"] == "critical"
    assert re.search(rf"{first.name} has \S+.* that {second.name} lacks", found["evidence"])
    assert f"{second.name} has nothing" not in found["evidence"]
    assert [host.fingerprint() for host in cluster.hosts] == before
