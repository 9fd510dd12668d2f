# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import time
from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.progress import (
    catch_up_line,
    time_is_up_message,
)

MODULE = "dbre.semisync.semisync_catch_up"
display = Display()


class ActionModule(ActionBase):
    """Waits in short calls of the module, and shows after each how much is missing."""

    TRANSFERS_FILES = True

    def run(
        self,
        tmp: Any = None,
        task_vars: Any = None,
    ) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        arguments, host = dict(self._task.args), task_vars["inventory_hostname"]
        target = f"{arguments.get('file')}:{arguments.get('position')}"
        timeout = float(arguments.get("timeout", 3600))
        pause = float(arguments.get("progress_seconds", 5))
        begin, first = time.monotonic(), None
        while True:
            left = max(0, timeout - (time.monotonic() - begin))
            seen = self._execute_module(
                MODULE, dict(arguments, timeout=min(left, pause)), task_vars=task_vars
            )
            if seen.get("failed"):
                break
            seconds = time.monotonic() - begin
            if first is None:
                first = seen
            else:
                seen.update(missing_at_first=first["missing_at_first"], seconds=round(seconds, 3))
            if seen["caught_up"] or self._task.check_mode:
                break
            progress = (host, seen, first["missing_at_first"], target, seconds)
            if seconds >= timeout:
                if boolean(arguments.get("required", True)):
                    seen.update(failed=True, msg=time_is_up_message(*progress))
                break
            display.display(catch_up_line(*progress))
        result.update(seen)
        return result
