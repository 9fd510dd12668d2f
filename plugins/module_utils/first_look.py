# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first look of a failover at a host: its server, or how that ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils import everything
from ansible_collections.dbre.semisync.plugins.module_utils.binlog import log_access
from ansible_collections.dbre.semisync.plugins.module_utils.host import unit_exit
from ansible_collections.dbre.semisync.plugins.module_utils.role_change import last_words
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.failover_facts import (
    failover_facts,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.plan import FirstLookPlan

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


def read(module: AnsibleModule, plan: FirstLookPlan) -> dict[str, object]:
    """Everything about this server, and what the judge of a failover needs beside it."""
    try:
        info = everything.state(module)
    except everything.UNREADABLE as error:
        failure = everything.unreadable(error, module.params)
        seen: dict[str, object] = {}
        if failure["reason"] == "stopped":
            seen["ended"] = unit_exit.read_exit(module, plan.unit)
            seen["log"] = last_words.read_log(module, plan.unit, plan.error_log)
            if plan.files:
                seen["salvage"] = log_access.look(module, plan.files)
        module.fail_json(look=seen, **failure)
    return {**everything.beside(module, info, True), "look": failover_facts(module, plan, info)}
