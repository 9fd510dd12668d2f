# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server's state with what its cluster's journal says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils.replication import journal
from ansible_collections.dbre.semisync.plugins.module_utils.server import login, read
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import (
    answers_within,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.types.shapes import State

# A healthy server takes milliseconds; SHOW REPLICA STATUS may wait for a thread that is stopping.
READ_SECONDS = 60
# Also for a table that another session has locked, such as the journal's.
LOCK_SECONDS = 10


def read_once(module: AnsibleModule) -> State:
    """The server's state.

    Raises:
        ServerError: the server does not respond.
    """
    cursor = login.connect(module)
    try:
        server = Server(cursor)
        with answers_within(READ_SECONDS):
            schema = module.params["journal_schema"]
            server.rows(f"SET SESSION lock_wait_timeout = {LOCK_SECONDS}")
            # Read before what a look proves: the look has not seen a change that is made meanwhile.
            past = journal.past(server, schema)
            return {
                **read.server_state(server),
                **past,
                "journal": journal.newest(server, schema),
            }
    finally:
        cursor.connection.close()
