# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import base64
import json
import time
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.module_utils._seed.marker import marker_path
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import amount
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.progress import seed_line

MODULE = "dbre.semisync.semisync_seed"
STATUS = "ansible.builtin.async_status"
# What async_status adds to the module's own result.
STATUS_KEYS = ("ansible_job_id", "finished", "started", "results_file", "_ansible_parsed")
POLL_SECONDS = 2
display = Display()


class ActionModule(ActionBase):
    """Runs part take as a separate job on the host and shows its progress; runs the other parts
    unchanged.
    """

    TRANSFERS_FILES = True
    _supports_async = True

    def run(
        self,
        tmp: Any = None,
        task_vars: Any = None,
    ) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        asked_for_async = bool(self._task.async_val)
        if self._task.args.get("part") != "take" or self._task.check_mode:
            result.update(
                self._execute_module(MODULE, task_vars=task_vars, wrap_async=asked_for_async)
            )
            return result
        if asked_for_async:
            raise AnsibleActionFail("part take is a job of its own already: leave async out")
        result.update(self.take(task_vars))
        return result

    def take(self, task_vars: dict[str, Any]) -> dict[str, Any]:
        """The module's own result, or why its job could not be started."""
        host = task_vars["inventory_hostname"]
        self._task.async_val = int(self._task.args.get("timeout") or 86400)
        try:
            job = self._execute_module(MODULE, task_vars=task_vars, wrap_async=True)
        finally:
            self._task.async_val = 0
        if job.get("failed") or "ansible_job_id" not in job:
            return job
        result = self.follow(job["ansible_job_id"], host, task_vars)
        if not result.get("failed") and "bytes" in result:
            display.display(
                f"  seed {host}: done, {amount(result['bytes'])} in {result['seconds']:.0f} s"
            )
        return result

    def follow(
        self,
        job: str,
        host: str,
        task_vars: dict[str, Any],
    ) -> dict[str, Any]:
        """The module's own result, once its job has ended."""
        began, shown = time.monotonic(), 0.0
        path = marker_path(task_vars["__semisync_info"]["variables"]["port"])
        while True:
            time.sleep(POLL_SECONDS)
            status = self.job_status({"jid": job}, task_vars)
            if status.get("finished") or status.get("failed"):
                break
            if time.monotonic() - shown > int(self._task.args.get("progress_seconds") or 5):
                shown = time.monotonic()
                self.show(path, host, shown - began, task_vars)
        self.job_status({"jid": job, "mode": "cleanup"}, task_vars)
        return {key: value for key, value in status.items() if key not in STATUS_KEYS}

    def job_status(
        self,
        options: dict[str, Any],
        task_vars: dict[str, Any],
    ) -> dict[str, Any]:
        """Call async_status, with its mode, for our job."""
        folder = self.get_shell_option("async_dir", default="~/.ansible_async")
        return self._execute_module(STATUS, dict(options, _async_dir=folder), task_vars=task_vars)

    def show(
        self,
        path: str,
        host: str,
        seconds: float,
        task_vars: dict[str, Any],
    ) -> None:
        """Show a line of progress, if the job has recorded any."""
        text = self._execute_module(
            "ansible.builtin.slurp", {"src": path}, task_vars=task_vars
        ).get("content")
        try:
            marker = json.loads(base64.b64decode(text or ""))
        except ValueError:
            return
        display.display(seed_line(host, marker, int(seconds)))
