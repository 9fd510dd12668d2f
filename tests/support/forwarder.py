"""A router of its own for tests without HAProxy: it leads clients to one server at a time."""

from __future__ import annotations

import contextlib
import socket
import threading

PORT = 3306
PIECE = 65536


class Forwarder:
    """Leads connections to a server; when it leads to another one, they end, as with HAProxy's
    on-marked-down shutdown-sessions.

    Args:
        target: the server's address.
    """

    def __init__(self, target: str) -> None:
        self.target = target
        self.open: list[socket.socket] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        # Until it is closed.
        with contextlib.suppress(OSError):
            while True:
                client, _address = self.listener.accept()
                try:
                    server = socket.create_connection((self.target, PORT), timeout=2)
                except OSError:
                    client.close()
                    continue
                server.settimeout(None)
                self.open += [client, server]
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=pump, args=ends, daemon=True).start()

    def lead(self, target: str) -> None:
        """From now on to this server."""
        self.target = target
        self.end()

    def end(self) -> None:
        """End all connections."""
        for one in self.open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self.open.clear()

    def close(self) -> None:
        self.listener.close()
        self.end()


def pump(source: socket.socket, target: socket.socket) -> None:
    """Copy what comes until one side ends, and end the other."""
    with contextlib.suppress(OSError):
        while piece := source.recv(PIECE):
            target.sendall(piece)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
