# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The service that tells routers whether a server takes writes: never a yes from what is not known
now.
"""

from __future__ import annotations

import http.client
import importlib.util
import json
import socket
import sys
import threading
import time
from pathlib import Path

import pymysql
import pytest

PATH = Path(__file__).resolve().parents[3] / "roles" / "answer" / "files" / "answer.py"
sys.path.insert(0, str(PATH.parent))
SPEC = importlib.util.spec_from_file_location("dbre_semisync_answer", PATH)
assert SPEC and SPEC.loader
program = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(program)

OPEN = {"read_only": "OFF", "super_read_only": "OFF", "server_uuid": "u1", "server_id": "1"}
RUNS = {"io": "Yes", "sql": "Yes", "behind": 0}
STOPPED = {"io": "No", "sql": "No", "behind": None}


def row(state, operation="switchover", went="u1", came="u9"):
    return {"number": 7, "operation": operation, "state": state, "to_id": went, "from_id": came}


@pytest.mark.parametrize(
    "variables,channels,journal,begins,yes",
    [
        (OPEN, [], None, True, True),
        # The groups said that another was the source, and nothing was written down since.
        (OPEN, [], None, False, False),
        (dict(OPEN, read_only="ON"), [], None, True, False),
        (dict(OPEN, super_read_only="ON"), [], None, True, False),
        (dict(OPEN, innodb_read_only="ON"), [], None, True, False),
        (dict(OPEN, offline_mode="ON"), [], None, True, False),
        # MariaDB from 12.0 on has more values than ON and OFF.
        (dict(OPEN, read_only="NO_LOCK"), [], None, True, False),
        ({"server_uuid": "u1"}, [], None, True, False),
        # A replica that takes writes of its own.
        (OPEN, [RUNS], None, True, False),
        (OPEN, [dict(STOPPED, io="Connecting")], row("done"), True, False),
        # A target that is just opened has its old channel still.
        (OPEN, [STOPPED], row("done"), False, True),
        (OPEN, [], row("done", went="u2"), True, False),
        (OPEN, [], row("undone", went="u2", came="u1"), False, True),
        (OPEN, [], row("undone", went="u1", came="u2"), False, False),
        # Begun: the source that was goes on until it is done.
        (OPEN, [], row("begun", went="u2", came="u1"), False, True),
        (OPEN, [], row("begun", went="u1", came="u2"), True, False),
        (OPEN, [], row("begun", "rejoin", went="u1", came="u2"), False, True),
        # Servers without a UUID.
        ({"read_only": "OFF", "server_id": "1"}, [], row("done", went="1"), False, True),
        ({"read_only": "OFF", "server_id": "1"}, [], row("done", went="2"), True, False),
    ],
)
def test_who_is_told_to_be_the_source(variables, channels, journal, begins, yes):
    said = program.judge_source(variables, channels, journal, begins)
    assert said["yes"] is yes and said["why"]


@pytest.mark.parametrize(
    "channels,journal,max_lag,yes",
    [
        ([RUNS], None, None, True),
        ([], None, None, False),
        ([dict(RUNS, sql="No")], None, None, False),
        ([dict(RUNS, io="Connecting")], None, None, False),
        ([RUNS, STOPPED], None, None, False),
        ([RUNS], row("done", went="u1"), None, False),
        ([RUNS], row("done", went="u2"), None, True),
        ([dict(RUNS, behind=9)], None, 9, True),
        ([dict(RUNS, behind=10)], None, 9, False),
        ([dict(RUNS, behind=None)], None, 9, False),
    ],
)
def test_who_is_told_to_be_a_replica(channels, journal, max_lag, yes):
    said = program.judge_replica(dict(OPEN, read_only="ON"), channels, journal, max_lag)
    assert said["yes"] is yes and said["why"]


@pytest.mark.parametrize(
    "names",
    [
        ("Replica_IO_Running", "Replica_SQL_Running", "Seconds_Behind_Source"),
        ("Slave_IO_Running", "Slave_SQL_Running", "Seconds_Behind_Master"),
    ],
)
def test_channels_of_every_version_have_one_shape(names):
    assert program.channel_of(dict(zip(names, ("Yes", "No", None), strict=True))) == {
        "io": "Yes",
        "sql": "No",
        "behind": None,
    }


class Cursor:
    def __init__(self, script):
        self.script, self.rows = script, []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def execute(self, statement, arguments=None):
        if arguments is not None:
            self.script.given = arguments
        self.rows = self.script(statement)

    def fetchall(self):
        return self.rows

    def fetchone(self):
        return self.rows[0] if self.rows else None


class Connection:
    def __init__(self, script):
        self.script = script

    def cursor(self):
        return Cursor(self.script)

    def close(self):
        pass


def takes_writes(statement):
    if statement == program.VARIABLES:
        return [{"Variable_name": name, "Value": text} for name, text in OPEN.items()]
    return [] if "REPLICA" in statement else [row("done")]


def service(scripts, begins=False):
    """Answers of a service whose connections, one after another, do what the scripts say."""

    class Fake(program.Server):
        made = 0

        def connect(self):
            script = scripts[min(Fake.made, len(scripts) - 1)]
            Fake.made += 1
            if isinstance(script, Exception):
                raise script
            return Connection(script)

    settings = {"begins": begins, "channels": "SHOW REPLICA STATUS", "journal": "`i`.`j`"}
    return program.Answers(settings, Fake)


def failing(error, on="SELECT"):
    def script(statement):
        if statement.startswith(on):
            raise error
        return takes_writes(statement)

    return script


def test_a_server_that_takes_writes_and_is_named_is_the_source():
    status, said = service([takes_writes]).to("/source")
    assert (status, said["yes"]) == (200, True) and "row 7" in said["why"]


@pytest.mark.parametrize("begins,status", [(True, 200), (False, 503)])
def test_a_journal_that_is_not_there_leaves_it_to_how_the_cluster_began(begins, status):
    gone = failing(pymysql.err.ProgrammingError(1146, "Table 'i.j' doesn't exist"))
    assert service([gone], begins).to("/source")[0] == status


@pytest.mark.parametrize(
    "error,kind",
    [
        (pymysql.err.OperationalError(1142, "SELECT command denied"), "login"),
        (pymysql.err.OperationalError(1045, "Access denied"), "login"),
        (pymysql.err.OperationalError(2013, "Lost connection"), "server"),
        (OSError("no password"), "server"),
        (KeyError("Value"), "server"),
    ],
)
@pytest.mark.parametrize("begins", [True, False])
def test_what_cannot_be_known_is_no(error, kind, begins):
    for scripts in ([error], [failing(error)], [failing(error, "SHOW")]):
        status, said = service(scripts, begins).to("/source")
        assert (status, said["yes"], said["kind"]) == (503, False, kind)


def test_a_connection_that_broke_is_made_again_for_the_same_question():
    answers = service([takes_writes, takes_writes])
    assert answers.to("/source")[0] == 200
    answers.servers["/source"].connection.script = failing(
        pymysql.err.OperationalError(2006, "gone away"), "SHOW"
    )
    assert answers.to("/source")[0] == 200


def test_what_took_too_long_is_no(monkeypatch):
    monkeypatch.setattr(program, "LIMIT", 0.05)

    def slow(statement):
        time.sleep(0.03)
        return takes_writes(statement)

    assert service([slow]).to("/source")[0] == 503
    answers = service([takes_writes])
    answers.servers["/source"].lock.acquire()
    assert answers.to("/source") == (503, program.answer(False, "the server is slow", "server"))


def test_a_replica_whose_status_hangs_does_not_hold_up_the_source():
    answers = service([takes_writes])
    answers.servers["/replica"].lock.acquire()
    assert answers.to("/source")[0] == 200


@pytest.mark.parametrize(
    "target,status",
    [
        ("/", 404),
        ("/sources", 404),
        ("/replica?max_lag=x", 400),
        ("/replica?max_lag=-1", 400),
        # Python calls them digits, and makes no number of them.
        ("/replica?max_lag=%C2%B2", 400),
        ("/left?id=1&after=%C2%B2", 400),
        ("/replica?max_lag=" + "9" * 5000, 400),
        ("/left?id=1&after=" + "9" * 5000, 400),
    ],
)
def test_other_questions_are_refused(target, status):
    assert service([takes_writes]).to(target)[0] == status


@pytest.mark.parametrize("number", [1045, 2003])
def test_who_asks_over_http_is_not_told_the_words_of_the_driver(number, capsys):
    words = "'dbre_semi_http'@'localhost' through /run/mysqld/mysqld.sock"
    error = pymysql.err.OperationalError(number, words)
    status, said = service([error]).to("/source")
    assert status == 503 and said["why"] in program.WORDS.values()
    # The journal of its unit has them.
    assert words.partition(" ")[0] in capsys.readouterr().err


@pytest.mark.parametrize(
    "said,young,yes",
    [
        ([False, False], False, True),
        ([False, None], True, True),
        # One that knows better is believed, whatever the others say.
        ([False, True], False, False),
        ([None, True], True, False),
        # Just started, and no peer that would know is up: not yet.
        ([None, None], True, False),
        ([None, None], False, True),
        ([], True, True),
    ],
)
def test_one_that_was_away_believes_the_others(said, young, yes):
    judged = program.judge_peers(program.answer(True, "it takes writes"), said, young)
    assert judged["yes"] is yes and judged["why"]


class Journal:
    """A server that takes writes, whose journal has rows: (number, from_id, run), the newest last;
    the last of them names it.
    """

    def __init__(self, rows, uptime=1000, age=2000):
        self.rows, self.uptime, self.age, self.given = rows, uptime, age, ()

    def __call__(self, statement):
        if "WHERE from_id" in statement:
            found = [one for one in self.rows if one[1] == self.given]
            return [{"number": one[0], "run": one[2]} for one in found[-1:]]
        if "AS age" in statement:
            return [{"age": self.age} for one in self.rows if one[0] == self.given]
        if "AND run" in statement:
            return [{"1": 1} for one in self.rows if [one[0], one[2]] == list(self.given)]
        if "ORDER BY number" in statement and self.rows:
            return [dict(row("done"), number=self.rows[-1][0])]
        if "Uptime" in statement:
            return [{"Variable_name": "Uptime", "Value": str(self.uptime)}]
        return takes_writes(statement)


@pytest.fixture
def other(monkeypatch):
    """Another host's answer, whose journal says that u1 lost the role by row 9."""
    # On a busy machine it takes its time.
    monkeypatch.setattr(program, "PEERS", 10)
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(16)
    server = program.HTTP(listening, service([Journal([(9, "u1", "night")])]))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"127.0.0.1:{listening.getsockname()[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(
    "mine,yes",
    [
        # It was away, and its journal ends before that.
        ([(7, "u9", "first")], False),
        # It has come back since, and was made the source again.
        ([(9, "u1", "night"), (12, "u2", "back")], True),
        # The other host has not applied what made it the source.
        ([(9, "u1", "night"), (10, "u2", "back")], True),
        # Cut off it wrote rows of its own, with the number of the one that it lacks, and above.
        ([(7, "u9", "first"), (9, "u1", "alone")], False),
        ([(7, "u9", "first"), (9, "u9", "alone"), (12, "u9", "alone")], False),
        ([], False),
    ],
)
def test_one_whose_journal_lacks_that_its_role_went_is_not_the_source(other, mine, yes):
    answers = service([Journal(mine)])
    answers.peers = [other]
    status, said = answers.to("/source")
    assert (status == 200) is yes
    assert yes or "it lost the role" in said["why"]


