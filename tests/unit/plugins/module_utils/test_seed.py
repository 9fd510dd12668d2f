# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import threading

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils import seed, seed_link, seed_marker, seed_replica, seed_source
from ansible_collections.dbre.semisync.tests.unit import samples

ENGINES = ("mysql", "mariadb")
ALL_TOOLS = {"dump": "/usr/bin/mysqldump", "client": "/usr/bin/mysql", "backup": "/usr/bin/mariadb-backup",
             "stream": "/usr/bin/mbstream", "clone": "/usr/lib/mysql/plugin/mysql_clone.so"}


def with_history(engine):
    """A bare pair whose source holds the schema shop."""
    members = samples.bare(engine)
    for member in members:
        member.info["tools"] = dict(ALL_TOOLS, clone=None if engine == "mariadb" else ALL_TOOLS["clone"])
        member.info["seed"] = None
    members[0].info["variables"]["gtid_mode"] = "ON"
    members[0].info["schemas"] = ["shop"]
    return members


def step(members, **changes):
    return seed.step(members[1], members, samples.settings(**changes))


@pytest.mark.parametrize("engine,method", [("mysql", "clone"), ("mariadb", "backup")])
def test_a_source_with_history_is_copied_by_files(engine, method):
    members = with_history(engine)
    assert step(members)["method"] == method
    assert seed.problem(members[1], members, samples.settings()) == ""


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_is_copied_where_nothing_is_missing(engine):
    members = samples.bare(engine)
    assert step(members) is None
    assert step(with_history(engine), seed_method="none") is None
    assert seed.step(members[0], members, samples.settings()) is None


@pytest.mark.parametrize("engine,missing,words", [
    ("mysql", "clone", "no mysql_clone.so"), ("mariadb", "backup", "no mariadb-backup"), ("mariadb", "stream", "no mbstream")])
def test_a_dump_is_the_way_where_the_faster_one_cannot_be(engine, missing, words):
    members = with_history(engine)
    members[1].info["tools"][missing] = None
    assert step(members)["method"] == "dump"
    assert words in step(members)["because"]
    assert "semisync_seed_method is" in seed.problem(members[1], members, samples.settings(
        seed_method="backup" if engine == "mariadb" else "clone"))


def test_clone_needs_one_version():
    members = with_history("mysql")
    members[1].info["names"]["copy_series"] = "8.4"
    assert step(members)["method"] == "dump"


def test_no_way_at_all_is_a_problem():
    members = with_history("mariadb")
    members[0].info["tools"] = dict.fromkeys(ALL_TOOLS)
    assert "no mysqldump" in seed.problem(members[1], members, samples.settings())


@pytest.mark.parametrize("engine", ENGINES)
def test_data_of_a_replicas_own_are_never_overwritten_without_consent(engine):
    members = with_history(engine)
    members[1].info["schemas"] = ["mine"]
    assert "mine. It is not overwritten" in seed.problem(members[1], members, samples.settings())
    assert seed.problem(members[1], members, samples.settings(seed_overwrite=True)) == ""


