# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A login to another member of the cluster, by the replication account."""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.role_change import locks
from ansible_collections.dbre.semisync.plugins.module_utils.server import login
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError


def log_in(
    peer: dict[str, Any], params: dict[str, Any], tls: bool | None, seconds: float
) -> Server:
    """A connection to another member.

    Args:
        peer: its `address` and `port`.
        params: the account's `user` and `password`, and what is wanted of TLS.
        tls: whether that server is known to have TLS; None if it is likely to.
        seconds: for the connection, and for each answer.

    Raises:
        ServerError: there is none.
    """
    return Server(
        login.connect_to(
            peer["address"],
            peer["port"],
            params["user"],
            params["password"],
            tls,
            seconds,
            params,
        )
    )


def refusal(
    peer: dict[str, Any], params: dict[str, Any], tls: bool | None, seconds: float
) -> ServerError | None:
    """Why log_in() fails from here; None if it does not."""
    try:
        locks.close(log_in(peer, params, tls, seconds))
    except ServerError as error:
        return error
    return None
