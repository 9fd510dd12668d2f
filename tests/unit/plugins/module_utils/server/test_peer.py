# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logins on a host that is not the server that was meant."""

from __future__ import annotations

import socket
import struct
import threading

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._server import login, peer
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError

PASSWORD = "the replication password"
SSL = 0x800
# Protocol 4.1, secure connection, plugins named.
CAPABILITIES = 0x1 | 0x8 | 0x200 | 0x8000 | 0x80000


def packet(number, data):
    return struct.pack("<I", len(data))[:3] + bytes([number]) + data


def greeting(tls, plugin):
    flags = CAPABILITIES | (SSL if tls else 0)
    return (
        b"\x0a8.4.0\0"
        + struct.pack("<I", 7)
        + b"12345678\0"
        + struct.pack("<H", flags & 0xFFFF)
        + b"\x2d"
        + struct.pack("<H", 2)
        + struct.pack("<H", flags >> 16)
        + bytes([21])
        + b"\0" * 10
        + b"123456789012\0"
        + plugin.encode("ascii")
        + b"\0"
    )


class Impostor(threading.Thread):
    """Has the address of a server; keeps all that it is told. It breaks a TLS handshake."""

    def __init__(self, tls=False, plugin="mysql_native_password", switch=None):
        super().__init__(daemon=True)
        self.tls, self.plugin, self.switch = tls, plugin, switch
        self.heard, self.connections = b"", 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        while True:
            try:
                caller, _address = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            with caller:
                caller.settimeout(5)
                try:
                    caller.sendall(packet(0, greeting(self.tls, self.plugin)))
                    self.heard += caller.recv(4096)
                    if self.switch and not self.tls:
                        asks = b"\xfe" + self.switch.encode("ascii") + b"\0" + b"\2Password: "
                        caller.sendall(packet(2, asks))
                        self.heard += caller.recv(4096)
                except OSError:
                    pass

    def asked(self, tls, **params):
        with pytest.raises(ServerError) as caught:
            login.connect_to("127.0.0.1", self.port, "repl", PASSWORD, tls, 5, params)
        self.listener.close()
        return caught.value


@pytest.mark.parametrize("params", [{}, {"peer_ssl": "required"}])
def test_a_server_that_is_known_to_have_tls_and_offers_none_gets_no_login(params):
    one = Impostor()
    error = one.asked(True, **params)
    assert error.number == 2026 and "offers no TLS" in str(error)
    assert b"repl" not in one.heard and one.connections == 1


@pytest.mark.parametrize("params", [{"peer_ssl": "required"}, {"peer_ssl_ca": "{ca}"}])
def test_tls_that_was_asked_for_is_needed_whoever_is_there(params, authority):
    params = {name: value.format(ca=authority) for name, value in params.items()}
    one = Impostor()
    assert one.asked(None, **params).number == 2026 and b"repl" not in one.heard


@pytest.mark.parametrize("tls", [True, None])
def test_whoever_breaks_the_handshake_is_not_tried_without_tls(tls):
    one = Impostor(tls=True)
    one.asked(tls)
    assert one.connections == 1 and b"repl" not in one.heard


@pytest.mark.parametrize("plugin", peer.IN_CLEAR)
@pytest.mark.parametrize("params", [{}, {"peer_ssl": "disabled"}])
def test_nobody_gets_the_password_by_asking_for_it(plugin, params):
    for one in (Impostor(switch=plugin), Impostor(plugin=plugin)):
        error = one.asked(None, **params)
        assert "in clear" in str(error)
        assert PASSWORD.encode("ascii") not in one.heard


@pytest.mark.parametrize(
    "tls,params,expected",
    [
        (True, {}, (True, True, None, False)),
        (None, {}, (True, False, None, False)),
        (False, {}, (True, False, None, False)),
        (False, {"peer_ssl": "required"}, (True, True, None, False)),
        (None, {"peer_ssl_ca": "/ca"}, (True, True, "/ca", False)),
        (True, {"peer_ssl_ca": "/ca", "peer_ssl_verify": True}, (True, True, "/ca", True)),
        (True, {"peer_ssl": "disabled", "peer_ssl_ca": "/ca"}, (False, False, None, False)),
    ],
)
def test_a_login_on_a_member_has_the_tls_of_the_channel(tls, params, expected):
    assert tuple(peer.wishes(tls, params)) == expected


@pytest.fixture
def authority():
    return pytest.importorskip("certifi").where()
