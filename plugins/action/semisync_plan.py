# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster, settings
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import (
    apply,
    gtid,
    problems,
    removal,
)

display = Display()


class ActionModule(ActionBase):
    """Compares a cluster with what is wanted; see plugins/modules/semisync_plan.py for its
    documentation.
    """

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> Any:
        result = super().run(tmp, task_vars)
        _dummy, arguments = self.validate_argument_spec(
            argument_spec={
                "goal": {
                    "type": "str",
                    "choices": ["apply", "remove", "gtid", "sides"],
                    "default": "apply",
                },
                "info_from": {"type": "str"},
                "hold_back": {"type": "bool", "default": True},
            }
        )
        info_from, goal = arguments["info_from"], arguments["goal"]
        try:
            if not info_from:
                cluster.judge_inputs(task_vars)
            elif goal == "apply":
                result.update(self.apply(task_vars, info_from, arguments["hold_back"]))
            elif goal == "remove":
                result.update(self.remove(task_vars, info_from))
            elif goal == "sides":
                result.update(self.sides(task_vars, info_from))
            else:
                name, members, mine = cluster.judged(task_vars, info_from, gtid.problems)
                result.update(gtid.make(mine, members), cluster=name)
        except cluster.RefusedError as error:
            result.update(cluster.refused(str(error), task_vars["inventory_hostname"]))
        return result

    def apply(self, task_vars: Any, info_from: str, hold_back: bool) -> dict[str, Any]:
        """What has to be done for semi-synchronous replication."""
        own, wrong = settings.read(cluster.TaskVariables(task_vars, self._templar))
        name, members = cluster.members(task_vars, info_from, own=own)
        me = task_vars["inventory_hostname"]
        cluster.refuse(
            task_vars,
            name,
            members,
            [f"{me}: {words}" for words in wrong]
            or problems.of_inventory(name, members)
            or problems.of_reading(members)
            or problems.of_sides(members)
            or problems.of_cluster(members, own),
        )
        mine = cluster.of_host(task_vars, members)
        return dict(apply.make(mine, members, own, hold_back), cluster=name)

    def sides(self, task_vars: Any, info_from: str) -> dict[str, Any]:
        """Who is what; contradictions are said, and refuse nothing."""
        name, members = cluster.members(task_vars, info_from)
        mine = cluster.of_host(task_vars, members)
        wrong = problems.of_inventory(name, members) or problems.of_sides(members)
        return {"cluster": name, "side": mine.side, "problems": wrong}

    def remove(self, task_vars: Any, info_from: str) -> dict[str, Any]:
        """What has to be undone, with a warning of what stays."""
        name, members, mine = cluster.judged(task_vars, info_from, removal.problems)
        remains = removal.remains(mine)
        for words in remains:
            display.warning(words)
        return dict(removal.make(mine, members), remains=remains, cluster=name)
