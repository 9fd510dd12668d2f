# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server's state with what its cluster's journal says: as it is, or as soon as it is as
somebody wants it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils.host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils.replication import journal
from ansible_collections.dbre.semisync.plugins.module_utils.server import login, read
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import (
    ServerError,
    answers_within,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.types.shapes import State, WaitFor

POLL_SECONDS = 0.1
# A server that answers takes milliseconds; SHOW REPLICA STATUS may wait for a thread that stops.
READ_SECONDS = 60
# And a table that another session has locked, such as the journal's.
LOCK_SECONDS = 10

# Option wait_for of semisync_info.
WAIT_FOR = {
    "answering": {"type": "bool", "default": True},
    "channel": {"type": "bool", "default": False},
    "clients": {"type": "int"},
    "no_clients": {"type": "bool", "default": False},
    "source_status": {"type": "bool", "default": False},
    "replica_status": {"type": "bool", "default": False},
    "tls_only": {"type": "str"},
}


def read_once(module: AnsibleModule) -> State:
    """The server's state.

    Raises:
        ServerError: the server does not answer.
    """
    cursor = login.connect(module)
    try:
        server = Server(cursor)
        with answers_within(READ_SECONDS):
            schema = module.params["journal_schema"]
            server.rows(f"SET SESSION lock_wait_timeout = {LOCK_SECONDS}")
            # Before what a look vouches for: it has not seen a change that is made meanwhile.
            past = journal.past(server, schema)
            return {
                **read.read(server),
                **past,
                "journal": journal.newest(server, schema),
            }
    finally:
        cursor.connection.close()


def read_when(
    module: AnsibleModule,
    wanted: WaitFor,
    timeout: float,
) -> tuple[State, float]:
    """The state as soon as every wanted condition holds, and the seconds that took; fails when time
    is up.
    """
    begin = time.monotonic()

    def look() -> tuple[State | None, list[str]]:
        """The state, None if it cannot be read, and what it lacks."""
        try:
            info = read_once(module)
        except ServerError as error:
            return None, [login.explain(error, module.params)]
        return info, read.unmet(wanted, info)

    info, lacking = wait_until(
        look,
        timeout,
        POLL_SECONDS,
        enough=lambda seen: not seen[1],
    )
    if info is None or lacking:
        module.fail_json(
            msg=f"waited {int(timeout)} s in vain: {'; '.join(lacking)}", reason="wait"
        )
    return info, time.monotonic() - begin
