# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The service that writes the heartbeat: only a source writes, one commit waits at a time, and no
other commit is ever confirmed because a beat was ended.
"""

from __future__ import annotations

import importlib.util
import json
import socket
import sys
import threading
from pathlib import Path

import pymysql
import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._heartbeat import (
    beat_place,
    beat_units,
    rows,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

ROLES = Path(__file__).resolve().parents[3] / "roles"
sys.path.insert(0, str(ROLES / "answer" / "files"))
SPEC = importlib.util.spec_from_file_location(
    "dbre_semisync_heartbeat", ROLES / "heartbeat" / "files" / "heartbeat.py"
)
assert SPEC and SPEC.loader
program = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(program)

OPEN = {"read_only": "OFF", "super_read_only": "OFF", "server_uuid": "u1", "server_id": "1"}
RUNS = {"io": "Yes", "sql": "Yes", "behind": 0}
READER = {"id": "5", "command": "Binlog Dump GTID", "state": "Source has sent all binlog"}
MINE = {"id": "8", "command": "Query", "state": "Waiting for semi-sync ACK from replica"}
ASKING = {"id": "9", "command": "Query", "state": "executing"}


def row(state, went="u1", came="u9", age=1000, operation="switchover"):
    return {
        "number": 7,
        "operation": operation,
        "state": state,
        "to_id": went,
        "from_id": came,
        "age": age,
    }


def seen(variables, channels, journal, sessions):
    made = program.Seen()
    made.variables, made.channels, made.row, made.sessions = variables, channels, journal, sessions
    return made


@pytest.mark.parametrize(
    "variables,channels,journal,sessions,begins,beats",
    [
        (OPEN, [], None, [READER], True, True),
        (OPEN, [], None, [READER], False, False),
        (OPEN, [], row("done"), [READER], False, True),
        # A held host, a replica, one that is frozen.
        (OPEN, [], row("done", went="u2", came="u1"), [READER], True, False),
        (OPEN, [RUNS], row("done"), [READER], True, False),
        (dict(OPEN, read_only="ON"), [], row("done"), [READER], True, False),
        (dict(OPEN, super_read_only="ON"), [], row("done"), [READER], True, False),
        (dict(OPEN, innodb_read_only="ON"), [], row("done"), [READER], True, False),
        (dict(OPEN, offline_mode="ON"), [], row("done"), [READER], True, False),
        ({"server_uuid": "u1"}, [], row("done"), [READER], True, False),
        # Begun: the source that was goes on until it is done.
        (OPEN, [], row("begun", went="u2", came="u1"), [READER], False, True),
        # A former source that starts again and has not heard of its failover: no replica reads.
        (OPEN, [], row("done"), [], True, False),
        (OPEN, [], None, [], True, False),
        # The new source of a pair is alone until the other comes back.
        (OPEN, [], row("done", age=5), [], False, True),
        (OPEN, [], row("done", age=61), [], False, False),
        (OPEN, [], row("begun", went="u2", came="u1", age=5), [], False, False),
    ],
)
def test_only_the_source_beats(variables, channels, journal, sessions, begins, beats):
    why = program.silent(seen(variables, channels, journal, sessions), begins)
    assert (why == "") is beats, why


@pytest.mark.parametrize(
    "others,alone",
    [
        ([], True),
        ([READER], True),
        ([{"id": "3", "command": "Sleep", "state": ""}], True),
        ([{"id": "3", "command": "Daemon", "state": ""}], True),
        ([{"id": "3", "command": "Query", "state": "Sending data"}], True),
        # They wait for the beat, and are not of its group.
        ([{"id": "3", "command": "Query", "state": "Waiting for commit lock"}], True),
        ([{"id": "3", "command": "Query", "state": "Waiting for global read lock"}], True),
        # Seen on MySQL 9.7 and on MariaDB 10.11: the rest of a group that the first waits for.
        ([{"id": "3", "command": "Query", "state": "waiting for handler commit"}], False),
        ([{"id": "3", "command": "Query", "state": "Commit"}], False),
        ([{"id": "3", "command": "Query", "state": "Waiting for semi-sync ACK from slave"}], False),
        # It does not say what it does.
        ([{"id": "3", "command": "Query", "state": ""}], False),
        ([{"id": "3", "command": "Query", "state": "starting"}], False),
    ],
)
def test_a_beat_is_ended_only_if_no_other_commit_waits_with_it(others, alone):
    assert program.waits_alone([MINE, ASKING, *others], 8, 9) is alone


def test_a_beat_that_does_not_wait_for_an_acknowledgement_is_not_ended():
    assert not program.waits_alone([dict(MINE, state="waiting for handler commit"), ASKING], 8, 9)
    assert not program.waits_alone([ASKING], 8, 9)


DAY = 86400


@pytest.mark.parametrize(
    "walls,newest,gone",
    [
        ([], 0, None),
        ([1000.0, 1001.0], 500, None),
        ([1000.0 - DAY - 1, 1000.0], 500, 100),
        # A clock that was ahead for a while keeps no row from going.
        ([9e9, 1000.0 - DAY - 1, 1000.0], 500, 101),
        ([9e9, 9e9], 100 + program.MOST_ROWS, 100),
    ],
)
def test_rows_go_after_a_day(walls, newest, gone):
    oldest = [{"number": 100 + place, "wall": wall} for place, wall in enumerate(walls)]
    assert program.to_remove(oldest, newest, 1000.0) == gone


@pytest.mark.parametrize(
    "states,covered",
    [
        ([], 0),
        ([(3, "a", "begun"), (4, "a", "done")], 4),
        ([(3, "a", "begun"), (4, "b", "begun"), (5, "b", "done")], 2),
    ],
)
def test_an_open_change_of_settings_is_not_covered(states, covered):
    listed = [{"number": number, "run": run, "state": state} for number, run, state in states]
    assert program.settings_row(listed) == covered


def settings(engine, version):
    wanted = beat_units.Wanted(
        interval=1,
        schema="important",
        begins=True,
        python="python3",
        names=Names(engine, version),
        variables={"performance_schema": "ON", "socket": "/run/x.sock", "port": "3306"},
    )
    return json.loads(json.dumps(beat_units.settings_of(3306, wanted)))


class Fake:
    """A server that answers by a part of a statement; others get no row."""

    def __init__(self, answers):
        self.answers, self.asked = answers, []

    def rows(self, statement, arguments=None):
        self.asked.append(statement)
        for part, answer in self.answers.items():
            if part in statement:
                if statement.startswith("SHOW GLOBAL"):
                    continue
                if isinstance(answer, Exception):
                    raise answer
                return answer
        return []


def asker(engine, version, **answers):
    made = program.Asker(settings(engine, version))
    fake = Fake({name.replace("_", " "): answer for name, answer in answers.items()})
    made.rows = fake.rows
    return made, fake


@pytest.mark.parametrize(
    "engine,version,prefix",
    [
        ("mysql", (9, 7, 0), "rpl_semi_sync_source_"),
        ("mysql", (8, 0, 20), "rpl_semi_sync_master_"),
        ("mariadb", (10, 11, 8), "rpl_semi_sync_master_"),
    ],
)
def test_what_is_written_is_what_is_read(engine, version, prefix):
    made, _fake = asker(engine, version, GLOBAL=[{"it": "u1:1-5,\nu2:1"}])
    wait_no = "slave" if "master" in prefix else "replica"
    moment = seen(
        {
            **OPEN,
            prefix + "enabled": "ON",
            prefix + "timeout": "10000",
            prefix + "wait_point": "AFTER_SYNC",
            f"{prefix}wait_no_{wait_no}": "ON",
            "sync_binlog": "1",
            "innodb_flush_log_at_trx_commit": "1",
        },
        [],
        None,
        [READER],
    )
    moment.status = {"uptime": "31", prefix + "status": "ON", prefix + "yes_tx": "7"}
    values = dict(zip(rows.COLUMNS, made.beat(moment, "boot", 2), strict=True))
    beat = rows.parse({"number": 1, **values})
    assert beat is not None
    facts = beat["facts"]
    assert (facts["enabled"], facts["timeout"], facts["status"], facts["yes_tx"]) == (
        "ON",
        10000,
        "ON",
        7,
    )
    assert (facts["wait_no_replica"], facts["sync_binlog"], facts["killed"]) == ("ON", "1", 2)
    assert facts["server_id"] == int(OPEN["server_id"])
    assert (facts["no_tx"], beat["uptime"], beat["server"]) == (None, 31, "u1")
    assert beat["gtid"] == "u1:1-5,u2:1"
    assert set(json.loads(values["facts"])) <= {*rows.TEXTS, *rows.NUMBERS, *rows.LISTS}


def test_the_numbers_that_the_service_reads_are_numbers_to_those_who_read_its_rows():
    # The service is one file on its host and imports nothing of the collection.
    assert set(program.NUMBERS) <= set(rows.NUMBERS)
    assert set(rows.NUMBERS) - set(program.NUMBERS) == {"killed", "server_id", "settings_row"}


def test_what_the_server_refuses_is_not_known():
    made, _fake = asker("mysql", (9, 7, 0), USING=pymysql.err.OperationalError(1142, "no"))
    assert made.acknowledgers() is None
    made, _fake = asker("mysql", (9, 7, 0), USING=pymysql.err.OperationalError(2013, "x"))
    with pytest.raises(pymysql.err.OperationalError):
        made.acknowledgers()
    listed = [{"server": "u3"}, {"server": "u2"}, {"server": "u2"}]
    made, _fake = asker("mysql", (9, 7, 0), USING=listed)
    assert made.acknowledgers() == ["u2", "u3"]
    assert asker("mariadb", (10, 11, 8))[0].acknowledgers() is None


def test_filters_are_asked_once_per_start_and_never_while_a_commit_waits():
    made, fake = asker("mariadb", (10, 11, 8), MASTER_STATUS=[{"Binlog_Do_DB": "app"}])
    moment = seen(OPEN, [], None, [READER])
    moment.status = {"uptime": "31", "rpl_semi_sync_master_wait_sessions": "1"}
    assert made.filters_once(moment) is None and fake.asked == []
    moment.status["rpl_semi_sync_master_wait_sessions"] = "0"
    assert made.filters_once(moment) == made.filters_once(moment) == ["binlog_do_db = app"]
    assert len(fake.asked) == 1
    moment.status["uptime"] = "1"
    made.filters_once(moment)
    assert len(fake.asked) == 2


def test_a_change_of_settings_is_looked_for_before_the_settings_are_read():
    made, fake = asker("mysql", (9, 7, 0))
    made.seen()
    of_settings = [number for number, words in enumerate(fake.asked) if "= 'settings'" in words]
    of_values = [number for number, words in enumerate(fake.asked) if "GLOBAL" in words]
    assert of_settings == [0] and min(of_values) > 0


def test_the_clocks_are_read_before_anything_is_asked(monkeypatch):
    order = []
    monkeypatch.setattr(program.time, "monotonic", lambda: order.append("clock") or 1.0)
    made, _fake = asker("mysql", (9, 7, 0))
    made.rows = lambda *_words: order.append("asked") or []
    made.seen()
    assert order[0] == "clock" and "asked" in order


class Waiting:
    """A connection whose commit ends when it is let go."""

    def __init__(self):
        self.free, self.commits = threading.Event(), 0

    def commit(self):
        self.commits += 1
        self.free.wait(10)

    def thread_id(self):
        return 8

    def close(self):
        self.free.set()


def heart(engine, sessions, monkeypatch):
    made = program.Heart(
        settings(engine, (10, 11, 8) if engine == "mariadb" else (9, 7, 0)), "boot"
    )
    monkeypatch.setattr(program, "PATIENCE", 0.05)
    monkeypatch.setattr(program, "LOOK", 0.02)
    made.interval = 0.05
    connection = Waiting()
    made.pen.connection = connection
    made.pen.begin = lambda _values, _old: None
    made.asker.connection = type("Asking", (), {"thread_id": lambda _self: 9})()
    made.asker.sessions = sessions
    killed = []

    def kill(one):
        killed.append(one)
        connection.free.set()

    made.asker.kill = kill
    return made, connection, killed


def test_a_beat_that_waits_alone_is_ended_and_counted(monkeypatch):
    made, connection, killed = heart("mariadb", lambda: [MINE, ASKING], monkeypatch)
    made.write([], None)
    assert (killed, made.killed, connection.commits) == ([8], 1, 1)
    # It was ended: a pause, which doubles.
    first = made.pause
    made.pen.connection = connection
    connection.free.clear()
    made.write([], None)
    assert made.pause == 2 * first > 0


def test_a_beat_that_waits_with_others_waits_on(monkeypatch):
    looks = []
    other = {"id": "3", "command": "Query", "state": "Commit"}

    def sessions():
        looks.append(1)
        if len(looks) == 3:
            connection.free.set()
        return [MINE, ASKING, other]

    made, connection, killed = heart("mariadb", sessions, monkeypatch)
    made.write([], None)
    assert (killed, made.killed, made.pause) == ([], 0, 0.0)
    assert len(looks) >= 3


def test_mysql_is_not_asked_to_end_what_it_does_not_end(monkeypatch):
    made, connection, killed = heart("mysql", lambda: [MINE, ASKING], monkeypatch)
    threading.Timer(0.3, connection.free.set).start()
    made.write([], None)
    assert (killed, made.killed, made.pen.wrong) == ([], 0, None)
    assert connection.free.is_set() and connection.commits == 1


def test_it_tells_systemd_what_it_does(monkeypatch, tmp_path):
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listening.bind(str(tmp_path / "notify"))
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    made = program.Heart(settings("mysql", (9, 7, 0)), "boot")

    def refused():
        raise program.UnknownError("(1045, 'Access denied')", "login")

    monkeypatch.setattr(made, "once", refused)
    made.turn()
    said = listening.recv(1000).decode()
    assert said.startswith("STATUS=" + beat_place.REFUSED)
    listening.close()


def test_a_server_that_is_silent_forgets_its_pause():
    made = program.Heart(settings("mysql", (9, 7, 0)), "boot")
    made.pause = 10.0
    made.asker.ask = lambda _look: seen(OPEN, [RUNS], None, [READER])
    assert made.once() is False and made.pause == 0.0
