# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stream from source to replica over TLS with a certificate made for it, needing nothing but Python on both.

The replica trusts that one certificate; the source serves the one caller that knows the token. Blocks carry their
length, and a last one of length 0 is followed by how it ended: a stream that is cut off is never taken for a whole one.
"""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import hmac
import os
import socket
import ssl
import struct
import tempfile
import time

BLOCK = 1 << 18
HANDSHAKE_SECONDS = 10


class Broken(Exception):
    """The stream did not come about, or did not come to its end. The text says why."""


def listen(port, seconds):
    """A listening socket on all addresses; waits while another seeding has the port."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return bound(port)
        except OSError as error:
            if time.monotonic() > deadline:
                raise Broken("port %d cannot be listened on: %s; set semisync_seed_port" % (port, error))
            time.sleep(1)


def bound(port):
    family = socket.AF_INET6 if socket.has_ipv6 and os.path.exists("/proc/net/if_inet6") else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(("", port))
        listener.listen(4)
        return listener
    except OSError:
        listener.close()
        raise


def server_context(certificate, key):
    """TLS of the source; the key touches the disk only as long as the library needs to read it, for root alone."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    handle, path = tempfile.mkstemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    try:
        os.write(handle, (key + certificate).encode("ascii"))
        os.close(handle)
        context.load_cert_chain(path)
    finally:
        os.unlink(path)
    return context


def accept(listener, context, token, seconds):
    """The caller that knows the token; others are hung up on."""
    deadline = time.monotonic() + seconds
    while True:
        listener.settimeout(max(0.1, deadline - time.monotonic()))
        try:
            plain, dummy = listener.accept()
        except socket.timeout:
            raise Broken("the replica did not come for its data within %d s" % seconds)
        try:
            plain.settimeout(HANDSHAKE_SECONDS)
            caller = context.wrap_socket(plain, server_side=True)
            if hmac.compare_digest(exactly(caller, len(token)), token.encode("ascii")):
                caller.settimeout(None)
                return caller
            caller.close()
        except (OSError, Broken):
            plain.close()


def connect(host, port, certificate, token, seconds):
    """The source's stream; waits until the source offers it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(cadata=certificate)
    deadline = time.monotonic() + seconds
    while True:
        try:
            plain = socket.create_connection((host, port), timeout=HANDSHAKE_SECONDS)
            stream = context.wrap_socket(plain)
            stream.sendall(token.encode("ascii"))
            stream.settimeout(None)
            return stream
        except OSError as error:
            if time.monotonic() > deadline:
                raise Broken("the source does not answer at %s port %d: %s; open the port between the hosts, or set "
                             "semisync_seed_port or semisync_seed_method" % (host, port, error))
            time.sleep(0.5)


def exactly(stream, count):
    """So many bytes, or Broken where the stream ends before."""
    parts = []
    while count:
        part = stream.recv(min(count, BLOCK))
        if not part:
            raise Broken("the stream from the source was cut off")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def send(stream, data):
    stream.sendall(struct.pack("!I", len(data)) + data)


def finish(stream, error=""):
    """The end: an empty text says that everything was sent."""
    text = error.encode("utf-8", "replace")[-BLOCK:]
    stream.sendall(struct.pack("!II", 0, len(text)) + text)


def blocks(stream):
    """Every block of a stream; raises Broken where it was cut off or its source failed."""
    while True:
        length = struct.unpack("!I", exactly(stream, 4))[0]
        if length:
            yield exactly(stream, length)
            continue
        error = exactly(stream, struct.unpack("!I", exactly(stream, 4))[0]).decode("utf-8", "replace")
        if error:
            raise Broken("on the source: " + error)
        return
