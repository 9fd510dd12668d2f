# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of failover.yml on the dead source's host, where that can be reached: its server starts
read-only, however it is started, until rejoin.yml has brought it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    HoldPlan,
    OpenedPlan,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import (
    current_source,
    quarantined_hosts,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import switchover_plan
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.context import (
    NotMeantError,
    RunContext,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Info

# The units that its server may have, if that is not known.
UNITS = ("mysql", "mariadb", "mysqld")


def units_of(own: settings.Settings, info: Info) -> list[str]:
    """The possible names of a server's unit, by a member that was read; the likeliest first."""
    return list(dict.fromkeys(filter(None, [own["service"], info.get("unit"), *UNITS])))


def hold(run: RunContext) -> HoldPlan | OpenedPlan:
    """The plan that makes this host's server start read-only, if it is quarantined in the journal
    and does not run. The new source's plan removes that again.

    Raises:
        NotMeantError: it is not quarantined, or its server runs.
    """
    run.take_every_member()
    left, away = quarantined_hosts.apart(run.members)
    mine = next((member for member in left if member.host == run.host), None)
    if mine is not None and current_source.takes_writes(mine):
        # It may once have been a dead source.
        return OpenedPlan(opened=True, option_file=switchover_plan.option_file(mine))
    if run.host not in [one.member.host for one in away]:
        raise NotMeantError("it is not held")
    read = [member.info for member in left if member.info is not None]
    # The first look at a replica that has no part in the failover has not where its program is.
    known = next((info for info in read if "program" in info), read[0] if read else None)
    if run.info_of(run.host).get("reason") != "stopped" or known is None:
        raise NotMeantError(
            "nothing is written on a host whose server runs, or that is unreachable"
        )
    return HoldPlan(
        opened=False,
        units=units_of(run.own, known),
        program=known.get("program") or "",
        option_file=run.own["option_file"],
    )
