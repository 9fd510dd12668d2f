# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import secrets
from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import cluster, refusal, results
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.verdict_store import ResultStore

MODULE = "dbre.semisync.semisync_spend"
REMEDY = (
    "Nothing was changed: another controller would still trust what it saw last. Bring a replica"
    " back that acknowledges; if writers must continue before that, docs/night-frozen-writers.md"
    " says how"
)
LEFT_OPEN = "Looks at it prove nothing until site.yml is run again, which closes that change"
LATER = (
    "The change is made all the same. Run verify.yml from every controller that may have to fail"
    " over"
)
display = Display()


class ActionModule(ActionBase):
    """Marks the look that this controller keeps, then runs the module; see
    plugins/modules/semisync_spend.py.
    """

    TRANSFERS_FILES = False

    def run(
        self,
        tmp: Any = None,
        task_vars: Any = None,
    ) -> Any:
        result = super().run(tmp, task_vars)
        arguments, host = self._task.args, task_vars["inventory_hostname"]
        try:
            name, _members = cluster.members(task_vars, arguments["info_from"])
        except refusal.HeldError as error:
            return dict(result, skipped=True, skip_reason=str(error))
        base = arguments.get("results_dir", "results")
        shelf = ResultStore(base, name, None, results.now(), self._task.check_mode)
        done = boolean(arguments.get("done", False))
        path = None if done else shelf.spend(arguments["reason"])
        more = {"host": host, "token": secrets.token_hex(8)}
        result.update(self._execute_module(MODULE, {**arguments, **more}, task_vars=task_vars))
        result["path"] = path
        if result.get("problem"):
            words = f"{host}: {result['problem']}"
            if result.get("keeps"):
                result.update(refusal.refused(f"{words}. {REMEDY}", host))
            else:
                display.warning(f"{words}. {LEFT_OPEN if done else LATER}")
        return result
