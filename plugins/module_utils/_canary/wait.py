# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Canary rows awaited on a replica, by the module itself or by a process that it starts."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._canary.canary_rows import row_text
from ansible_collections.dbre.semisync.plugins.module_utils._canary.watcher import (
    address,
    not_known,
)
from ansible_collections.dbre.semisync.plugins.module_utils._host import detached, socket_peer
from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils._replication import journal
from ansible_collections.dbre.semisync.plugins.module_utils._server import disk_space, login
from ansible_collections.dbre.semisync.plugins.module_utils._server.channels import default_channel
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import (
    Server,
    identify,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import filled

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Standing

POLL_SECONDS = 0.005
# A row that arrived before the first poll has at most this many newer ones.
LOOK_BACK = 1000
# Errors for a missing schema or table; it may still arrive.
MISSING = (1049, 1146)
# Seconds that a result is kept until it is fetched.
HOLD_SECONDS = 60
# Seconds for an answer to that: a replica without space may never give it.
ANSWER = 20
# The variables of every server that are needed to tell which one is the source.
STANDING = ("server_uuid", "server_id", "port", "read_only")


def read_standing(server: Server, schema: str) -> Standing:
    """A server's identity, its source, whether it takes writes, and what its journal says.

    Args:
        server: the server.
        schema: the journal's.
    """
    variables = server.variables()
    return {
        "variables": {name: variables.get(name) for name in STANDING},
        "channel": default_channel(server.channels(identify(server))),
        "journal": journal.newest(server, schema),
        "held": journal.past(server, schema)["held"],
    }


def wait_for_row(module: AnsibleModule, server: Server, _names: Names) -> dict[str, object]:
    return wait(module, server)


def wait(
    module: AnsibleModule, server: Server, ready: Callable[[], Any] | None = None
) -> dict[str, object]:
    """Look for the last row until it is there or time is up; calls ready after the first look."""
    params, polls, start = module.params, 0, None
    table = (params["schema"], params["table"])
    arrival = filled("SELECT id FROM {table} WHERE id > %s AND details = %s", table=table)
    last = row_text(params["token"], params["rows"], params["rows"])

    def arrived() -> bool:
        nonlocal polls, start
        polls += 1
        if start is None:
            start = newest_id(server, table)
        if start is not None and server.rows(arrival, (start - LOOK_BACK, last)):
            return True
        if ready and polls == 1:
            ready()
        return False

    seen = wait_until(arrived, 0 if module.check_mode else params["timeout"], POLL_SECONDS)
    return {
        "changed": False,
        "arrived": seen,
        "arrived_at": time.time() if seen else None,
        "gave_up_at": None if seen else time.time(),
        "polls": polls,
    }


def watch(module: AnsibleModule) -> dict[str, object]:
    """Start a process that waits for the rows on its own connection; return what the server reports
    about its replication.
    """
    # By the given address, as the caller knows it: a login records where it found the server.
    name = address(module.params["token"], module.params)
    cursor = login.connect_or_fail(module)
    try:
        standing = read_standing(Server(cursor).within(ANSWER), module.params["schema"])
    except (ServerError, ValueError) as error:
        module.fail_json(msg=disk_space.explained(f"the canary failed: {error}"))
    finally:
        cursor.connection.close()
    if module.check_mode or standing["channel"] is None:
        return {"changed": False, "watching": False, **standing}

    def work(ready: Callable[[], Any]) -> dict[str, object]:
        return wait(module, Server(login.connect(module)), ready)

    watching = leave_behind(name, module.params["timeout"], work)
    return {"changed": False, "watching": watching, **standing}


def leave_behind(name: str, seconds: int, work: Callable[..., Any]) -> bool:
    """Start a separate process that does the work, and return once the work reports that it is
    ready.

    Args:
        name: result of address().
        seconds: the longest time that the work takes.
        work: function that takes a function to call when it is ready, and returns a dictionary.

    Returns:
        False if the process ended before it was ready.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(name)
        listener.listen(1)
        return detached.start_and_wait(
            lambda starting: serve(listener, seconds, work, starting), [listener.fileno()]
        )


def serve(
    listener: socket.socket,
    seconds: float,
    work: Callable[..., Any],
    starting: detached.Starting,
) -> None:
    try:
        result = work(starting.ready)
    except Exception as error:  # there is no other way to report it
        result = not_known(f"the row could not be watched for: {error}")
    starting.close()
    connection = socket_peer.accept(listener, seconds + HOLD_SECONDS)
    connection.settimeout(HOLD_SECONDS)
    connection.sendall(json.dumps(result).encode("utf-8"))
    connection.close()


def newest_id(server: Server, table: tuple[str, str]) -> int | None:
    """The highest id, 0 in an empty table, None if the table has not arrived yet."""
    asked = filled("SELECT COALESCE(MAX(id), 0) AS id FROM {table}", table=table)
    try:
        return int(server.rows(asked)[0]["id"])
    except ServerError as error:
        if error.number in MISSING:
            return None
        raise
