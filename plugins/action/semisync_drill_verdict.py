# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster, results
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict import checkpoints, drill

display = Display()
DRILL = "drill.json"


class ActionModule(ActionBase):
    """Decides and keeps P6 and P7; see plugins/modules/semisync_drill_verdict.py for its
    documentation.
    """

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> Any:
        result = super().run(tmp, task_vars)
        _dummy, arguments = self.validate_argument_spec(
            argument_spec={
                "drill": {"type": "dict", "required": True},
                "rows": {"type": "list", "elements": "dict", "default": []},
                "stopped": {"type": "dict", "default": {}},
                "started": {"type": "dict", "default": {}},
                "reason": {"type": "str", "default": ""},
                "results_dir": {"type": "path", "default": "results"},
                "run": {"type": "str"},
            }
        )
        name = str(task_vars.get("semisync_cluster", cluster.DEFAULT))
        moment = results.now()
        judged = drill.judge(
            arguments["drill"],
            arguments["rows"],
            arguments["stopped"],
            arguments["started"],
            arguments["reason"],
        )
        for row in judged["checkpoints"]:
            row["at"] = results.stamp(moment)
        try:
            run = results.open_run(
                results.cluster_folder(arguments["results_dir"], name), moment, arguments["run"]
            )
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from error
        path = os.path.join(run, DRILL)
        before = results.read_json(path, {}).get("drills", [])
        drills = [known for known in before if known["replica"] != judged["replica"]] + [judged]
        results.write_json(path, {"cluster": name, "at": results.stamp(moment), "drills": drills})
        results.keep_rows(run, drill.merge(drills))
        display.display(checkpoints.table(judged["checkpoints"], name))
        display.display(f"  {drill.summary(judged)}\n  {path}")
        result.update(result=judged, path=path, cluster=name)
        if judged["outcome"] != "passed":
            result.update(
                failed=True,
                msg=f"Cluster {name}: drill of {judged['replica']} failed: {judged['reason']}",
            )
        return result
