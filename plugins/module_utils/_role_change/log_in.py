# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A login to another member of the cluster, by the replication account."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._server import connection, login
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


class Address(NamedTuple):
    """Where a server listens.

    Attributes:
        tls: whether it has TLS; None if that is likely but not known.
    """

    host: str
    port: int
    tls: bool | None


def log_in(
    module: AnsibleModule,
    user: str,
    there: Address,
    seconds: float,
) -> Server:
    """A connection to another member.

    Args:
        module: has the account's `password` and the TLS options.
        user: the account.
        seconds: limit of the login, and of each answer.

    Raises:
        ServerError: there is none.
    """
    return Server(
        login.connect_to(
            there.host,
            there.port,
            user,
            module.params["password"],
            there.tls,
            seconds,
            module.params,
        )
    )


def refusal(
    module: AnsibleModule,
    user: str,
    there: Address,
    seconds: float,
) -> ServerError | None:
    """Why log_in() fails from here; None if it succeeds."""
    try:
        connection.close(log_in(module, user, there, seconds))
    except ServerError as error:
        return error
    return None
