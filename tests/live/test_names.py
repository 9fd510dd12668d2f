"""Old plugin names become new ones on running servers of MySQL 8.0.26 to 9.4, while clients write.

`make servers TARBALLS=…` names the tarballs (tests/live/test_tarballs.py); those of other versions
are skipped.
"""

import contextlib
import itertools
import os
import pathlib
import re
import threading
import time

import pytest

from support.acknowledged import Writers, judge, rows_of, same_data
from support.eventually import eventually
from support.live_hosts import hosts, inventory, playbook, words
from support.plain_servers import FIRST_WITH_NEW_NAMES, FIRST_WITHOUT_OLD_NAMES

pytestmark = pytest.mark.own_target

TARBALLS = os.environ.get("TARBALLS", "").split()
KINDS = {"old": ("master", "slave"), "new": ("source", "replica")}
# A commit that waits so long is one that fell back; no wait of this test may come near it.
TIMEOUT = 10000
CLIENTS = 20
# In a replica's container: end the module. The process that it leaves on the host has init as its
# parent.
KILL = """
for pid in $(pgrep -x python3); do
  test "$(ps -o ppid= -p $pid | tr -d ' ')" = 1 || kill -9 $pid
done
"""


class Backup:
    """A backup's lock on a server, which an exchange has to wait for."""

    def __init__(self, host):
        self.host = host

    def __enter__(self):
        held = "LOCK INSTANCE FOR BACKUP; DO SLEEP(600)"
        self.host.shell(f'nohup {self.host.client} -e "{held}" >/dev/null 2>&1 &')
        eventually(self.number, "the lock is held")
        return self

    def number(self):
        return self.host.value(
            "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO = 'DO SLEEP(600)'"
        )

    def __exit__(self, *error):
        self.host.sql(f"KILL {self.number()}")


