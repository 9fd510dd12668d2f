# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import time

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.module_utils import catch_up

MODULE = "dbre.semisync.semisync_catch_up"
display = Display()


class ActionModule(ActionBase):
    """Waits in short calls of the module, and shows after each how much is missing."""

    TRANSFERS_FILES = True

    def run(self, tmp=None, task_vars=None):
        result = super(ActionModule, self).run(tmp, task_vars)
        arguments, host = dict(self._task.args), task_vars["inventory_hostname"]
        timeout, slice_seconds = float(arguments.get("timeout", 3600)), float(arguments.get("progress_seconds", 5))
        begin, first = time.monotonic(), None
        while True:
            left = max(0, timeout - (time.monotonic() - begin))
            found = self._execute_module(MODULE, dict(arguments, timeout=min(left, slice_seconds)), task_vars=task_vars)
            if found.get("failed"):
                break
            seconds = time.monotonic() - begin
            if first is None:
                first = found["missing_at_first"]
            else:
                found.update(missing_at_first=first, seconds=round(seconds, 3))
            if found["caught_up"] or self._task.check_mode:
                break
            if seconds >= timeout:
                if self.required(arguments):
                    found.update(failed=True, msg=catch_up.complaint(host, first, found["missing"], int(seconds),
                                                                     found["seconds_behind"]))
                break
            display.display(catch_up.progress_line(host, first, found["missing"], int(seconds)))
        result.update(found)
        return result

    @staticmethod
    def required(arguments):
        return str(arguments.get("required", True)).lower() in ("true", "yes", "1")
