# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import os

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.module_utils import checkpoints, problems
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster, results

display = Display()


class ActionModule(ActionBase):
    """Decides the checkpoints of a cluster; see plugins/modules/semisync_verdict.py for its documentation."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        result = super(ActionModule, self).run(tmp, task_vars)
        dummy, arguments = self.validate_argument_spec(argument_spec=dict(
            info_from=dict(type="str", required=True),
            written_from=dict(type="str"),
            arrived_from=dict(type="str"),
            results_dir=dict(type="path", default="results"),
            run=dict(type="str"),
        ))
        name, members = cluster.members(task_vars, arguments["info_from"], active_only=True)
        found = problems.of_inventory(name, members)
        if found:
            raise AnsibleActionFail("; ".join(found))
        if task_vars["inventory_hostname"] != cluster.speaker(task_vars, members):
            result.update(skipped=True, skip_reason="another host of the cluster speaks for it")
            return result
        folder = results.cluster_folder(arguments["results_dir"], name)
        canary, arrivals = cluster.canary(task_vars, members, arguments["written_from"], arguments["arrived_from"])
        rows = checkpoints.evaluate(members, canary, arrivals, results.observations(folder))
        moment = results.now()
        for row in rows:
            row["at"] = results.stamp(moment)
        display.display(checkpoints.table(rows, name))
        path = None
        if not self._task.check_mode:
            try:
                run = results.open_run(folder, moment, arguments["run"])
            except ValueError as error:
                raise AnsibleActionFail(str(error))
            results.keep_rows(run, rows)
            path = os.path.join(run, results.CHECKPOINTS)
            display.display("  %s" % path)
        result.update(checkpoints=rows, path=path, verdict=checkpoints.verdict(rows), cluster=name)
        if checkpoints.failed(rows):
            result.update(failed=True, msg="Cluster %s: %s" % (name, result["verdict"]))
        return result
