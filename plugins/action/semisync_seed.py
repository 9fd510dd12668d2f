# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import base64
import json
import time

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.module_utils import seed, seed_marker

MODULE = "dbre.semisync.semisync_seed"
POLL_SECONDS = 2
display = Display()


class ActionModule(ActionBase):
    """Runs the module as a job of its own on the host, and shows how far it is."""

    TRANSFERS_FILES = True
    _supports_async = False

    def run(self, tmp=None, task_vars=None):
        result = super(ActionModule, self).run(tmp, task_vars)
        arguments, host = self._task.args, task_vars["inventory_hostname"]
        if self._task.check_mode:
            result.update(self._execute_module(MODULE, task_vars=task_vars))
            return result
        self._task.async_val = int(arguments.get("timeout") or 86400)
        try:
            job = self._execute_module(MODULE, task_vars=task_vars, wrap_async=True)
        finally:
            self._task.async_val = 0
        if job.get("failed") or "ansible_job_id" not in job:
            result.update(job)
            return result
        result.update(self.follow(job["ansible_job_id"], host, arguments, task_vars))
        if not result.get("failed") and "bytes" in result:
            display.display("  seed %s: done, %s in %.0f s" % (host, seed.amount(result["bytes"]), result["seconds"]))
        return result

    def follow(self, job, host, arguments, task_vars):
        """The module's own result, once it has ended."""
        began, shown = time.monotonic(), 0
        path = seed_marker.path(task_vars["__semisync_info"]["variables"]["port"])
        while True:
            time.sleep(POLL_SECONDS)
            status = self._execute_module("ansible.builtin.async_status", {"jid": job, "_async_dir": self.folder()},
                                          task_vars=task_vars)
            if status.get("finished") or status.get("failed"):
                break
            if time.monotonic() - shown > int(arguments.get("progress_seconds") or 5):
                shown = time.monotonic()
                self.show(path, host, shown - began, task_vars)
        self._execute_module("ansible.builtin.async_status", {"jid": job, "mode": "cleanup", "_async_dir": self.folder()},
                             task_vars=task_vars)
        for name in ("ansible_job_id", "finished", "started", "results_file", "_ansible_parsed"):
            status.pop(name, None)
        return status

    def folder(self):
        return self.get_shell_option("async_dir", default="~/.ansible_async")

    def show(self, path, host, seconds, task_vars):
        text = self._execute_module("ansible.builtin.slurp", {"src": path}, task_vars=task_vars).get("content")
        try:
            marker = json.loads(base64.b64decode(text or ""))
        except ValueError:
            return
        display.display(seed.progress_line(host, marker, int(seconds)))
