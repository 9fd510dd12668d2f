# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster, durability_mode
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change.context import RunContext
from ansible_collections.dbre.semisync.plugins.plugin_utils.rolling.restart_steps import (
    NOT_MEANT,
    STEPS,
)

SPEC = {
    "step": {"type": "str", "choices": list(STEPS), "required": True},
    "info_from": {"type": "str", "required": True},
    "working": {"type": "str"},
    "moving": {"type": "str"},
    "upgrades": {"type": "bool", "default": False},
    "hooked": {"type": "bool", "default": False},
    "results_dir": {"type": "path", "default": "results"},
    "run": {"type": "str"},
}
OPERATION = "restart"


class ActionModule(ActionBase):
    """Plans the restart of a cluster's servers and keeps how far it is; see
    plugins/modules/semisync_restart.py for its documentation.
    """

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(
        self,
        tmp: Any = None,
        task_vars: Any = None,
    ) -> Any:
        result = super().run(tmp, task_vars)
        _dummy, arguments = self.validate_argument_spec(argument_spec=SPEC)
        host = task_vars["inventory_hostname"]
        try:
            own, wrong = durability_mode.promised_settings(
                cluster.TaskVariables(task_vars, self._templar)
            )
            if wrong:
                raise cluster.RefusedError(f"Nothing was changed. {host}: {'; '.join(wrong)}")
            context = RunContext(self._task, OPERATION, task_vars, own)
            result.update(STEPS[arguments["step"]](context))
            if arguments["step"] == "done" and result.get("changed"):
                what = "upgraded" if arguments["upgrades"] else "restarted"
                context.end_with(OPERATION, [f"every server of this run is {what}"], "verify")
        except cluster.HeldError as error:
            result.update(skipped=True, skip_reason=str(error), **NOT_MEANT)
        except cluster.RefusedError as error:
            result.update(cluster.refused(str(error), host))
        return result
