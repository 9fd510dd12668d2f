"""Replication by file and position goes to GTIDs, under a writer: no row is lost or doubled, none goes without its
acknowledgement. A replica that would be sent again what it has is refused."""

import contextlib
import json
import re
import subprocess
import time

import pytest
from killed import listening, places, was_killed
from live_hosts import hosts, inventory, playbook, words
from test_existing_replication import CHANGE

COUNTERS = {"mysql": ("Rpl_semi_sync_source_no_tx", "Rpl_semi_sync_source_yes_tx"),
            "mariadb": ("Rpl_semi_sync_master_no_tx", "Rpl_semi_sync_master_yes_tx")}
WRITER = "while :; do echo 'INSERT INTO shop.orders VALUES (NULL);'; sleep 0.02; done | %s --batch --unbuffered"
OWN = "[mysqld]\nserver_id = %d\nlog_bin = ours-bin\nbind_address = 0.0.0.0\n%s"
OFF = "gtid_mode = OFF\nenforce_gtid_consistency = OFF\n"
BY_POSITION = {
    "mysql": "STOP REPLICA; %s CHANGE REPLICATION SOURCE TO SOURCE_AUTO_POSITION = 0, SOURCE_LOG_FILE = '%s', SOURCE_LOG_POS = %s;"
             " START REPLICA",
    "mariadb": "STOP SLAVE; %s CHANGE MASTER TO MASTER_USE_GTID = no, MASTER_LOG_FILE = '%s', MASTER_LOG_POS = %s; START SLAVE"}
# A replica whose rows have no GTIDs, as after a restored dump: what it has executed is forgotten. MariaDB learns the position
# again from what is applied by file and position, but keeps what it knows of a source that it had before.
FORGET = {"mysql": "RESET BINARY LOGS AND GTIDS;", "mariadb": "SET GLOBAL gtid_slave_pos = '5-9-3';"}
KNOWS = {"mysql": ("gtid_executed", ""), "mariadb": ("gtid_slave_pos", "(.*,)?5-9-3")}
KNOWN = {"mysql": "STOP REPLICA; SET GLOBAL gtid_purged = '+%s'; START REPLICA",
         "mariadb": "STOP SLAVE; SET GLOBAL gtid_slave_pos = '%s'; START SLAVE"}
LACKS = {"mysql": r"has not executed (\S+) of its source", "mariadb": r"which is GTID position '(\S+)', but its gtid_slave_pos is '\S*5-9-3'"}


class Pair:
    def __init__(self, source, replica, folder):
        self.source, self.replica, self.server, self.folder = source, replica, source.server, folder
        self.file = inventory(folder, {source: {}}, {replica: {}}, semisync_gtid_watch=1)

    def play(self, name, *arguments, environment=None, **variables):
        return playbook(name, self.file, *arguments, "-e", json.dumps(variables), **(environment or {}))

    def status(self):
        """How the channel follows, and whether its threads run."""
        text = self.replica.sql(CHANGE[self.server][2], form="--vertical").stdout
        pairs = [line.partition(":") for line in text.splitlines()]
        found = dict((name.strip(), value.strip()) for name, dummy, value in pairs)
        threads = [value for key, value in found.items() if re.match(r"(Slave|Replica)_(IO|SQL)_Running$", key)]
        return found.get("Auto_Position", found.get("Using_Gtid")), threads

    def modes(self):
        """What the running servers and the next start have; MariaDB has no modes."""
        if self.server == "mariadb":
            return []
        return [host.value("SELECT @@gtid_mode, @@enforce_gtid_consistency").split() for host in (self.source, self.replica)]

    def counted(self):
        return [int(self.source.value("SHOW GLOBAL STATUS LIKE '%s'" % name).split()[1]) for name in COUNTERS[self.server]]

    def rows(self):
        return [host.value("SELECT COUNT(*), MAX(id) FROM shop.orders") for host in (self.source, self.replica)]

    def place(self):
        return self.source.value(CHANGE[self.server][1]).split()[:2]

    def by_gtid(self):
        return self.status() == ({"mysql": "1", "mariadb": "Slave_Pos"}[self.server], ["Yes", "Yes"])

    def by_position(self):
        return self.status() == ({"mysql": "0", "mariadb": "No"}[self.server], ["Yes", "Yes"])

    def back(self):
        """To file and position again, without GTIDs where a server can be so."""
        self.replica.sql(BY_POSITION[self.server] % ("", *self.place()))
        wait_for(self.by_position)
        for mode in ("ON_PERMISSIVE", "OFF_PERMISSIVE", "OFF") if self.server == "mysql" else ():
            for host in (self.source, self.replica):
                host.sql("SET GLOBAL gtid_mode = %s; SET GLOBAL enforce_gtid_consistency = %s"
                         % (mode, "OFF" if mode == "OFF" else "ON"))
        for host in (self.source, self.replica):
            host.shell("sed -i '/gtid/Id' /etc/mysql/*.conf.d/zz-dbre-semisync.cnf")

    def prepare(self):
        for number, host in ((10, self.source), (20, self.replica)):
            host.shell("cat > /etc/mysql/%s.conf.d/zy-own.cnf && systemctl restart %s" % (self.server, self.server),
                       input=OWN % (number, OFF if self.server == "mysql" else ""))
            host.wait()
        self.source.sql("CREATE USER old@'%' IDENTIFIED BY 'old'; GRANT REPLICATION SLAVE ON *.* TO old@'%'; CREATE DATABASE shop;"
                        " CREATE TABLE shop.orders (id INT AUTO_INCREMENT PRIMARY KEY);"
                        " CREATE TABLE shop.mixed (id INT) ENGINE=MyISAM")
        self.replica.sql("CREATE DATABASE shop; CREATE TABLE shop.orders (id INT AUTO_INCREMENT PRIMARY KEY);"
                         " CREATE TABLE shop.mixed (id INT) ENGINE=MyISAM")
        self.replica.sql(CHANGE[self.server][0] % (self.source.name, *self.place()))
        self.source.sql("INSERT INTO shop.orders VALUES (NULL)")
        wait_for(self.by_position)


