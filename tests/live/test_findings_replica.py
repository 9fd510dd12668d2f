"""Every finding is brought about on real servers: here what is told of a replica, of what it lacks
to become the source, and of a pair that promises to be lossless. See test_findings.py.
"""

import contextlib
import subprocess
import time

import pytest

from support import backlogs
from support.eventually import eventually
from support.findings import FOLDERS, Cluster, brings
from support.live_hosts import hosts, inventory, run

pytestmark = pytest.mark.own_target

READER = "reader"
OURS = "/etc/mysql/{}/zz-dbre-semisync.cnf"
CERTIFICATE = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=source -keyout - -out -"
# Rows, and microseconds for each: a slow machine's verify.yml still sees some of them.
BACKLOG, SLOWLY = 2000, 30000


@pytest.fixture(
    scope="module", params=[("mysql", ""), ("mariadb", "12")], ids=lambda param: param[0]
)
def pair(request, tmp_path_factory):
    wanted = [(name, *request.param) for name in ("source", "replica")]
    for made in hosts(*wanted, turn="findings-replica-" + request.param[0]):
        made[0].stop_quickly()
        one = Cluster(made, tmp_path_factory.mktemp("findings"), semisync_timeout=3000)
        one.site()
        yield one


BARE = "bind_address = 127.0.0.1\nread_only = OFF\nskip_log_bin\n"
LACKING = (
    "target_loopback_only",
    "target_without_account",
    "target_without_binary_log",
    "target_without_source_side",
    "target_durability_differs",
    "applier_skips",
)


@brings(
    *(f"{kind} replica warning" for kind in LACKING),
    "target_writable_at_start replica info",
    "source_without_replica_side source warning",
)
def test_what_a_replica_lacks_to_be_the_source_and_a_source_to_come_back(pair):
    thread = pair.words["thread"].lower()
    rename, quiet = "RENAME USER {}@'%' TO {}@'%'", "SET SESSION sql_log_bin = 0; "
    lacks = (
        "SET GLOBAL sync_binlog = 0; SET GLOBAL rpl_semi_sync_{source}_timeout = 900;"
        " SET GLOBAL {thread}_exec_mode = IDEMPOTENT;"
    )
    there, back = rename.format("repl", "gone"), rename.format("gone", "repl")
    both_sides = "SET GLOBAL rpl_semi_sync_{replica}_enabled = "
    with (
        pair.options("replica", BARE + f"{thread}_skip_errors = 1062\n"),
        pair.changed("replica", lacks + quiet + there, quiet + back),
        pair.changed("source", both_sides + "ON", both_sides + "OFF"),
    ):
        pair.whole()
        status, found, said = pair.verify()
        assert {
            *((kind, "replica", "warning") for kind in LACKING),
            ("target_writable_at_start", "replica", "info"),
            ("source_without_replica_side", "source", "warning"),
        } <= found, said
        assert status == 0
        skipped = f"{thread}_skip_errors is 1062, {thread}_exec_mode is IDEMPOTENT"
        assert pair.evidence("applier_skips") == skipped
    pair.whole()
    status, found, said = pair.verify()
    assert status == 0 and found <= {("was_degraded", "source", "warning")}, said


def forget_read_only(host):
    """Take the line out of the collection's option file; site.yml restores it."""
    host.shell(f"sed -i '/^read_only/d' {OURS.format(FOLDERS[host.server])}")


@brings("replica_writable replica info", "target_writable_at_start replica info")
def test_a_replica_that_takes_writes_though_no_file_of_ours_forbids_it(pair):
    forget_read_only(pair.replica)
    pair.replica.sql("SET GLOBAL read_only = OFF")
    told = {(kind, "replica", "info") for kind in ("replica_writable", "target_writable_at_start")}
    try:
        status, found, said = pair.verify()
        assert (status, found) == (0, told), said
    finally:
        pair.site()
    assert pair.verify()[:2] == (0, set())


def event(pair, host, column="STATUS"):
    """What a host has of the event; empty if it has none."""
    named = "WHERE EVENT_NAME = 'rollup'"
    return pair.sql(host, f"SELECT {column} FROM information_schema.EVENTS {named}")


