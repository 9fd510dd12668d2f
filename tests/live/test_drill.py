"""drill.yml on a source with two replicas: who is blocked and who is not, what it refuses, and what
becomes of it when a connection or the controller is lost in the middle. The molecule scenarios have
the drill of a pair.
"""

import json
import os
import shutil
import subprocess
import time

import pytest

from support.eventually import eventually
from support.live_hosts import hosts, inventory, playbook, words
from support.waits import Writers, longest

# Its hosts take a minute to set up.
pytestmark = pytest.mark.long

CONSENT = ("-e", "semisync_allow_disruption=true")
TIMEOUT_MS = 2000
# What a busy machine may add to a wait.
LATE_MS = 700
CLIENTS = 3
# Seconds; the least that is allowed.
RESCUE_AFTER = 30
WORDS = {"mysql": ("source", "REPLICA"), "mariadb": ("master", "SLAVE")}
# In place of docker for Ansible: it does not reach the hosts that are listed in a file.
UNPLUGGED = """#!/bin/sh
for name in $(cat {list}); do
  case " $* " in *" exec "*" $name "*) echo "$name is unplugged" >&2; exit 1;; esac
done
exec {docker} "$@"
"""


class Tree:
    """A source and its two replicas."""

    def __init__(self, made, folder):
        self.source, self.replicas, self.folder = made[0], made[1:], folder
        self.side, self.thread = WORDS[self.source.server]
        self.last = None

    def inventory(self, **variables):
        return inventory(
            self.folder,
            {self.source: {}},
            {host: {} for host in self.replicas},
            **{"semisync_timeout": TIMEOUT_MS, **variables},
        )

    def setting(self, name, value):
        self.source.sql(f"SET GLOBAL rpl_semi_sync_{self.side}_{name} = {value}")

    def status(self, name):
        return self.source.value(
            f"SHOW GLOBAL STATUS LIKE 'rpl_semi_sync_{self.side}_{name}'"
        ).split()[-1]

    def drill(self, *arguments, consent=CONSENT, **variables):
        """(exit status, the drills in drill.json, what was said)."""
        result = playbook("drill", self.inventory(**variables), *consent, *arguments)
        return result.returncode, self.drills(), words(result)

    def drills(self):
        """The drills of the newest run; none if it has none, or there was no new run."""
        path = self.folder / "results/default/latest"
        before, self.last = self.last, path.resolve()
        file = path / "drill.json"
        return (
            json.loads(file.read_text())["drills"] if self.last != before and file.exists() else []
        )

    def whole(self):
        """Wait until the source counts both replicas and waits for them."""
        until = time.monotonic() + 60
        while (self.status("clients"), self.status("status")) != ("2", "ON"):
            assert time.monotonic() < until, (self.status("clients"), self.status("status"))
            time.sleep(0.2)


def started(host):
    """When systemd last started this host's server."""
    return host.shell(
        "systemctl show --property=ActiveEnterTimestampMonotonic " + host.server
    ).stdout.strip()


def is_active(host):
    return host.shell("systemctl is-active --quiet " + host.server, check=False).returncode == 0


def is_gone(host):
    """Whether the server has stopped, and not only begun to."""
    return host.shell("systemctl is-active " + host.server, check=False).stdout.strip() in (
        "inactive",
        "failed",
    )


def timers(host):
    return host.shell(
        "systemctl list-units --all --plain --no-legend 'dbre-semisync-rescue-*'"
    ).stdout.split()[:1]


def journal(host):
    """What systemd did on this host, and what it still will do."""
    return host.shell(
        f"systemctl list-timers --all 'dbre*'; systemctl status {host.server}; systemctl list-units"
        " --all 'dbre*'; journalctl --no-pager --lines=60",
        check=False,
    ).stdout


@pytest.fixture(
    scope="module", params=[("mysql", ""), ("mariadb", "12")], ids=lambda param: param[0]
)
def tree(request, tmp_path_factory):
    for made in hosts(
        *[(name, *request.param) for name in ("source", "replica1", "replica2")], turn="live-drill"
    ):
        one = Tree(made, tmp_path_factory.mktemp("drill"))
        result = playbook("site", one.inventory())
        assert result.returncode == 0, result.stdout
        one.drills()
        yield one


