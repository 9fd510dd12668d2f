# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks the process that a module left on its host to watch for a row; wait.py starts it.

They connect by an abstract unix socket: there is no file to clean up, and the process ends when its
result is fetched, or some seconds after its time is up.
"""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Mapping

from ansible_collections.dbre.semisync.plugins.module_utils._host import socket_peer


def address(token: str, params: Mapping[str, object]) -> str:
    """The socket's name: the token, and the server, because a host may have several."""
    server = f"{token} {params['login_unix_socket']} {params['login_port']}"
    return "\0dbre-semisync-" + hashlib.sha256(server.encode("utf-8")).hexdigest()[:32]


def not_known(reason: str) -> dict[str, object]:
    """The result if the server could not be read: the row may be there or not."""
    return {"arrived": False, "unknown": True, "msg": reason}


def ask(name: str, seconds: float) -> dict[str, object]:
    """What the process found, or a result that says why there is none; waits until it has found
    something.

    Args:
        name: result of address().
        seconds: how long to wait.
    """
    with_it = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with_it.settimeout(seconds)
    text = b""
    try:
        with_it.connect(name)
        if not socket_peer.is_own(with_it):
            return not_known(
                "another user of this host has taken the socket's name of the process that watches"
                " for the row"
            )
        while True:
            part = with_it.recv(65536)
            if not part:
                break
            text += part
        return json.loads(text.decode("utf-8"))
    except socket.timeout:
        return {"arrived": False, "msg": f"the row was not seen within {int(seconds)} s"}
    except (OSError, ValueError) as error:
        return not_known(f"the process that watches for the row on this host is gone ({error})")
    finally:
        with_it.close()
