# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables in which the roles register what the steps of a role change returned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.part_results import (
    PartResult,
    Reached,
    Salvaged,
    Stopped,
    SwitchoverLook,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.records import (
    FailoverPlanned,
    JudgeResult,
    SwitchoverRun,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.rejoin_shapes import (
    NewSourceLook,
    Ready,
    RejoinJudged,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import FormerLook

Result = TypeVar("Result", bound=Mapping[str, object])


class Registered(Generic[Result]):
    """The variable in which the roles register what a step returned on a host.

    Args:
        name: of the variable.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def of(self, variables: Mapping[str, object]) -> Result:
        """Its value in a host's variables; empty before the step, or if the host has no part."""
        return cast(Result, variables.get(self.name) or {})


SWITCHOVER_LOOK: Registered[SwitchoverLook] = Registered("__semisync_switchover_look")
SWITCHOVER_PLAN: Registered[SwitchoverRun] = Registered("__semisync_switchover")
SWITCHOVER_PART: Registered[PartResult] = Registered("__semisync_switchover_part")
FAILOVER_REACH: Registered[Reached] = Registered("__semisync_failover_reach")
FAILOVER_PLAN: Registered[FailoverPlanned] = Registered("__semisync_failover_plan")
FAILOVER_FREEZE: Registered[Stopped] = Registered("__semisync_failover_frozen")
FAILOVER_SALVAGE: Registered[Salvaged] = Registered("__semisync_failover_salvage")
FAILOVER_JUDGE: Registered[JudgeResult] = Registered("__semisync_failover")
FAILOVER_PART: Registered[PartResult] = Registered("__semisync_failover_part")
REJOIN_LOOK: Registered[FormerLook] = Registered("__semisync_rejoin_look")
# The same step on the new source.
REJOIN_SOURCE_LOOK: Registered[NewSourceLook] = Registered("__semisync_rejoin_look")
REJOIN_JUDGE: Registered[RejoinJudged] = Registered("__semisync_rejoin")
REJOIN_READY: Registered[Ready] = Registered("__semisync_rejoin_ready")