class Cluster:
    """A source and two replicas with the old plugins, which somebody loaded by hand."""

    def __init__(self, made, folder):
        self.hosts = made
        self.source, *self.replicas = made
        for host in made:
            for word in KINDS["old"]:
                host.sql(f"INSTALL PLUGIN rpl_semi_sync_{word} SONAME 'semisync_{word}.so'")
        self.file = inventory(
            folder,
            {self.source: {}},
            {host: {} for host in self.replicas},
            semisync_timeout=TIMEOUT,
        )
        self.play("site")
        self.has("old")

    def play(self, name, *arguments, fails=False):
        done = playbook(name, self.file, *arguments)
        assert (done.returncode != 0) == fails, words(done)
        return words(done)

    def names(self, asked, **how):
        # A replica that lags under the writers shows a canary row late.
        asked = ("-e", f"semisync_plugin_names={asked}", "--skip-tags", "verify")
        return self.play("site", *asked, **how)

    def changed(self, asked):
        """The hosts that a run changes."""
        said = self.names(asked)
        return re.findall(r"(\S+) : ok=\d+ changed=[1-9]", said)

    def has(self, *kinds):
        """Every host has the plugins of its kind only, now and at its next start, and protects."""
        for host, kind in zip(self.hosts, kinds * (3 // len(kinds)), strict=True):
            wanted = sorted(f"rpl_semi_sync_{word}" for word in KINDS[kind])
            loaded = "SELECT PLUGIN_NAME FROM information_schema.PLUGINS WHERE PLUGIN_NAME LIKE"
            assert sorted(host.value(f"{loaded} 'rpl\\_semi%'").split()) == wanted
            registered = host.value("SELECT name FROM mysql.plugin WHERE name LIKE 'rpl\\_semi%'")
            assert sorted(registered.split()) == wanted
        assert self.status(kinds[0], "clients") == "2"
        assert self.status(kinds[0], "status") == "ON"

    def moves(self):
        """The source's role goes to the first replica."""
        self.play("switchover", "-e", f"semisync_switchover_to={self.hosts[1].name}")
        self.hosts[0], self.hosts[1] = self.hosts[1], self.hosts[0]
        self.source, *self.replicas = self.hosts

    def status(self, kind, what):
        shown = f"SHOW GLOBAL STATUS LIKE 'rpl_semi_sync_{KINDS[kind][0]}_{what}'"
        return self.source.value(shown).split()[-1]


@pytest.fixture(scope="module", params=TARBALLS, ids=[pathlib.Path(path).name for path in TARBALLS])
def cluster(request, tmp_path_factory):
    names = ("source", "replica1", "replica2")
    wanted = ((name, "mysql", None, request.param) for name in names)
    with contextlib.closing(hosts(*wanted, turn="names")) as running:
        made = next(running)
        version = made[0].value("SELECT VERSION()").partition("-")[0]
        if not has_both_kinds(version):
            pytest.skip(f"MySQL {version} has one kind of names")
        yield Cluster(made, tmp_path_factory.mktemp("names"))


def has_both_kinds(version):
    number = tuple(map(int, version.split(".")))
    return FIRST_WITH_NEW_NAMES <= number < FIRST_WITHOUT_OLD_NAMES


def longest_wait(known):
    times = sorted(known["times"])
    return max(later - before for before, later in itertools.pairwise(times))


@pytest.mark.parametrize("to,back", [("new", "old"), ("old", "new")])
def test_names_are_exchanged_while_clients_write(cluster, to, back):
    cluster.has(back)
    check = cluster.play("site", "-e", f"semisync_plugin_names={to}", "--check")
    assert "Exchange the plugins" in check
    cluster.has(back)
    writers = Writers(cluster.replicas[-1], cluster.hosts, CLIENTS)
    if to == "new":
        writers.prepare(cluster.source)
    else:
        cluster.source.sql("TRUNCATE app.written")
    same_data(cluster.hosts)
    no_tx = cluster.status(back, "no_tx")
    # To whichever host takes writes.
    writers.start(retry=0.1)
    try:
        turn(cluster, to, back, no_tx)
    finally:
        known = writers.stop()
    same_data(cluster.hosts)
    for host in cluster.hosts:
        assert judge(known, rows_of(host)) == {"lost": [], "unexpected": [], "twice": []}
    cluster.has(to)
    assert cluster.status(to, "no_tx") == "0"
    waited, confirmed = longest_wait(known), sum(map(len, known["confirmed"]))
    print(f"to {to}: {confirmed} rows confirmed, longest time without one {waited:.2f} s")
    assert waited < TIMEOUT / 1000 / 2
    assert cluster.changed(to) == cluster.changed("auto") == []


def turn(cluster, to, back, no_tx):
    """The replicas, a switchover, and the former source."""
    time.sleep(3)
    assert sorted(cluster.changed(to)) == sorted(host.name for host in cluster.replicas)
    cluster.has(back, to, to)
    assert cluster.status(back, "no_tx") == no_tx == "0"
    told = ("-e", f"semisync_plugin_names={to}", "-e", "semisync_verify_canary=false")
    verified = cluster.play("verify", *told)
    assert f"its plugins have the {back} names, semisync_plugin_names is {to}" in verified
    cluster.moves()
    assert cluster.changed(to) == [cluster.hosts[1].name]
    time.sleep(3)


def test_a_restarted_server_has_the_names_that_it_was_given(cluster):
    cluster.names("new")
    cluster.has("old", "new", "new")
    for host in cluster.replicas:
        host.shell("systemctl restart mysql")
        host.wait()
    eventually(lambda: cluster.status("old", "clients") == "2", "both replicas acknowledge")
    cluster.has("old", "new", "new")


def test_an_exchange_whose_module_is_killed_leaves_a_replica_that_acknowledges(cluster):
    cluster.names("new")
    cluster.has("old", "new", "new")
    replica = cluster.replicas[0]
    with Backup(replica):
        run = threading.Thread(target=lambda: cluster.names("old", fails=True))
        run.start()
        eventually(
            lambda: replica.value("SHOW PROCESSLIST").count("UNINSTALL PLUGIN"),
            "the exchange waits for the backup",
            120,
        )
        replica.shell(KILL)
        run.join()

    # It took the exchange back, as the lock was still held, or finished it.
    status = (
        "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME IN"
        " ('Rpl_semi_sync_replica_status', 'Rpl_semi_sync_slave_status')"
    )
    eventually(
        lambda: replica.value(status) == "ON" and cluster.status("old", "clients") == "2",
        "the replica acknowledges",
    )
    assert cluster.changed("old") != []
    cluster.has("old")
    assert cluster.changed("old") == []


def test_a_backup_s_lock_is_waited_for_no_longer_than_the_limit(cluster):
    cluster.names("old")
    with Backup(cluster.replicas[1]):
        assert "lock" in cluster.names("new", fails=True).lower()
    eventually(lambda: cluster.status("old", "clients") == "2", "both replicas acknowledge")
    cluster.names("new")
    cluster.has("old", "new", "new")


def test_a_line_that_would_load_the_other_kind_again_is_refused(cluster):
    cluster.names("old")
    replica = cluster.replicas[0]
    line = "plugin-load-add=semisync_slave.so"
    replica.shell(f"sed -i '/^\\[mysqld\\]/a {line}' /etc/my.cnf")
    try:
        said = cluster.names("new", fails=True)
        assert f"{replica.name}: an option file that is not the collection's sets" in said
        cluster.has("old")
    finally:
        replica.shell(f"sed -i '/^{line}/d' /etc/my.cnf")
    assert cluster.changed("old") == []
