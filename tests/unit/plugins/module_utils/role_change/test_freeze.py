# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How writers are kept out: who is waited for, who is ended, and a statement that hangs."""

from __future__ import annotations

import threading
import time

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import freeze
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

MYSQL, MARIADB = Names("mysql", (8, 4, 0), []), Names("mariadb", (10, 11, 0), [])


class Fake:
    """A server with canned answers: the beginning of a statement -> rows, or a function of them."""

    def __init__(self, **answers):
        self.answers = {key.replace("_", " "): value for key, value in answers.items()}
        self.said = []

    def rows(self, statement, arguments=None):
        self.said.append(statement)
        for begin, answer in self.answers.items():
            if statement.startswith(begin):
                return answer(statement) if callable(answer) else answer
        return []


LONG = [{"id": 7, "user": b"app", "seconds": 33}]


def test_nobody_is_waited_for_where_no_transaction_is_long():
    left, seconds = freeze.drain(Fake(), 10, "refuse")
    assert (left, seconds < 1) == ([], True)


@pytest.mark.parametrize("then,killed", [("refuse", []), ("kill", ["KILL 7"])])
def test_what_is_left_after_the_wait_is_ended_only_where_that_was_said(then, killed):
    server = Fake(SELECT=LONG)
    left, _seconds = freeze.drain(server, 0, then)
    assert freeze.sessions_text(left) == "session 7 of app for 33 s"
    assert [words for words in server.said if words.startswith("KILL")] == killed


def test_a_session_that_has_ended_by_itself_is_no_error():
    def gone(_statement):
        raise ServerError(Exception(1094, "Unknown thread id: 7"))

    freeze.kill(Fake(KILL=gone), 7)


def test_the_strongest_statement_freezes():
    server = Fake(SELECT_CONNECTION=[{"id": 3}])
    assert freeze.freeze(server, Fake(), MYSQL, 1) == "SET GLOBAL super_read_only = 1"
    assert server.said[-1] == "SET GLOBAL super_read_only = 1"


def test_a_statement_that_hangs_is_ended_and_says_whom_it_may_have_waited_for():
    ended = threading.Event()
    server = Fake(
        SELECT_CONNECTION=[{"id": 3}],
        SET_GLOBAL=lambda _statement: ended.wait(10) and [],
    )
    other = Fake(
        KILL=lambda _statement: ended.set() or [],
        SHOW_PROCESSLIST=[
            {"Id": 9, "User": "app", "Command": "Query", "Time": 12, "Info": "COMMIT"},
            {"Id": 3, "User": "root", "Command": "Query", "Time": 1, "Info": "SET"},
            {"Id": 5, "User": "idle", "Command": "Sleep", "Time": 99, "Info": None},
        ],
    )
    begin = time.monotonic()
    with pytest.raises(freeze.FrozenError) as raised:
        freeze.freeze(server, other, MYSQL, 0.1)
    assert time.monotonic() - begin < 5
    assert "session 9 of app for 12 s" in str(raised.value)
    assert "KILL QUERY 3" in other.said


def test_a_refusal_of_the_server_is_passed_on():
    def refuse(_statement):
        raise ServerError(Exception(1227, "denied"))

    with pytest.raises(ServerError):
        freeze.freeze(Fake(SELECT_CONNECTION=[{"id": 3}], SET_GLOBAL=refuse), Fake(), MARIADB, 1)


def test_sessions_that_read_only_does_not_keep_out_are_ended_and_no_others():
    server = Fake(
        SELECT_DISTINCT=[{"grantee": "'root'@'localhost'"}, {"grantee": "'o'neil'@'%'"}],
        SHOW_PROCESSLIST=[
            {"Id": 1, "User": "root", "Command": "Query", "Time": 0},
            {"Id": 2, "User": "root", "Command": "Sleep", "Time": 5},
            {"Id": 3, "User": "app", "Command": "Query", "Time": 5},
            {"Id": 4, "User": "root", "Command": "Binlog Dump", "Time": 5},
            {"Id": 5, "User": "system user", "Command": "Daemon", "Time": 5},
            {"Id": 6, "User": "o'neil", "Command": "Sleep", "Time": 5},
        ],
    )
    assert [one["id"] for one in freeze.end_privileged(server, [1])] == [2, 6]


def position(texts):
    left = iter(texts)
    last = {}

    def answer(_statement):
        last["text"] = next(left, last.get("text"))
        return [{"run": 1, "read_only": 1, "position": last["text"]}]

    return Fake(SELECT_IS=answer)


def test_a_position_counts_when_it_was_read_alike():
    server = position(["0-1-1", "0-1-2", "0-1-2", "0-1-2"])
    assert freeze.stand_still(server, MARIADB, 5) == "0-1-2"
    assert len(server.said) == 4


def test_a_position_that_was_read_alike_as_time_was_up_counts(monkeypatch):
    now = iter([0.0, 1.0, 2.0, 5.0])
    monkeypatch.setattr(freeze.time, "monotonic", lambda: next(now))
    assert freeze.stand_still(position(["0-1-2"]), MARIADB, 5) == "0-1-2"


def test_a_position_that_goes_on_is_an_error():
    server = position([f"0-1-{number}" for number in range(100000)])
    with pytest.raises(freeze.FrozenError):
        freeze.stand_still(server, MARIADB, 0.2)
