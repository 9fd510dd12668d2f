# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stream from source to replica over TLS with its own certificate. It needs only Python on both.

The replica trusts that one certificate; the source serves the one caller that knows the token.
Blocks carry their length, and a last one of length 0 is followed by how it ended: a stream that is
cut off is never taken for a whole one.
"""

from __future__ import annotations

import contextlib
import fcntl
import hmac
import os
import queue
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils._server.client_login import secret_file

BLOCK = 1 << 18
RUN = "/run/dbre-semisync"
HANDSHAKE_SECONDS = 10
# Callers that are asked for the token at the same time; how often to look for one that knew it.
CALLERS, ROUND_SECONDS = 32, 0.1
# The same on the local host, where another program may have the port and never respond.
OWN_HOST_SECONDS = 1
KEEPALIVE_SECONDS = 10
POLL_SECONDS = 0.5


class StreamError(Exception):
    """The stream failed or was cut off. The text says why."""


class NoAnswerError(StreamError):
    """No answer at the port where the source should offer it: what became of its sender?"""


@contextlib.contextmanager
def listen(port: int, seconds: float) -> Iterator[socket.socket]:
    """A listening socket on all addresses; waits while another seeding has the port.

    Raises:
        StreamError: another seeding has it all that time, or another program has it.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as claim:
        if not wait_until(lambda: claimed(claim, port), seconds, POLL_SECONDS):
            raise StreamError(
                f"another seeding has had port {port} for {int(seconds)} s; run again, or set"
                " semisync_seed_port"
            )
        try:
            listener = bound(port)
        except OSError as error:
            raise StreamError(
                f"port {port} cannot be listened on: {error}; set semisync_seed_port"
            ) from error
        with listener:
            yield listener


def claimed(claim: socket.socket, port: int) -> bool:
    """Whether the port is this seeding's; the claim ends with the context.

    The claim is a lock on a file that only root can have, or else an abstract socket name, which
    any user of the host may take.
    """
    try:
        if os.geteuid() == 0:
            os.makedirs(RUN, mode=0o700, exist_ok=True)
            # The socket's own descriptor becomes the file's, and is closed with it.
            with open(os.path.join(RUN, f"stream-{port}"), "w") as held:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.dup2(held.fileno(), claim.fileno(), inheritable=False)
        else:
            claim.bind(f"\0dbre-semisync-stream-{port}")
    except OSError:
        return False
    return True


def bound(port: int) -> socket.socket:
    """A socket that listens on a port of all addresses; OSError if it cannot."""
    family = (
        socket.AF_INET6
        if socket.has_ipv6 and os.path.exists("/proc/net/if_inet6")
        else socket.AF_INET
    )
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(("", port))
        listener.listen(64)
        return listener
    except OSError:
        listener.close()
        raise


