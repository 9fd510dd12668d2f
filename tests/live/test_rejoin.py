# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""rejoin.yml on real servers: a source that is killed while commits wait for an acknowledgement, a
replica that takes over, and the former source's way back, each after its verdict. RELEASE is the
Debian whose MariaDB it is.
"""

from __future__ import annotations

import os
import time

import pytest

from support.acknowledged import RELEASES
from support.dying import UNITS, kill
from support.killed import listening, was_killed
from support.live_hosts import hosts, playbook, run
from support.rejoining import (
    ACCEPTED,
    ALONE,
    ASK,
    ASK_OFTEN,
    WAITING,
    Cluster,
    answers,
    taken_over,
)

# As most do it at night.
BY_HAND = {
    "mysql": "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{host}', SOURCE_USER = 'hand',"
    " SOURCE_PASSWORD = 'hand', SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1; START REPLICA",
    "mariadb": "CHANGE MASTER TO MASTER_HOST = '{host}', MASTER_USER = 'hand', MASTER_PASSWORD ="
    " 'hand', MASTER_USE_GTID = current_pos; START SLAVE",
}
# Its hosts take a minute to set up.
pytestmark = pytest.mark.long


@pytest.fixture(scope="module", params=["mysql", "mariadb"], name="cluster")
def fixture_cluster(request, tmp_path_factory):
    server = request.param
    release = os.environ.get("RELEASE") if server == "mariadb" else ""
    wanted = (
        (name, server, release or RELEASES[server]) for name in ("source", "replica1", "replica2")
    )
    for made in hosts(*wanted, turn="live-rejoin"):
        cluster = Cluster(made, tmp_path_factory.mktemp("cluster"))
        cluster.run("site")
        cluster.fill()
        cluster.run("verify")
        yield cluster


def test_one_without_phantoms_comes_back_as_it_is(cluster):
    old, _new = cluster.crash()
    said, kept = cluster.rejoin(old, "--check", *ACCEPTED)
    assert (kept["verdict"], kept["read_by"]) == ("clean", "files"), said
    assert answers(old, "SELECT 1") is None, "it was started"
    said, _kept = cluster.rejoin(old, good=False)
    assert "app.lasting of" in said and "may have rows that no binary log has" in said
    said, kept = cluster.rejoin(old, *ACCEPTED)
    assert (kept["outcome"], kept["way"]) == ("done", "attach"), said
    cluster.same_everywhere()
    cluster.healthy()


def test_one_that_comes_up_by_itself_takes_no_writes(cluster):
    old, new = cluster.crash()
    run("docker", "restart", "--time", "0", old.name)
    old.wait()
    assert old.value("SELECT @@read_only") == "1"
    for host, status in ((old, "503"), (new, "200")):
        assert host.shell(ASK).stdout.strip() == status, host.name
    said, kept = cluster.rejoin(old, *ACCEPTED)
    assert kept["outcome"] == "done", said
    cluster.same_everywhere()
    cluster.healthy()


def test_phantoms_are_shown_and_refused_and_the_server_is_not_started(cluster):
    old, _new = cluster.crash(alone=ALONE)
    for arguments in (("--check",), ()):
        said, kept = cluster.rejoin(old, *arguments, good=False)
        print(said)
        assert (kept["verdict"], kept["read_by"]) == ("phantoms", "files")
        assert kept["phantoms"]["count"] == len(ALONE)
        if not cluster.mariadb:
            # MariaDB's binlog_format is MIXED: its log has these as the statements that they were.
            tables = kept["phantoms"]["tables"]
            assert tables["app.keyed"] == {"inserted": 2, "updated": 0, "deleted": 1}
            assert tables["app.bare"]["updated"] == 2
            assert tables["app.lasting"]["inserted"] == 1
        for each in ("app.keyed", "app.bare", "app.lasting"):
            assert each in said.replace("`", "")
        assert "CREATE TABLE app.phantom" in said
        if cluster.mariadb:
            assert "semisync_rejoin_way=seed" in said
        else:
            # Neither a clone nor a dump takes app.lasting with it.
            assert "No other method is possible" in said and "convert them on" in said
        assert answers(old, "SELECT 1") is None, "it was started"
    if cluster.mariadb:
        said, kept = cluster.rejoin(old, "-e", "semisync_rejoin_way=truncate", good=False)
        assert "cannot be rolled back" in said


def test_it_comes_back_by_a_copy_of_the_source_and_its_old_data_are_kept(cluster):
    old = next(host for host in cluster.hosts if answers(host, "SELECT 1") is None)
    if not cluster.mariadb:
        said, _kept = cluster.rejoin(old, "-e", "semisync_rejoin_way=seed", good=False)
        assert "convert them" in said
        # What no way of copying on MySQL takes with it.
        cluster.source.sql("ALTER TABLE app.lasting ENGINE=InnoDB")
    said, kept = cluster.rejoin(old, "-e", "semisync_rejoin_way=seed")
    print(said)
    assert (kept["outcome"], kept["way"]) == ("done", "seed")
    assert kept["before"]["verdict"] == "phantoms"
    assert old.shell(f"ls {kept['kept_data']}/app").stdout.split()
    cluster.same_everywhere()
    cluster.healthy()


def test_mariadb_takes_back_itself_what_nobody_acknowledged(cluster):
    if not cluster.mariadb:
        pytest.skip("MySQL does not support this")
    old, _new = cluster.crash(WAITING)
    said, kept = cluster.rejoin(old, "-e", "semisync_rejoin_way=truncate", *ACCEPTED)
    print(said)
    assert (kept["outcome"], kept["before"]["verdict"]) == ("done", "phantoms")
    cluster.same_everywhere()
    cluster.healthy()


def test_one_that_was_started_plainly_is_judged_by_its_connection(cluster):
    old, new = cluster.crash(WAITING)
    # As a host that was gone at the failover.
    old.shell("rm /etc/mysql/*.d/zz-dbre-semisync-switchover.cnf")
    old.shell(f"({ASK_OFTEN}) >/tmp/asked 2>&1 &")
    old.shell(f"systemctl start {UNITS[old.server]}.service")
    old.wait()
    # It came up as the source that it was, and routers hear at no time that it is.
    assert old.value("SELECT @@read_only") == "0"
    time.sleep(3)
    old.shell("touch /tmp/enough")
    assert set(old.shell("cat /tmp/asked").stdout.split()) == {"503"}
    assert "it lost the role" in old.shell(ASK.replace(".status", ".read()")).stdout
    assert new.shell(ASK).stdout.strip() == "200"
    before = old.fingerprint()
    said, kept = cluster.rejoin(old, good=False)
    assert (kept["verdict"], kept["read_by"]) == ("phantoms", "connection"), said
    assert kept["phantoms"]["count"] == len(WAITING)
    for name in ("verify", "site"):
        assert "is held" in cluster.run(name, good=False)
    assert old.fingerprint() == before
    if not cluster.mariadb:
        # Only people can tell which of the two is right.
        new.sql("UPDATE app.keyed SET words = 'other' WHERE id = 3")
        there = new.value("SELECT @@gtid_executed")
        for arguments in (("--check",), ()):
            said, _kept = cluster.rejoin(old, *taken_over(kept), *arguments, good=False)
            assert "app.keyed: the row of 3" in said and "nothing was executed" in said
        assert old.fingerprint() == before
        assert new.value("SELECT @@gtid_executed") == there
        new.sql("ALTER TABLE app.lasting ENGINE=InnoDB")
    said, kept = cluster.rejoin(old, "-e", "semisync_rejoin_way=seed")
    assert kept["outcome"] == "done", said
    assert new.value("SELECT @@read_only") == "0"
    cluster.same_everywhere()
    cluster.healthy()


def test_one_that_somebody_attached_is_told_of_and_replaced_by_consent(cluster):
    if not cluster.mariadb:
        cluster.source.sql("ALTER TABLE app.lasting ENGINE=InnoDB")
    old, new = cluster.crash(WAITING)
    old.shell(f"systemctl start {UNITS[old.server]}.service")
    old.wait()
    new.sql("CREATE USER hand@'%' IDENTIFIED BY 'hand'; GRANT REPLICATION SLAVE ON *.* TO hand@'%'")
    old.sql(BY_HAND[old.server].format(host=new.name))
    said, kept = cluster.rejoin(old, good=False)
    if cluster.mariadb:
        assert "it follows, but it has errant transactions" in said
    else:
        # It still has the source's options, so that its own applier waits for an acknowledgement,
        # behind a definition that locks the journal.
        assert kept["verdict"] == "cannot tell" and "kill --signal=KILL" in said
        kill(old)
        said, kept = cluster.rejoin(old, good=False)
    assert kept["verdict"] == "phantoms", said
    said, kept = cluster.rejoin(old, "-e", "semisync_rejoin_way=seed")
    assert (kept["outcome"], kept["way"]) == ("done", "seed"), said
    assert kept["before"]["verdict"] == "phantoms"
    cluster.same_everywhere()
    cluster.healthy()


def test_the_new_source_takes_over_what_was_shown(cluster):
    if cluster.mariadb:
        pytest.skip("MariaDB takes no lower numbers behind higher ones")
    # With a GTID of each kind.
    old, new = cluster.crash([WAITING[0], f"SET gtid_next = 'AUTOMATIC:night'; {WAITING[1]}"])
    way = ("-e", "semisync_rejoin_way=replay")
    said, kept = cluster.rejoin(old, *way, *ACCEPTED, good=False)
    assert "you have not consented to" in said
    gtids = kept["phantoms"]["gtids"]
    assert ":night:1" in gtids
    # Ansible breaks lines within it.
    assert f"semisync_rejoin_phantoms={gtids}" in said.replace(" ", "")
    cluster.rejoin(old, *taken_over(kept), "--check")
    assert new.value(f"SELECT GTID_SUBSET('{gtids}', @@gtid_executed)") == "0"
    assert answers(old, "SELECT 1") is None, "it was started"
    said, kept = cluster.rejoin(old, *taken_over(kept))
    print(said)
    assert (kept["outcome"], kept["before"]["verdict"]) == ("done", "phantoms")
    assert new.value(f"SELECT GTID_SUBSET('{gtids}', @@gtid_executed)") == "1"
    assert new.value("SELECT GROUP_CONCAT(id) FROM app.keyed WHERE words = 'phantom'") == "901,902"
    assert new.value("SELECT COUNT(*) FROM app.bare WHERE words = 'phantom'") == "2"
    assert new.value("SELECT COUNT(*) FROM app.keyed WHERE id = 3") == "0"
    cluster.same_everywhere()
    cluster.healthy()


def test_taking_over_that_is_killed_is_finished_by_the_next_run(cluster):
    if cluster.mariadb:
        pytest.skip("MariaDB takes no lower numbers behind higher ones")
    cluster.source.sql(
        "DELETE FROM app.keyed WHERE id > 900 AND id < 910; REPLACE INTO app.keyed"
        " VALUES (3, 'c'); UPDATE app.bare SET words = 'b' WHERE id = 2"
    )
    old, new = cluster.crash(WAITING)
    _said, kept = cluster.rejoin(old, "-e", "semisync_rejoin_way=replay", *ACCEPTED, good=False)
    gtids = kept["phantoms"]["gtids"]
    killed(cluster, old, 5, *taken_over(kept))
    assert new.value(f"SELECT GTID_SUBSET('{gtids}', @@gtid_executed)") == "1"
    cluster.same_everywhere()
    cluster.healthy()


def test_a_copy_that_is_killed_is_made_by_the_next_run(cluster):
    if not cluster.mariadb:
        cluster.source.sql("ALTER TABLE app.lasting ENGINE=InnoDB")
    # What another test has had taken over.
    cluster.source.sql("DELETE FROM app.keyed WHERE id > 900 AND id < 910")
    old, _new = cluster.crash(WAITING)
    killed(cluster, old, 11, "-e", "semisync_rejoin_way=seed")
    cluster.same_everywhere()
    cluster.healthy()


def test_taking_back_that_is_killed_is_finished_by_the_next_run(cluster):
    if not cluster.mariadb:
        pytest.skip("MySQL does not support this")
    old, _new = cluster.crash(WAITING)
    killed(cluster, old, 5, "-e", "semisync_rejoin_way=truncate", *ACCEPTED)
    cluster.same_everywhere()
    cluster.healthy()


def killed(cluster, old, step, *arguments):
    """Run it again and again, and end it by SIGKILL some tasks later each time, until it ends."""
    # Before that nothing is touched.
    ended = 12
    while True:
        ended += step
        done = playbook(
            "rejoin",
            cluster.file,
            "-e",
            f"semisync_rejoin={old.name}",
            *arguments,
            **listening(ended),
        )
        print(f"ended after {ended}: {done.returncode}")
        if done.returncode == 0:
            break
        was_killed(done)
    assert ended > 12 + 4 * step, "it was not killed often enough"
