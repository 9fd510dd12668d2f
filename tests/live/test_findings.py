"""Every finding is brought about on a real pair, named by verify.yml, and gone once repaired."""

import json
import os
import time

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils.findings import kinds_heartbeat
from ansible_collections.dbre.semisync.plugins.plugin_utils.findings.kinds import TABLE

from support import moves
from support.live_hosts import Host, hosts, inventory, playbook, words
from support.troubles import BROUGHT

pytestmark = pytest.mark.own_target

WORDS = {
    "mysql": {
        "source": "source",
        "replica": "replica",
        "no_replica": "no_replica",
        "thread": "REPLICA",
        "delay": "CHANGE REPLICATION SOURCE TO SOURCE_DELAY = {};",
        "position": "SHOW BINARY LOG STATUS",
        "by_position": (
            "CHANGE REPLICATION SOURCE TO SOURCE_AUTO_POSITION = 0, SOURCE_LOG_FILE = '%s',"
            " SOURCE_LOG_POS = %s;"
        ),
        "by_gtid": "CHANGE REPLICATION SOURCE TO SOURCE_AUTO_POSITION = 1;",
    },
    "mariadb": {
        "source": "master",
        "replica": "slave",
        "no_replica": "no_slave",
        "thread": "SLAVE",
        "delay": "CHANGE MASTER TO MASTER_DELAY = {};",
        "position": "SHOW MASTER STATUS",
        "by_position": (
            "CHANGE MASTER TO MASTER_USE_GTID = no, MASTER_LOG_FILE = '%s', MASTER_LOG_POS = %s;"
        ),
        "by_gtid": "CHANGE MASTER TO MASTER_USE_GTID = slave_pos;",
    },
}
# What a pair straight after site.yml is told.
NOTES = {
    ("relay_log_not_synced", "replica", "info"),
    ("replication_unverified", "replica", "info"),
}
# Has two known defects, with AFTER_COMMIT and with wait_no_slave=OFF.
BAD_VERSION = "10.6.16"
READER = "reader"
# A server can only be brought to it if it has plugins, or if it can give itself another version.
IMPOSSIBLE = {
    "mysql": {"known_bad_version"},
    "mariadb": {"plugin_mix", "plugin_not_loaded_at_start"},
}
NOWHERE = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}


class Pair:
    """A source and its replica, and the inventory they are in."""

    def __init__(self, source, replica, folder):
        self.source, self.replica, self.folder = source, replica, folder
        self.hosts = {"source": source, "replica": replica}
        self.words, self.seen = WORDS[source.server], set()
        self.file = inventory(folder, {source: {}}, {replica: {}}, semisync_timeout=500)

    def sql(self, host, statements):
        """Run statements in which {source}, {replica} … stand for this server's words."""
        return self.hosts[host].value(statements.format(**self.words))

    def insert(self):
        self.source.sql("INSERT INTO important.stuff (details) VALUES ('written by a test')")

    def verify(self, *arguments):
        """(exit status, {(finding, role of its host, severity)}, what was said)."""
        result = playbook("verify", self.file, *arguments)
        latest = self.folder / "results/default/latest/findings.json"
        roles = {host.name: role for role, host in self.hosts.items()}
        self.findings = json.loads(latest.read_text())
        self.seen |= {one["id"] for one in self.findings}
        found = {
            (one["id"], roles.get(one["host"], one["host"]), one["severity"])
            for one in self.findings
        }
        return result.returncode, found - NOTES, words(result)

    def checkpoints(self):
        return json.loads((self.folder / "results/default/latest/checkpoints.json").read_text())

    def evidence(self, kind):
        return " | ".join(one["evidence"] for one in self.findings if one["id"] == kind)

    def eventually(self, host, statement, value):
        """Wait until the last column of a statement's row has a value."""
        deadline = time.monotonic() + 60
        while self.sql(host, statement).split()[-1:] != [value]:
            assert time.monotonic() < deadline, (
                f"{statement} is {self.sql(host, statement)}, not {value}"
            )
            time.sleep(0.1)

    def whole(self):
        """Wait until the pair is semi-synchronous again."""
        for host in ("source", "replica"):
            self.eventually(
                host, f"SHOW GLOBAL STATUS LIKE 'rpl_semi_sync_{{{host}}}_status'", "ON"
            )


