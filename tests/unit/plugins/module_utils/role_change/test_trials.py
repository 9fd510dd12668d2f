# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The addresses at which a replica tries the others before it is known where they listen."""

from __future__ import annotations

import socket
import threading
import time
from typing import ClassVar

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    log_in,
    trials,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import (
    Place,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError


class Module:
    params: ClassVar[dict[str, object]] = {"password": "x", "peer_ssl": "required"}


INFO = {"channel": {"source_host": "10.0.0.1", "source_port": 3307}, "tls": {"on": True}}


def test_each_place_is_tried_once_and_the_source_where_it_is_followed():
    others = [Place("db1", None), Place("10.0.0.1", "3307")]
    found = trials.places_of(others, INFO)
    assert [(one.address, one.port) for one in found] == [("db1", 3306), ("10.0.0.1", 3307)]
    assert {one.tls for one in found} == {True}
    # One that follows no source has no such place.
    assert trials.places_of([], dict(INFO, channel=None)) == []


def test_a_place_that_refuses_has_answered_and_says_why(monkeypatch):
    def connect(address, *_more):
        raise {"db2": ServerError(Exception(1045, "denied")), "db3": ServerError(OSError("gone"))}[
            address
        ]

    monkeypatch.setattr(log_in.login, "connect_to", connect)
    places = [Place(name, 3306) for name in ("db2", "db3")]
    tried = trials.try_all(Module(), "repl", places)
    assert [one["answered"] for one in tried] == [True, False]
    assert "denied" in tried[0]["words"] and "gone" in tried[1]["words"]


@pytest.mark.parametrize(
    "tls,known,passed", [(True, True, True), (True, False, None), (False, True, None)]
)
def test_only_a_member_that_was_read_is_known_to_have_tls(monkeypatch, tls, known, passed):
    asked = []

    def connect(*words):
        asked.append(words)
        raise ServerError(Exception(1045, "denied"))

    monkeypatch.setattr(log_in.login, "connect_to", connect)
    place = Place("db2", 3306, tls, known)
    trials.reach_place(Module(), "repl", place)
    assert (asked[0][4], asked[0][6]) == (passed, Module.params)


# What a login's error says: whether a server answered, and whether at least a kernel did.
ERRORS = [
    (Exception(1045, "Access denied"), True, True),
    (Exception(1040, "Too many connections"), True, True),
    (Exception(2026, "TLS failed"), True, True),
    (RuntimeError("'cryptography' package is required"), True, True),
    (Exception(2013, "Lost connection"), False, True),
    (Exception(2003, "Can't connect ([Errno 111] Connection refused)"), False, True),
    (Exception(2003, "Can't connect ([Errno 113] No route to host)"), False, False),
    (Exception(2003, "Can't connect ([Errno -2] Name not known)"), False, False),
    (Exception(2003, "Can't connect (timed out)"), False, False),
    (Exception(2003, "Can't connect"), False, False),
    (Exception("no number"), False, False),
    (Exception(0, ""), False, False),
]


@pytest.mark.parametrize("error,server,kernel", ERRORS)
def test_who_refuses_a_login_lives_and_a_kernel_that_does_is_there(
    monkeypatch, error, server, kernel
):
    def connect(*_words):
        raise ServerError(error)

    monkeypatch.setattr(log_in.login, "connect_to", connect)
    (row,) = trials.try_all(Module(), "repl", [Place("db2", 3306)])
    assert trials.answered(ServerError(error)) is server
    assert (row["answered"], row["there"]) == (server, kernel)


@pytest.fixture(name="slow")
def fixture_slow(monkeypatch):
    """A host that says nothing, whatever it is asked; what was asked."""
    asked, power = [], threading.Event()

    def connect(place, timeout):
        asked.append(place)
        if not power.wait(timeout):
            raise TimeoutError("timed out")
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(trials, "EXPECTED_DEAD", 0.2)
    monkeypatch.setattr(trials, "TRIES", (0.0, 0.05))
    monkeypatch.setattr(trials.socket, "create_connection", connect)
    monkeypatch.setattr(trials, "why_not", lambda *_words: None)
    yield asked
    power.set()


def test_a_host_that_says_nothing_is_waited_for_once(slow):
    place = Place("db2", "3307")
    knock = trials.Knock(place)
    time.sleep(0.3)
    begin = time.monotonic()
    (row,) = trials.try_all(Module(), "repl", [place], (knock,))
    assert time.monotonic() - begin < 0.1 and slow == [("db2", 3307)] * 2
    assert (row["answered"], row["there"]) == (False, False)
    assert row["words"] == "(2003, \"Can't connect to MySQL server on 'db2' (timed out)\")"


def test_a_host_that_only_a_second_packet_reached_is_not_silent(slow, monkeypatch):
    lost = []

    def connect(place, timeout):
        if not lost:
            lost.append(place)
            time.sleep(timeout)
            raise TimeoutError("timed out")
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(trials.socket, "create_connection", connect)
    knock = trials.Knock(Place("db2", 3307))
    assert not knock.silent() and knock.seen == "closed"


def test_a_host_that_answered_is_not_asked_again(slow, monkeypatch):
    def connect(place, timeout):
        slow.append(place)
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(trials.socket, "create_connection", connect)
    knock = trials.Knock(Place("db2", 3307))
    time.sleep(0.1)
    assert knock.seen == "closed" and slow == [("db2", 3307)]


def test_an_answer_is_not_waited_for_any_longer_and_stays(monkeypatch):
    """The first try gets no answer, the second one is refused, the third finds no way later."""
    begun = []

    def connect(place, timeout):
        begun.append(place)
        if len(begun) == 1:
            time.sleep(timeout)
            raise TimeoutError("timed out")
        if len(begun) == 2:
            time.sleep(0.02)
            raise ConnectionRefusedError(111, "Connection refused")
        time.sleep(0.1)
        raise OSError(113, "No route to host")

    monkeypatch.setattr(trials.socket, "create_connection", connect)
    monkeypatch.setattr(trials, "TRIES", (0.0, 0.01, 0.015))
    begin = time.monotonic()
    knock = trials.Knock(Place("db2", 3307))
    assert not knock.silent() and time.monotonic() - begin < 0.5
    time.sleep(0.2)
    assert (knock.seen, len(begun)) == ("closed", 3)


def test_a_name_that_no_resolver_takes_is_not_a_silent_host(monkeypatch):
    knock = trials.Knock(Place(f"{'x' * 64}..y", 3307))
    assert not knock.silent() and knock.seen == "failed"


def test_a_silence_of_long_ago_says_nothing(slow, monkeypatch):
    monkeypatch.setattr(trials, "FRESH", 0.1)
    knock = trials.Knock(Place("db2", 3307))
    time.sleep(0.5)
    (row,) = trials.try_all(Module(), "repl", [Place("db2", 3307)], (knock,))
    assert (knock.seen, row["answered"]) == ("silent", True)


def test_a_name_that_is_not_resolved_in_time_is_not_taken_for_a_silent_host(slow, monkeypatch):
    monkeypatch.setattr(trials.Knock, "run", lambda _self, _after: time.sleep(1))
    knock = trials.Knock(Place("db2", 3307))
    assert not knock.silent()


def test_a_login_is_tried_at_each_place_that_was_not_silent(monkeypatch):
    monkeypatch.setattr(trials, "why_not", lambda *_words: None)
    with socket.create_server(("127.0.0.1", 0)) as listens:
        with socket.create_server(("127.0.0.1", 0)) as ended:
            ports = [listens.getsockname()[1], ended.getsockname()[1]]
        places = [Place("127.0.0.1", port) for port in ports]
        knocks = tuple(trials.Knock(place) for place in places)
        rows = trials.try_all(Module(), "repl", places, knocks)
        assert [knock.seen for knock in knocks] == ["open", "closed"]
        assert [row["answered"] for row in rows] == [True, True]


@pytest.mark.parametrize("seen,there", [("open", True), ("closed", True), ("failed", False)])
def test_a_kernel_that_responded_to_a_knock_is_there_whatever_becomes_of_the_login(
    monkeypatch, seen, there
):
    monkeypatch.setattr(trials.Knock, "run", lambda self, _after: self.tell(seen))
    # The server's queue has become full.
    monkeypatch.setattr(trials, "why_not", lambda *_words: trials.said_nothing(Place("db2", 3306)))
    place = Place("db2", 3306)
    (row,) = trials.try_all(Module(), "repl", [place], (trials.Knock(place),))
    assert (row["answered"], row["there"]) == (False, there)
