# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the files of the HTTP answer say. Only what sets it up imports this: a run that changes
nothing would carry it to every host.
"""

from __future__ import annotations

import ipaddress
import json
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.answer.place import (
    ACCOUNT,
    SYSTEM_USER,
    paths,
    unit,
)
from ansible_collections.dbre.semisync.plugins.module_utils.replication.journal import table_name

# As others write it; nothing is bound here.
EVERYWHERE = ("", "*", "0.0.0.0", "::", "[::]")  # noqa: S104
# What the service may do besides answering: nothing. It keeps the host's /tmp, where a server may
# have its socket.
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


def allowed(addresses: list[str], peers: list[str]) -> list[str]:
    """Who may ask: addresses, networks, and names of other hosts; everybody if that is empty.

    Args:
        addresses: addresses and networks of routers.
        peers: where the other hosts' answers are.
    """
    if not addresses:
        return []
    return list(
        dict.fromkeys([*addresses, *(peer.rpartition(":")[0].strip("[]") for peer in peers)])
    )


def filters(allow: list[str], address: str) -> str:
    """Lines of both units that have systemd keep everybody else out. The service's do not hold for
    the socket that it is handed (systemd.resource-control(5)), and hold for what it asks others.

    It knows no names: where there is one, the program alone keeps them out.

    Args:
        allow: result of allowed().
        address: at which the answer listens; its host may come from there.
    """
    if not allow or not all(map(is_address, allow)):
        return ""
    own = [address] if is_address(address) and address not in EVERYWHERE else []
    lines = ["IPAddressDeny=any", "IPAddressAllow=localhost"]
    return "\n".join([*lines, *(f"IPAddressAllow={one}" for one in [*allow, *own])]) + "\n"


def is_address(word: str) -> bool:
    """Whether it is an address, or a network, as systemd takes it."""
    try:
        ipaddress.ip_network(word, strict=False)
    except ValueError:
        return False
    return True


def files(
    server_port: int,
    wanted: dict[str, Any],
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
            server as its source, peers: where the answers of the other hosts are, allow: who may
            ask besides them, everybody if that is empty.
        program: text of the service.
        places: text of the module beside it.
        python: that has PyMySQL.
        server_socket: the server's unix socket.
        show_channels: the server's statement that shows its channels.
    """
    where, name = paths(server_port), unit(server_port)
    allow = allowed(wanted.get("allow") or [], wanted["peers"])
    only = filters(allow, wanted["address"].strip("[]"))
    settings = {
        "allow": allow,
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
        where["socket"]: f"""\
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
""",
        where["service"]: f"""\
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
{HARDENED}{only}""",
    }
