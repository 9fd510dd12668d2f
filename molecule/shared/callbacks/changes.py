# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps which tasks changed which host, so that a test can compare what --check announced with what
then happened.
"""

from __future__ import annotations

DOCUMENTATION = r"""
name: changes
type: notification
short_description: Keep which tasks changed which host
description:
  - Writes C(check.json) after a run of C(converge.yml) in check mode, and C(run-1.json),
    C(run-2.json), … after real ones.
  - Each holds a list of host, action and name of the tasks that reported a change.
options:
  folder:
    description: Where the files go; without it nothing is kept.
    type: path
    env:
      - name: SEMISYNC_CHANGES_DIR
author:
  - dbre.semisync contributors (@dbre-semisync)
"""

import json
import os

from ansible import context
from ansible.plugins.callback import CallbackBase

PLAYBOOK = "converge.yml"


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "changes"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._playbook = None
        self._changes = []

    def v2_playbook_on_start(self, playbook):
        self._playbook = os.path.basename(playbook._file_name)

    def v2_runner_on_ok(self, result):
        if result._result.get("changed"):
            self._changes.append(
                [result._host.get_name(), result._task.action, result._task.get_name()]
            )

    def v2_playbook_on_stats(self, stats):
        folder = self.get_option("folder")
        if not folder or self._playbook != PLAYBOOK:
            return
        if not os.path.isdir(folder):
            os.makedirs(folder)
        if context.CLIARGS["check"]:
            name = "check.json"
        else:
            earlier = [entry for entry in os.listdir(folder) if entry.startswith("run-")]
            name = f"run-{1 + len(earlier)}.json"
        with open(os.path.join(folder, name), "w") as stream:
            json.dump(sorted(self._changes), stream, indent=1)
