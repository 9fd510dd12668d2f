# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
name: semisync_health
type: aggregate
short_description: Close a run with a line a cluster that says whether it is healthy, and why not
version_added: "0.1.0"
description:
  - Prints, behind Ansible's recap, what M(dbre.semisync.semisync_verdict) decided about each cluster.
  - A host that could not be reached, and a run without any verdict, are named as well.
requirements:
  - C(callbacks_enabled = dbre.semisync.semisync_health) in ansible.cfg, or ANSIBLE_CALLBACKS_ENABLED in the environment.
"""

from ansible.plugins.callback import CallbackBase

ACTIONS = ("semisync_verdict", "dbre.semisync.semisync_verdict")


class CallbackModule(CallbackBase):
    """One line a cluster, last of all."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "dbre.semisync.semisync_health"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args, **kwargs):
        super(CallbackModule, self).__init__(*args, **kwargs)
        self.clusters, self.unreachable, self.failed = {}, [], []

    def keep(self, result, healthy):
        """Remember a verdict; False for a result that is none."""
        found = result._result
        if result._task.action not in ACTIONS or "verdict" not in found:
            return False
        self.clusters[found["cluster"]] = (healthy, found["verdict"])
        return True

    def v2_runner_on_ok(self, result):
        self.keep(result, True)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        if not self.keep(result, False) and not ignore_errors:
            self.failed.append((result._host.get_name(), str(result._result.get("msg", "failed"))))

    def v2_runner_on_unreachable(self, result):
        # A task that was delegated did not reach the host that it was delegated to.
        self.unreachable.append(result._task_fields.get("delegate_to") or result._host.get_name())

    def v2_playbook_on_stats(self, stats):
        for name, (healthy, verdict) in sorted(self.clusters.items()):
            self._display.display("semi-sync: cluster %s: %s: %s" % (name, "healthy" if healthy else "UNHEALTHY", verdict))
        if self.unreachable:
            self._display.display("semi-sync: UNREACHABLE: %s" % ", ".join(sorted(set(self.unreachable))))
        for host, words in self.failed:
            self._display.display("semi-sync: no verdict: %s: %s" % (host, " ".join(words.split())))
