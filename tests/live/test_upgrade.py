"""upgrade.yml on real servers under writers: from MariaDB 10.11 to 11.8 in one run, and from 10.5
to 10.11 in runs of which each but the last is killed after another task. No row is lost, and a
replica acknowledges all the time.
"""

from __future__ import annotations

import json
import signal

import pytest

from support.killed import ended_anew
from support.live_hosts import hosts, playbook, words
from support.rolled import Cluster
from support.upgrade_ways import OF_DEBIAN
from support.watching import Watcher, left_alone, longest_wait

pytestmark = pytest.mark.long

CONSENT = ("-e", "semisync_allow_disruption=true")
# Seconds that a writer may wait on a machine that other tests keep busy.
LONGEST = 15
# Runs that are killed at most: more than there are places.
RUNS = 150


def upgraded(way, folder):
    """A fixture's body: a cluster of a Debian release that is to get the next one's server."""
    names = ["source", "replica1", "replica2"]
    turn = f"live-upgrade-{way.suite}"
    for made in hosts(*[(name, "mariadb", way.release) for name in names], turn=turn):
        hook = folder / "tasks.yml"
        hook.write_text(way.prepare(made), encoding="utf-8")
        given = {"semisync_upgrade_to": way.to, "semisync_hook_upgrade": str(hook)}
        cluster = Cluster(made, folder, "upgrade", **given)
        cluster.set_up()
        yield cluster


@pytest.fixture(scope="module", name="newer")
def fixture_newer(tmp_path_factory):
    yield from upgraded(OF_DEBIAN["10.11-11.8"], tmp_path_factory.mktemp("newer"))


@pytest.fixture(scope="module", name="older")
def fixture_older(tmp_path_factory):
    yield from upgraded(OF_DEBIAN["10.5-10.11"], tmp_path_factory.mktemp("older"))


def versions(cluster):
    return [".".join(host.value("SELECT @@version").split(".")[:2]) for host in cluster.hosts]


def test_the_plan_changes_nothing_and_has_every_step(newer):
    source, first, second = (host.name for host in newer.hosts)
    said = newer.untouched("--check", "-e", "semisync_restart_back=true")
    assert said.startswith("0 ")
    for line in (
        f"1. {first}: upgrade from 10.11.",
        f"to 11.8, while {second} acknowledges",
        f"3. the source's role moves from {source} to {first}; from then on there is no way back",
        f"5. the source's role returns to {source}",
    ):
        assert line in said


@pytest.mark.parametrize(
    "arguments,words_of_it",
    [
        ((), "to consent, pass -e semisync_allow_disruption=true"),
        ((*CONSENT, "-e", "semisync_upgrade_to=10.6"), "and 10.6 is older"),
        ((*CONSENT, "-e", "semisync_upgrade_to=new"), "it must be a version, such as 11.8"),
        ((*CONSENT, "-e", "semisync_upgrade_to="), "semisync_upgrade_to is empty"),
        ((*CONSENT, "-e", "semisync_hook_upgrade=/none.yml"), "a file that can be read"),
    ],
)
def test_what_is_refused_changes_nothing(newer, arguments, words_of_it):
    said = newer.untouched(*arguments)
    assert not said.startswith("0 ") and words_of_it in said


def judged(cluster, watcher):
    """What writers and the watcher saw of an upgrade that is done."""
    unprotected, known = watcher.stop(), cluster.writers.stop()
    assert unprotected == []
    assert left_alone(cluster.source()) == 0
    wait = longest_wait(known)
    print(f"to {versions(cluster)[0]}: longest wait {wait:.2f} s, {len(known['times'])} rows")
    cluster.is_whole(known)
    assert wait < LONGEST
    assert playbook("verify", cluster.file).returncode == 0


def test_every_server_gets_the_version_and_the_role_returns(newer):
    source = newer.source()
    newer.writers.start()
    watcher = Watcher(newer.hosts).start()
    done = playbook("upgrade", newer.file, *CONSENT, "-e", "semisync_restart_back=true")
    assert done.returncode == 0, done.stdout + done.stderr
    # Before verify.yml, whose run is the latest then.
    kept = newer.record()["servers"]
    judged(newer, watcher)
    assert versions(newer) == ["11.8"] * 3 and newer.source() is source
    assert "from then on there is no way back to 10.11." in words(done)
    assert [one["version"][:4] for one in kept] == ["11.8"] * 3
    again = playbook("site", newer.file)
    assert "changed=0" in again.stdout.split("PLAY RECAP")[-1].replace(" ", ""), again.stdout
    assert "Nothing to upgrade to 11.8" in words(playbook("upgrade", newer.file, *CONSENT))


def test_killed_after_each_task_the_same_command_goes_on(older, tmp_path):
    met = tmp_path / "met"
    older.writers.start()
    watcher = Watcher(older.hosts).start()
    for _run in range(RUNS):
        done = playbook("upgrade", older.file, *CONSENT, **ended_anew(met))
        if done.returncode != -signal.SIGKILL:
            break
    assert done.returncode == 0, done.stdout + done.stderr
    ended = [json.loads(line)["name"] for line in met.read_text(encoding="utf-8").splitlines()]
    print(f"killed {len(ended)} times: {ended}")
    judged(older, watcher)
    assert versions(older) == ["10.11"] * 3
    wanted = ("Stop the server", "Install the server", "Start the server", "Hand the role over")
    assert not [name for name in wanted if not [one for one in ended if one.endswith(name)]]
