# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a MariaDB host needs the service that applies what it had received before its server
stopped: under the promise lossless, because a replica by GTID discards it (MDEV-4698).
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    dropin_place,
    received_outcome,
    received_place,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.versions import parse_version
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import durability_mode
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import ROLES, Settings

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.plan_shapes import (
        ReceivedFile,
        ReceivedGone,
        ReceivedStep,
    )
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.received_shapes import (
        Received,
    )

PROGRAM = os.path.join(ROLES, "received", "files", "received.py")
# The first MariaDB with the privileges that the server's own account has by unix_socket.
OLDEST = (10, 5)


def service_text(member: Member, now: Received) -> str:
    """The unit: it runs each time the server has started, and ends with it."""
    where, server = paths(member), f"{member.facts['unit']}.service"
    return f"""\
# Written by the Ansible collection dbre.semisync. Edits are overwritten.
[Unit]
Description=Applies what the replica at port {member.port} had received, and starts its replication
After={server}
BindsTo={server}
StartLimitIntervalSec=0

[Service]
Type=oneshot
User={now["user"]}
ExecStart={now["python"]} {where["program"]} {where["settings"]}
StateDirectory={received_place.unit(member.port)}
TimeoutStartSec=infinity
Restart=on-failure
RestartSec=10
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=full
ProtectHome=read-only
RestrictAddressFamilies=AF_UNIX
IPAddressDeny=any

[Install]
WantedBy={server}
"""


def paths(member: Member) -> dict[str, str]:
    return received_place.paths(member.port, member.facts["option_files"]["path"])


def texts(member: Member, now: Received) -> dict[str, str]:
    """Path -> text of every file."""
    where, files = paths(member), member.facts["option_files"]
    with open(PROGRAM, encoding="utf-8") as stream:
        program = stream.read()
    settings = {
        "held": [dropin_place.place(files["path"], files["kind"])],
        "kept": received_outcome.outcome_path(member.port),
        "socket": member.facts["variables"]["socket"] or "",
    }
    return {
        where["program"]: program,
        where["settings"]: json.dumps(settings, indent=1, sort_keys=True) + "\n",
        where["service"]: service_text(member, now),
        where["option"]: (
            f"# Written by the Ansible collection dbre.semisync: {received_place.unit(member.port)}"
            " starts\n# replication after it has applied what was received.\n"
            f"[{files['group']}]\nskip_slave_start\n"
        ),
    }


def is_needed(member: Member, now: Received, settings: Settings) -> bool:
    """Whether the service is to be there. A user who keeps the threads from starting with the
    server decides that.
    """
    info = member.facts
    by_user = not now["files"] and "skip_slave_start" in info["option_files"]["options"]
    return bool(
        durability_mode.is_lossless(settings)
        and parse_version(info["version"]) >= OLDEST
        and info["option_files"]["kind"] == "drop-in"
        and info["unit"]
        and now["user"]
        and not by_user
    )


def what_to_do(member: Member, now: Received, settings: Settings) -> ReceivedStep:
    """What has to be done, and the files.

    Args:
        now: what the host has.
    """
    if not is_needed(member, now, settings):
        left = gone(member, now)
        return {"step": "absent", **left} if left["gone"] else {"step": "none"}
    wanted, where = texts(member, now), paths(member)
    why = [path for path, text in sorted(wanted.items()) if now["files"].get(path) != text]
    why += [] if now["enabled"] else ["start"]
    if not why:
        return {"step": "none"}
    files: list[ReceivedFile] = [{"path": path, "text": text} for path, text in wanted.items()]
    command = ["runuser", "-u", now["user"], "--", now["python"], where["program"]]
    return {
        "step": "present",
        "why": why,
        "unit": received_place.unit(member.port),
        "files": files[:-1],
        "option": files[-1],
        "check": [*command, where["settings"], "--check"],
    }


def gone(member: Member, now: Received) -> ReceivedGone:
    """The files that go: first the one that keeps the threads from starting."""
    where = paths(member)
    link = received_place.enabled_link(member.port, member.facts["unit"])
    order = ["service", "settings", *([] if now["shared"] else ["program"])]
    files = [where["option"], link, *(where[name] for name in order)]
    there = {*now["files"], *([link] if now["enabled"] else [])}
    made = [path for path in files if path in there]
    # systemd made it for the service.
    folder = os.path.dirname(received_outcome.outcome_path(member.port))
    return {"gone": [*made, folder] if made else []}
