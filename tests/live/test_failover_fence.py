"""failover.yml with the user's own tasks, on real servers: a source that lives is left alone
without consent by name and a hook that ends it, and nothing is touched before it is seen dead.
"""

from __future__ import annotations

import json
import time

import pytest

from support import hooks
from support.acknowledged import RELEASES, Writers, judge, rows_of
from support.dying import certificate, io_thread
from support.eventually import eventually
from support.live_hosts import hosts as made_of
from support.live_hosts import inventory, playbook, words

# Its hosts take a minute to set up.
pytestmark = pytest.mark.long

CONSENT = ("-e", "semisync_failover_accept=source_answers")


class Cluster:
    """Three hosts, the first of which is the source, with a timeout that outlasts the test."""

    def __init__(self, made, folder):
        self.hosts, self.folder = made, folder
        self.source, *self.replicas = made
        # With pipelining a container that is gone fails a task, and is not unreachable.
        own = {"ansible_pipelining": False}
        self.file = inventory(
            folder, {made[0]: own}, {host: {} for host in made[1:]}, semisync_timeout=3600000
        )

    def failover(self, *arguments, good=True, **files):
        """Run it with hooks; what it said."""
        variables = {f"semisync_hook_{name}": str(file) for name, file in files.items()}
        done = playbook("failover", self.file, "-e", json.dumps(variables), *arguments)
        assert (done.returncode == 0) is good, done.stdout + done.stderr
        return words(done)

    def hook(self, name, more=""):
        return hooks.write(self.folder, name, self.source.client, more)

    def ran(self):
        """The hooks that have run, on each host; the hosts forget them."""
        names = []
        for host in self.hosts:
            host.shell("touch /root/hooks")
            names.append([line[0] for line in hooks.accounts(host)])
            host.shell("rm /root/hooks")
        return names


@pytest.fixture(scope="module", params=["mysql", "mariadb"], name="cluster")
def fixture_cluster(request, tmp_path_factory):
    server = request.param
    wanted = ((name, server, RELEASES[server]) for name in ("source", "replica1", "replica2"))
    for made in made_of(*wanted, turn="live-failover-fence"):
        cluster = Cluster(made, tmp_path_factory.mktemp("cluster"))
        done = playbook("site", cluster.file)
        assert done.returncode == 0, done.stdout + done.stderr
        yield cluster


def delay(replica, seconds):
    """Have it apply so much later."""
    if replica.server == "mysql":
        change = f"CHANGE REPLICATION SOURCE TO SOURCE_DELAY = {seconds}"
        replica.sql(f"STOP REPLICA; {change}; START REPLICA")
    else:
        replica.sql(f"STOP SLAVE; CHANGE MASTER TO MASTER_DELAY = {seconds}; START SLAVE")
    eventually(lambda: io_thread(replica) == "Yes")


@pytest.fixture(name="untouched")
def fixture_untouched(cluster):
    """The servers are the same afterwards, follow, and confirm."""
    before = [host.fingerprint() for host in cluster.hosts]
    yield
    assert [host.fingerprint() for host in cluster.hosts] == before
    assert [io_thread(host) for host in cluster.replicas] == ["Yes", "Yes"]
    assert cluster.source.value("SELECT @@GLOBAL.read_only") in ("0", "OFF")


@pytest.mark.usefixtures("untouched")
def test_neither_a_hook_nor_consent_is_enough_alone(cluster):
    power = cluster.hook("fence", hooks.POWER)
    said = cluster.failover(good=False, fence=power)
    assert "Nothing was changed" in said and "semisync_failover_accept=source_answers" in said
    assert "source_answers" in cluster.failover(*CONSENT, good=False)
    said = cluster.failover(*CONSENT, "--check", fence=power)
    assert "fence: the tasks of semisync_hook_fence run first, and" in said
    assert cluster.ran() == [[], [], []]


@pytest.mark.usefixtures("untouched")
def test_a_source_is_not_ended_for_what_would_be_refused_then(cluster):
    """Its replica cannot take over."""
    lagging = cluster.replicas[0]
    to = ("-e", f"semisync_failover_to={lagging.name}")
    delay(lagging, 60)
    said = cluster.failover(*CONSENT, *to, good=False, fence=cluster.hook("fence", hooks.POWER))
    delay(lagging, 0)
    assert f"unusable:{lagging.name}" in said and "Nothing was changed" in said
    assert cluster.ran() == [[], [], []]


@pytest.mark.usefixtures("untouched")
def test_a_hook_that_does_not_end_it_is_seen(cluster):
    said = cluster.failover(
        *CONSENT,
        good=False,
        fence=cluster.hook("fence"),
        before_open=cluster.hook("before_open"),
    )
    assert "The tasks of semisync_hook_fence have run, and nothing else was changed" in said
    assert cluster.ran() == [["fence"]] * 3
    kept = certificate(cluster.folder)
    assert (kept["outcome"], kept["fenced"]["dead_at"]) == ("refused", None)


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("where", ["true", "inventory_hostname != semisync_from"])
def test_a_hook_that_fails_ends_the_run_untouched(cluster, where):
    said = cluster.failover(*CONSENT, good=False, fence=hooks.failing(cluster.folder, where))
    assert "the pool does not answer" in said


def test_a_source_that_lives_is_ended_and_nothing_that_it_confirmed_is_lost(cluster):
    source, *replicas = cluster.hosts
    writers = Writers(replicas[-1], cluster.hosts, 50)
    writers.prepare(source)
    writers.start()
    time.sleep(5)
    # verify.yml was never run: the last look at it is this run's own.
    said = cluster.failover(
        *CONSENT,
        fence=cluster.hook("fence", hooks.POWER),
        before_open=cluster.hook("before_open"),
        after_open=cluster.hook("after_open"),
    )
    print(said)
    begun = time.time()
    kept = certificate(cluster.folder)
    assert (kept["verdict"], kept["outcome"]) == ("proven", "done")
    assert (kept["accepted"], kept["fenced"]["case"]) == (["source_answers"], "source_answers")
    assert kept["fenced"]["dead_at"] is not None
    time.sleep(3)
    known = writers.stop()
    assert max(at for at, _wait in known["waits"]) > begun
    confirmed = sum(len(rows) for rows in known["confirmed"])
    print(f"{source.server}: {confirmed} rows confirmed, {kept['first_commit_after_ms']} ms")
    for host in replicas:
        lost = judge(known, rows_of(host))
        assert lost == {"lost": [], "unexpected": [], "twice": []}, host.name
        lines = hooks.accounts(host)
        assert [line[0] for line in lines] == ["fence", "before_open", "after_open"]
        assert {line[1] for line in lines} == {source.name}
        # Until the IO threads stand still it is only planned.
        assert lines[-1][2] == kept["to"]
        assert [line[3] for line in lines] == ["1", "1", "0" if host.name == kept["to"] else "1"]
