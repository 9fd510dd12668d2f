# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The answer for routers beside clients who only want to be in the way."""

from __future__ import annotations

import http.client
import importlib.util
import json
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "roles" / "answer" / "files"
sys.path.insert(0, str(FOLDER))


def loaded(name):
    spec = importlib.util.spec_from_file_location(f"dbre_semisync_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


program = loaded("answer")
places = loaded("places")


class Answers:
    """Says yes at once."""

    def to(self, target):
        return 200, program.answer(True, target)


@pytest.fixture
def serving():
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(1024)
    server = program.HTTP(listening, Answers())
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield listening.getsockname(), server
    server.shutdown()
    server.server_close()
    thread.join()


def asked(place, source="127.0.0.1"):
    connection = http.client.HTTPConnection(*place, timeout=2, source_address=(source, 0))
    try:
        connection.request("GET", "/source")
        return connection.getresponse().status
    finally:
        connection.close()


class Drip(threading.Thread):
    """Many connections that say a byte now and then, and come again when they are ended."""

    def __init__(self, place, number, source="127.0.0.1"):
        super().__init__(daemon=True)
        self.place, self.number, self.source = place, number, source
        self.stop = threading.Event()
        self.ended = 0

    def new(self):
        return socket.create_connection(self.place, 5, source_address=(self.source, 0))

    def run(self):
        many = []
        while not self.stop.is_set():
            while len(many) < self.number:
                many.append(self.new())
            for one in list(many):
                try:
                    one.settimeout(0)
                    one.send(b"G")
                    if one.recv(1) == b"":
                        raise ConnectionError
                except BlockingIOError:
                    pass
                except OSError:
                    one.close()
                    many.remove(one)
                    self.ended += 1
            time.sleep(0.05)
        for one in many:
            one.close()


@pytest.mark.parametrize("source", ["127.0.0.1", "127.0.0.2"])
def test_slow_clients_keep_no_router_from_being_answered(serving, source):
    place, server = serving
    drip = Drip(place, 300, source)
    drip.start()
    try:
        time.sleep(1)
        begin = time.monotonic()
        while time.monotonic() - begin < 5:
            assert asked(place) == 200
            time.sleep(0.1)
            assert len(server.places.taken) <= places.MOST
        assert drip.ended > 300
    finally:
        drip.stop.set()
        drip.join()


def test_a_byte_now_and_then_buys_no_time(serving, monkeypatch):
    place, server = serving
    monkeypatch.setattr(places, "PATIENCE", 0.3)
    with socket.create_connection(place, 5) as one:
        begin = time.monotonic()
        with pytest.raises(OSError):
            while time.monotonic() - begin < 5:
                one.sendall(b"G")
                time.sleep(0.05)
        assert time.monotonic() - begin < 3
    assert not server.places.taken


class Ends:
    """A socket that is told to end."""

    def __init__(self):
        self.ended = False

    def shutdown(self, _how):
        self.ended = True


def test_who_has_many_connections_loses_one_first_and_who_was_asked_none():
    taken = places.Places(3)
    router, first, second = Ends(), Ends(), Ends()
    for one, address in ((router, "10.0.0.1"), (first, "10.0.0.9"), (second, "10.0.0.9")):
        assert taken.take(one, address)
    assert taken.take(Ends(), "10.0.0.2") and first.ended and not router.ended
    for one in list(taken.taken):
        taken.asked(one)
    assert not taken.take(Ends(), "10.0.0.3") and not second.ended


def test_another_hosts_answer_is_not_followed_elsewhere():
    reached = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self):
            reached.append(self.path)
            if self.path.startswith("/left"):
                self.send_response(302)
                self.send_header("Location", "/secret")
                self.end_headers()
                return
            body = json.dumps(program.answer(True, "")).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words):
            pass

    with HTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        host, port = server.server_address
        assert not program.asked(f"{host}:{port}", "/left?id=x&after=0")
        server.shutdown()
    assert reached == ["/left?id=x&after=0"]


ALLOWED = ["10.0.0.0/24", "10.1.0.7", "fd99::/64"]


@pytest.mark.parametrize(
    "address,own,may",
    [
        ("10.0.0.9", "10.1.0.1", True),
        ("10.1.0.7", "10.1.0.1", True),
        ("10.1.0.8", "10.1.0.1", False),
        # At a socket for both families.
        ("::ffff:10.0.0.9", "::ffff:10.1.0.1", True),
        ("::ffff:10.1.0.8", "::ffff:10.1.0.1", False),
        ("fd99::5", "fd98::1", True),
        ("fd98::5", "fd98::1", False),
        ("fe80::1%eth0", "fe80::2%eth0", False),
        # The host itself, by whatever address.
        ("127.0.0.1", "127.0.0.1", True),
        ("::1", "::1", True),
        ("::ffff:127.0.0.1", "::ffff:127.0.0.1", True),
        ("10.1.0.1", "10.1.0.1", True),
    ],
)
def test_who_is_not_named_may_not_ask(address, own, may):
    assert places.Allowed(ALLOWED).lets_in(address, own) is may
    assert places.Allowed([]).lets_in(address, own) is True


def test_a_host_that_is_known_by_name_may_ask_once_the_name_is_looked_up(monkeypatch):
    def found(name, *_words, **_more):
        if name == "gone":
            raise OSError("no such host")
        return [(2, 1, 6, "", ("10.1.0.2", 0)), (10, 1, 6, "", ("fd98::2", 0, 0, 0))]

    monkeypatch.setattr(places.socket, "getaddrinfo", found)
    allowed = places.Allowed([*ALLOWED, "gone", "db2"])
    until = time.monotonic() + 5
    while not allowed.known and time.monotonic() < until:
        time.sleep(0.01)
    assert allowed.lets_in("10.1.0.2", "10.1.0.1") and allowed.lets_in("fd98::2", "fd98::1")
    assert not allowed.lets_in("10.1.0.3", "10.1.0.1")


def test_who_may_not_ask_is_told_nothing_and_takes_no_place(serving, monkeypatch):
    place, server = serving
    monkeypatch.setattr(server.allowed, "lets_in", lambda address, own: address != "127.0.0.7")
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        asked(place, "127.0.0.7")
    assert not server.places.taken
    assert asked(place) == 200
