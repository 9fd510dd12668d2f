# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of failover.yml on the dead source's host, where that can be reached: its server starts
read-only, whoever starts it, until rejoin.yml has brought it back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.shapes import Info
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster, settings
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import held, sides
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change import switchover_plan

# Units that its server may have, where nobody says which.
UNITS = ("mysql", "mariadb", "mysqld")


class NotMeantError(Exception):
    """This host has no part in the step; the text says why."""


def units_of(own: settings.Settings, info: Info) -> list[str]:
    """What the unit of a server may be called, by a member's that was read; the likeliest first."""
    return list(dict.fromkeys(filter(None, [own["service"], info["unit"], *UNITS])))


def hold(
    arguments: dict[str, Any],
    task_vars: Any,
    own: settings.Settings,
    on_host: Callable[[dict[str, Any]], dict[str, Any]],
) -> dict[str, Any]:
    """Fence this host, where the journal has it as held and its server does not run; the new
    source is fenced no more.

    Raises:
        NotMeantError: it is none that is held, or its server runs.
    """
    name, host = arguments["info_from"], task_vars["inventory_hostname"]
    left, away = held.apart(cluster.known_members(task_vars, name, own=own)[1])
    mine = next((member for member in left if member.host == host), None)
    if mine is not None and sides.takes_writes(mine):
        # It may have been a dead source once.
        return on_host({"opened": True, "option_file": switchover_plan.option_file(mine)})
    if host not in [one.member.host for one in away]:
        raise NotMeantError("it is not held")
    raw = task_vars["hostvars"][host].get(name) or {}
    known = next((member.info for member in left if member.info is not None), None)
    if raw.get("reason") != "stopped" or known is None:
        raise NotMeantError("nothing is written where its server runs, or is not reached")
    return on_host(
        {
            "opened": False,
            "units": units_of(own, known),
            "program": known["program"] or "",
            "option_file": own["option_file"],
        }
    )
