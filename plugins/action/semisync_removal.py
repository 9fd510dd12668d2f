# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.module_utils import removal
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster

display = Display()


class ActionModule(ActionBase):
    """Plans how a cluster leaves semi-sync; see plugins/modules/semisync_removal.py for its documentation."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        result = super(ActionModule, self).run(tmp, task_vars)
        dummy, arguments = self.validate_argument_spec(argument_spec=dict(info_from=dict(type="str", required=True)))
        name, members, me = cluster.judged(task_vars, arguments["info_from"], removal.problems)
        remains = removal.remains(me)
        for words in remains:
            display.warning(words)
        result.update(removal.make(me, members), remains=remains, cluster=name)
        return result
