# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A former source starts read-only, however it is started: an option file says so, from when a
failover took its role until it is a replica, whose own option file keeps writers out.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._binlog import log_access
from ansible_collections.dbre.semisync.plugins.module_utils._host import (
    option_files,
    server_options,
)
from ansible_collections.dbre.semisync.plugins.module_utils._host.files import text_if_any
from ansible_collections.dbre.semisync.plugins.module_utils._rejoin import offline_server
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import read_only_dropin
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import OptionFile
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    HoldPlan,
    RejoinPlan,
)

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

WORDS = (
    "# Written by dbre.semisync: this server was the source, and lets no writers in until"
    " rejoin.yml has\n# brought it back as a replica, which removes this file."
)
HELD = (
    "# Written by dbre.semisync: a failover took the source's role from this server, which lets no"
    " writers in\n# until rejoin.yml has brought it back as a replica, and removes this file."
)


# Where SET PERSIST stores variables.
PERSISTED = "mysqld-auto.cnf"


class ReadyError(Exception):
    """The server was not made ready; the text says why, and in which state it was left."""


def write_option_file(plan: RejoinPlan, more: Sequence[str]) -> str:
    """Write the option file, with more lines; return its path.

    Raises:
        OSError: it cannot be written.
        ReadyError: its place is not known.
    """
    place = option_file_of(plan)
    return read_only_dropin.put(
        place.path,
        place.kind,
        place.group,
        WORDS,
        more,
    )


def option_file_of(plan: RejoinPlan) -> OptionFile:
    """The option file that gets its lines.

    Raises:
        ReadyError: that is not known.
    """
    if plan.option_file is None:
        raise ReadyError("it is not known where its option lines are. Nothing was done")
    return plan.option_file


def persisted_of(text: str) -> dict[str, str]:
    """The variables that SET PERSIST stored: name -> value.

    Args:
        text: of that file, whose sections differ between versions (MySQL manual, 7.1.9.3).
    """
    kept: dict[str, str] = {}

    def visit(part: object) -> None:
        for name, one in part.items() if isinstance(part, dict) else ():
            if isinstance(one, dict) and "Value" in one:
                kept[name] = str(one["Value"])
            visit(one)

    with contextlib.suppress(ValueError):
        visit(json.loads(text))
    return kept


def opens(module: AnsibleModule, option_file: OptionFile, datadir: str) -> str:
    """Why a server that does not run would take writes from its start on although the option file
    is there, and what to do; empty if it would not.
    """
    wrong = read_only_dropin.overridden(module, option_file)
    path = os.path.join(datadir, PERSISTED)
    if wrong or option_files.is_on(persisted_of(text_if_any(path)).get("read_only", "ON")):
        return wrong
    return (
        f"it may start writable: {path} has read_only = OFF, of SET PERSIST, which overrides every"
        " option file. Remove that entry while the server is stopped"
    )


def hold(module: AnsibleModule, plan: HoldPlan) -> dict[str, object]:
    """Write it for a source whose server does not run."""
    try:
        there = offline_server.find(module, plan.units, plan.program)
        if log_access.running(there.files()):
            module.fail_json(msg="its server is running by now: nothing is written there")
        ours = server_options.read_options(module, there.server, plan.option_file or None)
        if module.check_mode:
            return {"changed": True, "fence": ""}
        path = read_only_dropin.put(
            ours["path"],
            ours["kind"],
            ours["group"],
            HELD,
        )
        place = OptionFile(
            ours["path"],
            ours["kind"],
            ours["group"],
            ours["reader"],
            command_line=ours["command_line"],
        )
        wrong = opens(module, place, there.datadir)
        if wrong:
            module.fail_json(msg=wrong)
    except (offline_server.PlaceError, log_access.SalvageError, OSError) as error:
        module.fail_json(msg=f"its next start is not read-only: {error}")
    return {"changed": True, "fence": path}


def remove_option_file(module: AnsibleModule, option_file: OptionFile) -> dict[str, object]:
    """Remove the option file on the source, which takes writes."""
    place = (option_file.path, option_file.kind, option_file.group)
    taken = not module.check_mode and read_only_dropin.take_away(*place)
    return {"changed": taken}
