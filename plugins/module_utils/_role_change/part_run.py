# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a role change by name, and the code that runs one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._replication.journal import (
    REFUSED,
    UNKNOWN,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import watchdog
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import PlanError
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    REPLICA,
    SOURCE,
    SWITCH,
    TARGET,
    FailoverPlan,
    SwitchoverPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import disk_space
from ansible_collections.dbre.semisync.plugins.module_utils._server.attempts import try_again
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.dbre.semisync.plugins.module_utils._role_change.participant import (
        Participant,
    )

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
    return part_class(plan)(module, plan, dog)


def part_class(plan: SwitchoverPlan | FailoverPlan) -> type[Participant]:
    """The class of this host's part. Only its file is imported: a host compiles whatever is, and in
    a failover writers wait for that.

    Raises:
        PlanError: the role change has no such part.
    """
    chosen = failover_class if isinstance(plan, FailoverPlan) else switchover_class
    return chosen(plan.part)


def failover_class(part: str) -> type[Participant]:
    if part == TARGET:
        from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
            failover_target,
        )

        return failover_target.FailoverTarget
    if part == REPLICA:
        from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
            failover_replica,
        )

        return failover_replica.FailoverReplica
    raise PlanError(f"a failover has no part {part!r}")


def switchover_class(part: str) -> type[Participant]:
    if part == SOURCE:
        from ansible_collections.dbre.semisync.plugins.module_utils._role_change import source_part

        return source_part.SourcePart
    if part == TARGET:
        from ansible_collections.dbre.semisync.plugins.module_utils._role_change import target_part

        return target_part.TargetPart
    if part == REPLICA:
        from ansible_collections.dbre.semisync.plugins.module_utils._role_change import replica_part

        return replica_part.ReplicaPart
    raise PlanError(f"a switchover has no part {part!r}")


def run_part(module: AnsibleModule, plan: SwitchoverPlan | FailoverPlan) -> dict[str, object]:
    """Run this host's part; return the result."""
    if module.check_mode:
        return {"changed": True, "outcome": "", "reason": "", "statements": []}
    # The process that guards the part may outlive the files that it would import from.
    part_class(plan)
    dog = None
    if plan.mode == SWITCH:
        # It may take long to apply what was received.
        more = plan.catch_up if isinstance(plan, FailoverPlan) else 0
        longest = watchdog.seconds(plan.timeout) + more

        def recover(stage: str) -> dict[str, object]:
            return try_again(RESTART, lambda: participant_of(module, plan)).recover(stage)

        # Before there is any connection.
        dog = watchdog.Watchdog(recover, longest)
        dog.let_part_explain(module)
    try:
        part = participant_of(module, plan, dog)
    except ServerError as error:
        return nothing_begun(plan, error)
    else:
        return part.run()
    finally:
        if dog:
            dog.end()


def nothing_begun(plan: SwitchoverPlan | FailoverPlan, error: ServerError) -> dict[str, object]:
    """The result of a part whose server cannot be asked."""
    words = disk_space.explained(f"its server cannot be asked: {error}")
    return {
        # What was interrupted may stand as it did, and so may what a failover did before its parts.
        "outcome": REFUSED if isinstance(plan, SwitchoverPlan) and plan.mode == SWITCH else UNKNOWN,
        "reason": words,
        "changed": False,
        "statements": [],
        "timeline": [],
        "points": [],
    }
