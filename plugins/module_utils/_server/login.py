# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The connection of our modules to the server on their host, through community.mysql."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._server import peer
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import (
    SERVER_LOST,
    ServerError,
    answers_within,
    driver_errors,
)

try:
    from ansible_collections.community.mysql.plugins.module_utils.mysql import (
        mysql_common_argument_spec,
        mysql_connect,
        mysql_driver,
    )
except ImportError:
    # Where community.mysql 5 and later has moved it; its redirects are for modules on hosts, and
    # end with version 6.
    from ansible_collections.ansible.mysql.plugins.module_utils.mysql import (
        mysql_common_argument_spec,
        mysql_connect,
        mysql_driver,
    )

if TYPE_CHECKING:
    from typing import TypedDict
else:
    TypedDict = dict

SOCKETS = (
    "/run/mysqld/mysqld.sock",
    "/var/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/run/mysql/mysql.sock",
    # The default of a server built from source; tried last.
    "/tmp/mysql.sock",  # noqa: S108
)

# PyMySQL and server error numbers that have a remedy of their own.
LOGIN_REFUSED = (1045, 1698)
# After a successful login: a schema, privilege, table or column that the account may not use.
NOT_ALLOWED = (1044, 1227, 1142, 1143)
ACCESS_DENIED = LOGIN_REFUSED + NOT_ALLOWED
# The last two: no response, or an incomplete one.
NOBODY_LISTENS, BROKEN_OFF = (2002, 2003), (2006, SERVER_LOST)
TOO_MANY_CONNECTIONS = (1040, 1203, 1226)
# ER_LOCK_WAIT_TIMEOUT
LOCKED = 1205
# ER_SECURE_TRANSPORT_REQUIRED (MySQL manual, "Server Error Message Reference").
TLS_REQUIRED = 3159
# MySQL manual, "Option File Syntax".
ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "s": " ", "\\": "\\", "'": "'", '"': '"'}


def argument_spec(**more: object) -> dict[str, object]:
    """community.mysql's login options, the TLS of logins on other members, and what the module
    itself has.
    """
    spec = mysql_common_argument_spec()
    spec.update(
        peer_ssl={"type": "str", "choices": ["auto", "required", "disabled"], "default": "auto"},
        peer_ssl_ca={"type": "path"},
        peer_ssl_verify={"type": "bool", "default": False},
    )
    spec.update(more)
    return spec


def find_socket(
    host: str | None,
    port: int,
    candidates: tuple[str, ...] = SOCKETS,
    exists: Callable[[str], bool] = os.path.exists,
) -> str | None:
    """The unix socket that 'localhost' means, as for the mysql client; None if a host or port
    was asked for.
    """
    if host not in ("localhost", None) or port != 3306:
        return None
    for path in candidates:
        if exists(path):
            return path
    return None


def explain(error: ServerError, params: Mapping[str, object]) -> str:
    """A sentence that says what failed to connect and which variables to check.

    Args:
        error: what connect() raised.
        params: the module's parameters.
    """
    address = f"{params.get('login_host')}:{params.get('login_port')}"
    where = params.get("login_unix_socket") or address
    who = params.get("login_user") or "the user of the option file, or the system user"
    if error.number in LOGIN_REFUSED:
        return (
            f"wrong login: the server at {where} refuses {who}: {error}. Set semisync_login_user,"
            " semisync_login_password or semisync_login_config_file (module options login_user,"
            " login_password, config_file)."
        )
    if error.number in NOBODY_LISTENS:
        return (
            f"the server is not running, or does not listen at {where}: {error}. If it"
            " listens elsewhere, set semisync_login_unix_socket, or semisync_login_host and"
            " semisync_login_port."
        )
    reached = explain_reached(error, where, who)
    return reached or f"cannot connect to the server at {where} as {who}: {error}"


def explain_reached(error: ServerError, where: object, who: object) -> str:
    """What is wrong with a server that was reached and accepts the login; '' if neither is so."""
    if error.number in NOT_ALLOWED:
        return (
            f"the login lacks a privilege: the server at {where} let {who} in, and refuses:"
            f" {error}. Grant it, or set semisync_login_user and semisync_login_password (module"
            " options login_user, login_password) to an account that has it."
        )
    if error.number in TOO_MANY_CONNECTIONS:
        return (
            f"the server at {where} runs, and has no connection left for {who}: {error}. Nothing"
            " else could be read. End some connections, or raise max_connections, and run this"
            " again."
        )
    if error.number == LOCKED:
        return (
            f"the server at {where} let {who} in, and a table that is read is locked: {error}. See"
            " its sessions; a replica's applier locks one while its own commit waits for an"
            " acknowledgement."
        )
    if error.number in BROKEN_OFF:
        return (
            f"the server at {where} was reached, and did not answer to the end: {error}. It may"
            " have ended, be starting, or hang; look at its error log, its disk and its process."
        )
    return ""


def kind(error: ServerError) -> str:
    """Which kind of failure to connect this is: nothing listens, a server listens but does not
    finish its answer, or anything else. A hanging server has not ended: it may still confirm
    commits.
    """
    if error.number in NOBODY_LISTENS:
        return "stopped"
    return "silent" if error.number in (*BROKEN_OFF, LOCKED) else "login"


def require_driver(module: AnsibleModule) -> None:
    """Fail with the package to install if the host's Python has no PyMySQL."""
    if mysql_driver is None:
        module.fail_json(
            msg=(
                "PyMySQL is missing for the Python that Ansible uses on this host"
                f" ({sys.executable}): install python3-pymysql (Debian), python3-PyMySQL (RedHat,"
                " SUSE), or set ansible_python_interpreter to a Python that has it."
            ),
            reason="driver",
            python_of_system=sys.prefix == "/usr",
        )


