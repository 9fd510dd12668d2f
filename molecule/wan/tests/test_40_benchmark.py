"""What disturbs a benchmark's cell on hosts whose network and disk are real: the cell does not
count, and says why.
"""

import json
import os
import subprocess

import pytest

from support.eventually import eventually
from support.wan import INVENTORY, REPLICA, SECONDS

SUITE = """
title: One cell
repetitions: 1
warm_up: false
time_limit: {limit}
load:
  tool: client
  seconds: {seconds}
  create: CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v MEDIUMTEXT) ENGINE=InnoDB
  query: INSERT INTO t (v) VALUES (REPEAT('x', {size}))
cells:
  - {{id: one, label: the cell, replication: semisync, delay_ms: {delay}}}
"""
# What is left on the disk, in MB: enough to begin with.
LEFT = 40
DATA = "/var/lib/mysql"


@pytest.fixture
def benchmark(source, netem, tmp_path):
    """Start a suite of one cell; a function that ends it and gives the cell. The source is left as
    it was.
    """

    def start(**values):
        suite = tmp_path / "ours.yml"
        suite.write_text(SUITE.format(**values), encoding="utf-8")
        run = subprocess.Popen(
            [
                "ansible-playbook",
                "-i",
                str(INVENTORY),
                "dbre.semisync.benchmark",
                "-e",
                f"semisync_suite={suite}",
                "-e",
                f"semisync_results_dir={tmp_path}/results",
                "-e",
                "semisync_allow_disruption=true",
            ],
            env={**os.environ, "ANSIBLE_NOCOLOR": "1"},
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        eventually(
            lambda: "semisync_bench_" in source.run(f"ls {DATA}") or run.poll() is not None,
            "it loads",
            SECONDS,
        )
        assert run.poll() is None, run.stdout and run.stdout.read()

        def end():
            said = run.communicate(timeout=SECONDS)[0]
            assert run.returncode == 2, said
            (found,) = tmp_path.glob("results/*/latest/benchmark-ours.json")
            (cell,) = json.loads(found.read_text(encoding="utf-8"))["cells"]
            assert not cell["valid"] and cell["statistics"] is None
            return cell["reasons"][0]

        return end

    yield start
    assert "semisync_bench_" not in source.run(f"ls {DATA}")


def test_a_cell_whose_packets_netem_dropped_does_not_count(benchmark, source, figure):
    end = benchmark(delay=90, seconds=8, size=10, limit=60)
    # The delay and the settings, whatever the cell's load may take.
    due = source.rollbacks_due()
    assert len(due) == 2 and max(due) <= 61, due
    source.run("tc qdisc change dev semisync-nm0 root netem delay 90ms limit 3")
    source.run(f"ping -n -q -c 50 -i 0.005 -W 2 {REPLICA}", check=False)
    reason = end()
    figure(reason)
    assert "netem dropped" in reason


def test_a_cell_that_filled_the_disk_does_not_count(benchmark, source, figure):
    free = int(source.run(f"df --output=avail -m {DATA} | tail -1"))
    end = benchmark(delay=0, seconds=12, size=200000, limit=15)
    source.run(f"fallocate -l {free - LEFT}M {DATA}/../filler")
    try:
        # Longer than the cell may take: the server waits for space, or ends.
        source.run("sleep 25")
    finally:
        source.run(f"rm {DATA}/../filler")
    reason = end()
    figure(reason)
    assert f"the disk of {DATA}/ was full" in reason, reason
