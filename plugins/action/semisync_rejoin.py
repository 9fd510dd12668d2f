# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster, promise
from ansible_collections.dbre.semisync.plugins.plugin_utils.reach import Reaching
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change import dead_source, rejoin

MODULE = "dbre.semisync.semisync_rejoin"
# What only the controller needs.
OURS = ("info_from", "looks_from", "plan_from", "ready_from", "again", "results_dir", "run")


class ActionModule(Reaching):
    """The steps of a rejoin; see plugins/modules/semisync_rejoin.py."""

    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> Any:
        result = super().run(tmp, task_vars)
        step = None
        try:
            own, wrong = promise.read(cluster.TaskVariables(task_vars, self._templar))
            if wrong:
                raise cluster.RefusedError(f"Nothing was changed. {'; '.join(wrong)}")
            arguments = self._task.args

            def on_host(plan: dict[str, Any]) -> dict[str, Any]:
                return self.on_host(plan, task_vars)

            if arguments["step"] == "hold":
                result.update(dead_source.hold(arguments, task_vars, own, on_host))
            else:
                step = rejoin.Rejoin(arguments, task_vars, own, on_host, self._task)
                result.update(step.go())
        except dead_source.NotMeantError as error:
            result.update(skipped=True, skip_reason=str(error), go=False, way="none", host="")
        except cluster.RefusedError as error:
            result.update(cluster.refused(str(error), task_vars["inventory_hostname"]))
            if step and step.record:
                # It was kept, and is reported.
                result.update(record=step.record)
        return result

    def on_host(self, plan: dict[str, Any], task_vars: Any) -> dict[str, Any]:
        """The module's result."""
        arguments = {name: value for name, value in self._task.args.items() if name not in OURS}
        # An option of its own, which is in no log.
        hidden = {name: plan.pop(name) for name in ("tail",) if name in plan}
        result: dict[str, Any] = self._execute_module(
            MODULE, dict(arguments, plan=plan, **hidden), task_vars=task_vars
        )
        return result
