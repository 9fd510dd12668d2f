# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A process that stays on a host whose IO thread was stopped, and restarts it if the run does not
return in time: the controller may be dead.

It is asked at an abstract unix socket, so there is no file to clean up.
"""

from __future__ import annotations

import contextlib
import hashlib
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils.host import detached, socket_peer
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.plan import IoThreadPlan

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

# Seconds after which it acts.
RESUME_AFTER = 60
# Seconds that it may take to release the socket.
ANSWER = 5
# The requests that it gets, and its answers.
GO, STAY, GONE, STAYS = b"q", b"r", b"g", b"s"


def address(module: AnsibleModule, token: str) -> str:
    """The socket's name: the run, and the server, because a host may have several."""
    params = module.params
    words = f"{token} {params['login_unix_socket']} {params['login_port']}"
    return "\0dbre-semisync-held-" + hashlib.sha256(words.encode("utf-8")).hexdigest()[:32]


def leave(name: str, act: Callable[[], None], seconds: float = RESUME_AFTER) -> None:
    """Start the process; it runs when this returns.

    Args:
        name: result of address().
        act: what to do when time is up.

    Raises:
        OSError: there is one already, or it cannot be started.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(name)
        listener.listen(1)
        detached.start_detached(
            lambda: serve(listener, act, seconds),
            [listener.fileno()],
            "an IO thread that a failover stopped was not started again",
        )


def serve(listener: socket.socket, act: Callable[[], None], seconds: float) -> None:
    """Wait to be dismissed, and act on timeout. A request to stay restarts the timeout."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            connection = socket_peer.accept(listener, deadline - time.monotonic())
        except socket.timeout:
            # From here on no caller is told that this process is gone.
            listener.close()
            act()
            return
        with connection, contextlib.suppress(OSError):
            connection.settimeout(ANSWER)
            word = connection.recv(1)
            if word == GO:
                # A caller that learns that this process is gone may start another at once.
                listener.close()
                connection.sendall(GONE)
                return
            if word == STAY:
                deadline = time.monotonic() + seconds
                connection.sendall(STAYS)


def release(name: str) -> bool:
    """Dismiss the process; False if it is gone: it may have acted."""
    return reply_to(name, GO) == GONE


def renew(name: str) -> bool:
    """Restart the process's timeout; False if it is gone."""
    return reply_to(name, STAY) == STAYS


def keep_stopped(module: AnsibleModule, plan: IoThreadPlan) -> dict[str, object]:
    """renew() for a module: the run goes on."""
    return {"changed": False, "renewed": renew(address(module, plan.token))}


def reply_to(name: str, word: bytes) -> bytes:
    """The process's answer to a request; nothing if it is gone."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(ANSWER)
        try:
            asking.connect(name)
            if not socket_peer.is_own(asking):
                return b""
            asking.sendall(word)
            return asking.recv(1)
        except OSError:
            return b""
