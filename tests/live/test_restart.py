"""restart.yml on real servers under writers: the plan changes nothing, what cannot be is refused by
name, every server is restarted once, no row is lost, and a run that is killed is finished.
"""

from __future__ import annotations

import random

import pytest

from support.acknowledged import RELEASES
from support.killed import listening, places, was_killed
from support.live_hosts import hosts, playbook, words
from support.rolled import Cluster
from support.watching import Watcher, left_alone, longest_wait, starts

pytestmark = pytest.mark.long

CONSENT = ("-e", "semisync_allow_disruption=true")
# Seconds that a writer may wait on a machine that other tests keep busy.
LONGEST = 15


@pytest.fixture(scope="module", params=["mysql", "mariadb"], name="cluster")
def fixture_cluster(request, tmp_path_factory):
    names = ["source", "replica1", "replica2"]
    wanted = [(name, request.param, RELEASES[request.param]) for name in names]
    for made in hosts(*wanted, turn=f"live-restart-{request.param}"):
        cluster = Cluster(made, tmp_path_factory.mktemp("cluster"), "restart")
        cluster.set_up()
        yield cluster


def test_the_plan_changes_nothing_and_has_every_step(cluster):
    source, first, second = (host.name for host in cluster.hosts)
    said = cluster.untouched("--check", "-e", "semisync_restart_back=true")
    assert said.startswith("0 ")
    for line in (
        f"1. {first}: restart, while {second} acknowledges",
        f"2. {second}: restart, while {first} acknowledges",
        f"3. the source's role moves from {source} to {first}",
        f"4. {source}: restart as a replica, while {second} acknowledges",
        f"5. the source's role returns to {source}",
    ):
        assert line in said


@pytest.mark.parametrize(
    "arguments,words_of_it",
    [
        ((), "to consent, pass -e semisync_allow_disruption=true"),
        ((*CONSENT, "-e", "semisync_restart_to=db99"), "which is not a replica of this cluster"),
        ((*CONSENT, "-e", "semisync_restart_accept=all"), "has 'all', which is not a case"),
        (
            (*CONSENT, "-e", "semisync_restart_to={source}"),
            "which is not a replica of this cluster; name one of: {first}, {second}",
        ),
    ],
)
def test_what_is_refused_changes_nothing(cluster, arguments, words_of_it):
    source, first, second = (host.name for host in cluster.hosts)
    names = {"source": source, "first": first, "second": second}
    said = cluster.untouched(*(word.format(**names) for word in arguments))
    assert not said.startswith("0 ") and words_of_it.format(**names) in said


def test_a_replica_that_does_not_acknowledge_is_refused(cluster):
    replica = cluster.hosts[1]
    word = "SLAVE" if replica.server == "mariadb" else "REPLICA"
    replica.sql(f"STOP {word} IO_THREAD")
    try:
        said = cluster.untouched(*CONSENT)
        assert f"{replica.name}: its channel does not run" in said
    finally:
        replica.sql(f"START {word} IO_THREAD")
    cluster.whole()


def roll(cluster: Cluster, *arguments: str) -> dict[str, float]:
    """A run under writers, which loses nothing and leaves no commit unprotected; the figures."""
    before = [starts(host) for host in cluster.hosts]
    cluster.writers.start()
    watcher = Watcher(cluster.hosts).start()
    done = playbook("restart", cluster.file, *CONSENT, *arguments)
    unprotected = watcher.stop()
    known = cluster.writers.stop()
    assert done.returncode == 0, done.stdout + done.stderr
    assert [starts(host) - 1 for host in cluster.hosts] == before
    assert unprotected == []
    assert left_alone(cluster.source()) == 0
    cluster.is_whole(known)
    wait = longest_wait(known)
    print(f"{cluster.hosts[0].server}: longest wait {wait:.2f} s, {len(known['times'])} rows")
    assert wait < LONGEST
    return {"wait": wait}


def test_every_server_is_restarted_once_and_the_role_returns(cluster):
    source = cluster.source()
    roll(cluster, "-e", "semisync_restart_back=true")
    assert cluster.source() is source
    assert cluster.record()["source"] == source.name
    assert playbook("verify", cluster.file).returncode == 0


def test_the_role_stays_where_it_went(cluster):
    target = cluster.hosts[2]
    roll(cluster, "-e", f"semisync_restart_to={target.name}")
    assert cluster.source() is target
    again = playbook("site", cluster.file)
    assert "changed=0" in again.stdout.split("PLAY RECAP")[-1].replace(" ", ""), again.stdout


def test_a_run_that_is_killed_is_finished_by_the_same_command(cluster, tmp_path):
    arguments = (*CONSENT, "-e", "semisync_restart_back=true")
    whole = playbook("restart", cluster.file, *arguments, **listening(0, tmp_path / "tasks"))
    assert whole.returncode == 0, whole.stdout
    found = places(tmp_path / "tasks", 0, 1)
    # Before the first note nothing has begun, and the next run is a whole one.
    begin = next(turn for turn, place in enumerate(found) if "Note" in place[1])
    for number, name in sorted(random.sample(found[begin:], 3)):
        print(f"killed after {number} ({name})")
        before = [starts(host) for host in cluster.hosts]
        cluster.writers.start()
        watcher = Watcher(cluster.hosts).start()
        killed = playbook("restart", cluster.file, *arguments, **listening(number))
        done = playbook("restart", cluster.file, *arguments)
        unprotected = watcher.stop()
        known = cluster.writers.stop()
        was_killed(killed)
        where = f"killed after {number} ({name}): {killed.stdout[-1500:]}\n{done.stdout}"
        assert done.returncode == 0, where
        assert [starts(host) - 1 for host in cluster.hosts] == before, where
        assert unprotected == [], where
        cluster.is_whole(known)


def test_only_what_has_a_restart_pending_is_restarted(cluster):
    replica = next(host for host in cluster.hosts if host is not cluster.source())
    word = "slave" if replica.server == "mariadb" else "replica"
    before = [starts(host) for host in cluster.hosts]
    replica.sql(f"SET GLOBAL rpl_semi_sync_{word}_trace_level = 16")
    done = playbook("restart", cluster.file, *CONSENT, "-e", "semisync_restart_only=pending")
    assert done.returncode == 0, done.stdout
    now = [starts(host) for host in cluster.hosts]
    assert [host for host, was, is_ in zip(cluster.hosts, before, now, strict=True) if is_ > was]
    assert sum(now) == sum(before) + 1
    again = playbook("restart", cluster.file, *CONSENT, "-e", "semisync_restart_only=pending")
    assert again.returncode == 0 and "Nothing to restart" in words(again)
    assert [starts(host) for host in cluster.hosts] == now
