#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The controller's steps are in plugin_utils/role_change/switchover.py and failover.py.

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_switchover
short_description: (internal) Move the source's role to a replica, while everybody lives
version_added: "1.0.0"
description:
  - The steps of P(dbre.semisync.switchover#role), in their order.
  - O(step=part) runs on all hosts of a cluster at the same time. The parts meet at named locks on
    the target's and the source's server. A process that outlives a killed part mends its host.
options:
  step:
    description:
      - V(look) reads on a host what the plan needs beside M(dbre.semisync.semisync_info), and tries
        to log in to the other server. In a failover it reads what that module does as well, and
        V(reach) tries the servers that listen elsewhere than was thought.
      - V(plan) judges every premise on the controller, and refuses, or plans.
      - V(part) does a host's part.
      - V(report) says what became of it, keeps it, and fails where the role did not move.
      - V(after) does on a host what has time.
      - In a failover V(freeze) stops a replica's IO thread and reads it, V(judge) judges that on
        the controller, V(thaw) starts the IO thread again if no replica takes over, and V(salvage)
        reads the end of the dead source's binary log.
    type: str
    choices: [look, reach, plan, freeze, salvage, judge, part, thaw, report, after]
    required: true
  operation:
    description: What the steps are of; the source lives in a switchover, and is dead in a failover.
    type: str
    choices: [switchover, failover]
    default: switchover
  info_from:
    description:
      - Name of the variable with each host's M(dbre.semisync.semisync_info) result. What earlier
        steps returned is read from the variables that the roles register.
    type: str
  fenced:
    description: Whether O(step=plan) of a failover comes after the tasks that fence the source.
    type: bool
    default: false
  settled:
    description:
      - Whether O(step=report) comes after everything else. It keeps the first look at the source.
    type: bool
    default: false
  results_dir:
    description: Folder for results.
    type: path
    default: results
  option_file:
    description: As for M(dbre.semisync.semisync_info).
    type: path
  journal_schema:
    description: As for M(dbre.semisync.semisync_info).
    type: str
    default: important
  plan:
    description: What the action gives the module on this host.
    type: dict
  password:
    description: The replication account's.
    type: str
  error_log:
    description: RV(dbre.semisync.semisync_info#module:error_log) of the last look at this server.
    type: dict
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
  description: Whether another switchover has the lock of this server. An account that may change no
    roles has it in vain; its connection is ended.
  returned: O(step=look)
  type: bool
lock_of:
  description: The connection that has that lock, with its account if the login sees it; or empty.
  returned: O(step=look)
  type: str
reach:
  description: Why the replication account cannot log in to a member from here, by host; empty where
    it can.
  returned: O(step=look)
  type: dict
look:
  description:
    - What the judge needs beside the rest, which is as M(dbre.semisync.semisync_info) returns it.
      C(running), C(filters) and C(first_gtids) are as in a switchover; C(tried) has each place at
      which another server may listen, with C(words) for why the replication account cannot log in
      there, and if it C(answered); C(kernel_seconds), C(server_seconds) as RV(server_seconds).
    - Of a server that does not run, how it C(ended), as systemd remembers it, with how many seconds
      ago; what its error C(log) says since the last look, null where that cannot be read; and
      whether its binary log can be read for O(step=salvage).
    - Of C(log), C(shutdown), C(off), C(started) and C(dumps) say what was found.
  returned: O(step=look) of a failover, also with a failure
  type: dict
tried:
  description: As under RV(look), of the places that were not tried there.
  returned: O(step=reach)
  type: list
  elements: dict
salvage:
  description:
    - How many transactions the dead source's binary log has that the candidate lacks, C(count),
      their C(gtids), the C(files), and the C(end) of the last; C(torn) bytes are behind that, of
      the transaction C(torn_gtid). C(case) names what is in the way, in C(words).
  returned: O(step=salvage), on the source
  type: dict
filters:
  description: What keeps transactions from being applied or logged.
  returned: O(step=look)
  type: list
  elements: str
events:
  description: Scheduled events.
  returned: O(step=look)
  type: list
  elements: dict
event_scheduler:
  description: The variable of that name.
  returned: O(step=look)
  type: str
server_seconds:
  description: For how long the server has run, and RV(kernel_seconds) the machine.
  returned: O(step=freeze)
  type: int
kernel_seconds:
  description: As under RV(server_seconds), null if unknown.
  returned: O(step=freeze)
  type: float
applier_ids:
  description: As M(dbre.semisync.semisync_info) returns it, behind the stop.
  returned: O(step=freeze)
  type: list
  elements: int
asked_at:
  description: The controller's clock before the module was sent; RV(answered_at) is that after it.
  returned: O(step=look) or O(step=freeze)
  type: float
answered_at:
  description: As under RV(asked_at).
  returned: O(step=look) or O(step=freeze)
  type: float
settings_row:
  description: As of M(dbre.semisync.semisync_info), when the target has applied everything.
  returned: O(step=part) of a failover
  type: int
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
renewed:
  description: Whether the process that starts the IO thread again waits longer.
  returned: O(step=salvage), on a replica while another host reads
  type: bool
path:
  description: The file with the result.
  returned: O(step=report)
  type: str
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils import first_look
from ansible_collections.dbre.semisync.plugins.module_utils.binlog import salvage
from ansible_collections.dbre.semisync.plugins.module_utils.role_change import (
    cleanup,
    drain,
    facts,
    failover_facts,
    io_thread,
    io_thread_resume,
    part_run,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.plan import (
    APPLY,
    RENEW,
    FailoverPlan,
    FirstLookPlan,
    IoThreadPlan,
    LookPlan,
    PlanError,
    ReachPlan,
    SalvagePlan,
    SwitchoverPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils.server import connection, login
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import Names

Given = TypeVar("Given")

STEPS = ["look", "reach", "plan", "freeze", "salvage", "judge", "part", "thaw", "report", "after"]


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
            fenced={"type": "bool", "default": False},
            settled={"type": "bool", "default": False},
            results_dir={"type": "path", "default": "results"},
            option_file={"type": "path"},
            journal_schema={"type": "str", "default": "important"},
            plan={"type": "dict"},
            error_log={"type": "dict"},
            password={"type": "str", "no_log": True},
            tail={"type": "str", "no_log": True},
        ),
        supports_check_mode=True,
    )
    try:
        run(module, module.params["plan"] or {})
    except PlanError as error:
        module.fail_json(msg=f"what this host was given to do is not understood: {error}")


def run(module: AnsibleModule, given: Mapping[str, object]) -> None:
    """Do the step, and leave the module.

    Args:
        given: what the controller planned for this host.

    Raises:
        PlanError: it is not what the step needs.
    """
    operation, step = module.params["operation"], module.params["step"]
    if step == "salvage" and given.get("mode") != RENEW:
        wanted = SalvagePlan.from_dict(given)
        read = salvage.read(module, wanted.files, wanted.engine, wanted.received)
        module.exit_json(changed=False, salvage=read)
    login.require_driver(module)
    if step == "salvage":
        stopped = IoThreadPlan.from_dict(given)
        module.exit_json(**io_thread_resume.keep_stopped(module, stopped))
    if step == "reach":
        reach = ReachPlan.from_dict(given)
        module.exit_json(tried=failover_facts.try_all(module, reach.user, reach.places))
    if step == "part" and operation == "switchover":
        module.exit_json(**part_run.run_part(module, SwitchoverPlan.from_dict(given)))
    if step == "part":
        part = FailoverPlan.from_dict(given)
        if part.mode == APPLY:
            work(module, drain.apply_round, part, "applying what was received failed")
        module.exit_json(**part_run.run_part(module, part))
    failed = f"step {step} failed"
    if (operation, step) == ("failover", "look"):
        module.exit_json(**first_look.read(module, FirstLookPlan.from_dict(given)))
    if step == "look":
        work(module, facts.switchover_facts, LookPlan.from_dict(given), failed)
    if step == "after":
        work(module, cleanup.settle, SwitchoverPlan.from_dict(given), failed)
    what = {"freeze": io_thread.stop, "thaw": io_thread.start}[step]
    work(module, what, IoThreadPlan.from_dict(given), failed)


def work(
    module: AnsibleModule,
    what: Callable[[AnsibleModule, Given, Server, Names], dict[str, object]],
    plan: Given,
    failed: str,
) -> None:
    """connection.work() of what has a plan as well."""
    connection.work(module, lambda _module, *server: what(module, plan, *server), failed)


if __name__ == "__main__":
    main()
