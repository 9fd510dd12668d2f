"""P6 and P7: the drill refuses, falls back, recovers, and leaves nothing behind, also when it is
killed in the middle.
"""

import json
import os
import subprocess

import pytest

from support.eventually import eventually
from support.scenario import FAILED_BEFORE, RESULTS, checkpoints, playbook

CONSENT = ("-e", "semisync_allow_disruption=true")
POINTS = ["P6.0", "P6.1", "P6.2", "P6.3", "P6.4", "P7.1", "P7.2", "P7.3"]
PULSES = "ls /run/dbre-semisync-pulse-*"
TIMERS = "systemctl list-units --all --plain --no-legend 'dbre-semisync-rescue-*.timer'"


def started(server):
    """When systemd last started this server."""
    return server.host.check_output(
        "systemctl show --property=ActiveEnterTimestampMonotonic %s", server.words["unit"]
    )


def is_active(server):
    return server.host.run("systemctl is-active --quiet %s", server.words["unit"]).rc == 0


@pytest.fixture(scope="module")
def whole(request):
    """A pair that works, also where a test before left it broken."""
    if request.session.stash.get(FAILED_BEFORE, False):
        playbook("site")
        request.session.stash[FAILED_BEFORE] = False


def test_without_consent_nothing_is_stopped(replica, whole):
    before = started(replica)
    assert playbook("drill") != 0
    assert started(replica) == before


def test_a_timeout_longer_than_allowed_is_refused(replica, whole):
    before = started(replica)
    assert playbook("drill", *CONSENT, "-e", "semisync_drill_max_block=1") != 0
    assert started(replica) == before


@pytest.fixture(scope="module")
def killed(replica, whole):
    """A drill whose ansible-playbook was killed as soon as the server was stopped."""
    command = [
        "ansible-playbook",
        "-i",
        os.environ["MOLECULE_INVENTORY_FILE"],
        "dbre.semisync.drill",
        *CONSENT,
    ]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as run:
        eventually(
            lambda: run.poll() is not None or not is_active(replica),
            "the drill stops the server",
            # A busy machine takes this long to get there.
            seconds=180,
        )
        assert run.poll() is None
        run.kill()
    eventually(
        lambda: replica.host.run("pidof %s", replica.words["daemon"]).rc != 0,
        "the server's process is gone",
    )


def test_a_killed_drill_leaves_a_timer_that_starts_the_server(replica, killed):
    assert not is_active(replica)
    assert len(replica.host.check_output(TIMERS).splitlines()) == 1


@pytest.fixture(scope="module")
def drill(source, killed):
    """The next drill, and by how much its source's own counter of unacknowledged transactions rose
    in all.
    """
    before = int(source.status("no_tx"))
    assert playbook("drill", *CONSENT) == 0
    found = json.loads((RESULTS / "latest" / "drill.json").read_text(encoding="utf-8"))
    return found["drills"][0], int(source.status("no_tx")) - before


def test_the_next_drill_restores_and_passes(drill, source, replica):
    assert is_active(replica) and replica.runs()
    assert (source.status("status"), source.status("clients")) == ("ON", "1")
    rows = {row["id"]: row for row in checkpoints() if row["id"] in POINTS}
    assert sorted(rows) == POINTS
    assert {row["outcome"] for row in rows.values()} == {"passed"}
    assert {row["host"] for row in rows.values() if row["id"] in ("P6.1", "P7.1")} == {replica.name}
    assert {"P0", "P5.2"} < {row["id"] for row in checkpoints()}


def test_nothing_is_left_behind(drill, source, replica):
    assert replica.host.check_output(TIMERS) == ""
    assert source.host.run(PULSES).rc != 0


def test_writers_were_blocked_for_the_timeout_and_no_longer(drill, source):
    timeout = int(source.semisync("timeout"))
    its = drill[0]
    assert its["timeout_ms"] == timeout and its["expected_fallback"]
    assert timeout - 2 <= its["blocked_ms"] <= timeout * 1.1 + 500
    assert (
        its["blocked_ms"] == its["longest_ms"] == max(row["latency_ms"] for row in its["inserts"])
    )


def test_the_servers_own_counter_knows_as_many_unprotected_transactions(drill):
    its, rise = drill
    # Rows of the killed drill's writer, and of bringing the source back, came before.
    assert 0 < its["unprotected"] <= rise
    assert its["unprotected"] >= sum(row["no_tx"] > 0 for row in its["inserts"])


def test_the_timeline_tells_what_happened_in_its_order(drill):
    its = drill[0]
    assert list(dict.fromkeys(row["phase"] for row in its["inserts"])) == [
        "before",
        "stopped",
        "recovering",
        "after",
    ]
    moments = [event["t"] for event in its["events"]]
    assert moments == sorted(moments) and len(moments) == 7
    assert 0 < its["stopped_at"] < its["started_at"]
    assert 0 < its["recovery_seconds"] < 60
