# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The contents of the HTTP answer's files, and its account on its server, which may see the
channels' state and read the journal. Only the code that sets it up imports this; otherwise a run
that changes nothing would send it to every host.

Each host makes its own password, which never leaves it, so the statements are not written to the
binary log.
"""

from __future__ import annotations

import ipaddress
import json
import secrets
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._answer.answer_layout import (
    ACCOUNT,
    SYSTEM_USER,
    paths,
    unit,
)
from ansible_collections.dbre.semisync.plugins.module_utils._replication.journal import table_name
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

if TYPE_CHECKING:
    from typing import TypedDict
else:
    TypedDict = dict

# Whether its account is there.
EXISTS = ("SELECT User FROM mysql.user WHERE User = %s AND Host = %s", ACCOUNT)
# As others write it; nothing is bound here.
EVERYWHERE = ("", "*", "0.0.0.0", "::", "[::]")  # noqa: S104
# The service may do nothing but answer. It sees the host's /tmp, where a server may have its
# socket.
HARDENED = """\
UMask=0077
TasksMax=256
LimitNOFILE=512
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=yes
PrivateDevices=yes
DevicePolicy=closed
ProtectProc=invisible
ProcSubset=pid
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
RemoveIPC=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
"""


def listening(address: str, port: int) -> str:
    """ListenStream of the socket unit."""
    if address in EVERYWHERE:
        return str(port)
    return f"[{address}]:{port}" if ":" in address.strip("[]") else f"{address}:{port}"


def filter_lines(admitted: list[str]) -> str:
    """Lines of both units with which systemd keeps all others out; none if the list is empty.

    The service's lines do not apply to the socket that it gets (systemd.resource-control(5)), but
    to its requests to other hosts.
    """
    if not admitted:
        return ""
    lines = ["IPAddressDeny=any", "IPAddressAllow=localhost"]
    return "\n".join([*lines, *(f"IPAddressAllow={address}" for address in admitted)]) + "\n"


def is_address(word: str) -> bool:
    """Whether it is an address or a network that systemd accepts."""
    try:
        ipaddress.ip_network(word, strict=False)
    except ValueError:
        return False
    return True


class Wanted(TypedDict):
    """The wanted settings of an answer; see files()."""

    port: int
    address: str
    schema: str
    begins: bool
    peers: list[str]
    allow: list[str]
    filter: list[str]


def socket_text(server_port: int, wanted: Wanted, only: str) -> str:
    """The unit that listens; `only` are the lines that filter addresses."""
    return f"""\
# Written by the Ansible collection dbre.semisync. Edits are overwritten.
[Unit]
Description=Asks whether the server at port {server_port} takes writes, over HTTP

[Socket]
ListenStream={listening(wanted["address"], wanted["port"])}
FreeBind=yes
Backlog=1024
{only}
[Install]
WantedBy=sockets.target
"""


def service_text(server_port: int, python: str, only: str) -> str:
    """The unit of the service; `only` are the lines that filter addresses."""
    where, name = paths(server_port), unit(server_port)
    return f"""\
# Written by the Ansible collection dbre.semisync. Edits are overwritten.
[Unit]
Description=Answers whether the server at port {server_port} takes writes
Requires={name}.socket
After={name}.socket

[Service]
User={SYSTEM_USER}
ExecStart={python} {where["program"]} {where["settings"]}
Restart=on-failure
RestartSec=1
{HARDENED}{only}"""


def files(
    server_port: int,
    wanted: Wanted,
    program: str,
    places: str,
    python: str,
    server_socket: str,
    show_channels: str,
) -> dict[str, str]:
    """Path -> text of every file but the password's.

    Args:
        server_port: of the MySQL or MariaDB server.
        wanted: port, address, schema of the journal, begins: whether the cluster began with this
            server as its source, peers: where the answers of the other hosts are, allow and filter:
            see plans/answer.py, which decides them.
        program: text of the service.
        places: text of the module beside it.
        python: that has PyMySQL.
        server_socket: the server's unix socket.
        show_channels: the server's statement that shows its channels.
    """
    where = paths(server_port)
    only = filter_lines(wanted["filter"])
    settings = {
        "allow": wanted["allow"],
        "begins": wanted["begins"],
        "channels": show_channels,
        "journal": table_name(wanted["schema"]),
        "password_file": where["password"],
        "peers": wanted["peers"],
        "socket": server_socket,
        "user": ACCOUNT[0],
    }
    return {
        where["program"]: program,
        where["places"]: places,
        where["settings"]: json.dumps(settings, indent=1, sort_keys=True) + "\n",
        where["socket"]: socket_text(server_port, wanted, only),
        where["service"]: service_text(server_port, python, only),
    }


def new_password() -> str:
    """A password that every policy accepts and every option file can hold."""
    return "Aa1-" + secrets.token_urlsafe(24)


def creation(
    names: Names, schema: str, password: str
) -> list[tuple[str, tuple[object, ...] | None]]:
    """The statements that create the account."""
    by = f"WITH {names.account_plugin} BY" if names.account_plugin else "BY"
    if names.mariadb:
        # Not at the top: the controller would compile it in every run.
        from ansible_collections.dbre.semisync.plugins.module_utils._replication.account import (
            native_hash,
        )

        # Its general log shows the statement as sent.
        by, password = "BY PASSWORD", native_hash(password)
    table = table_name(schema)
    return [
        (f"CREATE USER %s@%s IDENTIFIED {by} %s", (*ACCOUNT, password)),
        (f"GRANT {names.sees_channels} ON *.* TO %s@%s", ACCOUNT),
        # A privilege on a table that may not exist yet can be granted only with CREATE (MySQL
        # manual, "GRANT Statement"), which is revoked at once.
        (f"GRANT CREATE, SELECT ON {table} TO %s@%s", ACCOUNT),
        (f"REVOKE CREATE ON {table} FROM %s@%s", ACCOUNT),
    ]


def removal() -> list[tuple[str, tuple[object, ...] | None]]:
    return [("DROP USER %s@%s", ACCOUNT)]