@pytest.mark.parametrize("left,yes", [(True, False), (False, True)])
def test_the_word_of_an_older_answer_counts(monkeypatch, left, yes):
    class Said:
        def __enter__(self):
            return self

        def __exit__(self, *_error):
            return False

        def read(self, _size):
            return json.dumps(program.answer(left, "by the journal of this host")).encode()

    monkeypatch.setattr(program.DIRECTLY, "open", lambda *_words, **_more: Said())
    answers = service([Journal([(7, "u9", "first")])])
    answers.peers = ["db2:8008"]
    assert (answers.to("/source")[0] == 200) is yes


@pytest.mark.parametrize(
    "rows,uptime,age,status",
    [
        ([], 5, 0, 503),
        ([], 500, 0, 200),
        # Its role is from before its start, or of the very second.
        ([(7, "u9", "first")], 20, 2000, 503),
        ([(7, "u9", "first")], 20, 20, 503),
        # It has become the source since, so it was not away.
        ([(7, "u9", "first")], 20, 19, 200),
        ([(7, "u9", "first")], 20, 0, 200),
        # The clock was set back.
        ([(7, "u9", "first")], 20, -3, 503),
    ],
)
def test_one_that_may_have_been_away_and_hears_nobody_is_not_the_source(rows, uptime, age, status):
    silent = socket.socket()
    silent.bind(("127.0.0.1", 0))
    answers = service([Journal(rows, uptime, age)])
    answers.peers = [f"127.0.0.1:{silent.getsockname()[1]}"]
    assert answers.to("/source")[0] == status
    silent.close()


