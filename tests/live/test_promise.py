"""semisync_promise=lossless on real servers: writers wait while no replica acknowledges, a source
that starts lets no client in before site.yml does, and available reverts all of it.
"""

from __future__ import annotations

import re
import subprocess
import time

import pytest

from support.acknowledged import RELEASES
from support.dying import UNITS, io_thread
from support.live_hosts import hosts, inventory, playbook, words

# Some twenty runs of playbooks on each pair.
pytestmark = pytest.mark.long

SIDE = {"mysql": "source", "mariadb": "master"}
LOSSLESS = ("-e", "semisync_promise=lossless")
WEEK_MS = "604800000"


class Pair:
    """A source, a replica, and the inventory that says nothing of a timeout."""

    def __init__(self, source, replica, folder):
        self.source, self.replica, self.folder = source, replica, folder
        self.both = (source, replica)
        self.promised = LOSSLESS
        self.inventory()

    def inventory(self, **of_source):
        self.file = inventory(
            self.folder, {self.source: of_source}, {self.replica: {}}, semisync_timeout=None
        )

    def run(self, name, *more):
        return playbook(name, self.file, *self.promised, *more)

    def semisync(self, name, kind="VARIABLES"):
        full = f"rpl_semi_sync_{SIDE[self.source.server]}_{name}"
        return self.source.value(f"SHOW GLOBAL {kind} LIKE '{full}'").split("\t")[1]

    def pids(self):
        return [host.shell("pidof mysqld mariadbd", check=False).stdout for host in self.both]


def variable(host, name):
    return host.value(f"SHOW GLOBAL VARIABLES LIKE '{name}'").split("\t")[1]


def applied(pair):
    """site.yml went well, and found the pair healthy at its end."""
    done = pair.run("site")
    assert done.returncode == 0, done.stdout + done.stderr


def settled(pair):
    """The same, and the next run has nothing to do."""
    applied(pair)
    again = pair.run("site")
    assert again.returncode == 0, again.stdout + again.stderr
    assert set(re.findall(r"changed=(\d+)", again.stdout)) == {"0"}, again.stdout


def restart(host):
    host.shell(f"systemctl restart {UNITS[host.server]}")
    host.wait()


@pytest.fixture(scope="module", params=["mysql", "mariadb"], name="pair")
def fixture_pair(request, tmp_path_factory):
    server = request.param
    wanted = [(name, server, RELEASES[server]) for name in ("source", "replica")]
    for source, replica in hosts(*wanted, turn="live-promise"):
        source.stop_quickly()
        pair = Pair(source, replica, tmp_path_factory.mktemp("pair"))
        done = playbook("site", pair.file)
        assert done.returncode == 0, done.stdout + done.stderr
        yield pair


def test_what_contradicts_the_promise_is_refused_before_anything_is_touched(pair):
    before = [host.fingerprint() for host in pair.both]
    done = pair.run("site", "-e", "semisync_timeout=10000")
    assert done.returncode != 0
    assert "semisync_timeout is 10000, after which the source would confirm" in words(done)
    assert [host.fingerprint() for host in pair.both] == before


def test_a_running_pair_becomes_lossless_without_a_restart(pair):
    before = pair.pids()
    settled(pair)
    assert pair.pids() == before
    verified = pair.run("verify")
    assert verified.returncode == 0 and "Findings of cluster default: none" in verified.stdout
    assert pair.semisync("timeout") == WEEK_MS
    assert [variable(host, "sync_relay_log") for host in pair.both] == ["1", "1"]
    assert [variable(host, "read_only") for host in pair.both] == ["OFF", "ON"]


def test_values_that_cannot_keep_the_promise_are_said_and_mended(pair):
    pair.source.sql(f"SET GLOBAL rpl_semi_sync_{SIDE[pair.source.server]}_timeout = 10000")
    pair.replica.sql("SET GLOBAL sync_relay_log = 10000")
    verified = pair.run("verify")
    assert verified.returncode == 2
    assert "timeout is 10000 ms" in words(verified) and "sync_relay_log is 10000" in words(verified)
    applied(pair)


def test_writers_wait_for_a_replica_that_is_gone_and_go_on_when_it_is_back(pair):
    pair.source.sql("CREATE DATABASE app; CREATE TABLE app.t (id INT PRIMARY KEY) ENGINE=InnoDB")
    before = pair.semisync("no_tx", "STATUS")
    pair.replica.shell(f"systemctl stop {UNITS[pair.replica.server]}")
    command = ["docker", "exec", "-i", pair.source.name, pair.source.client]
    with subprocess.Popen([*command, "--execute=INSERT INTO app.t VALUES (1)"]) as writer:
        # Longer than the timeout that was there before.
        time.sleep(13)
        assert writer.poll() is None
        verified = pair.run("verify")
        assert verified.returncode == 2
        assert "writers_frozen" in words(verified) and "wait_sessions is" in words(verified)
        assert writer.poll() is None
        pair.replica.shell(f"systemctl start {UNITS[pair.replica.server]}")
        pair.replica.wait()
        assert writer.wait(90) == 0
    deadline = time.monotonic() + 30
    while pair.replica.value("SELECT COUNT(*) FROM app.t") != "1":
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert pair.semisync("no_tx", "STATUS") == before


def test_a_source_that_was_restarted_lets_nobody_in_before_site_yml_does(pair):
    restart(pair.source)
    assert variable(pair.source, "read_only") == "ON"
    verified = pair.run("verify")
    assert verified.returncode == 2 and "source_closed" in words(verified)
    applied(pair)
    assert [variable(host, "read_only") for host in pair.both] == ["OFF", "ON"]


def test_a_restart_by_site_yml_opens_the_source_and_waits_for_no_replica_that_is_gone(pair):
    pair.inventory(semisync_bind_address="0.0.0.0")
    io_thread(pair.replica, "STOP")
    before = pair.pids()
    done = pair.run("site")
    assert done.returncode != 0 and "Bring a replica back first" in words(done)
    assert pair.pids() == before and variable(pair.source, "read_only") == "OFF"
    io_thread(pair.replica, "START")
    applied(pair)
    assert pair.pids() != before and variable(pair.source, "bind_address") == "0.0.0.0"
    assert [variable(host, "read_only") for host in pair.both] == ["OFF", "ON"]


def test_available_takes_all_of_it_back(pair):
    pair.promised = ()
    before = pair.pids()
    settled(pair)
    assert pair.pids() == before
    assert pair.semisync("timeout") == "10000"
    assert [variable(host, "sync_relay_log") for host in pair.both] == ["10000", "10000"]
    restart(pair.source)
    assert [variable(host, "read_only") for host in pair.both] == ["OFF", "ON"]
