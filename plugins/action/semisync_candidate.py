# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.plugin_utils import candidate, cluster

display = Display()


class ActionModule(ActionBase):
    """Ranks the replicas of a cluster; see plugins/modules/semisync_candidate.py for its documentation."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        result = super(ActionModule, self).run(tmp, task_vars)
        dummy, arguments = self.validate_argument_spec(argument_spec=dict(
            info_from=dict(type="str", required=True),
            needed=dict(type="int", default=1),
        ))
        name, members = cluster.members(task_vars, arguments["info_from"])
        if task_vars["inventory_hostname"] != cluster.speaker(task_vars, members):
            result.update(skipped=True, skip_reason="another host of the cluster speaks for it")
            return result
        found = candidate.rank(members, arguments["needed"])
        display.display("\n".join(["Candidates of cluster %s, the best first" % name] +
                                  ["  " + words for words in found["statement"]]))
        result.update(found, cluster=name, changed=False)
        if not found["candidates"]:
            result.update(failed=True, msg="Cluster %r: %s" % (name, candidate.why_none(found)))
        return result
