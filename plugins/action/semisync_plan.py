# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any, ClassVar

from ansible_collections.dbre.semisync.plugins.plugin_utils._common import cluster
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.cluster_action import (
    ClusterAction,
    Result,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.plan_goals import GOALS, OF_RUN


class ActionModule(ClusterAction):
    """Compares a cluster with the inventory; see plugins/modules/semisync_plan.py for its
    documentation.
    """

    SPEC: ClassVar = {
        "goal": {"type": "str", "choices": list(GOALS), "default": "apply"},
        "info_from": {"type": "str"},
        "hold_back": {"type": "bool", "default": True},
        "alone": {"type": "bool", "default": False},
        "ask_back": {"type": "bool", "default": True},
    }

    def answer(self, arguments: Any, task_vars: Any) -> Result:
        info_from, goal = arguments["info_from"], arguments["goal"]
        if not info_from and goal not in OF_RUN:
            cluster.judge_inputs(task_vars, arguments["ask_back"])
            return {}
        variables = cluster.TaskVariables(task_vars, self._templar)
        return GOALS[goal](variables, info_from, arguments)
