#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The controller's steps are in plugin_utils/_role_change/rejoin.py.

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_rejoin
short_description: (internal) Judge a former source, and bring it back as a replica
version_added: "1.0.0"
description:
  - The steps of P(dbre.semisync.rejoin#role), in order.
options:
  step:
    description:
      - V(look) reads on the former source's host what the new source lacks, from the binary log's
        files alone if its server does not run; and on the new source's host at which GTIDs its
        binary logs begin. It changes nothing.
      - V(judge) decides on the controller whether it may rejoin, records that, and refuses what
        lacks consent.
      - V(carry) reads on the former source's host the transactions that the new source lacks, and
        V(replay) executes them on the new source, if that has not written the same rows since. In
        check mode it only reports whether it has.
      - V(ready) starts the former source read-only and with the option lines of a replica, and
        keeps a copy of its data if they are to be replaced.
      - V(release) sets the GTID position at which its channel begins.
      - V(settle) leaves its scheduled events to the source, and removes the option lines that
        V(ready) wrote. C(read_only = ON) stays if nothing else makes the server start read-only.
      - V(record) records on the new source that the former one has rejoined.
      - V(report) shows and records the outcome.
      - V(hold) belongs to a failover. It makes the dead source's server start read-only from now
        on, if its host can be reached.
    type: str
    choices: [look, judge, carry, replay, ready, release, settle, record, report, hold]
    required: true
  again:
    description: Whether O(step=judge) runs after O(step=ready).
    type: bool
    default: false
  info_from:
    description:
      - Name of the variable with each host's M(dbre.semisync.semisync_info) result. What earlier
        steps returned is read from the variables that the role registers.
    type: str
  results_dir:
    description: Folder for results.
    type: path
    default: results
  run:
    description: Name of the run's folder.
    type: str
  plan:
    description: What the action gives the module on this host.
    type: dict
  password:
    description: The replication account's.
    type: str
  tail:
    description: The transactions, which the action gives the module.
    type: str
extends_documentation_fragment:
  - dbre.semisync.internal
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.quiet
attributes:
  check_mode:
    details:
      - O(step=ready), O(step=release), O(step=settle) and O(step=record) do nothing in check mode.
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_switchover
"""

EXAMPLES = r"""
- name: Judge it
  dbre.semisync.semisync_rejoin:
    step: judge
    info_from: __semisync_info
  register: __semisync_rejoin
"""

RETURN = r"""
log:
  description: What the binary log contains, or null if it was not read.
  returned: O(step=look), on the former source
  type: dict
why:
  description: Why it was not read, in words.
  returned: O(step=look), on the former source, if it was not
  type: str
encrypted:
  description: Whether the reason is that it is encrypted.
  returned: O(step=look), on the former source, if it was not
  type: bool
down:
  description: Whether the server does not run.
  returned: O(step=look), on the former source
  type: bool
lost_power:
  description: Whether the host was started after its server ended without logging a shutdown;
    C(null) if unknown.
  returned: O(step=look), on the former source
  type: bool
read_only_by:
  description: The option file that makes its next start read-only; empty if there is none.
  returned: O(step=look), on the former source, if its server does not run
  type: str
reach:
  description: Why the replication account cannot log in to the new source from here; empty if it
    can.
  returned: O(step=look), on the former source
  type: str
first_gtids:
  description: The GTIDs at which a MariaDB server's binary logs begin.
  returned: O(step=look), on the new source
  type: str
exposed:
  description: Tables with an engine without transactions.
  returned: O(step=look), on the new source
  type: list
  elements: str
go:
  description: Whether the rejoin goes ahead.
  returned: O(step=judge)
  type: bool
host:
  description: The former source.
  returned: O(step=judge)
  type: str
way:
  description: V(attach), V(truncate), V(replay) or V(seed); V(finish) if it already follows and
    only later steps are left; V(none) if nothing is left.
  returned: O(step=judge)
  type: str
hosts:
  description: What the module gets on each host.
  returned: O(step=judge)
  type: dict
missed:
  description: The journal's row of the failover that a replica has missed, or null.
  returned: O(step=judge)
  type: dict
away:
  description: Other former sources, and those of RV(behind), which this run leaves alone.
  returned: O(step=judge)
  type: list
  elements: str
behind:
  description: Other replicas that missed the failover, which need runs of their own.
  returned: O(step=judge)
  type: list
  elements: str
record:
  description: The contents of rejoin.json.
  returned: O(step=judge) or O(step=report)
  type: dict
count:
  description: Number of transactions.
  returned: O(step=carry)
  type: int
payload:
  description: The transactions. The action takes them out of the result.
  returned: O(step=carry)
  type: str
done:
  description: How many were executed.
  returned: O(step=replay)
  type: int
kept:
  description: Folder of its old data; empty if they are not kept.
  returned: O(step=ready)
  type: str
not_kept:
  description: Why its old data are not kept.
  returned: O(step=ready)
  type: str
fence:
  description: The option file that makes it start read-only until O(step=settle).
  returned: O(step=ready) or O(step=hold)
  type: str
statements:
  description: The statements that were run.
  returned: O(step=ready) or O(step=release)
  type: list
  elements: str
"""

from collections.abc import Mapping

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._rejoin import (
    former_facts,
    prepare,
    read_only_start,
    replay,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import PlanError
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    CarryPlan,
    FormerLookPlan,
    HoldPlan,
    OpenedPlan,
    RejoinLookPlan,
    RejoinPlan,
    RejoinRecordPlan,
    ReplayPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import connection, login
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            step={
                "type": "str",
                "choices": [
                    "look",
                    "judge",
                    "carry",
                    "replay",
                    "ready",
                    "release",
                    "settle",
                    "record",
                    "report",
                    "hold",
                ],
                "required": True,
            },
            again={"type": "bool", "default": False},
            info_from={"type": "str"},
            results_dir={"type": "path", "default": "results"},
            run={"type": "str"},
            plan={"type": "dict"},
            password={"type": "str", "no_log": True},
            tail={"type": "str", "no_log": True},
        ),
        supports_check_mode=True,
    )
    try:
        rejoin_step(module, module.params["plan"] or {})
    except PlanError as error:
        module.fail_json(msg=f"what this host was given to do is not understood: {error}")
    except (*replay.ERRORS, read_only_start.ReadyError, OSError) as error:
        module.fail_json(msg=str(error))


def rejoin_step(module: AnsibleModule, given: Mapping[str, object]) -> None:
    """Do the step, and leave the module.

    Args:
        given: what the controller planned for this host.

    Raises:
        PlanError: it is not what the step needs.
        ReplayError, PlaceError, SalvageError, TailError, ReadyError, OSError: it cannot be done.
    """
    step = module.params["step"]
    if step == "hold" and given.get("opened"):
        opened = OpenedPlan.from_dict(given)
        module.exit_json(**read_only_start.remove_option_file(module, opened.option_file))
    if step == "hold":
        module.exit_json(**read_only_start.hold(module, HoldPlan.from_dict(given)))
    login.require_driver(module)
    if step == "look" and given.get("part") == "source":
        RejoinLookPlan.from_dict(given)
        connection.work(module, former_facts.source_facts, "the new source cannot be asked")
    if step == "look":
        module.exit_json(**former_facts.former_facts(module, FormerLookPlan.from_dict(given)))
    if step == "carry":
        module.exit_json(**replay.carry(module, CarryPlan.from_dict(given)))
    if step == "ready":
        module.exit_json(**prepare.ready(module, RejoinPlan.from_dict(given)))
    on_server(module, step, given)


def on_server(module: AnsibleModule, step: str, given: Mapping[str, object]) -> None:
    """Do a step that is made of statements, and leave the module."""

    def work(_module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
        if step == "replay":
            return replay.replay(module, ReplayPlan.from_dict(given), server, names)
        if step == "record":
            return prepare.record(module, RejoinRecordPlan.from_dict(given), server, names)
        what = {"release": prepare.release, "settle": prepare.settle_as_replica}[step]
        return what(module, RejoinPlan.from_dict(given), server, names)

    connection.work(module, work, f"step {step} failed")


if __name__ == "__main__":
    main()
