# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a role change by name, and the code that runs one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils.role_change import watchdog
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.failover_replica import (
    FailoverReplica,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.failover_target import (
    FailoverTarget,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.participant import (
    Participant,
    try_again,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.plan import (
    REPLICA,
    SOURCE,
    SWITCH,
    TARGET,
    FailoverPlan,
    SwitchoverPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.replica_part import (
    ReplicaPart,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.source_part import (
    SourcePart,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.target_part import (
    TargetPart,
)

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

SWITCHOVER_PARTS: Mapping[str, type[SourcePart] | type[TargetPart] | type[ReplicaPart]] = {
    SOURCE: SourcePart,
    TARGET: TargetPart,
    REPLICA: ReplicaPart,
}
FAILOVER_PARTS: Mapping[str, type[FailoverTarget] | type[FailoverReplica]] = {
    TARGET: FailoverTarget,
    REPLICA: FailoverReplica,
}
# Seconds until a server that was killed with the part answers again.
RESTART = 60


def participant_of(
    module: AnsibleModule,
    plan: SwitchoverPlan | FailoverPlan,
    dog: watchdog.Watchdog | None = None,
) -> Participant:
    """This host's part.

    Raises:
        ServerError: its server does not answer.
    """
    if isinstance(plan, FailoverPlan):
        return FAILOVER_PARTS[plan.part](module, plan, dog)
    return SWITCHOVER_PARTS[plan.part](module, plan, dog)


def run_part(module: AnsibleModule, plan: SwitchoverPlan | FailoverPlan) -> dict[str, object]:
    """Run this host's part; return the result."""
    if module.check_mode:
        return {"changed": True, "outcome": "", "reason": "", "statements": []}
    dog = None
    if plan.mode == SWITCH:
        # It may take long to apply what was received.
        more = plan.catch_up if isinstance(plan, FailoverPlan) else 0
        longest = watchdog.seconds(plan.timeout) + more

        def recover(stage: str) -> dict[str, object]:
            return try_again(RESTART, lambda: participant_of(module, plan)).recover(stage)

        # Before there is any connection.
        dog = watchdog.Watchdog(recover, longest)
    try:
        return participant_of(module, plan, dog).run()
    finally:
        if dog:
            dog.end()
