# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.plugin_utils import (
    cluster,
    results,
    settings,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import Member, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import problems
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans.option_lines import COMPARED
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict import (
    checkpoints,
    findings,
    history,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.words import HEALTHY

display = Display()


class ActionModule(ActionBase):
    """Decides the checkpoints and findings of a cluster; see plugins/modules/semisync_verdict.py
    for its documentation.
    """

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> Any:
        result = super().run(tmp, task_vars)
        _dummy, arguments = self.validate_argument_spec(
            argument_spec={
                "info_from": {"type": "str", "required": True},
                "written_from": {"type": "str"},
                "lag_limit": {"type": "int", "default": 60},
                "observation": {
                    "type": "dict",
                    "options": {
                        "id": {"type": "str", "choices": ["P2.1", "P3.5"], "required": True},
                        "observed": {"type": "str", "required": True},
                        "passed": {"type": "bool", "required": True},
                    },
                },
                "results_dir": {"type": "path", "default": "results"},
                "run": {"type": "str"},
            }
        )
        name, members = cluster.members(task_vars, arguments["info_from"], active_only=True)
        if arguments["observation"]:
            result.update(checkpoint=self.observe(arguments, name, members, task_vars))
            return result
        wrong = problems.of_inventory(name, members)
        if wrong:
            result.update(cluster.refused("; ".join(wrong), task_vars["inventory_hostname"]))
            return result
        if task_vars["inventory_hostname"] != cluster.speaker(task_vars, members):
            result.update(skipped=True, skip_reason="another host of the cluster speaks for it")
            return result
        folder = results.cluster_folder(arguments["results_dir"], name)
        canary, arrivals = cluster.canary(
            task_vars, members, arguments["written_from"], arguments["info_from"]
        )
        moment = results.now()
        rows = checkpoints.evaluate(members, canary, arrivals, results.observations(folder))
        for row in rows:
            row["at"] = results.stamp(moment)
        # What is wanted is the source's to say; another host speaks only where the source could not
        # be read.
        mine = task_vars["inventory_hostname"] == source_of(members).host
        wanted = self.wanted(task_vars) if mine else None
        snapshot, entries = self.look_back(folder, members, moment, arguments["lag_limit"], wanted)
        display.display(checkpoints.table(rows, name))
        display.display(findings.table(entries, name))
        path = None
        if not self._task.check_mode:
            try:
                run = results.open_run(folder, moment, arguments["run"])
            except ValueError as error:
                raise AnsibleActionFail(str(error)) from error
            results.keep_rows(run, rows)
            results.write_json(os.path.join(run, results.FINDINGS), entries)
            if snapshot:
                results.write_json(os.path.join(folder, results.STATE), snapshot)
            path = os.path.join(run, results.CHECKPOINTS)
            display.display(f"  {path}")
        result.update(
            checkpoints=rows,
            findings=entries,
            path=path,
            cluster=name,
            verdict=cluster.verdict(rows, entries),
            health=cluster.health(rows, entries),
        )
        if result["health"] != HEALTHY:
            result.update(failed=True, msg=f"Cluster {name}: {result['verdict']}")
        return result

    def observe(
        self, arguments: dict[str, Any], name: str, members: list[Member], task_vars: Any
    ) -> dict[str, Any]:
        """Keep what can be seen only once in a cluster's life, for every later run."""
        seen, member = arguments["observation"], cluster.of_host(task_vars, members)
        if member.info is None:
            raise AnsibleActionFail(f"{member.host}: {member.error}")
        row = checkpoints.observation(
            seen["id"],
            member.host,
            seen["observed"],
            seen["passed"],
            member.info,
            results.stamp(results.now()),
        )
        if not self._task.check_mode:
            results.record(results.cluster_folder(arguments["results_dir"], name), [row])
        return row

    def wanted(self, task_vars: Any) -> settings.Settings:
        """What this host's variables want of semi-sync on a source, as far as they are set."""
        rows = [settings.KEYS[key] for key in COMPARED.values()]
        values, wrong = settings.read(cluster.TaskVariables(task_vars, self._templar), rows)
        if wrong:
            raise AnsibleActionFail("; ".join(wrong))
        return values

    def look_back(
        self,
        folder: str,
        members: list[Member],
        moment: Any,
        lag_limit: int,
        wanted: settings.Settings | None,
    ) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
        """(what is kept of the source for the next run or None, the findings of this one)."""
        at = results.stamp(moment)
        saved = results.read_json(os.path.join(folder, results.STATE), None)
        source = source_of(members)
        snapshot, past, since = None, None, None
        if source.info is not None:
            snapshot = history.snapshot(source.info, at)
            since = history.degraded_since(saved, source.info, at)
            past = history.compare(saved, snapshot)
        if snapshot:
            snapshot["degraded_since"] = since
        # A server's clock was read after it was asked for, and before now.
        ahead = {
            member.host: (member.info["clock"] - moment.timestamp(), member.info["clock_ahead"])
            for member in members
            if member.info is not None and member.info.get("clock_ahead") is not None
        }
        return snapshot, findings.evaluate(members, past, since, lag_limit, ahead, wanted)