@pytest.fixture(
    scope="module", params=[("mysql", ""), ("mariadb", "12")], ids=lambda param: param[0]
)
def pair(request, tmp_path_factory):
    for source, replica in hosts(
        ("source", *request.param), ("replica", *request.param), turn="findings-" + request.param[0]
    ):
        one = Pair(source, replica, tmp_path_factory.mktemp("findings"))
        result = playbook("site", one.file)
        assert result.returncode == 0, result.stdout + result.stderr
        yield one


def test_a_pair_straight_after_site_has_no_finding_above_a_note(pair):
    status, found, said = pair.verify()
    assert (status, found) == (0, set()), said
    assert "Findings of cluster default" in said
    # No authority is named; MariaDB 10.11 has no certificate either.
    tls = "TLS without an authority" if pair.source.server == "mysql" else "no TLS"
    assert tls in pair.evidence("replication_unverified")
    # The note is gone when the replica's disk has what it acknowledges; a restart would undo that.
    pair.sql("replica", "SET GLOBAL sync_relay_log = 1")
    status, found, said = pair.verify()
    assert status == 0 and found == {("restart_changes_it", "replica", "warning")}
    assert pair.evidence("relay_log_not_synced") == ""
    assert "sync_relay_log is 1, after a restart it is 10000" in pair.evidence("restart_changes_it")
    pair.sql("replica", "SET GLOBAL sync_relay_log = 10000")


# MariaDB has no SET PERSIST.
@pytest.mark.only("mysql")
def test_a_value_that_was_persisted_for_the_next_start_alone(pair):
    pair.sql("source", "SET PERSIST_ONLY rpl_semi_sync_{source}_timeout = 700")
    status, found, said = pair.verify()
    assert (status, found) == (0, {("restart_changes_it", "source", "warning")}), said
    assert "timeout is 500, after a restart it is 700 (SET PERSIST)" in pair.evidence(
        "restart_changes_it"
    )
    pair.sql("source", "RESET PERSIST rpl_semi_sync_{source}_timeout")
    assert pair.verify()[:2] == (0, set())


def test_values_that_differ_from_the_inventory(pair):
    """At the server, in the inventory alone, and where the inventory is silent and the collection's
    default counts.
    """
    name = "rpl_semi_sync_{source}_timeout".format(**pair.words)
    told = {("differs_from_inventory", "source", "warning")}
    pair.sql("source", "SET GLOBAL rpl_semi_sync_{source}_timeout = 700")
    status, found, said = pair.verify()
    assert (status, found) == (0, told | {("restart_changes_it", "source", "warning")}), said
    assert name + " is 700, semisync_timeout is 500" in pair.evidence("differs_from_inventory")
    pair.sql("source", "SET GLOBAL rpl_semi_sync_{source}_timeout = 500")
    assert pair.verify()[:2] == (0, set())
    silent = json.loads(pair.file.read_text())
    del silent["all"]["vars"]["semisync_timeout"]
    pair.file.write_text(json.dumps(silent))
    status, found, said = pair.verify()
    # The replica would wait so long, were it the source.
    both = told | {("target_without_source_side", "replica", "warning")}
    assert (status, found) == (0, both), said
    assert (
        name
        + " is 500, semisync_timeout is 10000 (from the inventory, or the collection's default)"
        in said
    )
    # The source's value counts, whatever a replica's is.
    pair.file = inventory(
        pair.folder,
        {pair.source: {"semisync_timeout": 500}},
        {pair.replica: {"semisync_timeout": 900}},
    )
    assert pair.verify()[:2] == (0, set())
    # The remedy is one.
    pair.file = inventory(pair.folder, {pair.source: {}}, {pair.replica: {}}, semisync_timeout=600)
    assert pair.verify()[1] == both
    result = playbook("site", pair.file)
    assert result.returncode == 0, words(result)
    assert pair.verify()[:2] == (0, set())
    pair.file = inventory(pair.folder, {pair.source: {}}, {pair.replica: {}}, semisync_timeout=500)
    assert playbook("site", pair.file).returncode == 0
    assert pair.verify()[:2] == (0, set())