@contextlib.contextmanager
def an_event(pair):
    """An event of the source while its scheduler is off."""
    usual = {host: pair.sql(host, "SELECT @@event_scheduler") for host in pair.hosts}
    pair.source.sql(
        "SET GLOBAL event_scheduler = OFF; CREATE EVENT important.rollup ON SCHEDULE EVERY 1 DAY"
        " STARTS NOW() + INTERVAL 1 DAY DO DELETE FROM important.stuff WHERE id < 0"
    )
    try:
        eventually(lambda: event(pair, "replica").endswith("SIDE_DISABLED"), "the event arrives")
        yield
    finally:
        pair.source.sql("DROP EVENT important.rollup")
        eventually(lambda: event(pair, "replica") == "", "the event is gone")
        for host, value in usual.items():
            pair.sql(host, f"SET GLOBAL event_scheduler = {value}")


@brings(
    "events_nowhere source warning",
    "events_on_replica replica critical",
    "events_on_replica replica warning",
)
def test_events_that_run_nowhere_and_on_a_replica(pair):
    source, replica, quiet = pair.source, pair.replica, "SET SESSION sql_log_bin = 0;"
    elsewhere = f"DISABLE ON {'REPLICA' if source.server == 'mysql' else 'SLAVE'}"
    with an_event(pair):
        status, found, said = pair.verify()
        assert (status, found) == (0, {("events_nowhere", "source", "warning")}), said
        seen = "event_scheduler is OFF, and important.rollup would run"
        assert pair.evidence("events_nowhere") == seen
        source.sql("SET GLOBAL event_scheduler = ON")
        assert pair.verify()[:2] == (0, set())

        # As on a replica that was promoted by other means; and an event that was enabled there.
        source.sql(f"{quiet} ALTER EVENT important.rollup {elsewhere}")
        replica.sql(f"SET GLOBAL event_scheduler = ON; {quiet} ALTER EVENT important.rollup ENABLE")
        nowhere = ("events_nowhere", "source", "warning")
        status, found, said = pair.verify()
        both = {nowhere, ("events_on_replica", "replica", "critical")}
        assert (status, found) == (2, both), said
        seen = f"important.rollup is {event(pair, 'source')}"
        assert pair.evidence("events_nowhere") == seen
        replica.sql("SET GLOBAL event_scheduler = OFF")
        status, found, said = pair.verify()
        both = {nowhere, ("events_on_replica", "replica", "warning")}
        assert (status, found) == (0, both), said

        # The remedies.
        source.sql(f"{quiet} ALTER EVENT important.rollup ENABLE")
        name, _, host = event(pair, "replica", "DEFINER").partition("@")
        replica.sql(f"{quiet} ALTER DEFINER = '{name}'@'{host}' EVENT important.rollup {elsewhere}")
        assert pair.verify()[:2] == (0, set())


@contextlib.contextmanager
def certified(pair):
    """The authority of the source's certificate: MySQL has made one, MariaDB 10.11 is given one.
    Afterwards the channel is as before.
    """
    file, made = "/etc/mysql/findings.pem", run(*CERTIFICATE.split()).stdout
    lines = f"ssl_cert = {file}\nssl_key = {file}\n"
    mysql = pair.source.server == "mysql"
    for host in pair.hosts.values():
        host.shell(f"cat > {file}; chmod 644 {file}", input=made)
    try:
        with contextlib.nullcontext() if mysql else pair.options("source", lines):
            pair.whole()
            yield "generated" if mysql else file
            pair.sql("replica", "STOP {thread};" + pair.words["as_before_tls"] + "START {thread}")
    finally:
        for host in pair.hosts.values():
            host.shell(f"rm {file}")


@brings("replication_unverified replica info")
def test_a_replica_that_cannot_know_its_source(pair):
    assert pair.verify()[:2] == (0, set())
    # No authority is named; MariaDB 10.11 has no certificate either.
    tls = "TLS without an authority" if pair.source.server == "mysql" else "no TLS"
    assert tls in pair.evidence("replication_unverified")
    with certified(pair) as authority:
        pair.usual(semisync_replication_ssl="required", semisync_replication_ssl_ca=authority)
        pair.site()
        pair.usual()
        status, found, said = pair.verify()
        assert status == 0 and found <= {("was_degraded", "source", "warning")}, said
        assert pair.evidence("replication_unverified") == ""
    pair.whole()
    status, found, said = pair.verify()
    assert status == 0 and found <= {("was_degraded", "source", "warning")}, said
    assert tls in pair.evidence("replication_unverified")


