# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A step of a role change as an Ansible action: it makes the context, runs the step, and turns a
refusal, or a host without a part, into a task result.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from ansible_collections.dbre.semisync.plugins.plugin_utils._common import (
    cluster,
    durability_mode,
    refusal,
    settings,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.unreachable import Reaching
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    failover,
    first_look,
    rejoin,
    switchover,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.context import (
    FAILOVER,
    REJOIN,
    SWITCHOVER,
    NotMeantError,
    RunContext,
    TaskVars,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.registered import (
    FAILOVER_PLAN,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.task_options import (
    CONTROLLERS,
    READERS,
    STEP_OPTIONS,
)

# What is read is at least as new as the first moment and no newer than the second.
DATED = ("look", "freeze")
# Steps that only read a host: a module of their own does that, which carries less.
LOOKS = ("look", "reach")
# For how many seconds a failover waits for a connection to the host that it expects to be dead.
# All others, slow or not, are waited for as long as in any other run, and so is that host if it is
# read a second time because a replica had a sign of life from it.
PATIENCE = 2


def do(run: RunContext) -> dict[str, object]:
    """Do a step on its host; what it returned.

    Raises:
        NotMeantError: the host has no part in it.
        RefusedError: something is in the way.
    """
    if run.options.operation == FAILOVER:
        return failover.STEPS[run.step](failover.Failover(run))
    if run.options.operation == REJOIN:
        return rejoin.STEPS[run.step](rejoin.Rejoin(run))
    return switchover.STEPS[run.step](switchover.Switchover(run))


def expected_dead(run: RunContext) -> bool:
    """Whether a step queries a host that the run expects to be unreachable, for the first time."""
    if (run.options.operation, run.step) != (FAILOVER, "look"):
        return False
    again = run.result_of(FAILOVER_PLAN).get("unsure")
    return not again and run.host in first_look.expected_sources(run)


def arguments_of(module: str, given: Mapping[str, object]) -> dict[str, object]:
    """What a module gets of a task's options and of what is added to them."""
    takes = READERS.get(module, STEP_OPTIONS)
    return {
        name: value
        for name, value in given.items()
        if name not in CONTROLLERS and (name in takes or name not in STEP_OPTIONS)
    }


class RoleChange(Reaching):
    """An action of a module that has the steps of a role change.

    Attributes:
        MODULE: the module's name.
        LOOK_MODULE: of the one that only reads a host; the same one if it is empty.
        OPERATION: switchover, unless the task says failover; or rejoin.
    """

    TRANSFERS_FILES = False
    MODULE = ""
    LOOK_MODULE = ""
    OPERATION = SWITCHOVER

    def run(
        self,
        tmp: str | None = None,
        task_vars: TaskVars | None = None,
    ) -> dict[str, object]:
        result: dict[str, object] = super().run(tmp, task_vars)
        variables: TaskVars = task_vars or {}
        operation = self._task.args.get("operation") or self.OPERATION
        not_meant = rejoin.NOT_MEANT if operation == REJOIN else switchover.NOT_MEANT
        try:
            own = self.wanted(variables)

            def on_host(
                plan: Mapping[str, object], module: str = "", **more: str
            ) -> dict[str, object]:
                return self.on_host(plan, variables, module, **more)

            context = RunContext(self._task, operation, variables, own, on_host)
            if expected_dead(context):
                self.expect_within(PATIENCE)
            result.update(do(context))
        except (NotMeantError, refusal.HeldError) as error:
            result.update(skipped=True, skip_reason=str(error), **not_meant)
        except refusal.RefusedError as error:
            result.update(refusal.refused(str(error), variables["inventory_hostname"]))
            # A refusal still reports what was stored before it.
            result.update(getattr(error, "kept", {}))
        return result

    def wanted(self, task_vars: TaskVars) -> settings.Settings:
        """This host's settings.

        Raises:
            RefusedError: one cannot work.
        """
        own, wrong = durability_mode.promised_settings(
            cluster.TaskVariables(task_vars, self._templar)
        )
        if wrong:
            raise refusal.RefusedError(f"Nothing was changed. {'; '.join(wrong)}")
        return own

    def on_host(
        self,
        plan: Mapping[str, object],
        task_vars: TaskVars,
        module: str = "",
        **more: str,
    ) -> dict[str, object]:
        """The module's result; the step's if no other is named."""
        only_looks = self._task.args["step"] in LOOKS
        name = module or (self.LOOK_MODULE if only_looks else "") or self.MODULE
        arguments = arguments_of(name, {**self._task.args, "plan": dict(plan), **more})
        asked = time.time()
        result: dict[str, object] = self._execute_module(name, arguments, task_vars=task_vars)
        if self._task.args["step"] in DATED and self.OPERATION == SWITCHOVER:
            result.update(asked_at=asked, answered_at=time.time())
        return result
