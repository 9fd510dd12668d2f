# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

from ansible.plugins.action import ActionBase
from ansible_collections.dbre.semisync.plugins.module_utils import checkpoints
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster, results


class ActionModule(ActionBase):
    """Keeps a checkpoint that is seen only once; see plugins/modules/semisync_record.py for its documentation."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        result = super(ActionModule, self).run(tmp, task_vars)
        dummy, arguments = self.validate_argument_spec(argument_spec=dict(
            id=dict(type="str", choices=["P2.1", "P3.5"], required=True),
            observed=dict(type="str", required=True),
            passed=dict(type="bool", required=True),
            info_from=dict(type="str", required=True),
            results_dir=dict(type="path", default="results"),
        ))
        name, dummy = cluster.members(task_vars, arguments["info_from"])
        host = task_vars["inventory_hostname"]
        row = checkpoints.observation(arguments["id"], host, arguments["observed"], arguments["passed"],
                                      task_vars["hostvars"][host][arguments["info_from"]],
                                      results.stamp(results.now()))
        if not self._task.check_mode:
            results.record(results.cluster_folder(arguments["results_dir"], name), [row])
        result.update(checkpoint=row)
        return result
