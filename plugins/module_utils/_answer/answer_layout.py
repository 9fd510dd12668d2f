# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the HTTP answer's files are on a host, and what they contain.

A host may have several servers: all names but those of the program and its system account contain
the server's port.
"""

from __future__ import annotations

import http.client
import json
import os
import stat
import sys
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._host.files import text_if_any

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Answer, Said

PROGRAM = "/usr/local/lib/dbre-semisync/answer.py"
PLACES = "/usr/local/lib/dbre-semisync/places.py"
FOLDER = "/etc/dbre-semisync"
# The settings of all answers, and of the heartbeat's services, which use the same program.
EVERY, BEATS = FOLDER + "/answer-*.json", FOLDER + "/heartbeat-*.json"
UNITS = "/etc/systemd/system"
SYSTEM_USER = "dbre-semisync"
# MySQL before 5.7.8 takes 16 characters.
ACCOUNT = ("dbre_semi_http", "localhost")
LOGIN, START = "login", "start"
# Seconds that the answer on the same host may take; it gives up after 1 by itself.
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
    """The address of another host's answer, in the form of the settings."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def enabled_link(server_port: int) -> str:
    """What `systemctl enable` of the socket makes."""
    return f"{UNITS}/sockets.target.wants/{unit(server_port)}.socket"


def installed_answer(server_port: int) -> Answer | None:
    """What is on this host; None if no answer was ever set up.

    Returns:
        python that runs this, files: path -> text of those that are there, password_kept: whether
        the password's file is there and only its owner can read it, enabled: whether the socket is
        there after a reboot, said: what GET /source returns.
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
    """What has to be done so that a host's answer is as wanted: the paths of files that differ,
    LOGIN if its account is refused, START if it does not answer.

    Args:
        now: result of installed_answer().
        wanted: result of units.files().
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
    """(address, port) at which a host reaches its own answer, port 0 if the unit says none."""
    for line in socket_unit.splitlines():
        key, _equals, value = line.partition("=")
        if key == "ListenStream":
            address, _colon, port = value.strip().rpartition(":")
            return address.strip("[]") or "127.0.0.1", int(port) if port.isdigit() else 0
    return "127.0.0.1", 0


def ask(address: str, port: int, target: str = "/source") -> Said:
    """{'status', 'yes', 'why', 'kind'}: status is None without an answer, with the reason."""
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
        return {"status": None, "yes": False, "why": f"no answer: {words}", "kind": "silent"}
    finally:
        connection.close()