@pytest.mark.parametrize(
    "target,status",
    [("/left", 400), ("/left?id=u1&after=x", 400), ("/left?id=u1&after=3", 200)],
)
def test_what_others_ask_needs_both_of_its_parts(target, status):
    assert service([Journal([(9, "u1", "night")], 5)]).to(target)[0] == status


@pytest.mark.parametrize("number,status,kind", [(1146, 200, "state"), (1142, 503, "login")])
def test_a_journal_that_cannot_be_read_says_nothing_to_others(number, status, kind):
    failed = failing(pymysql.err.ProgrammingError(number, "SELECT"))
    found, said = service([failed]).to("/left?id=u1&after=0")
    assert (found, said["yes"], said["kind"]) == (status, False, kind)


@pytest.fixture
def port():
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(16)
    server = program.HTTP(listening, service([takes_writes]))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield listening.getsockname()[1], server
    server.shutdown()
    server.server_close()
    thread.join()


def asked(port, method="GET", target="/source"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request(method, target)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response.status, text


def test_it_speaks_http(port):
    number = port[0]
    status, text = asked(number)
    assert status == 200 and json.loads(text)["yes"] is True
    assert asked(number, "OPTIONS")[0] == 200 and asked(number, "HEAD") == (200, b"")
    assert asked(number, target="/replica")[0] == 503
    assert asked(number, "POST")[0] == 501


def test_a_crowd_is_told_no_at_once(port):
    number, server = port
    server.free = threading.BoundedSemaphore(1)
    server.free.acquire()
    assert asked(number)[0] == 503


def test_it_does_not_start_without_the_socket_of_systemd(monkeypatch):
    monkeypatch.delenv("LISTEN_FDS", raising=False)
    with pytest.raises(SystemExit, match="socket unit"):
        program.main()
