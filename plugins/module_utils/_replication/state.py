# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server's state with what its cluster's journal says."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._replication import journal
from ansible_collections.dbre.semisync.plugins.module_utils._server import (
    disk_space,
    errors,
    login,
    read,
    versions,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import (
    Server,
    identify,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        RoleState,
        State,
    )

# Errors that prevent reading a server.
UNREADABLE = (versions.UnknownServerError, errors.ServerError)
# A healthy server takes milliseconds; SHOW REPLICA STATUS may wait for a thread that is stopping.
READ_SECONDS = 60
# Also for a table that another session has locked, such as the journal's.
LOCK_SECONDS = 10


@contextlib.contextmanager
def reading(module: AnsibleModule) -> Iterator[Server]:
    """A connection on which a server is read, within a limit.

    Raises:
        ServerError: the server does not respond.
    """
    cursor = login.connect(module)
    try:
        with errors.answers_within(READ_SECONDS):
            server = Server(cursor)
            server.rows(f"SET SESSION lock_wait_timeout = {LOCK_SECONDS}")
            yield server
    finally:
        cursor.connection.close()


def read_once(module: AnsibleModule) -> State:
    """The server's state.

    Raises:
        UnknownServerError: a fork or a version that this collection does not know.
        ServerError: the server does not respond.
    """
    schema = module.params["journal_schema"]
    with reading(module) as server:
        # Read before what a look proves: the look has not seen a change that is made meanwhile.
        past = journal.past(server, schema)
        return {**read.server_state(server), **past, "journal": journal.newest(server, schema)}


def read_for_roles(module: AnsibleModule) -> RoleState:
    """The part of it that a change of roles asks for; see read_once()."""
    schema = module.params["journal_schema"]
    with reading(module) as server:
        past = journal.past(server, schema)
        return {
            **read.replication_state(server, identify(server)),
            **past,
            "journal": journal.newest(server, schema),
        }


def unreadable(error: Exception, params: Mapping[str, object]) -> dict[str, str]:
    """What fail_json takes if a server cannot be read: the message, and the kind of failure."""
    if isinstance(error, errors.ServerError):
        full = disk_space.full_here()
        return {
            "msg": disk_space.explained(login.explain(error, params), full),
            "reason": login.kind(error),
            "disk_full": full,
        }
    return {
        "msg": f"server not identified: {error}. Supported: MySQL and Percona Server from 5.5,"
        " MariaDB from 5.5.",
        "reason": "server",
    }