@pytest.fixture(scope="module", params=[("mysql", ""), pytest.param(("mariadb", "12"), marks=pytest.mark.long)],
                ids=lambda param: param[0])
def pair(request, tmp_path_factory):
    for source, replica in hosts(("source",) + request.param, ("replica",) + request.param, turn="live-gtid-" + request.param[0]):
        made = Pair(source, replica, tmp_path_factory.mktemp("gtid"))
        made.prepare()
        done(made.play("site"))
        assert made.by_position()
        yield made


def done(result):
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr
    return result


def wait_for(holds):
    until = time.monotonic() + 15
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.1)


@contextlib.contextmanager
def under_load(pair):
    """A writer meanwhile; afterwards no commit has gone without its acknowledgement, and no row is missing or doubled."""
    before = pair.counted()
    writer = subprocess.Popen(["docker", "exec", pair.source.name, "sh", "-c", WRITER % pair.server])
    yield
    assert writer.poll() is None
    pair.source.shell("pkill -f 'sleep 0.02' ; pkill -f -- --unbuffered", check=False)
    writer.wait()
    after = pair.counted()
    assert after[0] == before[0], "%d commits were not acknowledged" % (after[0] - before[0])
    assert after[1] > before[1] + 20
    wait_for(lambda: len(set(pair.rows())) == 1)


# MariaDB has no statements that GTIDs forbid.
@pytest.mark.only("mysql")
def test_a_statement_that_gtids_forbid_ends_it_before_anything_is_refused_to_the_application(pair):
    pair.source.sql("SET GLOBAL enforce_gtid_consistency = WARN; BEGIN; INSERT INTO shop.orders VALUES (NULL);"
                    " INSERT INTO shop.mixed VALUES (1); COMMIT")
    refused = pair.play("gtid", semisync_gtid_watch=100)
    assert refused.returncode != 0 and "a statement violated GTID consistency" in words(refused), words(refused)
    assert pair.modes()[0] == ["OFF", "WARN"] and pair.by_position()
    later = pair.play("gtid", semisync_gtid_watch=100000)
    assert later.returncode != 0 and pair.modes()[0] == ["OFF", "WARN"]


def test_a_pair_goes_to_gtids_under_a_writer_and_a_second_run_changes_nothing(pair):
    before = pair.modes()
    checked = done(pair.play("gtid", "--check", "--diff"))
    assert "follows by GTID" in checked.stdout and pair.modes() == before and pair.by_position()
    with under_load(pair):
        said = done(pair.play("gtid"))
        assert pair.by_gtid(), said.stdout
        assert pair.modes() == [["ON", "ON"]] * len(before)
        for name in ("gtid", "site"):
            again = done(pair.play(name))
            assert "changed=1" not in again.stdout, again.stdout
        done(pair.play("verify"))
    for host in (pair.replica, pair.source):
        host.shell("systemctl restart " + pair.server)
        host.wait()
    wait_for(pair.by_gtid)
    assert pair.modes() == [["ON", "ON"]] * len(before)
    pair.source.sql("INSERT INTO shop.orders VALUES (NULL)")
    wait_for(lambda: len(set(pair.rows())) == 1)


def test_a_replica_whose_rows_have_no_gtids_is_refused_and_taken_when_they_have(pair):
    pair.replica.sql(BY_POSITION[pair.server] % (FORGET[pair.server], *pair.place()))
    wait_for(pair.by_position)
    name, known = KNOWS[pair.server]
    assert re.fullmatch(known, pair.replica.value("SELECT @@GLOBAL." + name))
    before = pair.rows()
    refused = pair.play("gtid")
    assert refused.returncode != 0 and re.search(LACKS[pair.server], words(refused)), words(refused)
    lacking = re.search(LACKS[pair.server], words(refused)).group(1)
    assert pair.by_position() and pair.rows() == before
    checked = pair.play("gtid", "--check")
    assert checked.returncode != 0 and re.search(LACKS[pair.server], words(checked)), words(checked)
    # The way out of docs/existing-hosts.md.
    pair.replica.sql(KNOWN[pair.server] % lacking)
    with under_load(pair):
        done(pair.play("gtid"))
        assert pair.by_gtid()
    done(pair.play("verify"))


# Shares of the tasks, so that one test ends in some ten minutes.
PARTS = 4


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_a_conversion_that_is_killed_after_a_task_is_finished_by_the_next(pair, part, tmp_path):
    done(pair.play("gtid"))
    tasks = tmp_path / "tasks"
    pair.back()
    done(pair.play("gtid", environment=listening(0, tasks)))
    for number, name in places(tasks, part, PARTS):
        pair.back()
        with under_load(pair):
            was_killed(pair.play("gtid", environment=listening(number)))
            assert pair.status()[1] == ["Yes", "Yes"], "the channel does not run after task %d (%s)" % (number, name)
            done(pair.play("gtid"))
            assert pair.by_gtid() and pair.modes() == [["ON", "ON"]] * len(pair.modes()), "after task %d (%s)" % (number, name)
        print("killed after task %d (%s): finished by the next run" % (number, name))
    again = done(pair.play("gtid"))
    assert "changed=1" not in again.stdout, again.stdout
    done(pair.play("verify"))
