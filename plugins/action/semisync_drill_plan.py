# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster, settings
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import drill, problems


class ActionModule(ActionBase):
    """Decides whether a drill may run, and plans it; see plugins/modules/semisync_drill_plan.py for
    its documentation.
    """

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> Any:
        result = super().run(tmp, task_vars)
        _dummy, arguments = self.validate_argument_spec(
            argument_spec={"info_from": {"type": "str", "required": True}}
        )
        own, wrong = settings.read(cluster.TaskVariables(task_vars, self._templar))
        name, members = cluster.members(task_vars, arguments["info_from"], active_only=True)
        units = {
            member.host: task_vars["hostvars"][member.host].get("semisync_service")
            for member in members
        }
        wrong = wrong or problems.of_inventory(name, members) or drill.refusals(members, own, units)
        if wrong:
            text = f"Nothing was stopped. Cluster {name!r}: {'; '.join(wrong)}"
            result.update(cluster.refused(text, task_vars["inventory_hostname"]))
            return result
        result.update(
            drills=drill.make(members, own, units), cluster=name, source=source_of(members).host
        )
        return result
