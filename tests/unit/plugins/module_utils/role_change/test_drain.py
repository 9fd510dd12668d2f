# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A round of applying, on a simulated server: there is always a process that restores what was
relaxed, and starts the IO thread again.
"""

from __future__ import annotations

from typing import ClassVar

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    drain,
    io_thread,
    io_thread_resume,
    locks,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import FailoverPlan
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

UUID = "91c92dd4-e5a0-11f1-9b95-0242ac130002"
NAMES = Names("mysql", (9, 7, 0), ())
DURABILITY = {"sync_binlog": "1", "innodb_flush_log_at_trx_commit": "1"}


class Server:
    """It applies ten transactions whenever it is asked."""

    def __init__(self, has=0, sql="Yes"):
        self.has, self.sql, self.said, self.locks = has, sql, [], []

    def applied(self, _names):
        self.has += 10
        return f"{UUID}:1-{self.has}"

    def channels(self, _names):
        return [{"name": "", "sql_running": self.sql, "last_sql_error": ""}]

    def rows(self, statement, _arguments=None):
        self.said.append(statement)
        if statement == "START REPLICA SQL_THREAD":
            self.sql = "Yes"
        if statement.startswith("SELECT GET_LOCK"):
            self.locks.append(self.said.pop() and _arguments[0])
            return [{"got": 1}]
        return []


class Module:
    params: ClassVar[dict[str, object]] = {"login_unix_socket": "", "login_port": 3306}


def plan(**more):
    given = {
        "mode": "apply",
        "part": "target",
        "host": "db2",
        "token": "feed",
        "source": "db1",
        "target": "db2",
        "source_id": "1",
        "target_id": "2",
        "members": [],
        "user": "repl",
        "wait_count": 1,
        "timeout": 10,
        "drain": 0,
        "catch_up": 10,
        "schema": "important",
        "option_file": None,
        "verdict": "",
        "ends_lock": False,
        "others": [],
        "stall": 10,
        "durability": {},
        "received": f"{UUID}:1-100",
        "held": True,
    }
    return FailoverPlan.from_dict({**given, **more})


class LeftBehind(list):
    def leave(self, _name, settle, act):
        self.append(act)
        self.settles = settle


@pytest.fixture(name="left_behind")
def fixture_left_behind(monkeypatch):
    """Who was left behind, and what it does; one of the stop is there. It has `settles`: what each
    does first.
    """
    there = LeftBehind(["of the stop"])
    monkeypatch.setattr(io_thread_resume, "release", lambda _name: bool(there and there.pop()))
    monkeypatch.setattr(io_thread_resume, "leave", there.leave)
    monkeypatch.setattr(drain, "PAUSE", 0)
    return there


def test_a_round_ends_when_all_is_applied_and_leaves_somebody_behind(left_behind):
    server = Server()
    done = drain.apply_round(Module(), plan(), server, NAMES)["round"]
    assert (done["left"], done["applied"], done["stopped"], done["gone"]) == (0, 90, "", False)
    assert len(left_behind) == 1 and server.said == []
    assert server.locks == [locks.flag_name("feed", drain.FLAG)]


def test_a_round_ends_when_its_time_is_up(left_behind, monkeypatch):
    monkeypatch.setattr(drain, "ROUND", 0)
    done = drain.apply_round(Module(), plan(), Server(), NAMES)["round"]
    assert (done["left"], done["applied"]) == (90, 0)
    assert len(left_behind) == 1


def test_an_applier_that_is_stopped_is_started_on_mysql(left_behind):
    server = Server(sql="No")
    assert drain.apply_round(Module(), plan(), server, NAMES)["round"]["left"] == 0
    assert server.said == ["START REPLICA SQL_THREAD"] and left_behind


def test_where_nobody_came_in_time_nothing_is_done(left_behind):
    left_behind.clear()
    server = Server()
    assert drain.apply_round(Module(), plan(durability=DURABILITY), server, NAMES)["round"]["gone"]
    assert server.said == [] and left_behind == []


def test_what_is_relaxed_is_put_back_by_whoever_is_left_behind(left_behind, monkeypatch):
    server, started = Server(), []
    module = Module()
    drain.apply_round(module, plan(durability=DURABILITY), server, NAMES)
    assert server.said == [
        "SET GLOBAL innodb_flush_log_at_trx_commit = 2",
        "SET GLOBAL sync_binlog = 1000",
    ]
    server.said.clear()
    monkeypatch.setattr(drain, "try_again", lambda _seconds, _attempt: server)
    monkeypatch.setattr(drain.locks, "close", lambda _server: None)
    monkeypatch.setattr(io_thread, "start_again", started.append)
    careful = [
        "SET GLOBAL innodb_flush_log_at_trx_commit = 1",
        "SET GLOBAL sync_binlog = 1",
    ]
    # Where another run has come, only that decides about the IO thread.
    left_behind.settles()
    assert server.said == careful and started == []
    left_behind[0]()
    assert server.said == careful and started == [module]


def gone(_seconds, _attempt):
    raise ServerError(OSError("gone"))


@pytest.mark.parametrize("durability,number", [({}, 0), (DURABILITY, 1)])
def test_an_io_thread_that_was_down_before_is_left_down(
    left_behind, monkeypatch, durability, number
):
    left_behind.clear()
    started = []
    monkeypatch.setattr(io_thread, "start_again", started.append)
    monkeypatch.setattr(drain, "try_again", gone)
    made = plan(held=False, durability=durability)
    done = drain.apply_round(Module(), made, Server(), NAMES)["round"]
    assert not done["gone"] and len(left_behind) == number
    for act in left_behind:
        left_behind.settles()
        act()
    assert started == []


def test_where_nobody_can_be_left_behind_all_is_put_back_at_once(left_behind, monkeypatch):
    def leave(_name, _settle, _act):
        raise OSError("address in use")

    happened = []
    monkeypatch.setattr(io_thread_resume, "leave", leave)
    for name in ("settle", "start_again"):
        monkeypatch.setattr(drain, name, lambda *given, name=name: happened.append((name, *given)))
    module, made, server = Module(), plan(durability=DURABILITY), Server()
    assert drain.apply_round(module, made, server, NAMES)["round"]["gone"]
    assert happened == [("settle", module, made), ("start_again", module, made)]
    assert server.said == [] and left_behind == []
