#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# A separate module, so that a look does not send the code of a role change to a host.

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_role_look
short_description: (internal) Read what a switchover or a failover needs to know of a host
version_added: "1.0.0"
description:
  - What O(dbre.semisync.semisync_switchover#module:step=look) and
    O(dbre.semisync.semisync_switchover#module:step=reach) do on a host. No task names this module.
options:
  step:
    description:
      - V(look) reads the host, and tries to log in to the cluster's other servers.
      - V(reach) tries the servers that listen at other addresses than expected.
    type: str
    choices: [look, reach]
    required: true
  operation:
    description: The operation that needs the look.
    type: str
    choices: [switchover, failover]
    default: switchover
  option_file:
    description: As for M(dbre.semisync.semisync_info).
    type: path
  journal_schema:
    description: As for M(dbre.semisync.semisync_info).
    type: str
    default: important
  plan:
    description: The plan for this host, from the action.
    type: dict
  password:
    description: The replication account's.
    type: str
extends_documentation_fragment:
  - dbre.semisync.internal
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.quiet
attributes:
  check_mode:
    details:
      - It only reads.
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_switchover
"""

EXAMPLES = r"""
- name: Read what the plan needs
  dbre.semisync.semisync_switchover:
    step: look
    info_from: __semisync_info
  register: __semisync_switchover_look
"""

RETURN = r"""
running:
  description: As for M(dbre.semisync.semisync_switchover), like all that follows.
  returned: O(step=look) of a switchover
  type: bool
lock_of:
  description: As above.
  returned: O(step=look) of a switchover
  type: str
reach:
  description: As above.
  returned: O(step=look) of a switchover
  type: dict
filters:
  description: As above.
  returned: O(step=look) of a switchover
  type: list
  elements: str
events:
  description: As above.
  returned: O(step=look) of a switchover
  type: list
  elements: dict
event_scheduler:
  description: As above.
  returned: O(step=look) of a switchover
  type: str
fence:
  description: As above.
  returned: O(step=look) of a switchover
  type: bool
long:
  description: As above.
  returned: O(step=look) of a switchover
  type: list
  elements: dict
first_gtids:
  description: As above.
  returned: O(step=look) of a switchover
  type: str
look:
  description: As above; the rest is as M(dbre.semisync.semisync_info) returns it.
  returned: O(step=look) of a failover, also with a failure
  type: dict
tried:
  description: As above.
  returned: O(step=reach)
  type: list
  elements: dict
"""

from collections.abc import Mapping

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils import host_facts
from ansible_collections.dbre.semisync.plugins.module_utils.binlog import log_access
from ansible_collections.dbre.semisync.plugins.module_utils.host import unit_exit
from ansible_collections.dbre.semisync.plugins.module_utils.role_change import (
    facts,
    failover_facts,
    last_words,
    traces,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.look_plan import (
    FirstLookPlan,
    LookPlan,
    PlanError,
    ReachPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils.server import connection, login


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            step={"type": "str", "choices": ["look", "reach"], "required": True},
            operation={
                "type": "str",
                "choices": ["switchover", "failover"],
                "default": "switchover",
            },
            option_file={"type": "path"},
            journal_schema={"type": "str", "default": "important"},
            plan={"type": "dict"},
            password={"type": "str", "no_log": True},
        ),
        supports_check_mode=True,
    )
    login.require_driver(module)
    try:
        look_at_host(module, module.params["plan"] or {})
    except PlanError as error:
        module.fail_json(msg=f"what this host was given to do is not understood: {error}")


def look_at_host(module: AnsibleModule, given: Mapping[str, object]) -> None:
    """Do the step, and leave the module.

    Raises:
        PlanError: the plan lacks what the step needs.
    """
    if module.params["step"] == "reach":
        reach = ReachPlan.from_dict(given)
        module.exit_json(tried=failover_facts.try_all(module, reach.user, reach.places))
    if module.params["operation"] == "failover":
        module.exit_json(**first_look(module, FirstLookPlan.from_dict(given)))
    plan = LookPlan.from_dict(given)
    connection.work(
        module,
        lambda _module, server, names: facts.switchover_facts(module, plan, server, names),
        "step look failed",
    )


def first_look(module: AnsibleModule, plan: FirstLookPlan) -> dict[str, object]:
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
        "look": failover_facts.failover_facts(module, plan, info),
    }


if __name__ == "__main__":
    main()
