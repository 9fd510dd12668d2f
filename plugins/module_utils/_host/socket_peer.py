# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which user is at the other end of a local socket: every user may bind, and connect to, any
name.
"""

from __future__ import annotations

import os
import socket
import struct
import time


def is_own(connection: socket.socket) -> bool:
    """Whether root or this process's user is at the other end; see SO_PEERCRED in unix(7)."""
    size = struct.calcsize("3i")
    said = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _pid, uid, _gid = struct.unpack("3i", said)
    return uid in (0, os.geteuid())


def accept(listener: socket.socket, seconds: float) -> socket.socket:
    """The first caller that is_own(); other connections are closed.

    Raises:
        socket.timeout: none connected within that time.
    """
    deadline = time.monotonic() + seconds
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise socket.timeout("no connection came")
        listener.settimeout(left)
        connection = listener.accept()[0]
        if is_own(connection):
            return connection
        connection.close()
