"""Replication by file and position goes to GTIDs, under a writer: no row is lost or doubled, none
goes without its acknowledgement. A replica that would be sent again what it has is refused.
"""

import re

import pytest

from support.eventually import eventually
from support.killed import listening, places, was_killed
from support.live_hosts import NO_SCHEDULER, hosts, inventory, words
from support.pair import Pair, done, under_load
from support.statements import CHANGE

OWN = "[mysqld]\nserver_id = %d\nlog_bin = ours-bin\nbind_address = 0.0.0.0\n%s"
OFF = "gtid_mode = OFF\nenforce_gtid_consistency = OFF\n"
BY_POSITION = {
    "mysql": (
        "STOP REPLICA; %s CHANGE REPLICATION SOURCE TO SOURCE_AUTO_POSITION = 0, SOURCE_LOG_FILE ="
        " '%s', SOURCE_LOG_POS = %s; START REPLICA"
    ),
    "mariadb": (
        "STOP SLAVE; %s CHANGE MASTER TO MASTER_USE_GTID = no, MASTER_LOG_FILE = '%s',"
        " MASTER_LOG_POS = %s; START SLAVE"
    ),
}
# A replica whose rows have no GTIDs, as after a restored dump: what it has executed is forgotten.
# MariaDB learns the position again from what is applied by file and position, but keeps what it
# knows of a source that it had before.
FORGET = {
    "mysql": "RESET BINARY LOGS AND GTIDS;",
    "mariadb": "SET GLOBAL gtid_slave_pos = '5-9-3';",
}
KNOWS = {"mysql": ("gtid_executed", ""), "mariadb": ("gtid_slave_pos", "(.*,)?5-9-3")}
KNOWN = {
    "mysql": "STOP REPLICA; SET GLOBAL gtid_purged = '+%s'; START REPLICA",
    "mariadb": "STOP SLAVE; SET GLOBAL gtid_slave_pos = '%s'; START SLAVE",
}
LACKS = {
    "mysql": r"has not executed (\S+) of its source",
    "mariadb": r"which is GTID position '(\S+)', but its gtid_slave_pos is '\S*5-9-3'",
}


class PairByPosition(Pair):
    """A pair that replicates by file and position."""

    def __init__(self, source, replica, folder):
        self.server, self.folder = source.server, folder
        file = inventory(folder, {source: {}}, {replica: {}}, semisync_gtid_watch=1)
        super().__init__(source, replica, file)

    def status(self):
        """How the channel follows, and whether its threads run."""
        text = self.replica.sql(CHANGE[self.server][2], form="--vertical").stdout
        pairs = [line.partition(":") for line in text.splitlines()]
        found = {name.strip(): value.strip() for name, dummy, value in pairs}
        threads = [
            value
            for key, value in found.items()
            if re.match(r"(Slave|Replica)_(IO|SQL)_Running$", key)
        ]
        return found.get("Auto_Position", found.get("Using_Gtid")), threads

    def modes(self):
        """What the running servers and the next start have; MariaDB has no modes."""
        if self.server == "mariadb":
            return []
        return [
            host.value("SELECT @@gtid_mode, @@enforce_gtid_consistency").split()
            for host in (self.source, self.replica)
        ]

    def place(self):
        return self.source.value(CHANGE[self.server][1]).split()[:2]

    def by_gtid(self):
        return self.status() == (
            {"mysql": "1", "mariadb": "Slave_Pos"}[self.server],
            ["Yes", "Yes"],
        )

    def by_position(self):
        return self.status() == ({"mysql": "0", "mariadb": "No"}[self.server], ["Yes", "Yes"])

    def back(self):
        """To file and position again, without GTIDs where a server can be so."""
        self.replica.sql(BY_POSITION[self.server] % ("", *self.place()))
        eventually(self.by_position)
        for mode in ("ON_PERMISSIVE", "OFF_PERMISSIVE", "OFF") if self.server == "mysql" else ():
            for host in (self.source, self.replica):
                host.sql(
                    f"SET GLOBAL gtid_mode = {mode}; SET GLOBAL enforce_gtid_consistency ="
                    f" {'OFF' if mode == 'OFF' else 'ON'}"
                )
        for host in (self.source, self.replica):
            host.shell("sed -i '/gtid/Id' /etc/mysql/*.conf.d/zz-dbre-semisync.cnf")

    def prepare(self):
        for number, host in ((10, self.source), (20, self.replica)):
            host.shell(
                f"cat > /etc/mysql/{self.server}.conf.d/zy-own.cnf && systemctl restart"
                f" {self.server}",
                input=OWN
                % (number, (OFF if self.server == "mysql" else "") + NO_SCHEDULER[self.server]),
            )
            host.wait()
        self.source.sql(
            "CREATE USER old@'%' IDENTIFIED BY 'old'; GRANT REPLICATION SLAVE ON *.* TO old@'%';"
            " CREATE DATABASE shop; CREATE TABLE shop.orders (id INT AUTO_INCREMENT PRIMARY KEY);"
            " CREATE TABLE shop.mixed (id INT) ENGINE=MyISAM"
        )
        self.replica.sql(
            "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT AUTO_INCREMENT PRIMARY KEY);"
            " CREATE TABLE shop.mixed (id INT) ENGINE=MyISAM"
        )
        self.replica.sql(CHANGE[self.server][0] % (self.source.name, *self.place()))
        self.source.sql("INSERT INTO shop.orders VALUES (NULL)")
        eventually(self.by_position)


