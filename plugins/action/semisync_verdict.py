# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import os

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.module_utils import checkpoints, findings, history, plan, problems
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster, results

display = Display()


class ActionModule(ActionBase):
    """Decides the checkpoints and findings of a cluster; see plugins/modules/semisync_verdict.py for its documentation."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        result = super(ActionModule, self).run(tmp, task_vars)
        dummy, arguments = self.validate_argument_spec(argument_spec=dict(
            info_from=dict(type="str", required=True),
            written_from=dict(type="str"),
            arrived_from=dict(type="str"),
            lag_limit=dict(type="int", default=60),
            promise=dict(type="dict", options=dict(
                timeout=dict(type="int"),
                wait_point=dict(type="str"),
                wait_for_replica_count=dict(type="int"),
                wait_no_replica=dict(type="bool"),
            )),
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
        moment = results.now()
        rows = checkpoints.evaluate(members, canary, arrivals, results.observations(folder))
        for row in rows:
            row["at"] = results.stamp(moment)
        # What is wanted is the source's to say; another host speaks only where the source could not be read.
        mine = task_vars["inventory_hostname"] == plan.source_of(members).host
        kept, noticed = self.look_back(folder, members, moment, arguments["lag_limit"], arguments["promise"] if mine else None)
        display.display(checkpoints.table(rows, name))
        display.display(findings.table(noticed, name))
        path = None
        if not self._task.check_mode:
            try:
                run = results.open_run(folder, moment, arguments["run"])
            except ValueError as error:
                raise AnsibleActionFail(str(error))
            results.keep_rows(run, rows)
            results.write_json(os.path.join(run, results.FINDINGS), noticed)
            if kept:
                results.write_json(os.path.join(folder, results.STATE), kept)
            path = os.path.join(run, results.CHECKPOINTS)
            display.display("  %s" % path)
        result.update(checkpoints=rows, findings=noticed, path=path, cluster=name,
                      verdict=cluster.verdict(rows, noticed))
        if checkpoints.failed(rows) or findings.critical(noticed):
            result.update(failed=True, msg="Cluster %s: %s" % (name, result["verdict"]))
        return result

    def look_back(self, folder, members, moment, lag_limit, promise):
        """(what is kept of the source for the next run or None, the findings)."""
        at = results.stamp(moment)
        saved = results.read_json(os.path.join(folder, results.STATE), None)
        source = plan.source_of(members)
        kept, past, since = None, None, None
        if source.info is not None:
            kept, since = history.snapshot(source.info, at), history.degraded_since(saved, source.info, at)
            past = history.compare(saved, kept)
        if kept:
            kept["degraded_since"] = since
        # A server's clock was read after it was asked for, and before now.
        ahead = dict((member.host, (member.info["clock"] - moment.timestamp(), member.info["clock_ahead"]))
                     for member in members if member.info is not None and member.info.get("clock_ahead") is not None)
        return kept, findings.evaluate(members, past, since, lag_limit, ahead, promise)