def server_context(certificate: str, key: str) -> ssl.SSLContext:
    """TLS of the source; the key is on disk only while the library reads it, and only root can read
    it.

    Args:
        certificate, key: both as PEM.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    path = secret_file(key + certificate, ".pem")
    try:
        context.load_cert_chain(path)
    finally:
        os.unlink(path)
    return context


def accept(
    listener: socket.socket,
    context: ssl.SSLContext,
    token: str,
    seconds: float,
) -> ssl.SSLSocket:
    """The caller that knows the token. Other connections are closed, each after at most
    HANDSHAKE_SECONDS, and none delays the right one.

    Raises:
        StreamError: it did not connect within that time.
    """
    deadline, known = time.monotonic() + seconds, queue.Queue()  # type: ignore[var-annotated]
    asked: list[Caller] = []
    while time.monotonic() < deadline:
        listener.settimeout(ROUND_SECONDS)
        with contextlib.suppress(socket.timeout):
            plain, _dummy = listener.accept()
            asked = [one for one in asked if one.is_alive()]
            if len(asked) >= CALLERS:
                asked.pop(0).end()
            asked.append(Caller(plain, context, token, known))
            asked[-1].start()
        with contextlib.suppress(queue.Empty):
            caller: ssl.SSLSocket = known.get(timeout=ROUND_SECONDS)
            return caller
    raise StreamError(f"the replica did not fetch its data within {int(seconds)} s")


class Caller(threading.Thread):
    """A connection that is asked for the token, and passed on if it knows it.

    Args:
        known: a queue.
    """

    def __init__(
        self,
        plain: socket.socket,
        context: ssl.SSLContext,
        token: str,
        known: Any,
    ) -> None:
        super().__init__(daemon=True)
        plain.settimeout(HANDSHAKE_SECONDS)
        self.socket = context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
        self.token, self.known = token, known

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def run(self) -> None:
        # The time limit is for the whole token, so that single bytes cannot prolong it.
        timer = threading.Timer(HANDSHAKE_SECONDS, self.end)
        timer.daemon = True
        timer.start()
        try:
            self.socket.do_handshake()
            said = exactly(self.socket, len(self.token))
        except (OSError, StreamError, ValueError):
            said = b""
        timer.cancel()
        if not hmac.compare_digest(said, self.token.encode("ascii")):
            self.socket.close()
            return
        self.socket.settimeout(None)
        watch_over(self.socket)
        self.known.put(self.socket)


def handshake(
    host: str,
    port: int,
    certificate: str,
    seconds: float = HANDSHAKE_SECONDS,
) -> ssl.SSLSocket:
    """A connection to the holder of this certificate's key; OSError if the other end does not have
    it.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(cadata=certificate)
    plain = socket.create_connection((host, port), timeout=seconds)
    try:
        return context.wrap_socket(plain)
    except OSError:
        plain.close()
        raise


def answers(port: int, certificate: str) -> bool:
    """Whether the stream with this certificate is offered on this host. Its sender closes
    connections without the token, and keeps waiting.
    """
    try:
        handshake("127.0.0.1", port, certificate, OWN_HOST_SECONDS).close()
    except OSError:
        return False
    return True


def connect(
    host: str,
    port: int,
    certificate: str,
    token: str,
    seconds: float,
) -> ssl.SSLSocket:
    """The source's stream, which the source already offers.

    Raises:
        NoAnswerError: there is no connection within that time.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            stream = handshake(host, port, certificate)
            stream.sendall(token.encode("ascii"))
            stream.settimeout(None)
            watch_over(stream)
            return stream
        except OSError as error:
            if time.monotonic() > deadline:
                raise NoAnswerError(
                    f"the source does not respond at {host} port {port}: {error}; open the port"
                    " between the hosts, or set semisync_seed_port or semisync_seed_method"
                ) from error
            time.sleep(POLL_SECONDS)


def watch_over(stream: socket.socket) -> None:
    """Let the kernel end a connection whose other host has died."""
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        (socket.TCP_KEEPIDLE, KEEPALIVE_SECONDS),
        (socket.TCP_KEEPINTVL, KEEPALIVE_SECONDS),
        (socket.TCP_KEEPCNT, 3),
    ):
        stream.setsockopt(socket.IPPROTO_TCP, option, value)


def exactly(stream: Any, count: int) -> bytes:
    """Exactly this many bytes; StreamError if the stream ends before."""
    parts = []
    while count:
        part = stream.recv(min(count, BLOCK))
        if not part:
            raise StreamError("the stream from the source was cut off")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def send(stream: Any, data: bytes) -> None:
    """One block."""
    stream.sendall(struct.pack("!I", len(data)) + data)


def finish(stream: Any, error: str = "") -> None:
    """Send the end: an empty text means that everything was sent."""
    text = error.encode("utf-8", "replace")[-BLOCK:]
    stream.sendall(struct.pack("!II", 0, len(text)) + text)


def blocks(stream: Any) -> Iterator[bytes]:
    """Every block of a stream; StreamError if it was cut off or its source failed."""
    while True:
        length = struct.unpack("!I", exactly(stream, 4))[0]
        if length:
            yield exactly(stream, length)
            continue
        error = exactly(stream, struct.unpack("!I", exactly(stream, 4))[0]).decode(
            "utf-8", "replace"
        )
        if error:
            raise StreamError("on the source: " + error)
        return
