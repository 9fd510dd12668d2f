# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the HTTP answer lives on a host, what its files say, and what is there.

A host may have several servers: all but the program and its account of the system have the server's
port in their names.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import os
import stat
import sys

from ansible_collections.dbre.semisync.plugins.module_utils.host.files import text_if_any
from ansible_collections.dbre.semisync.plugins.module_utils.replication.journal import table_name
from ansible_collections.dbre.semisync.plugins.module_utils.shapes import Answer, Said, TypedDict

PROGRAM = "/usr/local/lib/dbre-semisync/answer.py"
PLACES = "/usr/local/lib/dbre-semisync/places.py"
FOLDER = "/etc/dbre-semisync"
UNITS = "/etc/systemd/system"
SYSTEM_USER = "dbre-semisync"
# MySQL before 5.7.8 takes 16 characters.
ACCOUNT = ("dbre_semi_http", "localhost")
# As others write it; nothing is bound here.
EVERYWHERE = ("", "*", "0.0.0.0", "::", "[::]")  # noqa: S104
LOGIN, START = "login", "start"
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
# Seconds the answer on one's own host may take; it gives up after 1 by itself.
SECONDS = 3


def unit(server_port: int) -> str:
    """Name of both units, without suffix."""
    return f"dbre-semisync-answer-{server_port}"


def paths(server_port: int) -> dict[str, str]:
    stem = f"{FOLDER}/answer-{server_port}"
    return {
        "program": PROGRAM,
        "places": PLACES,
        "settings": stem + ".json",
        "password": stem + ".password",
        "socket": f"{UNITS}/{unit(server_port)}.socket",
        "service": f"{UNITS}/{unit(server_port)}.service",
    }


def peer(address: str, port: int) -> str:
    """Where another host's answer is, as the settings have it."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def enabled_link(server_port: int) -> str:
    """What `systemctl enable` of the socket makes."""
    return f"{UNITS}/sockets.target.wants/{unit(server_port)}.socket"


def listening(address: str, port: int) -> str:
    """ListenStream of the socket unit."""
    if address in EVERYWHERE:
        return str(port)
    return f"[{address}]:{port}" if ":" in address.strip("[]") else f"{address}:{port}"


def filter_lines(admitted: list[str]) -> str:
    """Lines of both units that have systemd keep all others out; none where that is empty.

    The service's do not hold for the socket that it is handed (systemd.resource-control(5)), and
    hold for what it asks others.
    """
    if not admitted:
        return ""
    lines = ["IPAddressDeny=any", "IPAddressAllow=localhost"]
    return "\n".join([*lines, *(f"IPAddressAllow={address}" for address in admitted)]) + "\n"


def is_address(word: str) -> bool:
    """Whether it is an address, or a network, as systemd takes it."""
    try:
        ipaddress.ip_network(word, strict=False)
    except ValueError:
        return False
    return True


class Wanted(TypedDict):
    """What an answer is to be; see files()."""

    port: int
    address: str
    schema: str
    begins: bool
    peers: list[str]
    allow: list[str]
    filter: list[str]


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
    where, name = paths(server_port), unit(server_port)
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


def read(server_port: int) -> Answer | None:
    """What is on this host; None where no answer was ever set up.

    Returns:
        python that runs this, files: path -> text of those that are there, password_kept: whether
        the password's file is there and nobody else's to read, enabled: whether the socket is there
        after a reboot, said: what GET /source is told.
    """
    where = paths(server_port)
    if not any(os.path.lexists(where[name]) for name in ("settings", "socket", "service")):
        return None
    texts = {
        path: text_if_any(path)
        for name, path in where.items()
        if name != "password" and os.path.exists(path)
    }
    return {
        "python": sys.executable,
        "files": texts,
        "password_kept": password_kept(where["password"]),
        "enabled": os.path.lexists(enabled_link(server_port)),
        "said": ask(*reached_at(texts.get(where["socket"], ""))),
    }


def lacking(now: Answer | None, wanted: dict[str, str]) -> list[str]:
    """What has to be done, so that a host's answer is what is wanted: the paths of files that
    differ, LOGIN where its account does not let it in, START where it does not answer.

    Args:
        now: result of read().
        wanted: result of files().
    """
    if now is None:
        return [*sorted(wanted), LOGIN, START]
    differing = [path for path, text in sorted(wanted.items()) if now["files"].get(path) != text]
    if not now["password_kept"] or now["said"]["kind"] == "login":
        differing.append(LOGIN)
    if not now["enabled"] or now["said"]["status"] is None:
        differing.append(START)
    return differing


def password_kept(path: str) -> bool:
    try:
        return stat.S_IMODE(os.stat(path).st_mode) == 0o600
    except OSError:
        return False


def reached_at(socket_unit: str) -> tuple[str, int]:
    """(address, port) at which a host reaches its own answer, port 0 where the unit says none."""
    for line in socket_unit.splitlines():
        key, _equals, value = line.partition("=")
        if key == "ListenStream":
            address, _colon, port = value.strip().rpartition(":")
            return address.strip("[]") or "127.0.0.1", int(port) if port.isdigit() else 0
    return "127.0.0.1", 0


def ask(address: str, port: int, target: str = "/source") -> Said:
    """{'status', 'yes', 'why', 'kind'}: status is None where nobody answers, with the reason."""
    connection = http.client.HTTPConnection(address, port, timeout=SECONDS)
    try:
        connection.request("GET", target)
        response = connection.getresponse()
        said = json.loads(response.read(65536).decode("utf-8", "replace"))
        return {
            "status": response.status,
            "yes": bool(said["yes"]),
            "why": str(said["why"]),
            "kind": str(said["kind"]),
        }
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as error:
        words = " ".join(str(error).split()) or type(error).__name__
        return {"status": None, "yes": False, "why": f"nobody answers: {words}", "kind": "silent"}
    finally:
        connection.close()
