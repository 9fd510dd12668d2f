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
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster, drill, results

display = Display()
DRILL = "drill.json"


class ActionModule(ActionBase):
    """Decides and keeps P6 and P7; see plugins/modules/semisync_drill_verdict.py for its documentation."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        result = super(ActionModule, self).run(tmp, task_vars)
        dummy, arguments = self.validate_argument_spec(argument_spec=dict(
            drill=dict(type="dict", required=True),
            rows=dict(type="list", elements="dict", default=[]),
            stopped=dict(type="dict", default={}),
            started=dict(type="dict", default={}),
            reason=dict(type="str", default=""),
            results_dir=dict(type="path", default="results"),
            run=dict(type="str"),
        ))
        name = str(task_vars.get("semisync_cluster", cluster.DEFAULT))
        moment = results.now()
        found = drill.judge(arguments["drill"], arguments["rows"], arguments["stopped"], arguments["started"],
                            arguments["reason"])
        for row in found["checkpoints"]:
            row["at"] = results.stamp(moment)
        try:
            run = results.open_run(results.cluster_folder(arguments["results_dir"], name), moment, arguments["run"])
        except ValueError as error:
            raise AnsibleActionFail(str(error))
        path = os.path.join(run, DRILL)
        before = results.read_json(path, {}).get("drills", [])
        drills = [one for one in before if one["replica"] != found["replica"]] + [found]
        results.write_json(path, {"cluster": name, "at": results.stamp(moment), "drills": drills})
        results.keep_rows(run, drill.merge(drills))
        display.display(checkpoints.table(found["checkpoints"], name))
        display.display("  %s\n  %s" % (drill.summary(found), path))
        result.update(result=found, path=path, cluster=name)
        if found["outcome"] != "passed":
            result.update(failed=True, msg="Cluster %s: drill of %s failed: %s" % (name, found["replica"], found["reason"]))
        return result
