# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A process that stays on a host whose IO thread was stopped, and restarts it if the run does not
return in time: the controller may be dead.

It is asked at an abstract unix socket, so there is no file to clean up. The next run finds it by
that, and takes its place: otherwise a dead run's process would start the thread while the next one
compares what the replicas have received.
"""

from __future__ import annotations

import contextlib
import hashlib
import socket
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._host import detached, socket_peer
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import IoThreadPlan

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

# Seconds after which it acts.
RESUME_AFTER = 60
# Seconds that it may take to release the socket.
ANSWER = 5
# The requests that it gets, and its answers.
GO, STAY, YIELD, GONE, STAYS = b"q", b"r", b"y", b"g", b"s"
ANSWERS = {GO: GONE, YIELD: GONE, STAY: STAYS}
# What all names begin with, and the kernel's list of sockets, which shows their zero as an @.
PREFIX, LISTED = "dbre-semisync-held-", "/proc/net/unix"


def address(module: AnsibleModule, token: str) -> str:
    """The socket's name: the server, because a host may have several, and the run."""
    return f"{at_server(module)}{digest(token)}"


def at_server(module: AnsibleModule) -> str:
    """How the names of all processes begin that are left at a server."""
    params = module.params
    server = digest(f"{params['login_unix_socket']} {params['login_port']}")
    return f"\0{PREFIX}{server}-"


def digest(words: str) -> str:
    return hashlib.sha256(words.encode("utf-8")).hexdigest()[:16]


def of_other_runs(module: AnsibleModule, token: str) -> list[str]:
    """The names of the processes that other runs have left at this server."""
    same = at_server(module)[1:]
    try:
        with open(LISTED, encoding="utf-8", errors="replace") as lines:
            paths = [line.split()[-1] for line in lines]
    except OSError:
        return []
    names = {"\0" + path[1:] for path in paths if path.startswith("@" + same)}
    return sorted(names - {address(module, token)})


def leave(
    name: str,
    settle: Callable[[], None],
    act: Callable[[], None],
    seconds: float = RESUME_AFTER,
) -> None:
    """Start the process; it runs when this returns.

    Args:
        name: result of address().
        settle: what to do unless the run itself comes back: what it has changed is restored.
        act: what to do after that if no other run takes the process's place, because that one
            would have the IO thread then.

    Raises:
        OSError: there is one already, or it cannot be started.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(name)
        listener.listen(1)
        detached.start_detached(
            lambda: serve(listener, settle, act, seconds),
            [listener.fileno()],
            "an IO thread that a failover stopped was not started again",
        )


def serve(
    listener: socket.socket,
    settle: Callable[[], None],
    act: Callable[[], None],
    seconds: float,
) -> None:
    """Wait to be dismissed; settle and act on timeout. A request to stay restarts the timeout."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            connection = socket_peer.accept(listener, deadline - time.monotonic())
        except socket.timeout:
            # From here on no caller is told that this process is gone.
            listener.close()
            settle()
            act()
            return
        word = b""
        with connection, contextlib.suppress(OSError):
            connection.settimeout(ANSWER)
            word = connection.recv(1)
            if word in (GO, YIELD):
                # A caller that learns that this process is gone may start another at once.
                listener.close()
            if word in ANSWERS:
                connection.sendall(ANSWERS[word])
        if word == STAY:
            deadline = time.monotonic() + seconds
        elif word in (GO, YIELD):
            if word == YIELD:
                settle()
            return


def release(name: str) -> bool:
    """Dismiss the process; False if it is gone: it may have acted."""
    return reply_to(name, GO) == GONE


def take_over(names: Sequence[str]) -> None:
    """Dismiss the processes of other runs. One that is gone has acted, or is about to.

    Args:
        names: result of of_other_runs().
    """
    for name in names:
        reply_to(name, YIELD)


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
