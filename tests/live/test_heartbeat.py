"""The heartbeat: set up once, written by the source only, ended before it holds anything
up if the server allows it, read by verify.yml, and gone again.
"""

import functools
import json
import time

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import kinds_heartbeat

from support import live_hosts
from support.eventually import eventually

pytestmark = pytest.mark.long

TABLE = "important.semisync_heartbeat"
VIEW = f"{TABLE}_newest"
UNIT = "dbre-semisync-heartbeat-3306.service"
# What systemd may say of the service; 10 is a service that may do everything.
EXPOSURE = 2.0
# Seconds until the right server beats, and for which a beat may hold something up on MariaDB; the
# machine that runs this is busy.
SOON, HELD_UP = 2.0, 3.0
PROCESSES = {"mysql": "mysqld", "mariadb": "mariadbd"}
WORDS = {"mysql": ("source", "replica"), "mariadb": ("master", "slave")}
SEEN: set[str] = set()


class Cluster:
    """Three hosts whose source beats each second."""

    def __init__(self, made, folder):
        self.source, *self.replicas = self.made = made
        self.kept = {}
        self.file = live_hosts.inventory(
            folder,
            {made[0]: {}},
            {host: {} for host in made[1:]},
            semisync_heartbeat_seconds=1,
            semisync_timeout=3600000,
        )

    def run(self, name, *arguments, good=True):
        done = live_hosts.playbook(name, self.file, *arguments)
        assert (done.returncode == 0) is good, done.stdout + done.stderr
        return live_hosts.words(done)

    def signal(self, word):
        """Send a signal to the servers of both replicas."""
        for host in self.replicas:
            host.shell(f"kill -{word} $(pidof {PROCESSES[host.server]})")

    def findings(self):
        """(finding, host, severity) of the heartbeat's, as verify.yml has them."""
        live_hosts.playbook("verify", self.file)
        latest = self.file.parent / "results" / "default" / "latest"
        self.kept = json.loads((latest / "heartbeat.json").read_text("utf-8"))
        found = json.loads((latest / "findings.json").read_text("utf-8"))
        found = [one for one in found if one["id"] in kinds_heartbeat.TABLE]
        SEEN.update(one["id"] for one in found)
        return {(one["id"], one["host"], one["severity"]): one["evidence"] for one in found}


def identity(host):
    name = "server_uuid" if host.server == "mysql" else "server_id"
    return host.value(f"SELECT @@{name}")


def newest(host):
    """(server, seconds since then) of the newest row on a host."""
    asked = (
        f"SELECT server, UNIX_TIMESTAMP(NOW(6)) - wall FROM {TABLE} ORDER BY number DESC LIMIT 1"
    )
    server, age = host.value(asked).split("\t")
    return server, float(age)


def beats(host, on=None):
    """Whether a host's newest row, there or on another host, is of now."""
    server, age = newest(on or host)
    return server == identity(host) and age < SOON


def counted(host):
    return int(host.value(f"SELECT COUNT(*) FROM {TABLE} WHERE server = '{identity(host)}'"))


@pytest.fixture(
    scope="module",
    name="cluster",
    params=[
        pytest.param(("mysql", None), id="mysql"),
        pytest.param(("mariadb", "12"), id="mariadb"),
    ],
)
def fixture_cluster(request, tmp_path_factory):
    names, turn = ("source", "replica1", "replica2"), "heartbeat-" + request.param[0]
    for made in live_hosts.hosts(*((name, *request.param) for name in names), turn=turn):
        cluster = Cluster(made, tmp_path_factory.mktemp("heartbeat"))
        cluster.source.stop_quickly()
        said = cluster.run("site", "--diff")
        assert "Aa1-" not in said
        yield cluster


