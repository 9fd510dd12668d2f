# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster
from ansible_collections.dbre.semisync.plugins.plugin_utils.plan_goals import GOALS, OF_RUN


class ActionModule(ActionBase):
    """Compares a cluster with the inventory; see plugins/modules/semisync_plan.py for its
    documentation.
    """

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(
        self,
        tmp: Any = None,
        task_vars: Any = None,
    ) -> Any:
        result = super().run(tmp, task_vars)
        _dummy, arguments = self.validate_argument_spec(
            argument_spec={
                "goal": {"type": "str", "choices": list(GOALS), "default": "apply"},
                "info_from": {"type": "str"},
                "hold_back": {"type": "bool", "default": True},
                "alone": {"type": "bool", "default": False},
            }
        )
        info_from, make = arguments["info_from"], GOALS[arguments["goal"]]
        try:
            if not info_from and arguments["goal"] not in OF_RUN:
                cluster.judge_inputs(task_vars)
            else:
                variables = cluster.TaskVariables(task_vars, self._templar)
                result.update(make(variables, info_from, arguments))
        except cluster.RefusedError as error:
            result.update(cluster.refused(str(error), task_vars["inventory_hostname"]))
        return result