@brings(
    "applier_stopped replica critical",
    "applier_behind replica warning",
    "failover_slow replica info",
)
def test_a_replica_that_acknowledges_but_does_not_apply(pair):
    with pair.changed("replica", "STOP {thread} SQL_THREAD", "START {thread} SQL_THREAD"):
        status, found, said = pair.verify()
        assert (status, found) == (2, {("applier_stopped", "replica", "critical")}), said
    delay = [
        "STOP {thread};" + pair.words["delay"].format(seconds) + "START {thread}"
        for seconds in (600, 0)
    ]
    with pair.changed("replica", *delay):
        pair.whole()
        pair.insert()
        time.sleep(2)
        status, found, said = pair.verify("-e", "semisync_verify_lag_limit=1")
        told = {("applier_behind", "replica", "warning"), ("failover_slow", "replica", "info")}
        assert status == 2 and told <= found, said
        assert "of which 600 are configured" in pair.evidence("applier_behind")
        assert "it is delayed by 600 s" in pair.evidence("failover_slow")
    pair.whole()
    pair.caught_up()
    status, found, said = pair.verify()
    assert (status, found) == (0, set()), said


@brings("failover_slow replica warning")
def test_a_replica_that_has_much_to_apply(pair):
    replica = pair.replica
    backlogs.prepare(pair.source)
    with backlogs.slowly(replica, SLOWLY):
        backlogs.applier(replica, "STOP")
        backlogs.load(pair.source, BACKLOG)
        backlogs.applier(replica, "START")
        # The canary row waits like all the others.
        _status, found, said = pair.verify("-e", "semisync_failover_max_seconds=0.5")
        assert found == {("failover_slow", "replica", "warning")}, said
        assert "a second (limit 0.5 s)" in pair.evidence("failover_slow")
    backlogs.wait_for(replica, BACKLOG)
    assert pair.verify()[:2] == (0, set())


@brings("relay_log_not_recovered replica warning", "clocks_differ replica warning")
def test_a_replica_by_position_and_clocks_that_differ(pair):
    """The replica's clock is wrong for one account only; hosts of one kernel share theirs."""
    file, offset = pair.source.value(pair.words["position"]).split()[:2]
    by_position, by_gtid = [
        "STOP {thread};" + statement + "START {thread}"
        for statement in (pair.words["by_position"] % (file, offset), pair.words["by_gtid"])
    ]
    more = "" if pair.source.server == "mysql" else ", SLAVE MONITOR"
    quiet = "SET SESSION sql_log_bin = 0;"
    reader = (
        f"{quiet} CREATE USER {READER}@localhost IDENTIFIED BY 'reader'; GRANT SELECT, REPLICATION"
        f" CLIENT, REPLICATION SLAVE{more} ON *.* TO {READER}@localhost;"
        " SET GLOBAL init_connect = 'SET timestamp = UNIX_TIMESTAMP() + 90'"
    )
    gone = f"{quiet} SET GLOBAL init_connect = ''; DROP USER {READER}@localhost"
    login = {"semisync_login_user": READER, "semisync_login_password": "reader"}
    with (
        pair.changed("replica", by_position, by_gtid),
        pair.changed("replica", reader, gone),
    ):
        pair.whole()
        pair.file = inventory(
            pair.folder, {pair.source: {}}, {pair.replica: login}, semisync_timeout=3000
        )
        status, found, said = pair.verify()
        pair.usual()
        assert found == {
            ("relay_log_not_recovered", "replica", "warning"),
            ("clocks_differ", "replica", "warning"),
        }, said
        assert "seconds ahead of" in pair.evidence("clocks_differ")
    pair.whole()
    status, found, said = pair.verify()
    assert (status, found) == (0, set()), said


@brings("source_closed source critical")
def test_a_source_that_lets_no_writer_in(pair):
    with pair.changed("source", "SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0"):
        status, found, said = pair.verify()
        assert status == 2 and ("source_closed", "source", "critical") in found, said
        (one,) = [one for one in pair.findings if one["id"] == "source_closed"]
        assert "SET GLOBAL read_only = 0" in one["remedy"]
    assert pair.verify()[:2] == (0, set())


