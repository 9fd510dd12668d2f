# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first look of a failover at a host: its server, or how that ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils import host_facts
from ansible_collections.dbre.semisync.plugins.module_utils.binlog import log_access
from ansible_collections.dbre.semisync.plugins.module_utils.host import unit_exit
from ansible_collections.dbre.semisync.plugins.module_utils.role_change import (
    failover_facts,
    last_words,
    traces,
)

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.dbre.semisync.plugins.module_utils.role_change.look_plan import (
        FirstLookPlan,
    )


def read(module: AnsibleModule, plan: FirstLookPlan) -> dict[str, object]:
    """Everything about this server, and what else the judge of a failover needs."""
    try:
        info = host_facts.state(module)
    except host_facts.UNREADABLE as error:
        failure = host_facts.unreadable(error, module.params)
        seen: dict[str, object] = {}
        if failure["reason"] == "stopped":
            seen.update(traces.clocks())
            seen["ended"] = unit_exit.read_exit(module, plan.unit)
            seen["log"] = last_words.read_log(module, plan.unit, plan.error_log)
            if plan.files:
                seen["salvage"] = log_access.check_access(module, plan.files)
        module.fail_json(look=seen, **failure)
    return {
        **host_facts.with_host_facts(module, info, True),
        "look": failover_facts.failover_facts(
            module,
            plan,
            info,
        ),
    }
