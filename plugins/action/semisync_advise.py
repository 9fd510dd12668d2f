# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
from typing import Any, ClassVar

from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.module_utils._server import login
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import advice
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import (
    closing,
    cluster,
    refusal,
    results,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.cluster_action import (
    ClusterAction,
    Result,
    other_speaks,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import problems

MODULE = "dbre.semisync.semisync_advise"
# A run ends with at most so many lines of this verdict.
LINES = 5
display = Display()


class ActionModule(ClusterAction):
    """Watches a source and predicts; see plugins/modules/semisync_advise.py for its
    documentation.
    """

    TRANSFERS_FILES = True
    _requires_connection = True
    SPEC: ClassVar = login.argument_spec(
        info_from={"type": "str", "required": True},
        seconds={"type": "float", "default": 10},
        results_dir={"type": "path", "default": "results"},
    )

    def answer(self, arguments: Any, task_vars: Any) -> Result:
        name, members = cluster.members(task_vars, arguments["info_from"])
        unclear = problems.source_problems(members) or [
            member.error for member in members if member.side == "source" and member.error
        ]
        refusal.refuse(task_vars, name, members, unclear)
        source = source_of(members)
        if source.host != task_vars["inventory_hostname"]:
            return other_speaks()
        replicas = replicas_of(members)
        # As they were given: a path of the host is not the controller's.
        options = dict(self._task.args)
        options["peers"] = [member.address for member in replicas]
        seen = self._execute_module(MODULE, options, task_vars=task_vars)
        if seen.get("failed"):
            return seen
        sample = seen["sample"]
        known = advice.advise(
            name,
            source.host,
            results.stamp(results.now()),
            sample,
            advice.known_cluster(source, replicas, sample["trips"]),
        )
        self.tell(name, known)
        kept = self.keep(arguments["results_dir"], name, known)
        return {**seen, "advice": known, **kept}

    def tell(self, name: str, known: advice.Advice) -> None:
        """Show the advice, and have the run end with most of it."""
        words = known["statement"]
        title = f"Advice for cluster {name}"
        shown = [title, *words, *known["unknown"]]
        display.display("\n  ".join(shown))
        last = words[: LINES - 1]
        # The last line is the one about the timeout.
        if len(words) >= LINES:
            last.append(words[-1])
        closing.leave(name, "advice", last)

    def keep(self, results_dir: str, name: str, known: advice.Advice) -> dict[str, str]:
        """Write advice.json, and say where."""
        if self._task.check_mode:
            return {}
        folder = results.cluster_folder(results_dir, name)
        run = results.open_run(folder, results.now())
        path = os.path.join(run, advice.FILE)
        results.write_json(path, known)
        return {"path": path, "run": os.path.basename(run)}
