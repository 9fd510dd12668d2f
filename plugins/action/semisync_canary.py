# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import problems
from ansible_collections.dbre.semisync.plugins.plugin_utils.unreachable import Reaching

MODULE = "dbre.semisync.semisync_canary"
INFO = "dbre.semisync.semisync_info"
# The module's own options; all others are those of a login.
OWN = (
    "mode",
    "token",
    "rows",
    "schema",
    "table",
    "keep",
    "only_followed",
    "timeout",
)
# Those of the action alone.
ACTIONS_OWN = ("watched_from", "bring_back")
NOT_THE_SOURCE = "the source writes the row"
USUAL_WAIT = 15

# The options of a module, or its result.
Options = Mapping[str, object]


class ActionModule(Reaching):
    """Runs the module; for a whole cluster it makes the token, and leaves the row to the source.
    See plugins/modules/semisync_canary.py for its documentation.
    """

    TRANSFERS_FILES = False

    def run(
        self,
        tmp: Any = None,
        task_vars: Any = None,
    ) -> Any:
        result = super().run(tmp, task_vars)
        given = {name: one for name, one in self._task.args.items() if name not in ACTIONS_OWN}
        watched_from = self._task.args.get("watched_from")
        for_cluster = given.get("mode") == "watch" and not given.get("token")
        part = cluster.left_out(task_vars) if watched_from or for_cluster else ""
        if part:
            return dict(result, skipped=True, skip_reason=part)
        if watched_from:
            result.update(self.write(given, str(watched_from), task_vars))
            return result
        if for_cluster:
            given["token"] = self.common_token()
        result.update(self._execute_module(MODULE, given, task_vars=task_vars))
        result["token"] = given.get("token")
        return result

    def common_token(self) -> str:
        """A token that all hosts of this task have in common."""
        mine = secrets.token_hex(8)
        return cluster.said_by(f"canary of {self._task._uuid}", mine) or mine

    def write(
        self,
        given: Options,
        watched_from: str,
        task_vars: Any,
    ) -> Options:
        """The row, if this host is the source by what all of them said; skipped if it is not."""
        try:
            name, members = cluster.members(task_vars, watched_from)
        except cluster.HeldError as error:
            return {"skipped": True, "skip_reason": str(error)}
        unclear = cluster.inventory_problems(task_vars, watched_from, name, members)
        unclear = unclear or problems.source_problems(members)
        mine = cluster.of_host(task_vars, members)
        if unclear or mine.side != "source":
            return {"skipped": True, "skip_reason": "; ".join(unclear) or NOT_THE_SOURCE}
        known = task_vars[watched_from].get("token")
        row = {**given, "token": known or secrets.token_hex(8)}
        if boolean(self._task.args.get("bring_back", False)):
            self.bring_back(row, task_vars)
        written: Options = self._execute_module(MODULE, row, task_vars=task_vars)
        return written

    def bring_back(
        self,
        row: Options,
        task_vars: Any,
    ) -> None:
        """Have a source that fell back wait for its replicas again, which it does after the next
        acknowledged row. What fails here shows in the row that counts.
        """
        login = {name: one for name, one in row.items() if name not in OWN}
        first = {**row, "token": f"{row['token']} back"}
        wait = {
            "wait_for": {"source_status": True},
            "wait_timeout": int(float(str(row.get("timeout", USUAL_WAIT)))),
        }
        self._execute_module(MODULE, first, task_vars=task_vars)
        self._execute_module(INFO, {**login, **wait}, task_vars=task_vars)
