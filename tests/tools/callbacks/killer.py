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
  - Or behind the first task that a host ran and that a file does not have yet, which gets it. So
    runs with the same file are each ended at another task, even if the next has other tasks.
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
  met:
    description: File of the tasks behind which a run was ended already, one JSON value a line.
    type: path
    env:
      - name: SEMISYNC_MET_FILE
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

# They leave hosts as they are: to be ended behind one is to be ended behind the task before it.
ON_THE_CONTROLLER = (
    "set_fact",
    "assert",
    "debug",
    "fail",
    "validate_argument_spec",
    "include_tasks",
    "include_role",
)


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
        last = self._task
        self._keep()
        if last and (self._number == self.get_option("after") or self._is_new(last)):
            if self.get_option("command"):
                subprocess.run(shlex.split(self.get_option("command")), check=True)
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        self._number += 1
        self._task = {
            "number": self._number,
            "name": task.get_name(),
            "action": task.action.rpartition(".")[2],
            "place": place(task),
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

    def _is_new(self, task):
        """Whether a host ran it, and no run was ended behind it yet; the file has it then."""
        met = self.get_option("met")
        hosts = [host for host in task["ran"] if host != "localhost"]
        if not met or not hosts or task["action"] in ON_THE_CONTROLLER:
            return False
        if os.path.exists(met):
            with open(met) as stream:
                if task["place"] in [json.loads(line)["place"] for line in stream]:
                    return False
        with open(met, "a") as stream:
            stream.write(json.dumps(task) + "\n")
        return True

    def _keep(self):
        if self._task and self.get_option("tasks"):
            with open(self.get_option("tasks"), "a") as stream:
                stream.write(json.dumps(self._task) + "\n")
        self._task = None


def place(task):
    """Where a task stands, and those that include it: it may be run in several places."""
    found = []
    while task is not None:
        path = task.get_path() if hasattr(task, "get_path") else None
        if path and path not in found:
            found.append(path)
        task = getattr(task, "_parent", None)
    return [path.rpartition("/dbre/semisync/")[2] for path in found]
