# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

from ansible import constants
from ansible.plugins.action import ActionBase
from ansible_collections.dbre.semisync.plugins.module_utils._host.unit import TIMER_PREFIX
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.lifeline import LEASE, Lifeline


class ActionModule(ActionBase):
    """Calls the module of its name, and gives the host signs of life while its unit is stopped;
    documented in plugins/modules/semisync_unit.py.
    """

    TRANSFERS_FILES = False

    def run(
        self,
        tmp: Any = None,
        task_vars: Any = None,
    ) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _dummy, arguments = self.validate_argument_spec(
            argument_spec={
                "unit": {"type": "str"},
                "state": {"type": "str", "choices": ["stopped", "started", "rescued"]},
                "after": {"type": "int", "default": 130},
            }
        )
        arguments = {key: value for key, value in arguments.items() if value is not None}
        state = arguments.get("state")
        host = self._task.delegate_to or task_vars["inventory_hostname"]
        lifeline = Lifeline(constants.DEFAULT_LOCAL_TMP, host, [TIMER_PREFIX])
        # A timer still runs LEASE seconds after the last sign: together no longer than was asked
        # for.
        longest = arguments["after"] - LEASE
        stops = state == "stopped" and longest > 0 and not self._task.check_mode
        # Before the unit is stopped, because the stop itself may take long.
        if stops and lifeline.hold(self, longest):
            arguments["after"] = LEASE
        try:
            result.update(self._execute_module(module_args=arguments, task_vars=task_vars))
        finally:
            if state in ("started", "rescued"):
                # If that failed, the host tries by itself when its timer expires.
                lifeline.release()
        return result