def test_option_files_that_the_server_itself_could_not_read(pair):
    """The running server is as it was; what its next start would bring is unknown."""
    # A broken file in an included folder stops no MariaDB; a folder that is not there stops both.
    trouble = BROUGHT["no-option-files"]
    trouble.bring(pair.source)
    status, found, said = pair.verify()
    assert found == {("option_files_unknown", "source", "warning")}, said
    assert status == 2 and "1 unknown: P3.2 on " + pair.source.name in said
    assert "--print-defaults says" in pair.evidence("option_files_unknown")
    result = playbook("site", pair.file)
    assert result.returncode == 2 and "Nothing was changed" in words(result)
    assert "what its server starts with is not known" in words(result)
    trouble.mend(pair.source)
    assert pair.verify()[:2] == (0, set())


SETTINGS = {
    "source": (
        "SET GLOBAL rpl_semi_sync_{source}_wait_point = AFTER_COMMIT;"
        "SET GLOBAL rpl_semi_sync_{source}_wait_{no_replica} = OFF;"
        "SET GLOBAL rpl_semi_sync_{source}_timeout = 86400000;"
        "SET GLOBAL sync_binlog = 0; SET GLOBAL innodb_flush_log_at_trx_commit = 2"
    ),
    "replica": "SET GLOBAL read_only = OFF",
}
MENDED = {
    "source": (
        "SET GLOBAL rpl_semi_sync_{source}_wait_point = AFTER_SYNC;"
        "SET GLOBAL rpl_semi_sync_{source}_wait_{no_replica} = ON;"
        "SET GLOBAL rpl_semi_sync_{source}_timeout = 500;"
        "SET GLOBAL sync_binlog = 1; SET GLOBAL innodb_flush_log_at_trx_commit = 1"
    ),
    "replica": "SET GLOBAL read_only = ON",
}


def test_settings_that_weaken_the_promise(pair):
    """Wait point, waiting without replicas, timeout, durability, a writable replica, plugins, a
    known defect.
    """
    source, mysql = pair.source, pair.source.server == "mysql"
    if mysql:
        # As an upgrade from old names leaves it, and as nothing would load the new ones.
        source.sql(
            "SET SESSION sql_log_bin = 0; CREATE TABLE mysql.kept AS SELECT * FROM mysql.plugin"
            " WHERE name = 'rpl_semi_sync_source';DELETE FROM mysql.plugin WHERE name ="
            " 'rpl_semi_sync_source';INSERT INTO mysql.plugin VALUES ('rpl_semi_sync_master',"
            " 'semisync_master.so')"
        )
        plugins = {
            ("plugin_mix", "source", "warning"),
            ("plugin_not_loaded_at_start", "source", "warning"),
        }
    else:
        source.shell(
            f"printf '[mariadb]\\nversion = {BAD_VERSION}-MariaDB\\n' >"
            " /etc/mysql/mariadb.conf.d/zy-version.cnf && systemctl restart mariadb"
        )
        source.wait()
        pair.whole()
        plugins = {("known_bad_version", "source", "warning")}
    for host, statements in SETTINGS.items():
        pair.sql(host, statements)
    status, found, said = pair.verify()
    assert found == plugins | {
        (kind, "source", "warning")
        for kind in (
            "after_commit",
            "no_wait_without_replica",
            "timeout_freezes_writers",
            "source_not_durable",
            "restart_changes_it",
            "differs_from_inventory",
        )
    } | {(kind, "replica", "warning") for kind in ("replica_writable", "restart_changes_it")}, said
    assert status == 0
    assert "24.0 hours" in pair.evidence("timeout_freezes_writers")
    assert "read_only is OFF, after a restart it is ON (option file)" in pair.evidence(
        "restart_changes_it"
    )
    if not mysql:
        assert "mariadb-33551" in pair.evidence("known_bad_version")
        assert "mariadb-no-wait" in pair.evidence("known_bad_version")
        source.shell("rm /etc/mysql/mariadb.conf.d/zy-version.cnf && systemctl restart mariadb")
        source.wait()
        pair.whole()
    else:
        source.sql(
            "SET SESSION sql_log_bin = 0; DELETE FROM mysql.plugin WHERE name ="
            " 'rpl_semi_sync_master';INSERT INTO mysql.plugin SELECT * FROM mysql.kept; DROP TABLE"
            " mysql.kept"
        )
    for host, statements in MENDED.items():
        pair.sql(host, statements)
    status, found, said = pair.verify()
    assert (status, found) == (0, set()), said


BARE = "bind_address = 127.0.0.1\\nread_only = OFF\\nskip_log_bin\\n"


