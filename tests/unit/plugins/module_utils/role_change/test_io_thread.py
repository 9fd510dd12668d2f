# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The IO thread is stopped alone, read behind the stop, and started again where it was stopped."""

from __future__ import annotations

import time

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    io_thread,
    io_thread_resume,
    lock_holder,
    trials,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import IoThreadPlan
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import run_steps
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.tests.unit.plugins.module_utils.role_change.dead_source import (  # noqa: E501
    DeadSource,
)

NAMES = Names("mysql", (8, 4, 0), ())
PLAN = IoThreadPlan("feed")


class Module:
    check_mode = False

    def __init__(self, **params):
        self.params = dict(params, login_unix_socket="/run/x", login_port=3306)

    def warn(self, words):
        raise AssertionError(words)


@pytest.fixture(name="server")
def fixture_server(monkeypatch):
    left = []
    monkeypatch.setattr(io_thread_resume, "of_other_runs", lambda _module, _token: [])
    monkeypatch.setattr(
        io_thread_resume, "leave", lambda name, settle, act: left.append((name, settle, act))
    )
    monkeypatch.setattr(io_thread_resume, "release", lambda name: bool(left) and bool(left.pop()))
    there = DeadSource({"db2": 120}, {"db2": 100})
    there["db2"].io = True
    server = there.connect("db2")
    server.left = left
    return server


def test_it_is_stopped_alone_and_read_behind_the_stop(server):
    result = io_thread.stop(Module(), PLAN, server, NAMES)
    assert server.fake.statements == ["STOP REPLICA IO_THREAD"]
    assert (result["stopped"], result["was"], result["changed"]) == (True, "Yes", True)
    assert result["channel"]["retrieved"].endswith(":1-120")
    assert (result["server_seconds"], result["applier_ids"]) == (900, [13])
    assert result["kernel_seconds"] > 0 and 0 <= time.time() - result["read_at"] < 60
    assert server.left
    assert io_thread.resume_io_thread(Module(), PLAN, server, NAMES)["changed"]
    assert (server.fake.io, server.left) == (True, [])
    assert not io_thread.resume_io_thread(Module(), PLAN, server, NAMES)["changed"]


@pytest.mark.parametrize(
    "user,seen,server_there,answered",
    [
        ("repl", "open", True, True),
        # It takes connections and does not speak, or has not said anything yet.
        ("repl", "open", False, False),
        ("repl", "", True, False),
        ("repl", "silent", True, False),
        ("", "open", True, False),
    ],
)
def test_its_source_is_tried_once_more(monkeypatch, server, user, seen, server_there, answered):
    monkeypatch.setattr(trials.Knock, "run", lambda self, _after: self.tell(seen))
    monkeypatch.setattr(trials, "reach_place", lambda *_words: ("", server_there))
    plan = IoThreadPlan("feed", user=user)
    assert io_thread.stop(Module(), plan, server, NAMES)["source_answered"] is answered


def test_one_that_stands_still_is_read_and_left_alone(server):
    server.fake.io = False
    result = io_thread.stop(Module(), PLAN, server, NAMES)
    assert (result["stopped"], result["changed"], server.fake.statements) == (True, False, [])
    assert not server.left


def other_run(monkeypatch, server, acts=False):
    """A run that died has stopped the thread, and its process is there. What happens, in order."""
    happened = []
    server.fake.io = False

    def take_over(names):
        happened.append(("relieved", list(names), len(server.left)))
        server.fake.io = acts

    monkeypatch.setattr(io_thread_resume, "of_other_runs", lambda _module, _token: ["other"])
    monkeypatch.setattr(io_thread_resume, "take_over", take_over)
    return happened


