#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The controller's steps are in plugin_utils/_role_change/switchover.py and failover.py; on a host,
# the steps look and reach are semisync_role_look's, and of a server that has ended,
# semisync_last_words's.

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_switchover
short_description: (internal) Move the source's role to a replica, in a switchover or a failover
version_added: "1.0.0"
description:
  - The steps of P(dbre.semisync.switchover#role), in order.
  - O(step=part) runs on all hosts of a cluster at the same time. The hosts synchronize by named
    locks on the target's and the source's server. If one of these processes is killed, its watchdog
    process repairs the host.
options:
  step:
    description:
      - V(look) reads on a host what the plan needs besides M(dbre.semisync.semisync_info), and
        tries to log in to the other server. In a failover it also reads what a failover asks of
        what that module reads, all of it of a server that is no replica, and V(reach) tries the
        servers that listen at other addresses than expected.
      - V(plan) judges every premise on the controller, and refuses, or plans.
      - V(part) does a host's share of the role change.
      - V(report) shows and records the outcome, and fails if the role did not move.
      - V(after) does on a host what need not be done at once.
      - In a failover V(freeze) stops a replica's IO thread and reads the replica, V(judge) judges
        the readings on the controller, V(thaw) starts the IO thread again if no replica takes over,
        and V(salvage) reads the end of the dead source's binary log.
    type: str
    choices: [look, reach, plan, freeze, salvage, judge, part, thaw, report, after]
    required: true
  operation:
    description: The operation; the source is alive in a switchover, and dead in a failover.
    type: str
    choices: [switchover, failover]
    default: switchover
  info_from:
    description:
      - Name of the variable with each host's M(dbre.semisync.semisync_info) result. What earlier
        steps returned is read from the variables that the roles register.
    type: str
  fenced:
    description: Whether O(step=plan) of a failover runs after the tasks that fence the source.
    version_added: "1.1.0"
    type: bool
    default: false
  settled:
    description:
      - Whether O(step=report) runs after everything else. It records the first look at the source.
      - Whether O(step=after) runs after the option files got the new roles. Only then it takes away
        what makes the old source start read-only while the role moves.
    type: bool
    default: false
  upgrades:
    description:
      - Whether the former source is stopped and upgraded next, so that at O(step=plan) it may be of
        an older series than the target.
    version_added: "1.1.0"
    type: bool
    default: false
  results_dir:
    description: Folder for results.
    type: path
    default: results
  option_file:
    description: As for M(dbre.semisync.semisync_info).
    version_added: "1.1.0"
    type: path
  journal_schema:
    description: As for M(dbre.semisync.semisync_info).
    version_added: "1.1.0"
    type: str
    default: important
  plan:
    description: The plan for this host, from the action.
    type: dict
  password:
    description: The replication account's.
    type: str
  tail:
    description: The salvaged transactions, from the action, on the candidate.
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
        plan lists what they would do.
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
    - V(switch); V(finish) or V(undo) for an interrupted role change; V(settle) if the role has
      moved and only the cleanup is left; V(none) for a cluster that is not selected.
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
  description: The token that this switchover's rows in the journal share.
  returned: O(step=plan) or O(step=report)
  type: str
hosts:
  description: What the module gets on each host.
  returned: O(step=plan)
  type: dict
premises:
  description: The conditions, each with its C(host), what was C(observed), and whether it is
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
  description: Whether another switchover holds this server's lock. If an account without the
    privileges for a role change holds it, its connection is ended.
  returned: O(step=look)
  type: bool
lock_of:
  description: The connection that holds that lock, with its account if the login can see it; or
    empty.
  returned: O(step=look)
  type: str
reach:
  description: Why the replication account cannot log in to a member from here, by host; empty if
    it can.
  returned: O(step=look)
  type: dict
look:
  description:
    - What O(step=judge) needs besides the rest, which is as M(dbre.semisync.semisync_info) returns
      it. C(running), C(filters) and C(first_gtids) are as in a switchover; C(tried) has each
      address at which another server may listen, with C(words) for why the replication account
      cannot log in there, and whether it C(answered); C(kernel_seconds), C(server_seconds) as
      RV(server_seconds).
    - For a server that does not run, how it C(ended) and how many seconds ago, according to
      systemd; C(starting), the state of its unit if systemd starts it again; what its error
      C(log) says since the last look, null if that cannot be read; and whether its binary log can
      be read for O(step=salvage).
    - In C(log), C(shutdown), C(off), C(started) and C(dumps) say what was found.
  returned: O(step=look) of a failover, also with a failure
  type: dict
tried:
  description: As in RV(look), for the addresses that were not tried there.
  returned: O(step=reach)
  type: list
  elements: dict
salvage:
  description:
    - How many transactions the dead source's binary log has that the candidate lacks, C(count),
      their C(gtids), the C(files), and the C(end) of the last; C(torn) bytes follow that, of the
      transaction C(torn_gtid). C(case) names an obstacle, and C(words) describes it.
  returned: O(step=salvage), on the source
  type: dict
filters:
  description: Filters that keep transactions from being applied or logged.
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
  description: Seconds since the server started; RV(kernel_seconds) since the machine did.
  returned: O(step=freeze)
  type: int
kernel_seconds:
  description: As under RV(server_seconds), null if unknown.
  returned: O(step=freeze)
  type: float
applier_ids:
  description: As M(dbre.semisync.semisync_info) returns it, after the stop.
  returned: O(step=freeze)
  type: list
  elements: int
asked_at:
  description: The controller's clock before the module was sent; RV(answered_at) after it returned.
  returned: O(step=look) or O(step=freeze)
  type: float
answered_at:
  description: As under RV(asked_at).
  returned: O(step=look) or O(step=freeze)
  type: float
settings_row:
  description: As M(dbre.semisync.semisync_info) returns it, once the target has applied everything.
  returned: O(step=part) of a failover
  type: int
stopped:
  description: Whether the IO thread is stopped.
  returned: O(step=freeze)
  type: bool
source_answered:
  description: Whether the server that the replica followed answered while the IO thread stopped.
  returned: O(step=freeze)
  type: bool
was:
  description: The IO thread's state before.
  returned: O(step=freeze)
  type: str
at:
  description: When it was stopped, in seconds since 1970 by the host's clock.
  returned: O(step=freeze)
  type: float
channel:
  description: The default replication channel after the stop.
  returned: O(step=freeze)
  type: dict
gtid:
  description: GTID sets after the stop.
  returned: O(step=freeze)
  type: dict
unsure:
  description:
    - Whether all hosts are to be read once more before anything is judged, because the source's
      host could not be reached, but responded to a replica.
  returned: O(step=plan) of a failover
  type: bool
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
    - Whether the source may be alive, and the operator has accepted that; after the tasks that
      fence it, it must be seen dead before anything else is done.
  returned: O(step=plan) of a failover
  type: bool
long:
  description: Sessions with a long open transaction.
  returned: O(step=look)
  type: list
  elements: dict
first_gtids:
  description: The GTIDs at which a MariaDB server's binary logs begin.
  returned: O(step=look)
  type: str
ahead:
  description: How the target of a failover applied its backlog before its share began, or null if
    that was small.
  returned: O(step=part) of a failover
  type: dict
  sample: {transactions: 9000, seconds: 61.2, relaxed: {sync_binlog: 1000}}
round:
  description: A round of applying, with C(left), C(applied), C(seconds), C(stopped), C(gone).
  returned: O(step=part) of a failover, in a round
  type: dict
outcome:
  description:
    - V(done), V(undone); V(refused) if nothing was begun; V(unknown) if an operator must check.
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
  description: The checkpoints from S1 on that this host has seen.
  returned: O(step=part) or O(step=report)
  type: list
  elements: dict
position:
  description: The GTIDs at which the source was frozen.
  returned: O(step=part), on the source
  type: str
scheduler_was_on:
  description: Whether the event scheduler was on and was switched off here.
  returned: O(step=part), on the source
  type: bool
writers_waited_ms:
  description: Milliseconds from the freeze until a server took writes again, by the source's clock.
  returned: O(step=part) on the source, or O(step=report)
  type: float
renewed:
  description: Whether the process that restarts the IO thread now waits longer.
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
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import PlanError
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    APPLY,
    RENEW,
    FailoverPlan,
    IoThreadPlan,
    SalvagePlan,
    SwitchoverPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import connection, login
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

Given = TypeVar("Given")

# Seconds for an answer of the server here: one without space may never give it.
ACTS = 120

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
            upgrades={"type": "bool", "default": False},
            results_dir={"type": "path", "default": "results"},
            option_file={"type": "path"},
            journal_schema={"type": "str", "default": "important"},
            plan={"type": "dict"},
            password={"type": "str", "no_log": True},
            tail={"type": "str", "no_log": True},
        ),
        supports_check_mode=True,
    )
    try:
        switchover_step(module, module.params["plan"] or {})
    except PlanError as error:
        module.fail_json(msg=f"what this host was given to do is not understood: {error}")