def test_site_sets_it_up_once_and_the_source_beats_alone(cluster):
    eventually(lambda: beats(cluster.source), "the source beats", 10)
    for host in cluster.made:
        eventually(functools.partial(beats, cluster.source, on=host), "its rows arrive", 10)
        modes = host.shell("stat -c '%a %U' /etc/dbre-semisync/heartbeat-3306.password").stdout
        assert modes.strip() == "600 dbre-semisync-beat"
        judged = host.shell(f"systemd-analyze security --no-pager {UNIT}").stdout
        assert float(judged.rpartition(": ")[2].split()[0]) <= EXPOSURE, judged
        grants = host.value("SHOW GRANTS FOR dbre_semi_beat@localhost")
        assert "CREATE" not in grants and "SUPER" not in grants, grants
        seen = host.value(f"SELECT server_id FROM {VIEW}")
        assert seen == cluster.source.value("SELECT @@server_id")
    assert all(counted(host) == 0 for host in cluster.replicas)
    log = "cat /var/lib/mysql/*bin*.0* | grep --text --count dbre_semi_beat || :"
    assert cluster.source.shell(log).stdout.strip() == "0"
    again = cluster.run("site")
    assert "changed=0" in again and "changed=1" not in again, again
    assert "Set the heartbeat up" not in again, again
    assert cluster.findings() == {}
    ages = {host: kept["age"] for host, kept in cluster.kept.items()}
    assert set(ages) == {host.name for host in cluster.made} and max(ages.values()) < 10, ages


def test_a_bad_value_is_refused_before_anything_is_touched(cluster):
    before = cluster.source.fingerprint()
    said = cluster.run("site", "-e", "semisync_heartbeat_seconds=61", good=False)
    assert "semisync_heartbeat_seconds" in said and cluster.source.fingerprint() == before


def test_another_interval_is_brought_to_the_service(cluster):
    cluster.run("site", "-e", "semisync_heartbeat_seconds=3")
    time.sleep(7)
    walls = cluster.source.value(f"SELECT wall FROM {TABLE} ORDER BY number DESC LIMIT 2").split()
    assert 2.5 < float(walls[0]) - float(walls[1]) < 5
    cluster.run("site")
    assert cluster.findings() == {}


def waiting(host):
    asked = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE LIKE '%semi-sync ACK%'"
    return int(host.value(asked))


def seconds(host, statement):
    """How long a statement takes."""
    begin = time.monotonic()
    host.sql(statement)
    return time.monotonic() - begin


@pytest.mark.parametrize(
    "statement",
    [
        "FLUSH TABLES WITH READ LOCK; UNLOCK TABLES",
        "SET GLOBAL read_only = 1; SET GLOBAL read_only = 0",
    ],
)
def test_what_waits_for_a_beat_that_no_replica_acknowledges(cluster, statement):
    """MySQL ends no commit that waits, so it waits there; one connection, and no more."""
    source = cluster.source
    cluster.signal("STOP")
    try:
        time.sleep(4)
        assert waiting(source) <= 1
        if source.server == "mariadb":
            assert seconds(source, statement) < HELD_UP
        else:
            assert waiting(source) == 1
    finally:
        cluster.signal("CONT")
    eventually(lambda: beats(source, on=cluster.replicas[0]), "it beats again", 20)
    facts = json.loads(source.value(f"SELECT facts FROM {TABLE} ORDER BY number DESC LIMIT 1"))
    assert (facts["killed"] > 0) is (source.server == "mariadb")


def test_a_beat_that_is_ended_confirms_no_other_commit(cluster):
    """The first of a group waits for all of it: while a client waits, no beat is ended."""
    source = cluster.source
    source.sql("CREATE TABLE IF NOT EXISTS important.others (n INT)")
    cluster.signal("STOP")
    try:
        clients = (
            "for n in 1 2 3 4 5 6; do\n"
            f"  ({source.client} -e 'INSERT INTO important.others VALUES (1)' && echo $n) &\n"
            "done; wait\n"
        )
        source.shell("cat > /root/clients", input=clients)
        source.shell("setsid sh /root/clients > /root/confirmed 2>&1 < /dev/null &")
        time.sleep(6)
        assert source.shell("cat /root/confirmed").stdout == ""
    finally:
        cluster.signal("CONT")
    eventually(
        lambda: len(source.shell("cat /root/confirmed").stdout.split()) == 6, "all are confirmed"
    )


def test_a_degraded_time_between_two_runs_is_known(cluster):
    source, (word, _replica) = cluster.source, WORDS[cluster.source.server]
    source.sql(f"SET GLOBAL rpl_semi_sync_{word}_timeout = 500")
    cluster.signal("STOP")
    try:
        for _row in range(3):
            source.sql("INSERT INTO important.others VALUES (2)")
        time.sleep(3)
    finally:
        cluster.signal("CONT")
    status = f"SHOW GLOBAL STATUS LIKE 'rpl_semi_sync_{word}_status'"
    eventually(lambda: source.value(status).endswith("ON"), "semi-sync is on again")
    time.sleep(3)
    source.sql(f"SET GLOBAL rpl_semi_sync_{word}_timeout = 3600000")
    found = cluster.findings()
    evidence = found.get(("heartbeat_degraded", source.name, "warning"), "")
    assert "commits without an acknowledgement" in evidence
    assert int(evidence.split(", ")[1].split()[0]) >= 3, found


