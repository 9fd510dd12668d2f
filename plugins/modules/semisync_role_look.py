#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# A separate module, so that a look does not send the code of a role change to a host.

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_role_look
short_description: (internal) Read what a switchover or a failover needs to know of a host
version_added: "1.1.0"
description:
  - What O(dbre.semisync.semisync_switchover#module:step=look) and
    O(dbre.semisync.semisync_switchover#module:step=reach) do on a host. No task names this module.
  - A failover reads its replicas with it. A server that has ended is read with
    M(dbre.semisync.semisync_last_words), and one that is no replica with
    M(dbre.semisync.semisync_info).
options:
  step:
    description:
      - V(look) reads the host, and tries to log in to the cluster's other servers.
      - V(reach) tries the servers that listen at other addresses than expected.
      - V(watch) reads once more how far the applier is.
    type: str
    choices: [look, reach, watch]
    required: true
  operation:
    description: The operation that needs the look.
    type: str
    choices: [switchover, failover]
    default: switchover
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
  description: As above. The rest is as M(dbre.semisync.semisync_info) returns it, as far as a
    failover asks for it.
  returned: O(step=look) of a failover, on a replica
  type: dict
tried:
  description: As above.
  returned: O(step=reach)
  type: list
  elements: dict
channel:
  description: As M(dbre.semisync.semisync_info) returns it; RV(gtid) and RV(clock), too.
  returned: O(step=watch)
  type: dict
gtid:
  description: As under RV(channel).
  returned: O(step=watch)
  type: dict
clock:
  description: As under RV(channel).
  returned: O(step=watch)
  type: float
"""

from collections.abc import Mapping

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._replication import state
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    client_sessions,
    failover_facts,
    lock_holder,
    log_facts,
    log_in,
    received_outcome,
    trials,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import (
    FirstLookPlan,
    LookPlan,
    Peer,
    PlanError,
    ReachPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils._seed import marker
from ansible_collections.dbre.semisync.plugins.module_utils._server import connection, login, values
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

# Seconds that another member may take to answer before a switchover.
ANSWER = 5


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            step={"type": "str", "choices": ["look", "reach", "watch"], "required": True},
            operation={
                "type": "str",
                "choices": ["switchover", "failover"],
                "default": "switchover",
            },
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
        module.exit_json(tried=trials.try_all(module, reach.user, reach.places))
    if module.params["step"] == "watch":
        connection.work(
            module, failover_facts.watch_applier, "step watch failed", seconds=state.READ_SECONDS
        )
    if module.params["operation"] == "failover":
        module.exit_json(**first_look(module, FirstLookPlan.from_dict(given)))
    plan = LookPlan.from_dict(given)
    connection.work(
        module,
        lambda _module, server, names: look_for_switchover(module, plan, server, names),
        "step look failed",
        seconds=state.READ_SECONDS,
    )


def look_for_switchover(
    module: AnsibleModule, plan: LookPlan, server: Server, names: Names
) -> dict[str, object]:
    """What the plan of a switchover needs in addition to semisync_info."""
    has = lock_holder.holder(server, plan.user)
    scheduler = server.rows("SELECT @@GLOBAL.event_scheduler AS value")[0]
    return {
        "changed": False,
        "running": bool(has and not has.stranger),
        "lock_of": has.words if has else "",
        "reach": {one.host: reach(module, plan.user, one) for one in plan.members},
        "filters": log_facts.filters(server, names),
        "events": server.events(),
        "long": client_sessions.long_transactions(server),
        "first_gtids": log_facts.first_gtids(server, names),
        "event_scheduler": values.text(scheduler["value"]),
    }


def reach(module: AnsibleModule, user: str, peer: Peer) -> str:
    """Why the replication account cannot log in to a member from here; empty if it can."""
    there = log_in.Address(peer.address, peer.port, peer.tls)
    error = log_in.refusal(module, user, there, ANSWER)
    return "" if error is None else str(error)


def first_look(module: AnsibleModule, plan: FirstLookPlan) -> dict[str, object]:
    """What a failover asks of a replica; of a server that is none, only its state."""
    # A host without power takes a while to be known as dead: enough to read the server.
    knocks = tuple(trials.Knock(place) for place in plan.dead)
    try:
        info = received_outcome.settled(
            lambda: marker.patiently(lambda: state.read_for_roles(module))
        )
    except state.UNREADABLE as error:
        module.fail_json(**state.unreadable(error, module.params))
    if not info["channel"]:
        return {**info}
    return {**info, "look": failover_facts.failover_facts(module, plan, info, knocks)}


if __name__ == "__main__":
    main()
