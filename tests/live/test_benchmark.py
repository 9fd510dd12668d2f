"""benchmark.yml on a real pair: what it leaves, what it catches, and how it goes on after it was
killed.
"""

import json
import os
import signal
import subprocess
import time

import pytest

from support import live_hosts
from support.eventually import eventually

SUITE = """
title: A small one
repetitions: 1
time_limit: 30
load:
  tool: client
  seconds: {seconds}
  create: CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v VARCHAR(100)) ENGINE=InnoDB
  query: INSERT INTO t (v) VALUES ('x')
cells:
  - {{id: none, replication: none}}
  - id: async
    replication: async
    durability: {{sync_binlog: 0, innodb_flush_log_at_trx_commit: 0}}
  - {{id: semisync, replication: semisync, baseline: async, timeout_ms: 100000000}}
  - {{id: slap, replication: semisync, load: {{tool: mysqlslap, clients: 4, queries: 200}}}}
"""
LONG = """
title: A cell of half an hour
repetitions: 1
warm_up: false
time_limit: 1900
load: {tool: client, seconds: 1800, create: CREATE TABLE t (v INT), query: INSERT INTO t VALUES (1)}
cells:
  - id: none
    replication: none
    durability: {sync_binlog: 0, innodb_flush_log_at_trx_commit: 0}
"""
ONE = """
title: One long cell
repetitions: 1
warm_up: false
time_limit: 40
load: {tool: client, seconds: 12, create: CREATE TABLE t (v INT), query: INSERT INTO t VALUES (1)}
cells:
  - {id: semisync, replication: semisync}
"""
VARIABLES = (
    "sync_binlog",
    "innodb_flush_log_at_trx_commit",
    "rpl_semi_sync_source_enabled",
    "rpl_semi_sync_source_timeout",
)


@pytest.fixture(scope="module")
def pair(shared_pair, tmp_path_factory):
    source, replica = shared_pair
    path = tmp_path_factory.mktemp("benchmark")
    file = live_hosts.inventory(path, {source: {}}, {replica: {}})
    done = live_hosts.playbook("site", file)
    assert done.returncode == 0, done.stdout + done.stderr
    return Pair(source, replica, path, file)


class Pair:
    """A source and a replica that site.yml has set up, and the benchmark on them."""

    def __init__(self, source, replica, path, file):
        self.source, self.replica, self.path, self.file = source, replica, path, file

    def suite(self, text):
        path = self.path / "ours.yml"
        path.write_text(text)
        return path

    def arguments(self, text):
        return ["-e", f"semisync_suite={self.suite(text)}", "-e", "semisync_allow_disruption=true"]

    def run(self, text):
        return live_hosts.playbook("benchmark", self.file, *self.arguments(text))

    def start(self, text):
        """Start it in a process group of its own."""
        return subprocess.Popen(
            [
                "ansible-playbook",
                "-i",
                str(self.file),
                "dbre.semisync.benchmark",
                *self.arguments(text),
            ],
            cwd=self.path,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def document(self):
        return json.loads(
            (self.path / "results" / "default" / "latest" / "benchmark-ours.json").read_text()
        )

    def state(self):
        """What a benchmark may change: variables, channel threads, schemas, accounts, timers."""
        names = ", ".join(f"'{name}'" for name in VARIABLES)
        return (
            self.source.value(
                f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names}); SHOW DATABASES;"
                "SELECT User FROM mysql.user ORDER BY User"
            ),
            self.replica.value(
                "SELECT COUNT(*) FROM performance_schema.replication_connection_status"
                " WHERE SERVICE_STATE = 'ON'"
            ),
            [
                host.shell(
                    "systemctl list-units --plain --no-legend 'semisync-*'; ls /run/dbre-semisync"
                    " 2>/dev/null",
                    check=False,
                ).stdout
                for host in (self.source, self.replica)
            ],
        )

    def loaded(self):
        """Whether the load is at work."""
        return (
            self.source.value(
                "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA LIKE"
                " 'semisync\\_bench%' AND TABLE_ROWS >= 0"
            )
            != "0"
        )


def test_a_suite_runs_and_leaves_the_pair_as_it_was(pair):
    before = pair.state()
    done = pair.run(SUITE.format(seconds=2))
    assert done.returncode == 0, done.stdout
    assert pair.state() == before
    document = pair.document()
    assert document["complete"] and [cell["valid"] for cell in document["cells"]] == [True] * 4
    rates = {cell["id"]: cell["statistics"]["median"] for cell in document["cells"]}
    assert all(rate > 0 for rate in rates.values())
    assert (
        document["cells"][2]["latency_ms"]["p95"] >= document["cells"][2]["latency_ms"]["p50"] > 0
    )
    assert "semisync, run 1" in done.stdout and "left" in done.stdout


@pytest.mark.parametrize(
    "text,words",
    [
        (
            SUITE.format(seconds=2).replace("seconds", "second"),
            "ours.yml, line 7: load has no key 'second'; did you mean seconds?",
        ),
        (SUITE.format(seconds=0), "ours.yml, line 7: seconds is 0; it must be from 1 to 86400"),
    ],
)
def test_a_suite_with_a_mistake_is_refused_before_anything_is_touched(pair, text, words):
    before = pair.state()
    done = pair.run(text)
    assert done.returncode != 0 and words in live_hosts.words(done)
    assert pair.state() == before


