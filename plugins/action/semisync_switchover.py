# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's part of plugins/modules/semisync_switchover.py, which documents it."""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.step_action import (
    RoleChange,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.task_options import LOOK


class ActionModule(RoleChange):
    """The steps of a switchover, or of a failover."""

    MODULE = "dbre.semisync.semisync_switchover"
    LOOK_MODULE = LOOK