def test_what_a_replica_lacks_to_be_the_source_and_a_source_to_come_back(pair):
    replica = pair.replica
    folder = "mysql.conf.d" if replica.server == "mysql" else "mariadb.conf.d"
    file = f"/etc/mysql/{folder}/zzz-bare.cnf"
    again = f"systemctl restart {replica.server}"
    replica.shell(f"printf '[mysqld]\n{BARE}' > {file} && {again}")
    replica.wait()
    pair.whole()
    replica.sql("SET SESSION sql_log_bin = 0; RENAME USER repl@'%' TO gone@'%'")
    pair.sql(
        "replica", "SET GLOBAL sync_binlog = 0; SET GLOBAL rpl_semi_sync_{source}_timeout = 900"
    )
    pair.sql("source", "SET GLOBAL rpl_semi_sync_{replica}_enabled = ON")
    status, found, said = pair.verify()
    lacking = ("loopback_only", "without_account", "without_binary_log", "without_source_side")
    assert {
        *((f"target_{kind}", "replica", "warning") for kind in (*lacking, "durability_differs")),
        ("target_writable_at_start", "replica", "info"),
        ("source_without_replica_side", "source", "warning"),
    } <= found, said
    assert status == 0
    replica.sql("SET SESSION sql_log_bin = 0; RENAME USER gone@'%' TO repl@'%'")
    replica.shell(f"rm {file} && {again}")
    replica.wait()
    pair.whole()
    pair.sql("source", "SET GLOBAL rpl_semi_sync_{replica}_enabled = OFF")
    status, found, said = pair.verify()
    assert status == 0 and found <= {("was_degraded", "source", "warning")}, said


def test_routers_that_are_told_something_else_than_what_is(pair):
    answering = inventory(
        pair.folder, {pair.source: {}}, {pair.replica: {}}, semisync_timeout=500,
        semisync_http_port=8008,
    )  # fmt: skip
    assert playbook("site", answering).returncode == 0
    assert pair.verify()[:2] == (0, set())
    # Without a login nothing is known.
    for host in pair.hosts.values():
        host.shell(
            "echo wrong > /etc/dbre-semisync/answer-3306.password; systemctl restart"
            " dbre-semisync-answer-3306.service"
        )
    status, found, said = pair.verify()
    assert (status, found) == (0, {("answer_wrong", "source", "warning")}), said
    pair.replica.shell("systemctl stop dbre-semisync-answer-3306.socket")
    assert ("answer_wrong", "replica", "warning") in pair.verify()[1]
    pair.file = answering
    assert playbook("site", answering).returncode == 0
    assert pair.verify()[:2] == (0, set())
    pair.file = inventory(pair.folder, {pair.source: {}}, {pair.replica: {}}, semisync_timeout=500)
    assert playbook("site", pair.file).returncode == 0
    assert pair.verify()[:2] == (0, set())


def test_a_source_that_fell_back_and_what_went_out_meanwhile(pair):
    pair.sql("replica", "STOP {thread} IO_THREAD")
    pair.insert()
    pair.insert()
    status, found, said = pair.verify()
    assert status == 2
    assert {
        ("degraded", "source", "critical"),
        ("clients_missing", "source", "critical"),
    } <= found, said
    first_seen = pair.evidence("degraded").partition("first seen ")[2][:20]
    # Two rows and the canary.
    assert "no_tx +3" in pair.evidence("degraded")
    assert "critical: degraded on" in said
    status, found, said = pair.verify()
    assert status == 2 and "first seen " + first_seen in pair.evidence("degraded")
    pair.insert()
    pair.sql("replica", "START {thread} IO_THREAD")
    pair.whole()
    status, found, said = pair.verify()
    assert (status, found) == (0, {("was_degraded", "source", "warning")}), said
    assert "no_tx +1" in pair.evidence("was_degraded")
    assert pair.verify()[:2] == (0, set())


def test_what_went_out_unacknowledged_is_seen_across_a_reset_of_the_counters(pair):
    pair.source.sql("FLUSH NO_WRITE_TO_BINLOG STATUS")
    pair.sql("replica", "STOP {thread} IO_THREAD")
    pair.insert()
    pair.sql("replica", "START {thread} IO_THREAD")
    pair.whole()
    status, found, said = pair.verify()
    assert (status, found) == (0, {("was_degraded", "source", "warning")}), said
    assert "at least no_tx +1" in pair.evidence("was_degraded")
    assert pair.verify()[:2] == (0, set())