def switchover_step(module: AnsibleModule, given: Mapping[str, object]) -> None:
    """Do the step, and leave the module. A step imports only its own code: a host compiles whatever
    is imported, and writers may wait for that.

    Args:
        given: what the controller planned for this host.

    Raises:
        PlanError: it is not what the step needs.
    """
    step = module.params["step"]
    if step == "salvage" and given.get("mode") != RENEW:
        read_dead_log(module, SalvagePlan.from_dict(given))
    login.require_driver(module)
    if step == "salvage":
        keep_stopped(module, IoThreadPlan.from_dict(given))
    if step == "part":
        do_part(module, given)
    if step == "after":
        settle(module, SwitchoverPlan.from_dict(given))
    move_io_thread(module, IoThreadPlan.from_dict(given))


def read_dead_log(module: AnsibleModule, plan: SalvagePlan) -> None:
    from ansible_collections.dbre.semisync.plugins.module_utils._binlog import salvage

    read = salvage.read_salvage(module, plan.files, plan.engine, plan.received)
    module.exit_json(changed=False, salvage=read)


def keep_stopped(module: AnsibleModule, plan: IoThreadPlan) -> None:
    from ansible_collections.dbre.semisync.plugins.module_utils._role_change import io_thread_resume

    module.exit_json(**io_thread_resume.keep_stopped(module, plan))


