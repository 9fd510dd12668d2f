"""Every finding is brought about on real servers: here what is told of three hosts with a heartbeat
and an HTTP answer, and of a source that has died or lost its role. See test_findings.py.
"""

import contextlib
import subprocess
import time

import pytest

from support import moves
from support.dying import UNITS, forbid_restart, kill
from support.eventually import eventually
from support.findings import NOTES, ROLES, Cluster, brings
from support.live_hosts import hosts, playbook, words

pytestmark = pytest.mark.own_target

BEAT = "dbre-semisync-heartbeat-3306.service"
ANSWER = "dbre-semisync-answer-3306"
TABLE = "important.semisync_heartbeat"
# After three intervals and ten seconds a row is old.
OLD = 14
SIGNAL = "kill -{} $(pidof mysqld mariadbd)"


@pytest.fixture(
    scope="module", params=[("mysql", ""), ("mariadb", "12")], ids=lambda param: param[0]
)
def cluster(request, tmp_path_factory):
    wanted = [(name, *request.param) for name in ROLES]
    for made in hosts(*wanted, turn="findings-roles-" + request.param[0]):
        made[0].stop_quickly()
        one = Cluster(
            made,
            tmp_path_factory.mktemp("findings"),
            semisync_timeout=3000,
            semisync_heartbeat_seconds=1,
            semisync_http_port=8008,
        )
        one.site()
        beats(one)
        assert one.verify()[:2] == (0, set())
        yield one


def beats(cluster):
    """Wait until every host has a row of the heartbeat that is of now."""
    for role in cluster.hosts:
        cluster.eventually(role, f"SELECT MAX(wall) > UNIX_TIMESTAMP() - 3 FROM {TABLE}", "1")


