# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kills the controller after a given task, as a lost terminal or a power cut would, or does
something else in its stead; lists the tasks of a whole run.
"""

from __future__ import annotations

DOCUMENTATION = r"""
name: killer
type: notification
short_description: Kill the controller after its n-th task
description:
  - Counts the tasks of a run. Before the one that follows the given number, the controller sends
    itself SIGKILL, or has a command run and goes on.
  - Writes the tasks that began, each with its time and what came of it, one JSON value a line.
options:
  after:
    description: How many tasks may run; 0 for all.
    type: int
    default: 0
    env:
      - name: SEMISYNC_KILL_AFTER
  command:
    description: What is run in place of the controller's end.
    type: str
    env:
      - name: SEMISYNC_KILL_COMMAND
  tasks:
    description: File for the tasks.
    type: path
    env:
      - name: SEMISYNC_TASKS_FILE
author:
  - dbre.semisync contributors (@dbre-semisync)
"""

import json
import os
import shlex
import signal
import subprocess
import time

from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "killer"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._number = 0
        self._task = None

    def v2_playbook_on_task_start(self, task, is_conditional):
        self._keep()
        if self._number and self._number == self.get_option("after"):
            if self.get_option("command"):
                subprocess.run(shlex.split(self.get_option("command")), check=True)
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        self._number += 1
        self._task = {
            "number": self._number,
            "name": task.get_name(),
            "at": time.time(),
            "ran": [],
            "changed": [],
        }

    def v2_runner_on_ok(self, result):
        assert self._task is not None, "a task has begun before it has a result"
        host = result._host.get_name()
        self._task["ran"].append(host)
        if result._result.get("changed"):
            self._task["changed"].append(host)

    def v2_playbook_on_stats(self, stats):
        self._keep()

    def _keep(self):
        if self._task and self.get_option("tasks"):
            with open(self.get_option("tasks"), "a") as stream:
                stream.write(json.dumps(self._task) + "\n")
        self._task = None
