# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The connections of answer.py: from whom, so many at a time, each for so long; and those to other
hosts.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import threading
import time
from http.server import HTTPServer
from socketserver import ThreadingMixIn
from typing import Any
from urllib.request import HTTPRedirectHandler, ProxyHandler, build_opener

# Seconds a client may take to say what it wants, all of it; and after these its connection ends.
PATIENCE, END = 2.0, 5.0
# Connections at the same time; who comes then has the place of one that has said nothing yet.
MOST = 128
POLL = 0.25
# Seconds after which the addresses of hosts that are known by name are looked up again.
LOOK_UP = 60


class NoRedirects(HTTPRedirectHandler):
    """Another host's answer is where it is asked, or nowhere."""

    def redirect_request(self, *_words: Any) -> None:
        return None


DIRECTLY = build_opener(ProxyHandler({}), NoRedirects)


def plain(address: str) -> Any:
    """An address as the networks have it: one of IPv4 has another form at a socket for both."""
    found = ipaddress.ip_address(address.partition("%")[0])
    return getattr(found, "ipv4_mapped", None) or found


class Allowed:
    """Who may ask.

    Args:
        words: addresses, networks and names of hosts; everybody may if there are none.
    """

    def __init__(self, words: list[str]) -> None:
        self.everybody = not words
        self.networks: list[Any] = []
        self.names: list[str] = []
        for word in words:
            try:
                self.networks.append(ipaddress.ip_network(word, strict=False))
            except ValueError:
                self.names.append(word)
        self.known: set[Any] = set()
        if self.names:
            threading.Thread(target=self.look_up, daemon=True).start()

    def look_up(self) -> None:
        """Look the names up again and again, in a thread of its own."""
        while True:
            for name in self.names:
                with contextlib.suppress(OSError, UnicodeError):
                    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
                    self.known = self.known | {plain(one[4][0]) for one in found}
            time.sleep(LOOK_UP)

    def lets_in(self, address: str, own: str) -> bool:
        """Whether a client may ask.

        Args:
            address: the client's.
            own: the one that it has reached; its host may ask by whatever address.
        """
        if self.everybody:
            return True
        client = plain(address)
        return (
            client.is_loopback
            or client == plain(own)
            or client in self.known
            or any(client in network for network in self.networks)
        )


class Places:
    """The connections that there are.

    Who says nothing loses its place to who comes next, first of all of an address that has many:
    any number of slow clients keeps no router from being answered.
    """

    def __init__(self, most: int = MOST) -> None:
        self.most, self.lock = most, threading.Lock()
        # Socket -> [since when, address, whether it was asked], the oldest first.
        self.taken: dict[socket.socket, list[Any]] = {}

    def take(self, connection: socket.socket, address: str) -> bool:
        """Whether there is a place; that of one that has asked nothing, if all are taken."""
        with self.lock:
            if len(self.taken) >= self.most and not self.free():
                return False
            self.taken[connection] = [time.monotonic(), address, False]
        return True

    def free(self) -> bool:
        silent = [one for one, (_since, _from, asks) in self.taken.items() if not asks]
        if not silent:
            return False
        count: dict[str, int] = {}
        for one in silent:
            count[self.taken[one][1]] = count.get(self.taken[one][1], 0) + 1
        # max() takes the first of those that are equal.
        self.end(max(silent, key=lambda one: count[self.taken[one][1]]))
        return True

    def asked(self, connection: socket.socket) -> None:
        """It has said what it wants."""
        with self.lock:
            if connection in self.taken:
                self.taken[connection][2] = True

    def leave(self, connection: socket.socket) -> None:
        with self.lock:
            self.taken.pop(connection, None)

    def end_late(self) -> None:
        """End those whose time is up, however often they said a byte."""
        now = time.monotonic()
        with self.lock:
            for one, (since, _address, asks) in list(self.taken.items()):
                if now - since > (END if asks else PATIENCE):
                    self.end(one)

    def end(self, connection: socket.socket) -> None:
        """Its thread sees the end, and closes it."""
        del self.taken[connection]
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


class Bounded(ThreadingMixIn, HTTPServer):
    """An HTTP server with places; its handlers say at `places.asked()` that they were asked.

    Args:
        listening: the socket, which listens already.
        handler: class of the handlers.
        allow: who may ask; see Allowed.
    """

    daemon_threads = True

    def __init__(
        self, listening: socket.socket, handler: Any, allow: list[str] | None = None
    ) -> None:
        HTTPServer.__init__(self, listening.getsockname(), handler, bind_and_activate=False)
        self.socket.close()
        self.socket, self.address_family = listening, listening.family
        self.places, self.allowed = Places(), Allowed(allow or [])

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Who may not ask is told nothing, and takes no place."""
        try:
            return self.allowed.lets_in(client_address[0], request.getsockname()[0])
        except (OSError, ValueError):  # it is gone already
            return False

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self.places.take(request, client_address[0]):
            self.shutdown_request(request)
            return
        try:
            ThreadingMixIn.process_request(self, request, client_address)
        except RuntimeError:  # no thread can be started
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        self.places.leave(request)
        HTTPServer.shutdown_request(self, request)

    def service_actions(self) -> None:
        """What is done between two requests."""
        self.places.end_late()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away while it was answered is no news."""
