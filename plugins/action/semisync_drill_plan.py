# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.dbre.semisync.plugins.module_utils import problems
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster, drill


class ActionModule(ActionBase):
    """Refuses or plans a drill; see plugins/modules/semisync_drill_plan.py for its documentation."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        result = super(ActionModule, self).run(tmp, task_vars)
        dummy, arguments = self.validate_argument_spec(argument_spec=dict(
            info_from=dict(type="str", required=True),
            replica=dict(type="str", default=""),
            max_block=dict(type="float", default=15),
            rescue_after=dict(type="int", default=120),
            interval=dict(type="float", default=0.1),
            rows=dict(type="int", default=5),
        ))
        name, members = cluster.members(task_vars, arguments["info_from"])
        settings = dict(arguments, units=dict(
            (member.host, task_vars["hostvars"][member.host].get("semisync_service")) for member in members))
        sources = [host for host in task_vars["ansible_play_hosts_all"]
                   if host in task_vars["groups"].get("semisync_source", [])]
        found = problems.of_inventory(name, members) or drill.refusals(name, members, sources, settings)
        if found:
            raise AnsibleActionFail("Nothing was stopped. Cluster %r: %s" % (name, "; ".join(found)))
        result.update(drills=drill.make(members, settings), cluster=name)
        return result
