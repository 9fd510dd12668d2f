# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.action.normal import ActionModule as Normal
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.unreachable import Reaching


class ActionModule(Reaching, Normal):
    """Runs the module unchanged, and adds when it was asked, by the controller's clock: what it
    read is no older. Reports an unreachable host as unreachable. See
    plugins/modules/semisync_info.py for its documentation.
    """

    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> Any:
        asked = time.time()
        result = super().run(tmp, task_vars)
        result["asked_at"] = asked
        return result
