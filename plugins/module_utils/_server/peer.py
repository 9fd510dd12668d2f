# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A login on another host's server, with the TLS that the channel must have: if another machine has
that server's address by now, it gets no password in clear, nor one that only TLS should protect.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any, NamedTuple

# CR_SSL_CONNECTION_ERROR (MySQL manual, "Client Error Message Reference").
TLS_FAILED = 2026
# These send the password as it is, and no account of ours uses them.
IN_CLEAR = ("mysql_clear_password", "dialog")


class Wishes(NamedTuple):
    """What TLS a connection has.

    Attributes:
        wanted: whether it is taken if the server offers it.
        needed: whether there is no connection without it.
        ca: file of the authority that must have signed the server's certificate, or None.
        verify: whether the certificate must have the server's address, too.
    """

    wanted: bool
    needed: bool
    ca: str | None
    verify: bool


def wishes(tls: bool | None, params: Mapping[str, object]) -> Wishes:
    """What TLS a connection to a member has.

    Args:
        tls: whether its server is known to have TLS; None if that is only likely.
        params: peer_ssl, peer_ssl_ca and peer_ssl_verify, of the module; see its documentation.
    """
    mode, given = params.get("peer_ssl") or "auto", params.get("peer_ssl_ca")
    ca = str(given) if given else None
    if mode == "disabled":
        return Wishes(False, False, None, False)
    needed = mode == "required" or tls is True or (ca is not None and tls is None)
    return Wishes(True, needed, ca, bool(ca and params.get("peer_ssl_verify")))


def connect(driver: Any, options: dict[str, Any], wish: Wishes) -> Any:
    """PyMySQL's connection with these options.

    Raises:
        Exception: of the driver's; there is none, or not with what is needed.
    """
    if wish.wanted:
        # Without an authority, a certificate of any issuer is accepted.
        signed: dict[str, Any] = {"check_hostname": wish.verify}
        options = dict(options, ssl=dict(signed, ca=wish.ca) if wish.ca else signed)
    connection = guarded(driver)(defer_connect=True, **options)
    connection.dbre_needs_tls = wish.needed
    # PyMySQL has its own idea of what is needed, a different one in each version.
    connection.ssl, connection._ssl_required = wish.wanted, wish.needed
    try:
        connection.connect()
    except Exception as error:
        if isinstance(getattr(error, "original_exception", error), ssl.SSLError):
            raise driver.err.OperationalError(TLS_FAILED, f"TLS failed: {error}") from error
        raise
    return connection


def guarded(driver: Any) -> Any:
    """PyMySQL's class of connections, which by itself goes on without TLS if the server's greeting
    has none, and sends a password in clear to who asks for it.
    """
    flag = driver.constants.CLIENT.SSL

    class Guarded(driver.connections.Connection):
        dbre_needs_tls = False

        def _request_authentication(self) -> None:
            if self.dbre_needs_tls and not self.server_capabilities & flag:
                raise driver.err.OperationalError(
                    TLS_FAILED, "the server offers no TLS, and there is no login without it"
                )
            self.dbre_refuse(self._auth_plugin_name)
            super()._request_authentication()

        def _process_auth(self, plugin_name: bytes, *more: Any) -> Any:
            self.dbre_refuse(plugin_name)
            return super()._process_auth(plugin_name, *more)

        @staticmethod
        def dbre_refuse(plugin: Any) -> None:
            name = plugin.decode("ascii", "replace") if isinstance(plugin, bytes) else plugin
            if name in IN_CLEAR:
                raise driver.err.OperationalError(
                    TLS_FAILED, f"the server asks for the password in clear, by {name}"
                )

    return Guarded
