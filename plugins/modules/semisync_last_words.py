#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# A separate module, so that a failover's look at the replicas does not carry it.

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_last_words
short_description: (internal) Read how a server ended, on its host
version_added: "1.1.0"
description:
  - What O(dbre.semisync.semisync_switchover#module:step=look) of a failover does on the host of a
    server that may have ended. No task names this module.
  - Fails as M(dbre.semisync.semisync_info) does if it cannot log in to the server.
options:
  plan:
    description: The plan for this host, from the action.
    type: dict
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
- name: Read what is left of the cluster
  dbre.semisync.semisync_switchover:
    step: look
    operation: failover
    info_from: __semisync_info
  register: __semisync_info
"""

RETURN = r"""
look:
  description: What is read of a server that does not run, as M(dbre.semisync.semisync_switchover)
    returns it.
  returned: failure to log in
  type: dict
reason:
  description: As for M(dbre.semisync.semisync_info).
  returned: failure to log in
  type: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._binlog import log_access
from ansible_collections.dbre.semisync.plugins.module_utils._host import unit_exit
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import last_words
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import (
    LastWordsPlan,
    PlanError,
)
from ansible_collections.dbre.semisync.plugins.module_utils._seed import marker
from ansible_collections.dbre.semisync.plugins.module_utils._server import errors, login

STOPPED = "stopped"


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(plan={"type": "dict"}),
        supports_check_mode=True,
    )
    login.require_driver(module)
    try:
        plan = LastWordsPlan.from_dict(module.params["plan"])
    except PlanError as error:
        module.fail_json(msg=f"what this host was given to do is not understood: {error}")
    try:
        cursor = marker.patiently(lambda: login.connect(module))
    except errors.ServerError as error:
        reason = login.kind(error)
        look = read_ended(module, plan) if reason == STOPPED else {}
        module.fail_json(msg=login.explain(error, module.params), reason=reason, look=look)
    cursor.connection.close()
    module.exit_json(changed=False)


def read_ended(module: AnsibleModule, plan: LastWordsPlan) -> dict[str, object]:
    """What the host says of a server that does not run."""
    seen = {**unit_exit.clocks(), **unit_exit.read_exit(module, plan.unit)}
    seen["log"] = last_words.read_log(module, plan.unit, plan.error_log)
    if plan.files:
        seen["salvage"] = log_access.check_access(module, plan.files)
    return seen


if __name__ == "__main__":
    main()
