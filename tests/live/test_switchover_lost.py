"""A switchover, and a host of it that is lost in the middle: some playbook leads out, with consent
by name where something may be lost, and what was confirmed is there.
"""

from __future__ import annotations

import pathlib
import subprocess
import threading
from typing import Any

import pytest

from support.acknowledged import RELEASES
from support.dying import UNITS, certificate, forbid_restart, kill
from support.eventually import eventually
from support.live_hosts import Host, hosts, inventory, playbook, run, words

# Its hosts take a minute to set up, and each host that is lost has to come back.
pytestmark = pytest.mark.long

CLIENTS = pathlib.Path(__file__).parents[1] / "support" / "clients"
ACCEPT = "semisync_failover_accept="


class Cluster:
    """Three hosts, with a timeout that outlasts the test."""

    def __init__(self, made: list[Host], folder: pathlib.Path) -> None:
        self.hosts, self.folder = made, folder
        self.file = inventory(
            folder, {made[0]: {}}, {host: {} for host in made[1:]}, semisync_timeout=3600000
        )

    def run(self, name: str, *arguments: str, good: bool = True) -> str:
        done = playbook(name, self.file, *arguments)
        assert (done.returncode == 0) is good, done.stdout + done.stderr
        return words(done)

    def move(self, to: Host, good: bool = True) -> str:
        return self.run("switchover", "-e", f"semisync_switchover_to={to.name}", good=good)

    def writable(self) -> list[Host]:
        said = {host: host.sql("SELECT @@GLOBAL.read_only", check=False) for host in self.hosts}
        return [host for host, done in said.items() if done.stdout.strip() in ("0", "OFF")]

    def parts(self) -> tuple[Host, Host, Host]:
        """The source, and two replicas."""
        (source,) = self.writable()
        others = [host for host in self.hosts if host is not source]
        return source, others[0], others[1]

    def write(self, on: Host, client: int) -> None:
        """Rows that a client is told are committed."""
        for number in range(5):
            on.sql(f"INSERT INTO app.written VALUES ({client}, {number})")

    def rows(self, on: Host, client: int) -> str:
        return on.value(f"SELECT COUNT(*) FROM app.written WHERE client = {client}")

    def back(self, host: Host, *arguments: str) -> None:
        """The server that was lost is back, and the cluster is whole."""
        host.shell(f"systemctl start {UNITS[host.server]}")
        host.wait()
        self.run("rejoin", "-e", f"semisync_rejoin={host.name}", *arguments)
        self.run("site")
        self.run("verify")


@pytest.fixture(scope="module", params=["mysql", "mariadb"], name="cluster")
def fixture_cluster(request, tmp_path_factory):
    server = request.param
    names = ["source", "replica1", "replica2"]
    wanted = ((name, server, RELEASES[server]) for name in names)
    for made in hosts(*wanted, turn="live-switchover-lost"):
        cluster = Cluster(made, tmp_path_factory.mktemp("cluster"))
        cluster.run("site")
        made[0].sql(
            "CREATE DATABASE app; CREATE TABLE app.written (client INT, number INT, PRIMARY KEY"
            " (client, number)) ENGINE=InnoDB"
        )
        for host in made:
            for name in ("kill_at.py", "hold_journal.py"):
                run("docker", "cp", CLIENTS / name, f"{host.name}:/root/{name}")
        cluster.run("verify")
        yield cluster


def begin(host: Host, script: str, *arguments: str) -> Any:
    """A script on a host that waits for a moment of the switchover."""
    process = subprocess.Popen(
        [
            *("docker", "exec", host.name, "python3", "-u", f"/root/{script}"),
            *(host.value("SELECT @@socket"), *arguments),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "waits"
    return process


def test_a_source_that_is_lost_when_it_had_begun_does_not_keep_the_others_closed(cluster):
    source, target, other = cluster.parts()
    cluster.write(source, 1)
    cluster.run("verify")
    forbid_restart(source)
    process = begin(source, "kill_at.py", "begun", "server")
    cluster.move(target, good=False)
    assert "server at begun" in process.stdout.read()
    assert cluster.writable() == []
    # The journal says on both that it began, and nothing else can say more.
    for host in (target, other):
        newest = "SELECT state FROM important.semisync_journal ORDER BY number DESC LIMIT 1"
        assert host.value(newest) == "begun"
    assert "failover.yml, which continues with the others" in cluster.move(target, good=False)
    assert "VERDICT proven" in cluster.run("failover", "--check")
    cluster.run("failover")
    kept = certificate(cluster.folder)
    assert (kept["verdict"], kept["outcome"]) == ("proven", "done")
    (heir,) = cluster.writable()
    assert heir in (target, other) and cluster.rows(heir, 1) == "5"
    cluster.write(heir, 2)
    cluster.back(source)
    assert cluster.rows(source, 2) == "5"


def test_a_target_that_is_lost_when_it_was_open_leaves_one_that_takes_writes(cluster):
    source, target, other = cluster.parts()
    holder = begin(target, "hold_journal.py", "300")
    forbid_restart(target)
    said: list[str] = []
    mover = threading.Thread(target=lambda: said.append(cluster.move(target, good=False)))
    mover.start()
    eventually(lambda: cluster.writable() == [target], "the target is open", 120)
    cluster.write(target, 3)
    kill(target)
    mover.join(300)
    holder.kill()
    assert said and cluster.writable() == []
    assert f"{ACCEPT}interrupted" in cluster.move(target, good=False)
    refused = cluster.run("failover", good=False)
    assert f"{target.name} may have been writable, and could not be read" in refused
    assert f"{ACCEPT}interrupted,unwatched" in refused
    cluster.run("failover", "-e", f"{ACCEPT}interrupted,unwatched")
    kept = certificate(cluster.folder)
    assert (kept["from"], kept["outcome"]) == (target.name, "done")
    assert kept["verdict"] == "not proven" and "interrupted" in kept["accepted"]
    (heir,) = cluster.writable()
    assert heir in (source, other) and cluster.rows(heir, 3) == "5"
    cluster.write(heir, 4)
    cluster.back(target)
    assert cluster.rows(target, 4) == "5"


def test_a_source_that_let_nobody_open_is_open_again_without_the_target(cluster):
    source, target, other = cluster.parts()
    forbid_restart(target)
    process = begin(source, "kill_at.py", "begun", "host")
    mover = threading.Thread(target=lambda: cluster.move(target, good=False))
    mover.start()
    assert "host at begun" in process.stdout.read()
    run("docker", "kill", source.name)
    kill(target)
    mover.join(300)
    run("docker", "start", source.name)
    source.wait()
    # Whether it is kept from writers hangs on where it was; the row is there all the same.
    said = cluster.move(target, good=False)
    assert "undone" in said
    assert cluster.writable() == [source]
    cluster.write(source, 5)
    assert cluster.rows(other, 5) == "5"
    target.shell(f"systemctl start {UNITS[target.server]}")
    target.wait()
    cluster.run("site")
    cluster.run("verify")