@pytest.fixture(
    scope="module",
    params=[("mysql", ""), pytest.param(("mariadb", "12"), marks=pytest.mark.long)],
    ids=lambda param: param[0],
)
def pair(request, tmp_path_factory):
    for source, replica in hosts(
        ("source", *request.param),
        ("replica", *request.param),
        turn="live-gtid-" + request.param[0],
    ):
        made = PairByPosition(source, replica, tmp_path_factory.mktemp("gtid"))
        made.prepare()
        done(made.play("site"))
        assert made.by_position()
        yield made


@pytest.mark.only("mysql")
def test_a_statement_that_gtids_forbid_ends_it_before_anything_is_refused_to_the_application(pair):
    pair.source.sql(
        "SET GLOBAL enforce_gtid_consistency = WARN; BEGIN; INSERT INTO shop.orders VALUES (NULL);"
        " INSERT INTO shop.mixed VALUES (1); COMMIT"
    )
    refused = pair.play("gtid", semisync_gtid_watch=100)
    assert refused.returncode != 0 and "a statement violated GTID consistency" in words(refused), (
        words(refused)
    )
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
        # site.yml ends with the checks of verify.yml.
        for name in ("gtid", "site"):
            again = done(pair.play(name))
            assert "changed=1" not in again.stdout, again.stdout
    for host in (pair.replica, pair.source):
        host.shell("systemctl restart " + pair.server)
        host.wait()
    eventually(pair.by_gtid)
    assert pair.modes() == [["ON", "ON"]] * len(before)
    pair.source.sql("INSERT INTO shop.orders VALUES (NULL)")
    eventually(lambda: len(set(pair.rows())) == 1)


def test_a_replica_whose_rows_have_no_gtids_is_refused_and_taken_when_they_have(pair):
    pair.replica.sql(BY_POSITION[pair.server] % (FORGET[pair.server], *pair.place()))
    eventually(pair.by_position)
    name, known = KNOWS[pair.server]
    assert re.fullmatch(known, pair.replica.value("SELECT @@GLOBAL." + name))
    before = pair.rows()
    refused = pair.play("gtid")
    lacks = re.search(LACKS[pair.server], words(refused))
    assert refused.returncode != 0 and lacks, words(refused)
    lacking = lacks[1]
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
            assert pair.status()[1] == [
                "Yes",
                "Yes",
            ], f"the channel does not run after task {number} ({name})"
            done(pair.play("gtid"))
            assert pair.by_gtid() and pair.modes() == [["ON", "ON"]] * len(pair.modes()), (
                f"after task {number} ({name})"
            )
        print(f"killed after task {number} ({name}): finished by the next run")
    again = done(pair.play("gtid"))
    assert "changed=1" not in again.stdout, again.stdout
    done(pair.play("verify"))
