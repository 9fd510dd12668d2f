# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

from ansible.plugins.action import ActionBase
from ansible_collections.dbre.semisync.plugins.module_utils import plan, problems, seed
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster, inputs


class ActionModule(ActionBase):
    """Compares a cluster with what is wanted; see plugins/modules/semisync_plan.py for its documentation."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        result = super(ActionModule, self).run(tmp, task_vars)
        dummy, arguments = self.validate_argument_spec(argument_spec=dict(
            info_from=dict(type="str", required=True),
            settings=dict(type="dict", required=True),
            stage=dict(type="str", choices=["replication", "full"], default="full"),
            hold_back=dict(type="bool", default=True),
            apply=dict(type="str", choices=["restart", "online"], default="restart"),
        ))
        name, members = cluster.members(task_vars, arguments["info_from"])
        settings = arguments["settings"]
        me = task_vars["inventory_hostname"]
        found = (inputs.of_host(task_vars["hostvars"][me], inputs.public_variables())
                 or problems.of_inventory(name, members) or problems.of_settings(settings)
                 or problems.of_reading(members) or problems.of_cluster(members, settings, arguments["stage"]))
        cluster.refuse(task_vars, name, members, found)
        mine = next(member for member in members if member.host == me)
        result.update(plan.make(mine, members, settings, arguments["stage"], arguments["apply"],
                                arguments["hold_back"]), cluster=name, seed=seed.step(mine, members, settings),
                      seed_leftover=seed.leftover(mine))
        result["changes"] = result["changes"] or result["seed_leftover"]
        return result
