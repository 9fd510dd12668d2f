# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import canary_row, cluster
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.canary_row import Options
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.unreachable import Reaching

MODULE = "dbre.semisync.semisync_canary"
INFO = "dbre.semisync.semisync_info"
# The options of the action alone.
OWN = ("watched_from", "bring_back")


class ActionModule(Reaching):
    """Runs the module; for a whole cluster it makes the token, and leaves the row to the source.
    See plugins/modules/semisync_canary.py for its documentation.
    """

    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> Any:
        result = super().run(tmp, task_vars)
        args = self._task.args
        given = {name: one for name, one in args.items() if name not in OWN}
        watched_from = str(args.get("watched_from") or "")
        watches = given.get("mode") == "watch"
        for_cluster = watches and not given.get("token")
        why_not = ""
        if watched_from or for_cluster:
            why_not = cluster.left_out(task_vars)
        if watched_from and not why_not:
            why_not = canary_row.why_not(task_vars, watched_from)
        if why_not:
            return dict(result, skipped=True, skip_reason=why_not)
        if watched_from:
            known = task_vars[watched_from].get("token")
            given["token"] = known or canary_row.new_token()
        elif for_cluster:
            given["token"] = canary_row.common_token(self._task._uuid)
        if boolean(args.get("bring_back", False)):
            self.bring_back(given, task_vars)
        made = self._execute_module(MODULE, given, task_vars=task_vars)
        result.update(made)
        result["token"] = given.get("token")
        return result

    def bring_back(self, row: Options, task_vars: Any) -> None:
        """Have a source that fell back wait for its replicas again. What fails here shows in the
        row that counts.
        """
        first, wait = canary_row.way_back(row)
        self._execute_module(MODULE, first, task_vars=task_vars)
        self._execute_module(INFO, wait, task_vars=task_vars)
