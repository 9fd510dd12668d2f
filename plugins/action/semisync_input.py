# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster, inputs


class ActionModule(ActionBase):
    """Judges a cluster's public variables; see plugins/modules/semisync_input.py for its documentation."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        result = super(ActionModule, self).run(tmp, task_vars)
        self.validate_argument_spec(argument_spec={})
        hostvars, me = task_vars["hostvars"], task_vars["inventory_hostname"]
        specs = inputs.public_variables()
        found = inputs.of_host(hostvars[me], specs)
        where = me
        if not any(words.startswith("semisync_cluster ") for words in found):
            where = "Cluster %r" % str(hostvars[me].get("semisync_cluster", cluster.DEFAULT))
            found = ["%s: %s" % (host, words) for host in cluster.hosts_of(task_vars)
                     for words in inputs.of_host(hostvars[host], specs)]
        if found:
            raise AnsibleActionFail("Nothing was changed. %s: %s" % (where, "; ".join(found)))
        return result