def test_semisync_that_is_off_and_identities_that_clash(pair):
    number = pair.replica.value("SELECT @@server_id")
    pair.sql(
        "replica",
        "SET GLOBAL rpl_semi_sync_{replica}_enabled = OFF; SET GLOBAL server_id ="
        f" {pair.source.value('SELECT @@server_id')}",
    )
    pair.sql("source", "SET GLOBAL rpl_semi_sync_{source}_enabled = OFF")
    status, found, said = pair.verify()
    assert status == 2
    assert {
        ("semisync_off", "source", "critical"),
        ("semisync_off", "replica", "warning"),
        ("server_id_clash", "replica", "critical"),
    } <= found, said
    pair.sql(
        "replica",
        f"SET GLOBAL server_id = {number}; SET GLOBAL rpl_semi_sync_{{replica}}_enabled = ON;STOP"
        " {thread} IO_THREAD; START {thread} IO_THREAD",
    )
    pair.sql("source", "SET GLOBAL rpl_semi_sync_{source}_enabled = ON")
    pair.whole()
    status, found, said = pair.verify()
    assert status == 0 and found <= {("was_degraded", "source", "warning")}, said


def test_a_replica_that_acknowledges_but_does_not_apply(pair):
    pair.sql("replica", "STOP {thread} SQL_THREAD")
    status, found, said = pair.verify()
    assert status == 2 and ("applier_stopped", "replica", "critical") in found, said
    pair.sql("replica", "STOP {thread};" + pair.words["delay"].format(600) + "START {thread}")
    pair.whole()
    time.sleep(2)
    status, found, said = pair.verify("-e", "semisync_verify_lag_limit=1")
    assert status == 2 and ("applier_behind", "replica", "warning") in found, said
    assert "of which 600 are configured" in pair.evidence("applier_behind")
    pair.sql("replica", "STOP {thread};" + pair.words["delay"].format(0) + "START {thread}")
    pair.whole()
    newest = pair.source.value("SELECT MAX(id) FROM important.stuff")
    pair.eventually("replica", "SELECT MAX(id) FROM important.stuff", newest)
    status, found, said = pair.verify()
    assert (status, found) == (0, set()), said


def test_a_replica_by_position_and_clocks_that_differ(pair):
    """The replica's clock is wrong for one account alone; hosts of one kernel share theirs."""
    file, offset = pair.source.value(pair.words["position"]).split()[:2]
    pair.sql(
        "replica", "STOP {thread};" + pair.words["by_position"] % (file, offset) + "START {thread}"
    )
    pair.whole()
    pair.replica.sql(
        f"SET SESSION sql_log_bin = 0; CREATE USER {READER}@localhost IDENTIFIED BY 'reader';GRANT"
        " SELECT, REPLICATION CLIENT, REPLICATION SLAVE"
        f" {'' if pair.source.server == 'mysql' else ', SLAVE MONITOR'} ON *.* TO"
        f" {READER}@localhost;SET GLOBAL init_connect = 'SET timestamp = UNIX_TIMESTAMP() + 90'"
    )
    wrong = inventory(
        pair.folder,
        {pair.source: {}},
        {pair.replica: {"semisync_login_user": READER, "semisync_login_password": "reader"}},
        semisync_timeout=500,
    )
    pair.file = wrong
    status, found, said = pair.verify()
    assert found == {
        ("relay_log_not_recovered", "replica", "warning"),
        ("clocks_differ", "replica", "warning"),
    }, said
    assert "seconds ahead of" in pair.evidence("clocks_differ")
    pair.file = inventory(pair.folder, {pair.source: {}}, {pair.replica: {}}, semisync_timeout=500)
    pair.replica.sql(
        f"SET SESSION sql_log_bin = 0; SET GLOBAL init_connect = ''; DROP USER {READER}@localhost"
    )
    pair.sql("replica", "STOP {thread};" + pair.words["by_gtid"] + "START {thread}")
    pair.whole()
    status, found, said = pair.verify()
    assert (status, found) == (0, set()), said


