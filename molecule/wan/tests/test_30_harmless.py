"""No delay outlives what it was put on for: a controller that is killed, a connection that is cut,
a power cut.
"""

import os
import signal
import subprocess
import sys
import time

import pytest

from support.eventually import eventually
from support.wan import DELAY, PROJECT, REPLICA, SECONDS

ROLLBACK = 12


@pytest.fixture
def controller(play):
    """Start an ansible-playbook with these tasks, in a session of its own, connections and all."""

    def start(*tasks):
        environment = {**os.environ, "ANSIBLE_SSH_ARGS": "-o ControlMaster=no"}
        return subprocess.Popen(
            play(*tasks),
            env=environment,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    return start


def delay(**more):
    return {
        "dbre.semisync.netem": {
            "peers": [REPLICA],
            "delay_ms": DELAY,
            "rollback_after": ROLLBACK,
            **more,
        }
    }


def nothing_is_left(source, before):
    eventually(lambda: source.timers() == [], "the rollback has ended", 15)
    assert source.qdiscs() == before
    assert min(source.ping(REPLICA)) < 2


def test_the_delay_of_a_controller_that_was_killed_ends(netem, source, controller, figure):
    before = source.qdiscs()
    run = controller(delay(), {"ansible.builtin.command": "sleep 300"})
    try:
        eventually(
            lambda: source.run("pgrep -x sleep", check=False),
            "the delay is on and the next task runs",
            SECONDS,
        )
        # A package's installation does that; systemd reads the timer and its script again.
        source.run("systemctl daemon-reload")
        armed = time.monotonic()
        assert source.has_netem()
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    eventually(lambda: not source.has_netem(), "the delay is gone", ROLLBACK + 5)
    seconds = time.monotonic() - armed
    figure(
        f"delay gone {seconds:.1f} s after the controller was killed, with"
        f" rollback_after={ROLLBACK}"
    )
    # The reload begins the timer's time anew; the rest is the rollback's own second and slow looks.
    assert seconds < ROLLBACK + 5
    nothing_is_left(source, before)
    source.run("pkill -x sleep", check=False)


def test_the_delay_of_a_cut_connection_ends(netem, source, controller, figure):
    before = source.qdiscs()
    run = controller(delay(ping_count=30))
    try:
        eventually(
            lambda: source.run("tc qdisc show | grep netem", check=False),
            "the delay is on",
            SECONDS,
        )
        armed = time.monotonic()
        source.close()
        source.plug("nomaster")
        time.sleep(ROLLBACK + 1)
    finally:
        source.plug("master", "bridge0")
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    # Nobody could reach the host.
    assert not source.has_netem()
    figure(
        f"no delay {time.monotonic() - armed:.1f} s after the connection was cut, with"
        f" rollback_after={ROLLBACK}"
    )
    nothing_is_left(source, before)


def test_a_host_that_starts_again_has_no_delay(netem, source):
    before = source.qdiscs()
    netem(peers=[REPLICA], delay_ms=DELAY)
    source.close()
    for words in (["cut"], ["start"]):
        subprocess.run(
            [sys.executable, str(PROJECT / "lab"), *words, "--kind=uml", "source"],
            check=True,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
        )
    assert source.qdiscs() == before and source.timers() == []