def test_nobody_is_blocked_where_enough_others_acknowledge(tree):
    before = tree.status("no_tx")
    writers = Writers(tree.source, CLIENTS)
    writers.start()
    status, drills, said = tree.drill()
    found = writers.stop()
    assert status == 0, said
    assert [one["replica"] for one in drills] == [host.name for host in tree.replicas]
    for one in drills:
        assert not one["expected_fallback"] and one["blocked_ms"] == one["unprotected"] == 0
        assert one["longest_ms"] < TIMEOUT_MS
        assert {
            point["outcome"]
            for point in one["checkpoints"]
            if point["id"] in ("P6.2", "P6.3", "P6.4")
        } == {"not_applicable"}
    # Each drill says it, and so may its last line.
    assert said.count("no writer was blocked") >= 2
    # The servers' own words, and other writers.
    assert tree.status("no_tx") == before
    assert found["refused"] == 0 and longest(found["rows"]) < TIMEOUT_MS


def test_check_mode_and_refusals_stop_nothing(tree):
    before = [started(host) for host in tree.replicas]
    checked = tree.drill("--check")
    assert checked[:2] == (0, []), checked[2]
    assert [started(host) for host in tree.replicas] == before
    # Several clusters at once.
    both = inventory(
        tree.folder,
        {tree.source: {"semisync_cluster": "a"}, tree.replicas[0]: {"semisync_cluster": "b"}},
        {},
    )
    refused = playbook("drill", both, *CONSENT)
    assert refused.returncode == 2 and "A drill disturbs one cluster at a time" in words(refused)
    # A cluster that is not healthy, though enough are left.
    tree.replicas[1].sql(f"STOP {tree.thread} IO_THREAD")
    status, drills, said = tree.drill()
    assert status == 2 and drills == [] and "P0 on " + tree.replicas[1].name in said
    tree.replicas[1].sql(f"START {tree.thread} IO_THREAD")
    tree.whole()
    assert [started(host) for host in tree.replicas] == before


# MariaDB waits for one acknowledgement.
@pytest.mark.only("mysql")
def test_writers_are_blocked_where_every_acknowledgement_is_wanted(tree):
    tree.setting("wait_for_replica_count", 2)
    writers = Writers(tree.source, CLIENTS)
    writers.start()
    status, drills, said = tree.drill(
        "-e", "semisync_drill_replica=" + tree.replicas[1].name, semisync_wait_for_replica_count=2
    )
    found = writers.stop()
    tree.setting("wait_for_replica_count", 1)
    assert status == 0, said
    (one,) = drills
    assert one["expected_fallback"] and one["unprotected"] > 0
    # Who comes while another one waits already waits less.
    assert 0.5 * TIMEOUT_MS < one["blocked_ms"] <= TIMEOUT_MS + LATE_MS
    assert TIMEOUT_MS - 2 <= max(one["blocked_ms"], longest(found["rows"])) <= TIMEOUT_MS + LATE_MS
    assert f"writers blocked for {one['blocked_ms'] / 1000:.2f} s (timeout 2.00 s)" in said


def test_a_named_replica_is_drilled_and_no_other(tree):
    before = [started(host) for host in tree.replicas]
    status, drills, said = tree.drill("-e", "semisync_drill_replica=" + tree.replicas[1].name)
    assert status == 0, said
    assert [one["replica"] for one in drills] == [tree.replicas[1].name]
    assert [started(host) == then for host, then in zip(tree.replicas, before, strict=False)] == [
        True,
        False,
    ]
    tree.whole()


def test_a_timeout_of_a_tenth_of_a_second(tree):
    """The other replica acknowledges nothing here, so that writers fall back."""
    one = tree.replicas[0]
    alone = inventory(tree.folder, {tree.source: {}}, {one: {}}, semisync_timeout=100)
    tree.replicas[1].sql(f"STOP {tree.thread} IO_THREAD")
    tree.setting("timeout", 100)
    eventually(
        lambda: (
            tree.source.sql("INSERT INTO important.stuff (details) VALUES ('written by a test')")
            and tree.status("clients") == "1"
        ),
        "the source counts one client",
    )
    result = playbook("drill", alone, *CONSENT)
    tree.setting("timeout", TIMEOUT_MS)
    tree.replicas[1].sql(f"START {tree.thread} IO_THREAD")
    assert result.returncode == 0, result.stdout
    (drill,) = tree.drills()
    assert drill["expected_fallback"] and 98 <= drill["blocked_ms"] <= 100 + LATE_MS
    assert drill["unprotected"] > 0 and drill["recovery_seconds"] > 0
    tree.whole()


