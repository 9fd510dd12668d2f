# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import os

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.module_utils import checkpoints
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster, plots, report, results

display = Display()


class ActionModule(ActionBase):
    """Makes the report of a run; see plugins/modules/semisync_report.py for its documentation."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        result = super(ActionModule, self).run(tmp, task_vars)
        dummy, arguments = self.validate_argument_spec(argument_spec=dict(
            results_dir=dict(type="path", default="results"),
            run=dict(type="str"),
        ))
        name, members = cluster.members(task_vars, "")
        host = task_vars["inventory_hostname"]
        if host in [one.host for one in members] and host != cluster.speaker(task_vars, members):
            result.update(skipped=True, skip_reason="another host of the cluster speaks for it")
            return result
        if self._task.check_mode:
            result.update(skipped=True, skip_reason="nothing is written in check mode")
            return result
        folder = results.cluster_folder(arguments["results_dir"], name)
        try:
            path = results.find_run(folder, arguments["run"])
            summary, page, verdict = report.write(path, name, results.stamp(results.now()))
        except ValueError as error:
            raise AnsibleActionFail("No report of cluster %s: %s" % (name, error))
        rows = results.read_json(os.path.join(path, results.CHECKPOINTS), [])
        if rows:
            display.display(checkpoints.table(rows, name))
        lines = ["Report of cluster %s: %s" % (name, verdict), "  %s" % (page or summary)]
        if page is None:
            lines.append("  For report.html with its pictures, on the controller: %s" % plots.INSTALL)
        display.display("\n".join(lines))
        result.update(path=page, summary=summary, verdict=verdict, cluster=name, folder=os.path.dirname(summary),
                      missing=None if page else plots.INSTALL)
        return result