def test_a_service_that_stands_still_is_found(cluster):
    source, replica = cluster.source, cluster.replicas[0]
    for host in (source, replica):
        host.shell(f"systemctl stop {UNIT}")
    # The row of another server, as in a split brain.
    time.sleep(14)
    columns = "number, server, boot, monotonic, wall, uptime, facts, gtid"
    values = "MAX(number) + 1000, 'another', 'boot', 1, UNIX_TIMESTAMP(NOW(6)), 1, '{}', ''"
    insert = f"INSERT INTO {TABLE} ({columns}) SELECT {values} FROM {TABLE}"
    replica.sql(f"SET sql_log_bin = 0; {insert}")
    try:
        found = cluster.findings()
    finally:
        replica.sql(f"SET sql_log_bin = 0; DELETE FROM {TABLE} WHERE server = 'another'")
    assert set(found) >= {
        ("heartbeat_service", source.name, "warning"),
        ("heartbeat_service", replica.name, "warning"),
        ("heartbeat_stopped", source.name, "warning"),
    }, found
    cluster.run("site")
    eventually(lambda: beats(source), "the source beats", 10)
    assert set(kinds_heartbeat.TABLE) - {"heartbeat_elsewhere"} <= SEEN


def test_the_new_source_of_a_switchover_beats_by_itself(cluster):
    old, new = cluster.source, cluster.replicas[0]
    cluster.run("switchover", "-e", f"semisync_switchover_to={new.name}")
    eventually(lambda: beats(new), "the new source beats", 5)
    last = new.value(f"SELECT MAX(wall) FROM {TABLE} WHERE server = '{identity(old)}'")
    first = new.value(f"SELECT MIN(wall) FROM {TABLE} WHERE server = '{identity(new)}'")
    print(new.server, "seconds between their beats", float(first) - float(last))
    # The last beat of the old one is up to an interval before the freeze.
    assert float(first) - float(last) < SOON + 1
    count = counted(old)
    time.sleep(3)
    assert counted(old) == count


def test_a_former_source_that_starts_again_is_silent(cluster):
    """Its server is killed, another takes over, and it starts as it was: no transaction of its
    own, and no beat while it is held.
    """
    old, new = cluster.replicas[0], cluster.source
    old.shell(f"systemctl kill --signal=KILL {old.server}; systemctl stop {old.server}")
    cluster.run("failover", "-e", f"semisync_failover_to={new.name}")
    eventually(lambda: beats(new), "the new source beats", 5)
    count = counted(new)
    old.shell(f"systemctl start {old.server}")
    old.wait()
    before = counted(old)
    time.sleep(5)
    assert counted(old) == before and counted(new) > count
    said = old.shell(f"journalctl --no-pager --lines=1 --unit={UNIT}").stdout
    assert "silent: " in said, said
    cluster.run("rejoin", "-e", f"semisync_rejoin={old.name}")
    eventually(lambda: beats(new, on=old), "its rows arrive", 20)


def test_it_goes_and_its_table_stays(cluster):
    for playbook, words in (
        ("site", ("-e", "semisync_heartbeat_seconds=0")),
        ("remove", ()),
    ):
        if playbook == "remove":
            cluster.run("site")
        cluster.run(playbook, *words)
        for host in cluster.made:
            where = "/etc/dbre-semisync /etc/systemd/system /usr/local/lib/dbre-semisync"
            left = host.shell(f"find {where} -name '*heartbeat*' 2>/dev/null || :").stdout
            assert left == ""
            users = "SELECT COUNT(*) FROM mysql.user WHERE User = 'dbre_semi_beat'"
            assert host.value(users) == "0"
            assert host.shell("id dbre-semisync-beat", check=False).returncode
            assert int(host.value(f"SELECT COUNT(*) FROM {TABLE}")) > 0
            views = "SELECT COUNT(*) FROM information_schema.VIEWS WHERE TABLE_NAME = '{}'"
            assert host.value(views.format(VIEW.partition(".")[2])) == "0"
