# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import time
from typing import Any, ClassVar

from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import closing, cluster, results
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.cluster_action import (
    ClusterAction,
    Result,
    other_speaks,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import problems
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import ranking

display = Display()


class ActionModule(ClusterAction):
    """Ranks the replicas of a cluster; see plugins/modules/semisync_candidate.py for its
    documentation.
    """

    SPEC: ClassVar = {
        "info_from": {"type": "str", "required": True},
        "needed": {"type": "int", "default": 1},
        "results_dir": {"type": "path", "default": "results"},
    }

    def answer(self, arguments: Any, task_vars: Any) -> Result:
        name, members = cluster.members(task_vars, arguments["info_from"])
        if not cluster.speaks(task_vars, members, self._task):
            return other_speaks()
        unclear = cluster.inventory_problems(
            task_vars, arguments["info_from"], name, members
        ) or problems.source_problems(members)
        folder = results.cluster_folder(arguments["results_dir"], name)
        last = results.read_json(os.path.join(folder, results.STATE), None)
        now = time.time()
        doubtful = list(ranking.may_lack(members, last, now))
        ranked = ranking.rank(members, arguments["needed"], doubtful)
        ranked["statement"] += ranking.past(members, last, now)
        display.display(
            "\n".join(
                [f"Candidates of cluster {name}, the best first"]
                + ["  " + words for words in [*unclear, *ranked["statement"]]]
            )
        )
        result = {**ranked, "cluster": name, "changed": False}
        best = next(iter(ranked["statement"]), "")
        if not ranked["candidates"]:
            why = ranking.why_none(ranked)
            result.update(failed=True, msg=f"Cluster {name!r}: {why}")
            best = best or why
        closing.leave(name, "candidate", [f"candidate: {best}", *unclear[:3]])
        return result