def test_every_kind_of_exit(pair):
    """A host that cannot be reached is 4, whatever else is wrong; a server that is down, or half a
    cluster, is 2.
    """
    name = pair.replica.name
    pair.file = inventory(
        pair.folder, {pair.source: {}}, {pair.replica: NOWHERE}, semisync_timeout=500
    )
    assert pair.verify()[0] == 4
    # One replica is enough for a commit, and the cluster has another one that is not there.
    second = Host("findings", "second", pair.replica.server, "")
    pair.file = inventory(
        pair.folder, {pair.source: {}}, {pair.replica: {}, second: NOWHERE}, semisync_timeout=500
    )
    status, found, said = pair.verify()
    assert status == 4 and ("clients_missing", "source", "warning") in found, said
    pair.file = inventory(pair.folder, {pair.source: {}}, {pair.replica: {}}, semisync_timeout=500)
    rows = pair.source.value("SELECT COUNT(*) FROM important.stuff")
    result = playbook("verify", pair.file, "--limit", name)
    assert result.returncode == 2 and "take the cluster whole" in words(result)
    assert pair.source.value("SELECT COUNT(*) FROM important.stuff") == rows
    pair.replica.shell("systemctl stop " + pair.replica.server)
    status, found, said = pair.verify()
    assert status == 2 and "P0 on " + name in said
    assert ("not_read", "replica", "warning") in found, said
    # Nothing of it was seen to be wrong.
    outcomes = {row["outcome"] for row in pair.checkpoints() if row["host"] == name}
    assert outcomes == {"unknown"}, said
    pair.replica.shell("systemctl start " + pair.replica.server)
    pair.replica.wait()
    pair.whole()
    assert pair.verify()[0] == 0
    assert pair.verify()[:2] == (0, set())


def test_two_runs_at_once_do_not_disturb_each_other(pair):
    import subprocess

    command = ["ansible-playbook", "-i", str(pair.file), "dbre.semisync.verify"]
    both = [
        subprocess.Popen(
            command,
            cwd=pair.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=dict(os.environ, ANSIBLE_PIPELINING="true"),
        )
        for dummy in range(2)
    ]
    said = [one.communicate(timeout=120)[0] for one in both]
    assert [one.returncode for one in both] == [0, 0], said
    assert pair.verify()[:2] == (0, set())


def test_a_change_that_was_interrupted_is_told_until_site_closes_it(pair):
    moves.write_row(pair.source, pair.source, pair.source, operation="settings", state="begun")
    assert "may still be in progress" in words(playbook("site", pair.file))
    assert pair.verify()[1] == {("settings_unfinished", "source", "warning")}
    table = "important.semisync_journal"
    pair.source.sql(
        f"UPDATE {table} SET happened = happened - INTERVAL 1 HOUR WHERE operation = 'settings'"
    )
    status, found, said = pair.verify()
    assert (status, found) == (0, {("settings_unfinished", "source", "warning")}), said
    kept = json.loads((pair.folder / "results/default/state.json").read_text())
    newest = pair.source.value("SELECT MAX(number) FROM important.semisync_journal")
    assert kept["settings_row"] == int(newest) - 1
    site = playbook("site", pair.file)
    assert site.returncode == 0, site.stdout
    assert pair.verify()[:2] == (0, set())
    assert "changed=0" in playbook("site", pair.file).stdout


def test_servers_and_journal_that_contradict_each_other(pair):
    source, replica = pair.source, pair.replica
    count = "SELECT COUNT(*) FROM important.stuff"
    moves.write_row(source, source, replica, state="begun")
    rows = source.value(count)
    status, found, said = pair.verify()
    assert (status, found) == (2, {("change_interrupted", "source", "critical")}), said
    assert "and is neither done nor undone" in pair.evidence("change_interrupted")
    assert source.value(count) == rows

    moves.write_row(source, source, replica)
    status, found, said = pair.verify()
    assert (status, found) == (2, {("source_unclear", "source", "critical")}), said
    assert f"{replica.name} follows it" in pair.evidence("source_unclear")
    assert source.value(count) == rows

    moves.promote(replica)
    status, found, said = pair.verify()
    assert status == 2 and ("two_sources", "replica", "critical") in found, said
    assert f"{replica.name} has nothing that {source.name} lacks" in pair.evidence("two_sources")
    assert source.value(count) == rows

    moves.follow(replica, source)
    replica.sql("SET GLOBAL read_only = 1")
    pair.whole()
    moves.write_row(source, replica, source)
    assert pair.verify()[:2] == (0, set())


def test_every_finding_was_brought_about(pair):
    """After all the tests above."""
    # test_heartbeat.py has hosts that beat.
    elsewhere = IMPOSSIBLE[pair.source.server] | set(kinds_heartbeat.TABLE) | {"next_version"}
    assert pair.seen == set(TABLE) - elsewhere
