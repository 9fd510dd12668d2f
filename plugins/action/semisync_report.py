# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.plugin_utils import closing, cluster, results
from ansible_collections.dbre.semisync.plugins.plugin_utils.bench.benchmark_chapter import (
    BenchmarkChapter,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.checks import check
from ansible_collections.dbre.semisync.plugins.plugin_utils.report import plots
from ansible_collections.dbre.semisync.plugins.plugin_utils.report.page import write_page

display = Display()

SPEC = {
    "results_dir": {"type": "path", "default": "results"},
    "run": {"type": "str"},
    "info_from": {"type": "str", "default": ""},
}


class ActionModule(ActionBase):
    """Makes the report of a run; see plugins/modules/semisync_report.py for its documentation."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(
        self,
        tmp: Any = None,
        task_vars: Any = None,
    ) -> Any:
        result = super().run(tmp, task_vars)
        _dummy, arguments = self.validate_argument_spec(argument_spec=SPEC)
        try:
            name, members = cluster.members(task_vars, arguments["info_from"])
        except cluster.HeldError as error:
            return dict(result, skipped=True, skip_reason=str(error))
        host = task_vars["inventory_hostname"]
        if host in [member.host for member in members] and host != cluster.speaker(
            task_vars, members
        ):
            result.update(skipped=True, skip_reason="another host of the cluster speaks for it")
            return result
        if self._task.check_mode:
            result.update(skipped=True, skip_reason="nothing is written in check mode")
            return result
        result.update(self.report(arguments["results_dir"], name, arguments["run"]))
        return result

    def report(
        self,
        results_dir: str,
        name: str,
        run: str | None,
    ) -> dict[str, object]:
        """Write and show the report of a cluster's run.

        Raises:
            AnsibleActionFail: there is no such run, or it is empty.
        """
        folder = results.cluster_folder(results_dir, name)
        try:
            path = results.find_run(folder, run)
            summary, page, verdict = write_page(
                path,
                name,
                results.stamp(results.now()),
                BenchmarkChapter,
            )
        except ValueError as error:
            raise AnsibleActionFail(f"No report of cluster {name}: {error}") from error
        rows = results.read_json(os.path.join(path, results.CHECKPOINTS), [])
        file = os.path.join(path, results.CHECKPOINTS)
        if rows:
            shown = check.table(rows, name) if display.verbosity else ""
            display.display(shown or check.short_table(rows, name, file))
        closing.leave(
            name, closing.REPORT, [f"semi-sync: cluster {name}: report: {page or summary}"]
        )
        lines = [f"Report of cluster {name}: {verdict}", f"  {page or summary}"]
        if page is None:
            lines.append(f"  For report.html with its pictures, on the controller: {plots.INSTALL}")
        display.display("\n".join(lines))
        return {
            "path": page,
            "summary": summary,
            "verdict": verdict,
            "cluster": name,
            "folder": os.path.dirname(summary),
            "missing": None if page else plots.INSTALL,
        }
