# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: semisync_health
type: aggregate
short_description: Name hosts that were not reached or judged, before the last line of each cluster
version_added: "1.0.0"
description:
  - A run ends with what M(dbre.semisync.semisync_verdict) decided about each cluster, with or
    without this callback.
  - This callback names, before that, hosts that could not be reached, and failures of a run without
    any verdict.
requirements:
  - C(callbacks_enabled = dbre.semisync.semisync_health) in ansible.cfg, or
    ANSIBLE_CALLBACKS_ENABLED in the environment.
"""

from typing import Any

from ansible.plugins.callback import CallbackBase
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import closing

# roles/common/tasks/lost.yml: another host of the cluster failed, which is said there.
ECHO = "_semisync_lost | length == 0"
ACTIONS = ("semisync_verdict", "dbre.semisync.semisync_verdict")


class CallbackModule(CallbackBase):
    """One line per cluster, last of all."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "dbre.semisync.semisync_health"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.clusters: dict[str, tuple[str, str]] = {}
        self.unreachable: list[str] = []
        self.failed: list[tuple[str, str]] = []

    def keep(self, result: Any) -> bool:
        """Remember a verdict; False for a result that is none."""
        values = result._result
        if result._task.action not in ACTIONS:
            return False
        if "health" not in values:
            return False
        self.clusters[values["cluster"]] = (values["health"], values.get("verdict", "see above"))
        return True

    def v2_runner_on_ok(self, result: Any) -> None:
        self.keep(result)

    def v2_runner_on_failed(
        self,
        result: Any,
        ignore_errors: bool = False,
    ) -> None:
        # A refusal of a cluster is another host's to say.
        said = self.keep(result) or "refused_with" in result._result
        said = said or result._result.get("assertion") == ECHO
        if not said and not ignore_errors:
            words = str(result._result.get("msg", "failed"))
            self.failed.append((result._host.get_name(), words))

    def v2_runner_on_unreachable(self, result: Any) -> None:
        # A task that was delegated did not reach the host that it was delegated to.
        delegate = result._task_fields.get("delegate_to")
        host = delegate or result._host.get_name()
        self.unreachable.append(host)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        # What the run ends with by itself is said once.
        last = {one["cluster"] for one in closing.waiting()}
        for name, (health, verdict) in sorted(self.clusters.items()):
            if name in last:
                continue
            word = health if health == "healthy" else health.upper()
            self._display.display(f"semi-sync: cluster {name}: {word}: {verdict}")
        if self.unreachable:
            hosts = ", ".join(sorted(set(self.unreachable)))
            self._display.display(f"semi-sync: UNREACHABLE: {hosts}")
        for host, words in self.failed:
            line = " ".join(words.split())
            self._display.display(f"semi-sync: no verdict: {host}: {line}")
