"""Every finding is brought about on real servers, named by verify.yml, and gone once repaired: here
what is told of a source and of any server, in test_findings_replica.py of a replica, and in
test_findings_roles.py of three hosts. tests/unit/test_findings_brought.py counts them.
"""

import json
import os
import subprocess

import pytest

from support import moves
from support.disks import make_small
from support.findings import Cluster, brings
from support.live_hosts import Host, hosts, inventory, playbook, words
from support.troubles import BROUGHT

pytestmark = pytest.mark.own_target

# Has two known defects, with AFTER_COMMIT and with wait_no_slave=OFF.
BAD_VERSION = "10.6.16"
NOWHERE = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}


@pytest.fixture(
    scope="module", params=[("mysql", ""), ("mariadb", "12")], ids=lambda param: param[0]
)
def pair(request, tmp_path_factory):
    wanted = [(name, *request.param) for name in ("source", "replica")]
    for made in hosts(*wanted, turn="findings-" + request.param[0]):
        one = Cluster(made, tmp_path_factory.mktemp("findings"), semisync_timeout=3000)
        one.site()
        yield one


@brings("relay_log_not_synced replica info", "restart_changes_it replica warning")
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
    assert pair.verify()[:2] == (0, set())


# MariaDB has no SET PERSIST.
@pytest.mark.only("mysql")
@brings("restart_changes_it source warning")
def test_a_value_that_was_persisted_for_the_next_start_alone(pair):
    pair.sql("source", "SET PERSIST_ONLY rpl_semi_sync_{source}_timeout = 700")
    status, found, said = pair.verify()
    assert (status, found) == (0, {("restart_changes_it", "source", "warning")}), said
    assert "timeout is 3000, after a restart it is 700 (SET PERSIST)" in pair.evidence(
        "restart_changes_it"
    )
    pair.sql("source", "RESET PERSIST rpl_semi_sync_{source}_timeout")
    assert pair.verify()[:2] == (0, set())


@brings("differs_from_inventory source warning", "target_without_source_side replica warning")
def test_values_that_differ_from_the_inventory(pair):
    """At the server, in the inventory alone, and where the inventory is silent and the collection's
    default counts.
    """
    name = "rpl_semi_sync_{source}_timeout".format(**pair.words)
    told = {("differs_from_inventory", "source", "warning")}
    pair.sql("source", "SET GLOBAL rpl_semi_sync_{source}_timeout = 700")
    status, found, said = pair.verify()
    assert (status, found) == (0, told | {("restart_changes_it", "source", "warning")}), said
    assert name + " is 700, semisync_timeout is 3000" in pair.evidence("differs_from_inventory")
    pair.sql("source", "SET GLOBAL rpl_semi_sync_{source}_timeout = 3000")
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
        + " is 3000, semisync_timeout is 10000 (from the inventory, or the collection's default)"
        in said
    )
    # The source's value counts, whatever a replica's is.
    pair.file = inventory(
        pair.folder,
        {pair.source: {"semisync_timeout": 3000}},
        {pair.replica: {"semisync_timeout": 900}},
    )
    assert pair.verify()[:2] == (0, set())
    # The remedy is one.
    pair.usual(semisync_timeout=600)
    assert pair.verify()[1] == both
    result = playbook("site", pair.file)
    assert result.returncode == 0, words(result)
    assert pair.verify()[:2] == (0, set())
    pair.usual()
    assert playbook("site", pair.file).returncode == 0
    assert pair.verify()[:2] == (0, set())


@brings("option_files_unknown source warning")
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


@pytest.mark.only("mysql")
@brings("plugin_mix source warning", "plugin_not_loaded_at_start source warning")
def test_plugins_of_old_and_new_names_and_one_that_nothing_loads(pair):
    """As an upgrade leaves mysql.plugin."""
    pair.source.sql(
        "SET SESSION sql_log_bin = 0; CREATE TABLE mysql.kept AS SELECT * FROM mysql.plugin"
        " WHERE name = 'rpl_semi_sync_source'; DELETE FROM mysql.plugin WHERE name ="
        " 'rpl_semi_sync_source'; INSERT INTO mysql.plugin VALUES ('rpl_semi_sync_master',"
        " 'semisync_master.so')"
    )
    status, found, said = pair.verify()
    told = {(kind, "source", "warning") for kind in ("plugin_mix", "plugin_not_loaded_at_start")}
    assert (status, found) == (0, told), said
    pair.source.sql(
        "SET SESSION sql_log_bin = 0; DELETE FROM mysql.plugin WHERE name ="
        " 'rpl_semi_sync_master'; INSERT INTO mysql.plugin SELECT * FROM mysql.kept; DROP TABLE"
        " mysql.kept"
    )
    assert pair.verify()[:2] == (0, set())