def begin(tree, *arguments, **environment):
    """A drill of the first replica, running."""
    command = [
        "ansible-playbook",
        "-i",
        str(tree.inventory()),
        "dbre.semisync.drill",
        *CONSENT,
        *arguments,
        "-e",
        "semisync_drill_replica=" + tree.replicas[0].name,
    ]
    return subprocess.Popen(
        command,
        cwd=tree.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        stderr=subprocess.STDOUT,
        env=dict(os.environ, COLUMNS="1000", **environment),
    )


@pytest.mark.parametrize("lost", ["source", "replica"])
def test_a_lost_connection_breaks_the_drill_off_and_the_server_is_started(tree, tmp_path, lost):
    host, replica = tree.source if lost == "source" else tree.replicas[0], tree.replicas[0]
    listed, wrapper = tmp_path / "unplugged", tmp_path / "docker"
    listed.write_text("")
    wrapper.write_text(UNPLUGGED.format(list=listed, docker=shutil.which("docker")))
    wrapper.chmod(0o755)
    # Without pipelining each task begins with a command of its own, whose failure means:
    # unreachable.
    with begin(
        tree,
        "-e",
        f"semisync_drill_rescue_after={RESCUE_AFTER}",
        ANSIBLE_PIPELINING="false",
        PATH=f"{tmp_path}:{os.environ['PATH']}",
    ) as run:
        eventually(lambda: not is_active(replica), "the drill stops the server")
        listed.write_text(host.name)
        said = " ".join(run.communicate(timeout=120)[0].split())
    at_once = is_active(replica)
    assert run.returncode == 2, said
    assert f"drill of {replica.name} failed" in said and "not reachable" in said
    (drill,) = tree.drills()
    assert drill["outcome"] == "failed"
    # By the drill itself where it could, else by the timer on the host.
    assert at_once is (lost == "source") and ("MAY NOT RUN" in said) is (lost == "replica"), said
    eventually(
        lambda: is_active(replica),
        "the timer starts the server",
        RESCUE_AFTER + TIMEOUT_MS / 1000 + 20,
    )
    tree.whole()
    status, _dummy, said = tree.drill("-e", "semisync_drill_replica=" + replica.name)
    assert status == 0 and timers(replica) == [], said


def test_a_killed_controller_leaves_it_to_the_hosts_timer(tree):
    replica = tree.replicas[0]
    with begin(tree, "-e", "semisync_drill_rescue_after=900") as run:
        eventually(lambda: not is_active(replica), "the drill stops the server")
        run.kill()
    eventually(lambda: is_gone(replica), "the server has stopped")
    assert len(timers(replica)) == 1
    eventually(lambda: is_active(replica), "the timer starts the server", 70)
    tree.whole()
    eventually(lambda: timers(replica) == [], "the timer is gone")


def test_a_server_that_does_not_start_is_named_and_its_host_tries_again(tree):
    replica = tree.replicas[0]
    folder = f"/etc/systemd/system/{replica.server}.service.d"
    replica.shell(
        f"mkdir -p {folder} && printf '[Service]\nExecStartPre=/bin/sh -c \"echo no room; exit"
        f" 1\"\n' > {folder}/broken.conf && systemctl daemon-reload"
    )
    status, drills, said = tree.drill(
        "-e",
        "semisync_drill_replica=" + replica.name,
        "-e",
        f"semisync_drill_rescue_after={RESCUE_AFTER}",
    )
    assert status == 2 and "DOES NOT RUN" in said and "no room" in said, said
    assert drills[0]["outcome"] == "failed" and not is_active(replica) and len(timers(replica)) == 1
    replica.shell(f"rm {folder}/broken.conf && systemctl daemon-reload")
    eventually(
        lambda: is_active(replica),
        lambda: "its host starts the server\n" + journal(replica),
        RESCUE_AFTER + 30,
    )
    tree.whole()