@pytest.fixture(scope="module")
def lossless(pair):
    """The pair, which promises to be lossless from here on: the tests above need it as it was."""
    pair.usual(semisync_promise="lossless", semisync_timeout=None)
    pair.site()
    assert pair.verify()[:2] == (0, set())
    return pair


@brings(
    "promise_not_kept source critical",
    "promise_not_kept replica critical",
    "starts_writable replica warning",
)
def test_a_promise_that_does_not_hold(lossless):
    pair = lossless
    forget_read_only(pair.replica)
    pair.sql("source", "SET GLOBAL rpl_semi_sync_{source}_timeout = 10000")
    pair.sql("replica", "SET GLOBAL sync_relay_log = 10000")
    status, found, said = pair.verify()
    changes = {("restart_changes_it", role, "warning") for role in ("source", "replica")}
    assert (status, found - changes) == (
        2,
        {
            ("promise_not_kept", "source", "critical"),
            ("promise_not_kept", "replica", "critical"),
            ("starts_writable", "replica", "warning"),
            ("differs_from_inventory", "source", "warning"),
        },
    ), said
    assert "timeout is 10000 ms" in pair.evidence("promise_not_kept")
    assert "sync_relay_log is 10000" in pair.evidence("promise_not_kept")
    # The remedy of each.
    pair.site()
    status, found, said = pair.verify()
    assert (status, found) == (0, set()), said


@brings("starts_writable source warning")
def test_a_file_of_others_that_lets_writers_in(lossless):
    """site.yml leaves it alone, and the remedy says so."""
    pair = lossless
    with pair.options("source", "read_only = OFF\n", restart=False):
        assert pair.verify()[:2] == (0, {("starts_writable", "source", "warning")})
        pair.site()
        assert pair.verify()[:2] == (0, {("starts_writable", "source", "warning")})
        (one,) = [one for one in pair.findings if one["id"] == "starts_writable"]
        assert "If another option file sets read_only to OFF" in one["remedy"]
    assert pair.verify()[:2] == (0, set())


@pytest.mark.only("mysql")
@brings("promise_not_kept replica critical")
def test_a_replica_that_would_discard_what_it_acknowledged(lossless):
    pair = lossless
    persisted = "SET PERSIST_ONLY relay_log_recovery = ON", "RESET PERSIST relay_log_recovery"
    with pair.changed("replica", *persisted):
        status, found, said = pair.verify()
        assert status == 2 and ("promise_not_kept", "replica", "critical") in found, said
        assert "relay_log_recovery is ON at its next start" in pair.evidence("promise_not_kept")
        (one,) = [one for one in pair.findings if one["id"] == "promise_not_kept"]
        assert "RESET PERSIST" in one["remedy"]
    assert pair.verify()[:2] == (0, set())


@brings("writers_frozen source critical", "clients_missing source critical")
def test_writers_that_wait_for_a_replica(lossless):
    pair = lossless
    pair.sql("replica", "STOP {thread} IO_THREAD")
    insert = "--execute=INSERT INTO important.stuff (details) VALUES ('waits')"
    command = ["docker", "exec", pair.source.name, pair.source.client, insert]
    with subprocess.Popen(command) as writer:
        try:
            waiting = "SHOW GLOBAL STATUS LIKE 'rpl_semi_sync_{source}_wait_sessions'"
            pair.eventually("source", waiting, "1")
            status, found, said = pair.verify()
            told = {(kind, "source", "critical") for kind in ("writers_frozen", "clients_missing")}
            assert status == 2 and told <= found, said
            assert writer.poll() is None
        finally:
            pair.sql("replica", "START {thread} IO_THREAD")
        assert writer.wait(60) == 0
    pair.whole()
    status, found, said = pair.verify()
    assert (status, found) == (0, set()), said


@brings("source_closed source critical")
def test_a_lossless_source_that_site_opens(lossless):
    pair = lossless
    pair.sql("source", "SET GLOBAL read_only = 1")
    status, found, said = pair.verify()
    assert status == 2 and ("source_closed", "source", "critical") in found, said
    pair.site()
    assert pair.source.value("SELECT @@read_only") == "0"
    assert pair.verify()[:2] == (0, set())