def connect(module: AnsibleModule, autocommit: bool = True) -> Any:
    """A dictionary cursor on the module's server.

    The login file is read here and not by the driver, which would use its socket even if a host is
    given, and does not know its escapes.

    Raises:
        ServerError: there is no connection.
    """
    params = module.params
    with driver_errors():
        section = read_login_file(params["config_file"])
        params["login_host"], params["login_port"], params["login_unix_socket"] = place(
            params, section
        )
    try:
        return open_connection(module, section, autocommit, params["check_hostname"])
    except ServerError as error:
        if (
            params["login_unix_socket"]
            or params["check_hostname"] is not None
            or not needs_tls(error)
        ):
            raise
        # As the servers' own clients do: TLS if the server requires it, with its certificate
        # unchecked.
        return open_connection(module, section, autocommit, False)


def open_connection(
    module: AnsibleModule, section: Mapping[str, str], autocommit: bool, check_hostname: bool | None
) -> Any:
    """A dictionary cursor on the server at the module's place.

    Args:
        section: of read_login_file().

    Raises:
        ServerError: there is no connection.
    """
    params = module.params
    user, password = (
        params["login_user"] or section.get("user"),
        params["login_password"] or section.get("password"),
    )
    # The driver would send Latin-1, but the server compares with UTF-8.
    with driver_errors(), answers_within(params["connect_timeout"]):
        cursor, _connection = mysql_connect(
            module,
            user,
            password.encode("utf-8") if password else None,
            None,
            params["client_cert"] or section.get("ssl_cert"),
            params["client_key"] or section.get("ssl_key"),
            params["ca_cert"] or section.get("ssl_ca"),
            None,
            cursor_class="DictCursor",
            connect_timeout=params["connect_timeout"],
            autocommit=autocommit,
            check_hostname=check_hostname,
        )
    return cursor


def connect_to(
    address: str,
    port: int,
    user: str,
    password: str,
    tls: bool | None,
    seconds: float,
    wishes: Mapping[str, object],
) -> Any:
    """A dictionary cursor on another host's server; the module's own login is not used.

    Args:
        tls: whether that server is known to have TLS; None if that is only likely. See peer.py.
        seconds: for the connection, and for each response.
        wishes: the module's parameters, of which only those that begin with peer_ count.

    Raises:
        ServerError: there is no connection.
    """
    # No option file of the host's is read.
    options = {
        "host": address,
        "port": port,
        "user": user,
        "password": password.encode("utf-8"),
        "connect_timeout": seconds,
        "read_timeout": seconds,
        "write_timeout": seconds,
        "charset": "utf8mb4",
        "autocommit": True,
    }
    with driver_errors():
        connection = peer.connect(mysql_driver, options, peer.wishes(tls, wishes))
        return connection.cursor(mysql_driver.cursors.DictCursor)


def needs_tls(error: ServerError) -> bool:
    """Whether a login over TCP failed for lack of TLS: the server requires it, or the driver cannot
    do caching_sha2_password without it (it lacks the package cryptography).
    """
    return error.number == TLS_REQUIRED or "cryptography" in str(error)


def connect_or_fail(module: AnsibleModule, autocommit: bool = True) -> Any:
    """Like connect(), with a clear message in place of an exception."""
    require_driver(module)
    try:
        return connect(module, autocommit)
    except ServerError as error:
        module.fail_json(msg=explain(error, module.params), reason=kind(error))


def read_login_file(path: str | None) -> dict[str, str]:
    """What the [client] section of a login file says; nothing if there is no such file."""
    path = os.path.expanduser(path or "")
    if not os.path.isfile(path):
        return {}
    with open(path, "rb") as handle:
        return client_section(handle.read().decode("utf-8", "replace"))


def client_section(text: str) -> dict[str, str]:
    """Options of [client], as the servers' own clients read them (MySQL manual, "Using Option
    Files").
    """
    options: dict[str, str] = {}
    inside = False
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            inside = line.split("]")[0].strip("[ ") == "client"
        elif inside and "=" in line and line[0] not in "#;":
            name, _dummy, value = line.partition("=")
            options[name.strip().lower().replace("-", "_")] = option_value(value.strip())
    return options


def option_value(text: str) -> str:
    """A value without its quotes, comment and escapes."""
    if text[:1] in ("'", '"'):
        match = re.match(r"""(['"])((?:\\.|(?!\1).)*)\1""", text)
        text = match.group(2) if match else text
    else:
        text = text.split("#")[0].rstrip()
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match.group(1), match.group(0)), text)


class LoginParams(TypedDict):
    """The options that say where a module logs in."""

    login_host: str | None
    login_port: int
    login_unix_socket: str | None


def place(
    params: LoginParams, section: Mapping[str, str], exists: Callable[[str], bool] = os.path.exists
) -> tuple[str | None, int, str | None]:
    """(host, port, unix socket) to connect to: from the module's options, else the login file, else
    the usual places.
    """
    host, port, path = params["login_host"], params["login_port"], params["login_unix_socket"]
    if not path and host in ("localhost", None) and port == 3306:
        host, port, path = (
            section.get("host") or host,
            int(section.get("port") or port),
            section.get("socket"),
        )
        if host not in ("localhost", None):
            path = None
    return host, port, path or find_socket(host, port, exists=exists)
