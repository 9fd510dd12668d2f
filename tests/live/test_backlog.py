"""A replica that has received more than it has applied: verify.yml and candidate.yml say how long a
failover would take, and failover.yml says how far it is, applies faster if it may, and is as
careful as before when it opens.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import time

import pytest

from support.acknowledged import RELEASES
from support.backlogs import (
    applier,
    drain,
    load,
    one_by_one,
    prepare,
    rows_of,
    slow,
    wait_for,
)
from support.dying import UNITS, certificate, forbid_restart, io_thread, kill
from support.live_hosts import hosts, inventory, playbook, words

# Thousands of transactions are applied one after another.
pytestmark = pytest.mark.long

CAREFUL = "SELECT @@GLOBAL.sync_binlog, @@GLOBAL.innodb_flush_log_at_trx_commit"
FIRST, SECOND = 2000, 4000


class Cluster:
    def __init__(self, made, folder):
        self.source, *self.replicas = made
        self.folder = folder
        self.file = inventory(
            folder,
            {self.source: {}},
            {host: {} for host in self.replicas},
            semisync_timeout=3600000,
        )

    def run(self, name, *more):
        return playbook(name, self.file, *more)


@pytest.fixture(scope="module", params=["mysql", "mariadb"], name="cluster")
def fixture_cluster(request, tmp_path_factory):
    server = request.param
    wanted = [(name, server, RELEASES[server]) for name in ("source", "replica1", "replica2")]
    for made in hosts(*wanted, turn="live-backlog"):
        cluster = Cluster(made, tmp_path_factory.mktemp("cluster"))
        done = cluster.run("site")
        assert done.returncode == 0, done.stdout + done.stderr
        for replica in cluster.replicas:
            one_by_one(replica)
            slow(replica, 5000)
        prepare(cluster.source)
        yield cluster


def backlog(cluster, rows):
    """So many rows, all confirmed, that the replicas have begun to apply."""
    for replica in cluster.replicas:
        applier(replica, "STOP")
    load(cluster.source, rows)
    for replica in cluster.replicas:
        applier(replica, "START")
    # An applier that started after the last look counts against a proof: it gets a later look.
    seen = cluster.run("verify")
    assert seen.returncode in (0, 2), seen.stdout


def test_how_long_a_failover_would_take_is_said_or_that_nobody_knows(cluster):
    replica = cluster.replicas[0]
    done = cluster.run("verify")
    assert done.returncode == 0, done.stdout
    assert f"{replica.name}: nothing to apply" in words(done)

    applier(replica, "STOP")
    load(cluster.source, FIRST)
    done = cluster.run("verify")
    assert done.returncode == 2 and "applier_stopped" in words(done)
    assert "how long that takes is not known: its applier has stopped" in words(done)

    applier(replica, "START")
    done = cluster.run("verify", "-e", "semisync_failover_max_seconds=0.5")
    print([line for line in done.stdout.splitlines() if "to apply" in line])
    assert f"failover_slow on {replica.name}" not in words(done), "it is no more than a warning"
    assert "(failover_slow)" in words(done) and "a second (limit 0.5 s)" in words(done)
    drain(replica, FIRST)


def kill_all(inventory_file):
    """End a run with its workers, which have sessions of their own."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(inventory_file) in (folder / "cmdline").read_text():
                os.kill(int(folder.name), signal.SIGKILL)


def test_where_the_run_dies_all_is_put_back_within_a_minute(cluster):
    backlog(cluster, SECOND)
    forbid_restart(cluster.source)
    kill(cluster.source)
    command = ["ansible-playbook", "-i", cluster.file, "dbre.semisync.failover"]
    command += ["-e", "semisync_failover_fast_apply=true"]
    environment = dict(os.environ, ANSIBLE_PIPELINING="true", COLUMNS="1000")
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        cwd=cluster.folder,
        env=environment,
    ) as run:
        for line in run.stdout or ():
            if "transactions are left after" in line:
                kill_all(cluster.file)
                break
    relaxed = [host for host in cluster.replicas if host.value(CAREFUL).split() != ["1", "1"]]
    print("relaxed when the run died:", [host.name for host in relaxed], line)
    assert len(relaxed) == 1
    deadline = time.monotonic() + 150
    while any(host.value(CAREFUL).split() != ["1", "1"] for host in cluster.replicas):
        assert time.monotonic() < deadline
        time.sleep(1)
    while [io_thread(host) for host in cluster.replicas] != ["Connecting"] * 2:
        assert time.monotonic() < deadline
        time.sleep(1)
    # No replica took over: the source returns unchanged.
    for host in cluster.replicas:
        slow(host, 0)
    cluster.source.shell(f"systemctl start {UNITS[cluster.source.server]}")
    cluster.source.wait()
    for host in cluster.replicas:
        wait_for(host, FIRST + SECOND)
    done = cluster.run("verify")
    assert done.returncode == 0, done.stdout


def test_a_backlog_is_told_applied_faster_and_the_disk_is_written_to_again(cluster):
    for host in cluster.replicas:
        slow(host, 5000)
    verified = cluster.run("verify")
    assert verified.returncode == 0, verified.stdout
    backlog(cluster, SECOND)
    confirmed = rows_of(cluster.source)
    forbid_restart(cluster.source)
    kill(cluster.source)
    asked = cluster.run("candidate")
    print([line for line in asked.stdout.splitlines() if "to apply" in line])
    assert "transactions to apply, about" in words(asked)
    done = cluster.run("failover", "-e", "semisync_failover_fast_apply=true")
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "transactions are left after" in words(done)
    kept = certificate(cluster.folder)
    assert (kept["verdict"], kept["outcome"]) == ("proven", "done")
    ahead = kept["applied_ahead"]
    assert ahead["relaxed"] == {"sync_binlog": 1000, "innodb_flush_log_at_trx_commit": 2}
    assert ahead["careful_again"] and ahead["transactions"] >= 200
    target = next(host for host in cluster.replicas if host.name == kept["to"])
    assert target.value(CAREFUL).split() == ["1", "1"]
    assert rows_of(target) == confirmed