def test_without_consent_nothing_is_touched(pair):
    before = pair.state()
    done = live_hosts.playbook("benchmark", pair.file)
    assert done.returncode != 0
    assert "pass -e semisync_allow_disruption=true" in live_hosts.words(done)
    assert pair.state() == before


@pytest.mark.parametrize("name", ["durability", "b3"])
def test_a_host_without_the_suites_tool_is_named_before_anything_is_touched(pair, name):
    before = pair.state()
    suite = ["-e", f"semisync_suite={name}", "-e", "semisync_allow_disruption=true"]
    done = live_hosts.playbook("benchmark", pair.file, *suite)
    assert done.returncode != 0
    assert (
        f"Nothing was changed. The suite's load cannot run: {pair.source.name} has no sysbench"
        in live_hosts.words(done)
    )
    assert pair.state() == before


@pytest.mark.long
def test_a_killed_controller_leaves_a_timer_and_the_next_run_goes_on(pair):
    before = pair.state()
    process = pair.start(SUITE.format(seconds=3))
    kept = pair.path / "results" / "default" / "latest" / "benchmark-ours.json"

    def two_kept():
        return (
            kept.exists()
            and not pair.document()["complete"]
            and sum(len(cell["repetitions"]) for cell in pair.document()["cells"]) >= 2
        )

    eventually(two_kept, "two runs are kept", 180)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    run = os.readlink(kept.parent)
    assert "semisync-setting-" in pair.source.shell("systemctl list-timers --all").stdout
    assert not pair.document()["complete"]
    done = pair.run(SUITE.format(seconds=3))
    assert done.returncode == 0, done.stdout
    assert "resuming the interrupted run" in done.stdout and os.readlink(kept.parent) == run
    assert pair.state() == before


@pytest.mark.long
def test_everything_is_back_a_minute_after_the_controller_was_killed(pair):
    before = pair.state()
    process = pair.start(LONG)
    eventually(pair.loaded, "the load is at work", 180)
    # Longer than a host waits for a sign of life: they arrive.
    time.sleep(70)
    assert pair.loaded() and pair.state()[1] == "0"
    # The worker that waits for the load lives on, and so does the load.
    process.kill()
    process.wait()
    eventually(lambda: pair.state() == before, "both hosts have put everything back", 75)


@pytest.mark.long
def test_a_host_puts_settings_back_by_itself(pair):
    before = pair.state()
    for host, role in ((pair.replica, "replica"), (pair.source, "source")):
        done = live_hosts.run(
            "ansible",
            "-i",
            pair.file,
            host.name,
            "-m",
            "dbre.semisync.semisync_setting",
            "-a",
            json.dumps(
                {
                    "side": role,
                    "replication": "none",
                    "schema": "semisync_bench_t",
                    "rollback_after": 10,
                    "variables": {"sync_binlog": 0},
                }
            ),
            cwd=pair.path,
            check=False,
        )
        assert done.returncode == 0, done.stdout
    assert pair.state() != before
    eventually(lambda: pair.state() == before, "everything is back", 40)


def disturb_replica_fell_behind(pair):
    """The replica stops answering for longer than the timeout."""
    live_hosts.run("docker", "pause", pair.replica.name)
    time.sleep(4)
    live_hosts.run("docker", "unpause", pair.replica.name)


def disturb_replica_stopped(pair):
    pair.replica.shell("systemctl stop mysql")


def disturb_server_killed(pair):
    pair.source.shell("pkill -KILL -x mysqld")


@pytest.mark.long
@pytest.mark.parametrize(
    "disturb,words",
    [
        (disturb_replica_fell_behind, "were not acknowledged (no_tx)"),
        (disturb_replica_stopped, "semi-sync"),
        (disturb_server_killed, "the server restarted during the run"),
    ],
)
def test_a_cell_that_was_disturbed_does_not_count(pair, disturb, words):
    before = pair.state()
    process = pair.start(ONE)
    eventually(pair.loaded, "the load is at work", 180)
    time.sleep(2)
    disturb(pair)
    time.sleep(1)
    if disturb is disturb_replica_stopped:
        eventually(
            lambda: "DOES NOT COUNT" in process.stdout.readline() or process.poll() is not None,
            "it is seen",
        )
        pair.replica.shell("systemctl start mysql")
    said = process.communicate(timeout=200)[0]
    assert process.returncode != 0
    (cell,) = pair.document()["cells"]
    assert not cell["valid"] and words in cell["reasons"][0], (cell["reasons"], said)
    eventually(lambda: pair.state() == before, "the pair is as it was")


@pytest.mark.parametrize(
    "more,words",
    [
        (
            {"login_user": "root", "login_password": "not-this-one", "login_host": "127.0.0.1"},
            "wrong login",
        ),
        ({"schema": "important"}, "the schema important exists"),
        ({"tool": "sysbench"}, "sysbench is missing on this host"),
        ({"clients": 0}, "clients is 0"),
    ],
)
def test_a_load_that_cannot_run_is_refused(pair, more, words):
    before = pair.state()
    done = live_hosts.run(
        "ansible",
        "-i",
        pair.file,
        pair.source.name,
        "-m",
        "dbre.semisync.semisync_load",
        "-a",
        json.dumps(more),
        cwd=pair.path,
        check=False,
    )
    assert done.returncode != 0 and words in live_hosts.words(done)
    assert pair.state() == before