def test_what_a_dead_run_would_start_is_this_run_s(server, monkeypatch):
    happened = other_run(monkeypatch, server)
    result = io_thread.stop(Module(), PLAN, server, NAMES)
    # So it is claimed, kept stopped, and started again like one that this run has stopped.
    assert (result["stopped"], result["changed"], result["was"]) == (True, True, "No")
    assert server.fake.statements == [] and len(server.left) == 1
    # Ours was there before the other one went.
    assert happened == [("relieved", ["other"], 1)]
    assert io_thread.resume_io_thread(Module(), PLAN, server, NAMES)["changed"] and server.fake.io


def test_one_that_a_dead_run_has_just_started_is_stopped_again(server, monkeypatch):
    other_run(monkeypatch, server, acts=True)
    result = io_thread.stop(Module(), PLAN, server, NAMES)
    assert (result["stopped"], result["changed"], result["was"]) == (True, True, "Yes")
    assert server.fake.statements == ["STOP REPLICA IO_THREAD"] and len(server.left) == 1


def test_check_mode_relieves_nobody(server, monkeypatch):
    happened = other_run(monkeypatch, server)
    module = Module()
    module.check_mode = True
    assert not io_thread.stop(module, PLAN, server, NAMES)["changed"]
    assert happened == [] and server.left == []


def test_an_applier_that_was_restarted_has_another_number(server):
    run_steps(server, [("STOP REPLICA", None), ("START REPLICA", None)])
    assert io_thread.stop(Module(), PLAN, server, NAMES)["applier_ids"] == [14]
    run_steps(server, [("STOP REPLICA SQL_THREAD", None)])
    assert io_thread.stop(Module(), PLAN, server, NAMES)["applier_ids"] == []


def test_check_mode_stops_nothing(server):
    module = Module()
    module.check_mode = True
    result = io_thread.stop(module, PLAN, server, NAMES)
    assert (result["changed"], result["stopped"]) == (True, False)
    assert server.fake.statements == [] and not server.left


def test_a_thread_that_does_not_stop_is_not_called_stopped(server):
    server.fake.failing["^STOP"] = lambda: setattr(server.fake, "hangs", True)
    channels = server.channels
    server.channels = lambda names: [dict(channels(names)[0], io_running="Yes")]
    assert not io_thread.stop(Module(), PLAN, server, NAMES)["stopped"]


def test_one_that_follows_nobody_is_said_so(server):
    server.fake.source = None
    result = io_thread.stop(Module(), PLAN, server, NAMES)
    assert not result["stopped"] and "no longer follows" in result["msg"]


MARIADB = Names("mariadb", (10, 11, 19), ())
WAIT = "rpl_semi_sync_slave_kill_conn_timeout"
ON = {"rpl_semi_sync_slave_enabled": "ON", WAIT: "5"}
STOP = [
    (f"SET GLOBAL {WAIT} = 1", None),
    ("STOP REPLICA IO_THREAD", None),
    (f"SET GLOBAL {WAIT} = 5", None),
]
OLD_STOP = [("STOP SLAVE IO_THREAD", None)]


@pytest.mark.parametrize(
    "names,variables,wanted",
    [
        (MARIADB, ON, STOP),
        # For as long as it takes.
        (MARIADB, {**ON, WAIT: "0"}, [*STOP[:2], (f"SET GLOBAL {WAIT} = 0", None)]),
        (MARIADB, {**ON, WAIT: "1"}, STOP[1:2]),
        (MARIADB, {**ON, "rpl_semi_sync_slave_enabled": "OFF"}, STOP[1:2]),
        # Its plugin makes no such connection.
        (Names("mariadb", (10, 2, 44), ("rpl_semi_sync_slave",)), ON, OLD_STOP),
        (Names("mariadb", (10, 2, 44), ()), {}, OLD_STOP),
        (NAMES, {"rpl_semi_sync_replica_enabled": "ON"}, [("STOP REPLICA IO_THREAD", None)]),
    ],
)
def test_mariadb_s_thread_waits_a_second_at_most_for_a_dead_source(names, variables, wanted):
    how = io_thread.how_to_stop(names, variables)
    assert how.steps == wanted and how.restore == wanted[2:]


