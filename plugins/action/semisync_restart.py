# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.plugin_utils._common import (
    cluster,
    durability_mode,
    refusal,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.cluster_action import (
    ClusterAction,
    Result,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.context import RunContext
from ansible_collections.dbre.semisync.plugins.plugin_utils._rolling.restart_steps import (
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


class ActionModule(ClusterAction):
    """Plans the restart of a cluster's servers and keeps how far it is; see
    plugins/modules/semisync_restart.py for its documentation.
    """

    SPEC, NOT_MEANT = SPEC, NOT_MEANT

    def answer(self, arguments: Any, task_vars: Any) -> Result:
        own, wrong = durability_mode.promised_settings(
            cluster.TaskVariables(task_vars, self._templar)
        )
        if wrong:
            host = task_vars["inventory_hostname"]
            raise refusal.RefusedError(f"Nothing was changed. {host}: {'; '.join(wrong)}")
        return STEPS[arguments["step"]](RunContext(self._task, OPERATION, task_vars, own))
