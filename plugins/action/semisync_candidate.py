# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import time
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.plugin_utils import closing, cluster, results
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import problems
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change import ranking

display = Display()


class ActionModule(ActionBase):
    """Ranks the replicas of a cluster; see plugins/modules/semisync_candidate.py for its
    documentation.
    """

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(
        self,
        tmp: Any = None,
        task_vars: Any = None,
    ) -> Any:
        result = super().run(tmp, task_vars)
        _dummy, arguments = self.validate_argument_spec(
            argument_spec={
                "info_from": {"type": "str", "required": True},
                "needed": {"type": "int", "default": 1},
                "results_dir": {"type": "path", "default": "results"},
            }
        )
        try:
            name, members = cluster.members(task_vars, arguments["info_from"])
        except cluster.HeldError as error:
            return dict(result, skipped=True, skip_reason=str(error))
        if not cluster.speaks(task_vars, members, self._task):
            result.update(skipped=True, skip_reason="another host of the cluster speaks for it")
            return result
        unclear = cluster.inventory_problems(
            task_vars, arguments["info_from"], name, members
        ) or problems.source_problems(members)
        folder = results.cluster_folder(arguments["results_dir"], name)
        last, now = results.read_json(os.path.join(folder, results.STATE), None), time.time()
        doubtful = list(ranking.may_lack(members, last, now))
        ranked = ranking.rank(members, arguments["needed"], doubtful)
        ranked["statement"] += ranking.past(members, last, now)
        display.display(
            "\n".join(
                [f"Candidates of cluster {name}, the best first"]
                + ["  " + words for words in [*unclear, *ranked["statement"]]]
            )
        )
        best = ranked["statement"][0] if ranked["statement"] else ranking.why_none(ranked)
        lines = [f"semi-sync: cluster {name}: candidate: {best}"]
        closing.leave(name, "candidate", [*lines, *(f"  {words}" for words in unclear[:3])])
        result.update(ranked, cluster=name, changed=False)
        if not ranked["candidates"]:
            result.update(failed=True, msg=f"Cluster {name!r}: {ranking.why_none(ranked)}")
        return result
