# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of failover.yml on the dead source's host, where that can be reached: its server starts
read-only, however it is started, until rejoin.yml has brought it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils.role_change.plan import (
    HoldPlan,
    OpenedPlan,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils import settings
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import (
    current_source,
    quarantined_hosts,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change import switchover_plan
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change.context import (
    NotMeantError,
    RunContext,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.types.shapes import Info

# Units that its server may have, if it is not said which.
UNITS = ("mysql", "mariadb", "mysqld")


def units_of(own: settings.Settings, info: Info) -> list[str]:
    """What the unit of a server may be called, by a member's that was read; the likeliest first."""
    return list(dict.fromkeys(filter(None, [own["service"], info["unit"], *UNITS])))


def hold(run: RunContext) -> HoldPlan | OpenedPlan:
    """What lets this host's server start read-only, if the journal has it as held and it does not
    run; the new source is no longer kept so.

    Raises:
        NotMeantError: it is none that is held, or its server runs.
    """
    run.take_every_member()
    left, away = quarantined_hosts.apart(run.members)
    mine = next((member for member in left if member.host == run.host), None)
    if mine is not None and current_source.takes_writes(mine):
        # It may have been a dead source once.
        return OpenedPlan(opened=True, option_file=switchover_plan.option_file(mine))
    if run.host not in [one.member.host for one in away]:
        raise NotMeantError("it is not held")
    known = next((member.info for member in left if member.info is not None), None)
    if run.info_of(run.host).get("reason") != "stopped" or known is None:
        raise NotMeantError("nothing is written where its server runs, or is not reached")
    return HoldPlan(
        opened=False,
        units=units_of(run.own, known),
        program=known["program"] or "",
        option_file=run.own["option_file"],
    )
