#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The steps plan and report are in plugins/action/semisync_switchover.py.

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_switchover
short_description: (internal) Move the source's role to a replica, while everybody lives
version_added: "1.0.0"
description:
  - The steps of P(dbre.semisync.switchover#role), in their order.
  - O(step=part) runs on all hosts of a cluster at the same time. The parts meet at named locks on
    the target's and the source's server, and everything that writers wait for happens within them.
    A process that outlives a part which is killed brings its host into order.
options:
  step:
    description:
      - V(look) reads on a host what the plan needs beside M(dbre.semisync.semisync_info), and tries
        whether the replication account can log in to the other server.
      - V(plan) judges every premise on the controller, and refuses, or plans.
      - V(part) does a host's part.
      - V(report) says what became of it, keeps it, and fails where the role did not move.
      - V(after) does on a host what has time.
      - V(freeze), V(judge) and V(thaw) are of a failover. The first stops a replica's IO thread and
        reads it, the second judges on the controller what was read, the third starts the IO thread
        again where nobody takes over. V(salvage) reads, on the dead source's host, the end of its
        binary log.
    type: str
    choices: [look, plan, freeze, salvage, judge, part, thaw, report, after]
    required: true
  operation:
    description: What the steps are of; the source lives in a switchover, and is dead in a failover.
    type: str
    choices: [switchover, failover]
    default: switchover
  info_from:
    description: Name of the variable with each host's M(dbre.semisync.semisync_info) result.
    type: str
  looks_from:
    description: Name of the variable with each host's result of O(step=look).
    type: str
  frozen_from:
    description: Name of the variable with each host's result of O(step=freeze).
    type: str
  salvage_from:
    description: Name of the variable with each host's result of O(step=salvage).
    type: str
  plan_from:
    description: Name of the variable with each host's result of O(step=plan), or of O(step=judge).
    type: str
  fenced_from:
    description:
      - Name of the variable with each host's result of O(step=plan), where that was made before the
        tasks of the user's that fence the source ran.
    type: str
  parts_from:
    description: Name of the variable with each host's result of O(step=part).
    type: str
  settled:
    description:
      - Whether O(step=report) comes after everything else, and judges that too. Then it keeps the
        first look at the new source as well; of a failover, that alone.
    type: bool
    default: false
  results_dir:
    description: Folder for results.
    type: path
    default: results
  plan:
    description: What the action gives the module on this host.
    type: dict
  password:
    description: The replication account's.
    type: str
  tail:
    description: What was salvaged, which the action gives the module on the candidate.
    type: str
extends_documentation_fragment:
  - dbre.semisync.internal
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.quiet
attributes:
  check_mode:
    details:
      - O(step=freeze), O(step=part), O(step=thaw) and O(step=after) do nothing in check mode; the
        plan says what they would.
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_plan
"""

EXAMPLES = r"""
- name: Hand the role over
  dbre.semisync.semisync_switchover:
    step: part
    plan_from: __semisync_switchover
    password: "{{ semisync_replication_password }}"
  register: __semisync_switchover_part
"""

RETURN = r"""
mode:
  description:
    - V(switch); V(finish) or V(undo) for one that was interrupted; V(settle) where the role has
      moved and the rest is left; V(none) for a cluster that is not meant.
  returned: O(step=plan)
  type: str
cluster:
  description: The cluster's name.
  returned: O(step=plan) or O(step=report)
  type: str
from:
  description: The source.
  returned: O(step=plan) or O(step=report)
  type: str
to:
  description: The target.
  returned: O(step=plan) or O(step=report)
  type: str
token:
  description: What the rows of this switchover in the journal have in common.
  returned: O(step=plan) or O(step=report)
  type: str
hosts:
  description: What the module is given on each host.
  returned: O(step=plan)
  type: dict
premises:
  description: What must hold, each with its C(host), what was C(observed), and whether it is
    C(good).
  returned: O(step=plan) or O(step=report)
  type: list
  elements: dict
statements:
  description: The statements of the plan with their hosts, or those that were run, in order.
  returned: O(step=plan), O(step=part) or O(step=after)
  type: list
  elements: raw
running:
  description: Whether another switchover has the lock of this server.
  returned: O(step=look)
  type: bool
reach:
  description: Why the replication account cannot log in to a member from here, by host; empty where
    it can.
  returned: O(step=look)
  type: dict
answered:
  description: Members that said anything at all.
  returned: O(step=look) of a failover
  type: list
  elements: str
ended:
  description:
    - How the server of a host ended, as systemd remembers it, with how many seconds ago; null where
      nothing tells.
  returned: O(step=look) of a failover, on the source
  type: dict
  sample: {how: killed, status: 9, started_ago: 86400.0, stopping_ago: 12.0, ended_ago: 12.0}
salvage:
  description:
    - Whether the dead source's binary log can be read; C(case) names what is in the way, in
      C(words). With O(step=salvage) how many transactions there are that the candidate lacks,
      C(count), their C(gtids), the C(files), and the C(end) of the last; C(torn) bytes are behind
      that, of the transaction C(torn_gtid).
  returned: O(step=look) or O(step=salvage) of a failover, on the source
  type: dict
filters:
  description: What keeps transactions from being applied or logged.
  returned: O(step=look)
  type: list
  elements: str
events:
  description: Events that are not disabled.
  returned: O(step=look)
  type: list
  elements: dict
event_scheduler:
  description: The variable of that name.
  returned: O(step=look)
  type: str
kernel_seconds:
  description: Since how many seconds the host's machine runs, or null.
  returned: O(step=look) of a failover
  type: float
server_seconds:
  description: Since how many seconds the server runs.
  returned: O(step=look) of a failover, on a replica
  type: int
read_at:
  description: When that was read, by the controller's clock, in seconds since 1970.
  returned: O(step=look) of a failover, on a replica
  type: float
stopped:
  description: Whether the IO thread stands still.
  returned: O(step=freeze)
  type: bool
was:
  description: What the IO thread did before.
  returned: O(step=freeze)
  type: str
at:
  description: When it was stopped, in seconds since 1970 by the host's clock.
  returned: O(step=freeze)
  type: float
channel:
  description: The default replication channel behind the stop.
  returned: O(step=freeze)
  type: dict
gtid:
  description: GTID sets behind the stop.
  returned: O(step=freeze)
  type: dict
go:
  description: Whether a replica takes over.
  returned: O(step=judge)
  type: bool
certificate:
  description: What is proven so far.
  returned: O(step=plan) or O(step=judge) of a failover
  type: dict
lives:
  description:
    - Whether the source may live, and somebody has accepted that; it has to be seen dead behind the
      tasks that fence it, before anything else is done.
  returned: O(step=plan) of a failover
  type: bool
fence:
  description: Whether an option file of a switchover lets the server start read-only.
  returned: O(step=look)
  type: bool
long:
  description: Sessions with a transaction that is open for some time.
  returned: O(step=look)
  type: list
  elements: dict
first_gtids:
  description: Where a MariaDB server's binary logs begin.
  returned: O(step=look)
  type: str
ahead:
  description: How the target of a failover applied what it had received before its part began, or
    null where that was little.
  returned: O(step=part) of a failover
  type: dict
  sample: {transactions: 9000, seconds: 61.2, relaxed: {sync_binlog: 1000}}
round:
  description: A round of applying, with C(left), C(applied), C(seconds), C(stopped), C(gone).
  returned: O(step=part) of a failover, in a round
  type: dict
outcome:
  description:
    - V(done), V(undone); V(refused) where nothing was begun; V(unknown) where somebody must look.
  returned: O(step=part) or O(step=report)
  type: str
reason:
  description: Why, in words.
  returned: O(step=part) or O(step=report)
  type: str
timeline:
  description: What happened when.
  returned: O(step=part) or O(step=report)
  type: list
  elements: dict
points:
  description: The checkpoints S1 and following that this host has seen.
  returned: O(step=part) or O(step=report)
  type: list
  elements: dict
position:
  description: The GTIDs at which the source was frozen.
  returned: O(step=part), on the source
  type: str
scheduler_was_on:
  description: Whether the event scheduler was switched off here.
  returned: O(step=part), on the source
  type: bool
writers_waited_ms:
  description: From the freeze until somebody took writes again, by the source's clock.
  returned: O(step=part) on the source, or O(step=report)
  type: float
path:
  description: The file with the result.
  returned: O(step=report)
  type: str
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils.failover import (
    ahead,
    end,
    receiver,
    salvage,
    witness,
)
from ansible_collections.dbre.semisync.plugins.module_utils.failover.parts import FAILOVER_PARTS
from ansible_collections.dbre.semisync.plugins.module_utils.server import connection, login
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils.switchover import after, guard, look
from ansible_collections.dbre.semisync.plugins.module_utils.switchover.parts import (
    PARTS,
    patiently,
)
from ansible_collections.dbre.semisync.plugins.module_utils.switchover.rules import shown

STEPS = ["look", "plan", "freeze", "salvage", "judge", "part", "thaw", "report", "after"]


def settle(module: Any, server: Server, names: Names) -> dict[str, Any]:
    """What is left when the role has moved."""
    steps = after.steps(module.params, server, names)
    if not module.check_mode:
        for statement, arguments in steps:
            server.rows(statement, arguments)
    fence_went = after.fence_goes(module, module.params)
    return {"changed": bool(steps) or fence_went, "statements": shown(steps)}


def dead(module: Any) -> dict[str, Any]:
    """What the host of the dead source says."""
    if module.params["step"] == "salvage":
        return {"changed": False, "salvage": salvage.read(module)}
    answer = end.answer(module)
    if module.params["files"]:
        answer["salvage"] = salvage.look(module)
    return answer


def part(module: Any) -> dict[str, Any]:
    """This host's part."""
    if module.check_mode:
        return {"changed": True, "outcome": "", "reason": "", "statements": []}
    failing = module.params["operation"] == "failover"
    kind = (FAILOVER_PARTS if failing else PARTS)[module.params["part"]]
    warden = None
    if module.params["mode"] == "switch":
        # What was received may take long to be applied.
        longest = guard.seconds(module.params) + (module.params["catch_up"] if failing else 0)
        # Before there is any connection.
        warden = guard.Guard(lambda stage: patiently(module, kind).recover(stage), longest)
    try:
        return kind(module, warden).go()
    finally:
        if warden:
            warden.end()


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            step={"type": "str", "choices": STEPS, "required": True},
            operation={
                "type": "str",
                "choices": ["switchover", "failover"],
                "default": "switchover",
            },
            info_from={"type": "str"},
            looks_from={"type": "str"},
            frozen_from={"type": "str"},
            salvage_from={"type": "str"},
            plan_from={"type": "str"},
            fenced_from={"type": "str"},
            parts_from={"type": "str"},
            settled={"type": "bool", "default": False},
            results_dir={"type": "path", "default": "results"},
            plan={"type": "dict"},
            password={"type": "str", "no_log": True},
            tail={"type": "str", "no_log": True},
        ),
        supports_check_mode=True,
    )
    module.params.update(module.params["plan"] or {})
    if (module.params["plan"] or {}).get("part") == "dead":
        module.exit_json(**dead(module))
    if module.params.get("mode") == "apply":
        connection.work(module, ahead.work, "applying what was received failed")
    if module.params["step"] == "part":
        login.require_driver(module)
        module.exit_json(**part(module))
    work = {
        ("switchover", "look"): look.answer,
        ("switchover", "after"): settle,
        ("failover", "look"): witness.look,
        ("failover", "freeze"): receiver.stop,
        ("failover", "thaw"): receiver.start,
    }[module.params["operation"], module.params["step"]]
    connection.work(module, work, f"step {module.params['step']} failed")


if __name__ == "__main__":
    main()