def do_part(module: AnsibleModule, given: Mapping[str, object]) -> None:
    from ansible_collections.dbre.semisync.plugins.module_utils._role_change import part_run

    if module.params["operation"] == "switchover":
        module.exit_json(**part_run.run_part(module, SwitchoverPlan.from_dict(given)))
    plan = FailoverPlan.from_dict(given)
    if plan.mode == APPLY:
        from ansible_collections.dbre.semisync.plugins.module_utils._role_change import drain

        work(module, drain.apply_round, plan, "applying what was received failed")
    module.exit_json(**part_run.run_part(module, plan))


def settle(module: AnsibleModule, plan: SwitchoverPlan) -> None:
    from ansible_collections.dbre.semisync.plugins.module_utils._role_change import cleanup

    work(module, cleanup.settle_roles, plan, "step after failed")


def move_io_thread(module: AnsibleModule, plan: IoThreadPlan) -> None:
    """Stop it, or start it again."""
    from ansible_collections.dbre.semisync.plugins.module_utils._role_change import io_thread

    step = module.params["step"]
    what = {"freeze": io_thread.stop, "thaw": io_thread.resume_io_thread}[step]
    work(module, what, plan, f"step {step} failed")


def work(
    module: AnsibleModule,
    what: Callable[[AnsibleModule, Given, Server, Names], dict[str, object]],
    plan: Given,
    failed: str,
) -> None:
    """connection.work() of what has a plan as well."""
    connection.work(
        module, lambda _module, *server: what(module, plan, *server), failed, seconds=ACTS
    )


if __name__ == "__main__":
    main()