@pytest.mark.only("mariadb")
@brings("known_bad_version source warning")
def test_a_version_with_known_defects(pair):
    """MariaDB can be told to give itself another version."""
    no_wait = "SET GLOBAL rpl_semi_sync_{source}_wait_{no_replica} = "
    with pair.options("source", f"version = {BAD_VERSION}-MariaDB\n"):
        pair.whole()
        pair.sql("source", no_wait + "OFF")
        _status, found, said = pair.verify()
        assert ("known_bad_version", "source", "warning") in found, said
        assert "mariadb-no-wait" in pair.evidence("known_bad_version")
        assert "mariadb-33551" not in pair.evidence("known_bad_version"), "nothing is AFTER_COMMIT"
    pair.whole()
    status, found, said = pair.verify()
    assert status == 0 and found <= {("was_degraded", "source", "warning")}, said


@pytest.mark.only("mariadb")
@brings("next_version replica info")
def test_an_option_that_a_newer_version_refuses(pair):
    """The server itself takes it; no version is newer than Debian's MySQL."""
    with pair.options("replica", "innodb_defragment_n_pages = 7\n", restart=False):
        status, found, said = pair.verify()
        assert (status, found) == (0, {("next_version", "replica", "info")}), said
        refused = "MariaDB 11.4 refuses innodb_defragment_n_pages"
        assert pair.evidence("next_version") == refused
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
        "SET GLOBAL rpl_semi_sync_{source}_timeout = 3000;"
        "SET GLOBAL sync_binlog = 1; SET GLOBAL innodb_flush_log_at_trx_commit = 1"
    ),
    "replica": "SET GLOBAL read_only = ON",
}


@brings(
    "after_commit source warning",
    "no_wait_without_replica source warning",
    "timeout_freezes_writers source warning",
    "source_not_durable source warning",
    "replica_writable replica warning",
)
def test_settings_that_weaken_the_promise(pair):
    """Wait point, waiting without replicas, timeout, durability, a writable replica."""
    for host, statements in SETTINGS.items():
        pair.sql(host, statements)
    status, found, said = pair.verify()
    of_source = (
        "after_commit",
        "no_wait_without_replica",
        "timeout_freezes_writers",
        "source_not_durable",
        "restart_changes_it",
        "differs_from_inventory",
    )
    assert found == {
        *((kind, "source", "warning") for kind in of_source),
        *((kind, "replica", "warning") for kind in ("replica_writable", "restart_changes_it")),
    }, said
    assert status == 0
    assert "24.0 hours" in pair.evidence("timeout_freezes_writers")
    assert "read_only is OFF, after a restart it is ON (option file)" in pair.evidence(
        "restart_changes_it"
    )
    for host, statements in MENDED.items():
        pair.sql(host, statements)
    status, found, said = pair.verify()
    assert (status, found) == (0, set()), said


@brings(
    "degraded source critical", "clients_missing source critical", "was_degraded source warning"
)
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


@brings("was_degraded source warning")
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


@brings(
    "semisync_off source critical",
    "semisync_off replica warning",
    "server_id_clash replica critical",
)
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


@brings("clients_missing source warning", "not_read replica warning")
def test_every_kind_of_exit(pair):
    """A host that cannot be reached is 4, whatever else is wrong; a server that is down, or half a
    cluster, is 2.
    """
    name = pair.replica.name
    pair.file = inventory(
        pair.folder, {pair.source: {}}, {pair.replica: NOWHERE}, semisync_timeout=3000
    )
    assert pair.verify()[0] == 4
    # One replica is enough for a commit, and the cluster has another one that is not there.
    second = Host("findings", "another", pair.replica.server, "")
    pair.file = inventory(
        pair.folder, {pair.source: {}}, {pair.replica: {}, second: NOWHERE}, semisync_timeout=3000
    )
    status, found, said = pair.verify()
    assert status == 4 and ("clients_missing", "source", "warning") in found, said
    pair.usual()
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


@brings("settings_unfinished source warning")
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


@brings("disk_full replica critical")
def test_a_server_without_space_is_named_with_its_folder_before_it_has_none_left(pair):
    disk = make_small(pair.replica)
    pair.whole()
    disk.nearly(4)
    status, found, said = pair.verify()
    assert status == 2 and ("disk_full", "replica", "critical") in found, said
    evidence = pair.evidence("disk_full")
    assert evidence.startswith("the file system of /var/lib/mysql/ is full ("), evidence
    disk.free()
    assert "disk_full" not in str(pair.verify()[1])