@pytest.mark.parametrize("engine", ENGINES)
def test_consent_seeds_a_replica_that_holds_other_data(engine):
    members = samples.bare(engine)
    members[1].info["schemas"] = ["mine"]
    members[1].info["tools"] = members[0].info["tools"] = ALL_TOOLS
    assert step(members) is None
    assert "semisync_seed_overwrite" in step(members, seed_overwrite=True)["why"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("state,again", [("loading", True), ("copying", False), ("done", False)])
def test_a_half_seeded_replica_is_seeded_again_and_holds_no_data_of_its_own(engine, state, again):
    members = with_history(engine)
    members[1].info.update(schemas=["shop"], seed={"state": state})
    problem = seed.problem(members[1], members, samples.settings())
    assert (problem == "") is again
    if again:
        assert "interrupted" in step(members)["why"]


def test_a_source_by_file_and_position_gives_no_copy():
    members = with_history("mysql")
    one = samples.replicating("mysql", 2)
    one[0].info["variables"]["gtid_mode"] = "OFF"
    one[0].info["schemas"], one[2].info["channel"] = ["shop"], None
    one[2].info["schemas"], one[2].info["gtid"]["gtid_executed"] = [], ""
    assert "file and position" in seed.problem(one[2], one, samples.settings())
    assert not seed.by_position(members[0], members)


@pytest.mark.parametrize("method,refused", [("clone", True), ("dump", True), ("backup", False)])
def test_tables_without_transactions_are_copied_by_a_backup_only(method, refused):
    assert bool(seed.unfit_tables(method, ["shop.log"])) is refused
    assert seed.unfit_tables(method, []) == ""


@pytest.mark.parametrize("text,position", [
    ("mysql-bin.000001\t328\t0-1-42\n", "0-1-42"), ("b.000003\t9\t0-1-42,1-7-3", "0-1-42,1-7-3"), ("b.000001\t328\n", "")])
def test_the_position_of_a_backup(text, position):
    assert seed.parse_backup_position(text) == position


@pytest.mark.parametrize("text", ["", "mysql-bin.000001", "mysql-bin.000001\t328\tnothing"])
def test_a_backup_without_a_position_is_refused(text):
    with pytest.raises(ValueError):
        seed.parse_backup_position(text)


POSITION = "-- SET GLOBAL gtid_slave_pos='%s';\n"
DATA = "\n-- Current Database: `shop`\n"
LATER = "-- CHANGE MASTER TO MASTER_USE_GTID=slave_pos;\n\n-- A corresponding to the above … is printed later in the file.\n"


@pytest.mark.parametrize("head,tail,position", [
    # Ahead of the data; a routine that sets one is none, in a file that is all head and tail at once.
    (POSITION % "0-1-42,1-2-3" + DATA + POSITION % "0-1-1", POSITION % "0-1-1", "0-1-42,1-2-3"),
    # Behind them (10.11.19), after such a routine.
    (LATER + DATA + POSITION % "0-1-1", "BEGIN\n" + POSITION % "0-1-1" + "END\n" + POSITION % "0-5-772" + "/* … */;\n", "0-5-772"),
    (LATER + DATA, POSITION % "", ""),
    # A source without GTIDs, and a dump that was cut.
    (DATA, "('SET GLOBAL gtid_slave_pos=\\'0-1-1\\'')\n", None), (LATER + DATA, "(1),\n(2),", None),
])
def test_the_position_of_a_dump(head, tail, position):
    assert seed.parse_dump_position(head, tail) == position


@pytest.mark.parametrize("done,words", [(0, "0 bytes of about 2.0 GB (0 %)"), (2 * 10 ** 9, "2.0 GB of about 2.0 GB (100 %)"),
                                        (3 * 10 ** 9, "3.0 GB of about 2.0 GB, more than was estimated")])
def test_a_line_of_progress_does_not_claim_more_than_is_known(done, words):
    assert seed.progress_line("db2", {"stage": "loads", "bytes": done, "total": 2 * 10 ** 9}, 14) == \
        "  seed db2:   14 s  loads      " + words


@pytest.mark.parametrize("count,words", [(0, "0 bytes"), (999, "999 bytes"), (1288490188, "1.3 GB"), (8 * 10 ** 12, "8.0 TB")])
def test_amounts_for_people(count, words):
    assert seed.amount(count) == words


def test_accounts_become_statements_for_a_replica_that_has_some():
    assert seed.account_statements(
        ["CREATE ROLE `boss`", "CREATE USER `a`@`%` IDENTIFIED BY PASSWORD 'x' DEFAULT ROLE `boss` REQUIRE NONE"],
        ["GRANT `boss` TO `a`@`%`"]) == [
            "CREATE ROLE IF NOT EXISTS `boss`;\n",
            "CREATE USER IF NOT EXISTS `a`@`%` IDENTIFIED BY PASSWORD 'x' REQUIRE NONE;\n",
            "GRANT `boss` TO `a`@`%`;\n", "ALTER USER `a`@`%` DEFAULT ROLE `boss`;\n"]


def test_a_password_in_an_option_file_keeps_every_character():
    assert seed_source.quoted('a"b\\c\'d#') == '"a\\"b\\\\c\\\'d#"'


def test_no_secret_is_an_argument_of_a_program():
    for method in ("backup", "dump"):
        words = seed_source.command(method, {"mariadb": True, "program": "/p", "schemas": ["shop"], "datadir": "/d"}, "/f", "/s")
        assert not any("pass" in word for word in words)
        assert words[1].endswith("=/f")


def test_the_donor_account_has_one_privilege_and_is_dropped():
    statements = seed_source.donor_statements({}, "secret", True)
    assert statements[0][0].startswith("INSTALL PLUGIN clone")
    assert [one for one, dummy in statements if one.startswith("GRANT")] == [
        "GRANT BACKUP_ADMIN ON *.* TO 'dbre_semisync_seed'@'%'"]
    assert not any("secret" in one for one, dummy in statements)
    assert seed_source.end_statements(True) == [("DROP USER IF EXISTS 'dbre_semisync_seed'@'%'", None),
                                                ("UNINSTALL PLUGIN clone", None)]


def test_a_marker_is_whole_and_held_once(tmp_path, monkeypatch):
    monkeypatch.setattr(seed_marker, "FOLDER", str(tmp_path / "state"))
    marker = seed_marker.Marker(3307, source="db1")
    assert seed_marker.read(3307) is None
    marker.hold()
    marker.write(state="loading")
    assert seed_marker.read("3307")["state"] == "loading" and seed_marker.read(3307)["source"] == "db1"
    other, waited = seed_marker.Marker(3307), []
    thread = threading.Thread(target=lambda: waited.append(other.hold() or True))
    thread.start()
    thread.join(0.2)
    assert waited == []
    marker.lock.close()
    thread.join(5)
    assert waited == [True]


@pytest.mark.parametrize("path,kind", [("/var/lib/mysql", "ext4"), ("/var/lib/mysqlx", "overlay"), ("/", "overlay")])
def test_the_file_system_of_a_folder(tmp_path, path, kind):
    mounts = tmp_path / "mounts"
    mounts.write_text("overlay / overlay rw 0 0\n/dev/vda /var/lib/mysql ext4 rw 0 0\n")
    assert seed_replica.file_system(path, str(mounts)) == kind


def test_old_files_move_whole_and_lost_and_found_stays(tmp_path):
    (tmp_path / "a" / "lost+found").mkdir(parents=True)
    (tmp_path / "a" / "shop").mkdir()
    (tmp_path / "b").mkdir()
    seed_replica.move(str(tmp_path / "a"), str(tmp_path / "b"))
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["shop"]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["lost+found"]


class Pipe(object):
    """Both ends of a stream in memory."""

    def __init__(self):
        self.data = b""

    def sendall(self, data):
        self.data += data

    def recv(self, count):
        part, self.data = self.data[:count], self.data[count:]
        return part


def test_a_whole_stream_comes_as_it_was_sent():
    pipe = Pipe()
    for block in (b"one", b"two" * 100000):
        seed_link.send(pipe, block)
    seed_link.finish(pipe)
    assert list(seed_link.blocks(pipe)) == [b"one", b"two" * 100000]


def test_a_stream_that_is_cut_off_is_never_taken_for_a_whole_one():
    for keep in (2, 6, 7, 12):
        pipe = Pipe()
        seed_link.send(pipe, b"one")
        seed_link.finish(pipe)
        pipe.data = pipe.data[:keep]
        with pytest.raises(seed_link.Broken):
            list(seed_link.blocks(pipe))


def test_a_source_that_failed_says_why():
    pipe = Pipe()
    seed_link.send(pipe, b"half")
    seed_link.finish(pipe, "mysqldump ended with status 2")
    with pytest.raises(seed_link.Broken, match="on the source: mysqldump ended"):
        list(seed_link.blocks(pipe))


class Away(object):
    """A server that answers at the given try."""

    def __init__(self, answers_at):
        self.tries, self.answers_at = 0, answers_at

    def __call__(self):
        self.tries += 1
        if self.tries < self.answers_at:
            raise ValueError("away")
        return "there"


def held(folder):
    marker = seed_marker.Marker(3306)
    marker.path = str(folder / "seed-3306.json")
    marker.lock = open(marker.path + ".lock", "w")
    seed_marker.fcntl.flock(marker.lock, seed_marker.fcntl.LOCK_EX)
    return marker


def test_a_server_that_a_seeding_restarts_is_waited_for(tmp_path):
    marker = held(tmp_path)
    assert seed_marker.under_way(str(tmp_path))
    assert seed_marker.patiently(Away(3), pause=0, folder=str(tmp_path)) == "there"
    with pytest.raises(ValueError):
        seed_marker.patiently(Away(3), seconds=-1, pause=0, folder=str(tmp_path))
    marker.lock.close()
    assert not seed_marker.under_way(str(tmp_path))


def test_a_server_that_nobody_seeds_is_not_waited_for(tmp_path):
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(ValueError):
            seed_marker.patiently(Away(2), pause=0, folder=str(folder))


def test_a_source_remembers_that_the_clone_plugin_was_installed_for_a_seeding(tmp_path):
    note = seed_marker.Donor("3306", str(tmp_path / "new"))
    assert not note.exists()
    note.remove()
    note.write()
    assert seed_marker.Donor(3306, str(tmp_path / "new")).exists()
    note.remove()
    assert not note.exists()


@pytest.mark.parametrize("facts,moment,ended", [
    ({}, 0, False), ({"state": "loading", "at": 50.0}, 0, False), ({"state": "done", "at": 50.0}, 0, True),
    ({"state": "done", "at": 50.0}, 50.0, False), ({"state": "done", "at": 90.0}, 50.0, True)])
def test_a_seeding_that_ended_since_it_was_planned_is_not_done_again(facts, moment, ended):
    assert seed_marker.ended_since(facts, moment) is ended