def play(cluster, name, *arguments):
    done = playbook(name, cluster.file, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return words(done)


@brings("heartbeat_degraded source warning")
def test_a_degraded_time_that_only_the_heartbeat_has_seen(cluster):
    """The dump threads stay: without a replica that reads from it, the source does not beat."""
    replicas = (cluster.replica, cluster.hosts["second"])
    for host in replicas:
        host.shell(SIGNAL.format("STOP"))
    try:
        cluster.insert()
        time.sleep(3)
    finally:
        for host in replicas:
            host.shell(SIGNAL.format("CONT"))
    cluster.whole()
    time.sleep(3)
    told = {(kind, "source", "warning") for kind in ("heartbeat_degraded", "was_degraded")}
    status, found, said = cluster.verify()
    assert (status, found) == (0, told), said
    assert "commits without an acknowledgement" in cluster.evidence("heartbeat_degraded")
    assert cluster.verify()[:2] == (0, set())


@contextlib.contextmanager
def another_beats(host):
    """Each second a host gets the row of a server that is no member, as in a split brain."""
    columns = "number, server, boot, monotonic, wall, uptime, facts, gtid"
    values = "MAX(number) + 1000, 'another', 'boot', 1, UNIX_TIMESTAMP(NOW(6)), 1, '{}', ''"
    insert = f"SET SESSION sql_log_bin = 0; INSERT INTO {TABLE} ({columns}) SELECT {values}"
    beat = f'{host.client} -e "{insert} FROM {TABLE}"'
    loop = f"until test -e /root/enough; do {beat}; sleep 1; done"
    with subprocess.Popen(["docker", "exec", host.name, "sh", "-c", loop]) as running:
        try:
            host_has = f"SELECT COUNT(*) > 0 FROM {TABLE} WHERE server = 'another'"
            eventually(lambda: host.value(host_has) == "1", "it beats there")
            yield
        finally:
            host.shell("touch /root/enough")
            running.wait(30)
            delete = f"DELETE FROM {TABLE} WHERE server = 'another'"
            host.shell("rm /root/enough")
            host.sql(f"SET SESSION sql_log_bin = 0; {delete}")


@brings(
    "heartbeat_service source warning",
    "heartbeat_service replica warning",
    "heartbeat_stopped source warning",
    "heartbeat_elsewhere replica critical",
)
def test_a_heartbeat_that_stands_still_and_one_of_another_server(cluster):
    for host in (cluster.source, cluster.replica):
        host.shell(f"systemctl stop {BEAT}")
    time.sleep(OLD)
    try:
        with another_beats(cluster.replica):
            status, found, said = cluster.verify()
    finally:
        cluster.site()
    assert (status, found) == (
        2,
        {
            ("heartbeat_service", "source", "warning"),
            ("heartbeat_service", "replica", "warning"),
            ("heartbeat_stopped", "source", "warning"),
            ("heartbeat_elsewhere", "replica", "critical"),
        },
    ), said
    beats(cluster)
    assert cluster.verify()[:2] == (0, set())


@brings("answer_wrong source warning", "answer_wrong replica warning")
def test_routers_that_are_told_something_else_than_what_is(cluster):
    # Without a login nothing is known.
    for host in (cluster.source, cluster.replica):
        host.shell(
            f"echo wrong > /etc/dbre-semisync/answer-3306.password; systemctl restart"
            f" {ANSWER}.service"
        )
    try:
        status, found, said = cluster.verify()
        assert (status, found) == (0, {("answer_wrong", "source", "warning")}), said
        cluster.replica.shell(f"systemctl stop {ANSWER}.socket")
        assert ("answer_wrong", "replica", "warning") in cluster.verify()[1]
    finally:
        cluster.site()
    assert cluster.verify()[:2] == (0, set())


@brings(
    "change_interrupted source critical",
    "source_unclear source critical",
    "two_sources source critical",
    "answer_wrong replica critical",
)
def test_servers_and_journal_that_contradict_each_other(cluster):
    source, replica, second = cluster.hosts.values()
    count = "SELECT COUNT(*) FROM important.stuff"
    try:
        moves.write_row(source, source, replica, state="begun")
        rows = source.value(count)
        status, found, said = cluster.verify()
        assert (status, found) == (2, {("change_interrupted", "source", "critical")}), said
        assert "and is neither done nor undone" in cluster.evidence("change_interrupted")
        assert source.value(count) == rows

        moves.write_row(source, source, replica)
        status, found, said = cluster.verify()
        assert status == 2 and ("source_unclear", "source", "critical") in found, said
        seen = f"{replica.name} and {second.name} follow it"
        assert seen in cluster.evidence("source_unclear")
        assert source.value(count) == rows

        # It would beat, and could not come back with those rows.
        replica.shell(f"systemctl stop {BEAT}")
        moves.promote(replica)
        status, found, said = cluster.verify()
        told = {("two_sources", "source", "critical"), ("answer_wrong", "replica", "critical")}
        assert status == 2 and told <= found, said
        alone = f"{replica.name} has nothing that {source.name} lacks"
        assert alone in cluster.evidence("two_sources")
        assert source.value(count) == rows
    finally:
        moves.follow(replica, source)
        replica.sql("SET GLOBAL read_only = 1")
        moves.write_row(source, replica, source)
        replica.shell(f"systemctl start {BEAT}")
    cluster.whole()
    beats(cluster)
    status, found, said = cluster.verify()
    assert status == 0 and found <= {("was_degraded", "source", "warning")}, said


@brings(
    "source_not_read source critical",
    "not_read second warning",
    "held source warning",
    "held_takes_writes source critical",
    "follows_held second critical",
)
def test_a_source_that_dies_and_comes_back(cluster):
    """The last test: the roles have moved."""
    source, second = cluster.source, cluster.hosts["second"]
    for host in (second, source):
        forbid_restart(host)
        kill(host)
    status, found, said = cluster.verify()
    assert status == 2, said
    assert {("source_not_read", "source", "critical"), ("not_read", "second", "warning")} <= found
    assert "failover.yml --check" in said
    play(cluster, "failover", "-e", f"semisync_failover_accept=unread:{second.name},alone")
    second.shell(f"systemctl start {UNITS[second.server]}")
    second.wait()
    status, found, said = cluster.verify()
    told = {("held", "source", "warning"), ("follows_held", "second", "critical")}
    assert status == 2 and told <= found, said

    play(cluster, "rejoin", "-e", f"semisync_rejoin={second.name}")

    # Its journal lacks the failover: it would beat, and not be taken back with those rows.
    source.shell(f"systemctl stop {BEAT}; systemctl start {UNITS[source.server]}")
    source.wait()
    source.sql("SET GLOBAL read_only = 0")
    status, found, said = cluster.verify()
    assert status == 2 and ("held_takes_writes", "source", "critical") in found, said
    source.sql("SET GLOBAL read_only = 1")
    play(cluster, "rejoin", "-e", f"semisync_rejoin={source.name}")
    source.shell(f"systemctl start {BEAT}")
    for role in ("second", "source"):
        acknowledges = "SHOW GLOBAL STATUS LIKE 'rpl_semi_sync_{replica}_status'"
        cluster.eventually(role, acknowledges, "ON")
    beats(cluster)
    # The failover left the new source without a replica, so it did not wait for one; site.yml is
    # what the finding asks for.
    status, found, said = cluster.verify()
    assert status == 2 and ("semisync_off", "replica", "critical") in found, said
    cluster.site()
    beats(cluster)
    status, found, said = cluster.verify()
    # The former source is told what a replica is.
    notes = {(kind, "source", severity) for kind, _role, severity in NOTES}
    assert (status, found) == (0, notes), said
