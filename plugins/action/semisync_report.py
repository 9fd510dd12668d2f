# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import advice
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.advice_chapter import (
    AdviceChapter,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_chapter import (
    BenchmarkChapter,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks import check
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import closing, cluster, results
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.cluster_action import (
    ClusterAction,
    Result,
    other_speaks,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._report import plots
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.chapter import Chapter
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.page import write_page
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.record_shapes import Files

display = Display()

SPEC = {
    "results_dir": {"type": "path", "default": "results"},
    "run": {"type": "str"},
    "info_from": {"type": "str", "default": ""},
}


def chapter_of(files: Files) -> Chapter:
    """What the page shows of the benchmarks' room: a run has predicted or measured."""
    if advice.FILE in files:
        return AdviceChapter(files[advice.FILE])
    return BenchmarkChapter(files)


class ActionModule(ClusterAction):
    """Makes the report of a run; see plugins/modules/semisync_report.py for its documentation."""

    SPEC = SPEC

    def answer(self, arguments: Any, task_vars: Any) -> Result:
        name, members = cluster.members(task_vars, arguments["info_from"])
        host = task_vars["inventory_hostname"]
        is_member = host in [member.host for member in members]
        if is_member and host != cluster.speaker(task_vars, members):
            return other_speaks()
        if self._task.check_mode:
            return {"skipped": True, "skip_reason": "nothing is written in check mode"}
        return self.report(arguments["results_dir"], name, arguments["run"])

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
                chapter_of,
            )
        except ValueError as error:
            raise AnsibleActionFail(f"No report of cluster {name}: {error}") from error
        file = os.path.join(path, results.CHECKPOINTS)
        rows = results.read_json(file, [])
        if rows:
            shown = check.table(rows, name) if display.verbosity else ""
            display.display(shown or check.short_table(rows, name, file))
        closing.leave(name, closing.REPORT, [f"report: {page or summary}"])
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
