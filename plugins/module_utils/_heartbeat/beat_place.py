# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the heartbeat's service lives on a host, and what is there.

A host may have several servers: all but the programs and its account of the system have the
server's port in their names.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._answer import answer_layout
from ansible_collections.dbre.semisync.plugins.module_utils._answer.answer_layout import (
    password_kept,
)
from ansible_collections.dbre.semisync.plugins.module_utils._host import command
from ansible_collections.dbre.semisync.plugins.module_utils._host.files import text_if_any

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Heartbeat

PROGRAM = "/usr/local/lib/dbre-semisync/heartbeat.py"
# Not the answer's: who breaks into that over the network reads no password of this one.
SYSTEM_USER = "dbre-semisync-beat"
# MySQL before 5.7.8 takes 16 characters.
ACCOUNT = ("dbre_semi_beat", "localhost")
LOGIN, START = "login", "start"
# How the service begins what it says if its account does not let it in; see heartbeat.py.
REFUSED = "its login is refused"
# The programs, which all servers of a host share.
SHARED = ("program", "answer", "places")


def unit(server_port: int) -> str:
    """Name of the unit, without suffix."""
    return f"dbre-semisync-heartbeat-{server_port}"


def paths(server_port: int) -> dict[str, str]:
    stem = f"{answer_layout.FOLDER}/heartbeat-{server_port}"
    return {
        "program": PROGRAM,
        "answer": answer_layout.PROGRAM,
        "places": answer_layout.PLACES,
        "settings": stem + ".json",
        "password": stem + ".password",
        "service": f"{answer_layout.UNITS}/{unit(server_port)}.service",
    }


def enabled_link(server_port: int) -> str:
    """What `systemctl enable` makes."""
    return f"{answer_layout.UNITS}/multi-user.target.wants/{unit(server_port)}.service"


def read_service(module: AnsibleModule, server_port: int) -> Heartbeat | None:
    """What is on this host; None if no service was ever set up.

    Returns:
        python that runs this, files: path -> text of those that are there, password_kept: whether
        only the service can read the password's file, enabled: whether it starts with the host,
        active: whether it runs, said: what it said last of itself.
    """
    where = paths(server_port)
    if not any(os.path.lexists(where[name]) for name in ("settings", "service")):
        return None
    active, said = state_of(module, server_port)
    return {
        "python": sys.executable,
        "files": {
            path: text_if_any(path)
            for name, path in where.items()
            if name != "password" and os.path.exists(path)
        },
        "password_kept": password_kept(where["password"]),
        "enabled": os.path.lexists(enabled_link(server_port)),
        "active": active,
        "said": said,
    }


def state_of(module: AnsibleModule, server_port: int) -> tuple[bool, str]:
    """(whether it runs, what it said last of itself)."""
    systemctl = module.get_bin_path("systemctl")
    if not systemctl:
        return False, ""
    shown = ["show", "--property=ActiveState,StatusText", f"{unit(server_port)}.service"]
    output = command.run(module, [systemctl, *shown])[1]
    values = dict(line.partition("=")[::2] for line in output.splitlines())
    return values.get("ActiveState") == "active", values.get("StatusText", "")


def differences(now: Heartbeat | None, wanted: dict[str, str]) -> list[str]:
    """What has to be done, so that a host's service is what is wanted: the paths of files that
    differ, LOGIN if its account does not let it in, START if it does not run.

    Args:
        now: result of read_service().
        wanted: result of beat_units.files().
    """
    if now is None:
        return [*sorted(wanted), LOGIN, START]
    differing = [path for path, text in sorted(wanted.items()) if now["files"].get(path) != text]
    if not now["password_kept"] or now["said"].startswith(REFUSED):
        differing.append(LOGIN)
    if not now["enabled"] or not now["active"]:
        differing.append(START)
    return differing