class Refusing:
    """A server that refuses a statement, and whose run lock another run may have."""

    def __init__(self, refused, locked=False, applies="Yes"):
        self.refused, self.locked, self.said = refused, locked, []
        self.applies = applies

    def channels(self, _names):
        its = {"name": "", "io_running": "No", "sql_running": self.applies, "gtid": True}
        return [its]

    def rows(self, statement, arguments=None):
        if "GET_LOCK" in statement:
            self.said.append(f"lock {arguments[0]}")
            return [{"got": 0 if self.locked else 1}]
        self.said.append(statement)
        if statement == self.refused:
            raise ServerError(Exception(1205, "no"))
        return []


def test_the_wait_is_restored_if_the_thread_does_not_stop():
    server = Refusing("STOP REPLICA IO_THREAD")
    with pytest.raises(ServerError):
        io_thread.run_stop(server, io_thread.Stop(STOP, STOP[2:]))
    assert server.said == [statement for statement, _arguments in STOP]


@pytest.fixture(name="left_alone")
def fixture_left_alone(monkeypatch):
    """What the process that was left connects to."""

    def connecting_to(server):
        monkeypatch.setattr(io_thread, "try_again", lambda _seconds, _attempt: server)
        return server

    monkeypatch.setattr(io_thread, "identify", lambda _server: MARIADB)
    monkeypatch.setattr(io_thread.connection, "close", lambda server: server.said.append("close"))
    return connecting_to


RESTORED = [STOP[2][0]]
LOCKED = f"lock {lock_holder.RUN_LOCK}"


def test_a_thread_starts_by_itself_under_the_lock_of_role_changes(left_alone):
    server = left_alone(Refusing(""))
    io_thread.start_again(Module())
    assert server.said == [LOCKED, "START REPLICA IO_THREAD", "close"]


def test_the_process_that_is_left_restores_the_wait_before_it_starts_the_thread(
    left_alone, monkeypatch
):
    monkeypatch.setattr(io_thread_resume, "leave", lambda _name, settle, act: (settle(), act()))
    server = left_alone(Refusing(""))
    io_thread.leave(Module(), PLAN, io_thread.Stop(STOP, STOP[2:]))
    assert server.said == [*RESTORED, "close", LOCKED, "START REPLICA IO_THREAD", "close"]


def test_a_thread_does_not_start_by_itself_while_another_run_is_at_work(left_alone, monkeypatch):
    words = []
    monkeypatch.setattr(io_thread.detached, "complain", words.append)
    server = left_alone(Refusing("", locked=True))
    io_thread.start_again(Module())
    assert server.said == [LOCKED, "close"]
    assert len(words) == 1 and "another role change is in progress" in words[0]


@pytest.mark.parametrize("engine,kept", [("mariadb", True), ("mysql", False)])
def test_a_thread_whose_start_would_discard_what_was_received_stays_stopped(
    left_alone, monkeypatch, engine, kept
):
    """The applier has stopped since the run looked: MDEV-4698."""
    words = []
    names = MARIADB if engine == "mariadb" else NAMES
    monkeypatch.setattr(io_thread.detached, "complain", words.append)
    monkeypatch.setattr(io_thread, "identify", lambda _server: names)
    server = left_alone(Refusing("", applies="No"))
    io_thread.start_again(Module())
    started = [] if kept else ["START REPLICA IO_THREAD"]
    assert server.said == [LOCKED, *started, "close"]
    module = Module()
    module.warn = words.append
    monkeypatch.setattr(io_thread_resume, "release", lambda _name: True)
    assert io_thread.resume_io_thread(module, PLAN, server, names)["changed"] is not kept
    assert all("would discard" in each for each in words) and len(words) == 2 * kept


@pytest.mark.parametrize("restore,said", [(STOP[2:], [*RESTORED, "close"]), ([], [])])
def test_one_that_is_relieved_restores_the_wait_and_starts_nothing(left_alone, restore, said):
    server = left_alone(Refusing(""))
    io_thread.settle(Module(), restore)
    assert server.said == said
