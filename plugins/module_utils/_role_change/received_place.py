# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the service that applies what a MariaDB replica had received lives, and what is there."""

from __future__ import annotations

import glob
import os
import pwd
import sys
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._answer import answer_layout
from ansible_collections.dbre.semisync.plugins.module_utils._host.files import text_if_any
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    dropin_place,
    received_outcome,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.received_shapes import (
        Received,
    )
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import OnHost

PROGRAM = "/usr/local/lib/dbre-semisync/received.py"
STEM = "zz-dbre-semisync-received"


def unit(server_port: int) -> str:
    """Name of the unit, without suffix."""
    return f"dbre-semisync-received-{server_port}"


def paths(server_port: int, ours: str) -> dict[str, str]:
    """The files; `option` is the one that keeps the server from starting its threads.

    Args:
        ours: the option file of the collection's own lines.
    """
    return {
        "program": PROGRAM,
        "settings": received_outcome.SETTINGS % server_port,
        "service": f"{answer_layout.UNITS}/{unit(server_port)}.service",
        "option": dropin_place.place(ours, "drop-in", STEM),
    }


def enabled_link(server_port: int, server_unit: str | None) -> str:
    """What `systemctl enable` makes."""
    return f"{answer_layout.UNITS}/{server_unit}.service.wants/{unit(server_port)}.service"


def read_received(server_port: int, on_host: OnHost) -> Received | None:
    """What is on the host of a MariaDB server; None if its process is not there."""
    if not on_host["pid"]:
        return None
    where = paths(server_port, on_host["option_files"]["path"])
    enabled = os.path.lexists(enabled_link(server_port, on_host["unit"]))
    there = {path: text_if_any(path) for path in where.values() if os.path.exists(path)}
    return {
        "python": sys.executable,
        "user": owner(on_host["pid"]),
        "files": there,
        "enabled": enabled,
        "stands": enabled and len(there) == len(where),
        "shared": bool(set(glob.glob(received_outcome.SETTINGS % "*")) - {where["settings"]}),
    }


def owner(pid: int) -> str:
    """The system account of a process; empty if it is gone, or has no name."""
    try:
        return pwd.getpwuid(os.stat(f"/proc/{pid}").st_uid).pw_name
    except (OSError, KeyError):
        return ""
