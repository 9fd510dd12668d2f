# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.dbre.semisync.plugins.module_utils import conversion, problems
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster


class ActionModule(ActionBase):
    """Plans how a cluster goes to GTIDs; see plugins/modules/semisync_gtid_plan.py for its documentation."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        result = super(ActionModule, self).run(tmp, task_vars)
        dummy, arguments = self.validate_argument_spec(argument_spec=dict(info_from=dict(type="str", required=True)))
        name, members = cluster.members(task_vars, arguments["info_from"])
        found = problems.of_inventory(name, members) or problems.of_reading(members) or conversion.problems(members)
        if found:
            raise AnsibleActionFail("Nothing was changed. Cluster %r: %s" % (name, "; ".join(found)))
        me = next(member for member in members if member.host == task_vars["inventory_hostname"])
        result.update(conversion.make(me, members), cluster=name)
        return result
