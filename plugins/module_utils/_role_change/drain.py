# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Apply the candidate's backlog in rounds before its part begins, so that the run can report
progress. If durability may be relaxed meanwhile, it is applied faster.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._host.detached import complain
from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids, position
from ansible_collections.dbre.semisync.plugins.module_utils._replication.channel import Step
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    io_thread,
    io_thread_resume,
    locks,
    role_statements,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import FailoverPlan
from ansible_collections.dbre.semisync.plugins.module_utils._server import (
    channels,
    connection,
    login,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.attempts import try_again
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import (
    Server,
    run_steps,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import set_statement

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

# Seconds that a round takes if something is left to apply.
ROUND = 5
PAUSE = 0.05
# It shows the others that this host is at work before its part starts.
FLAG = "applies"
GONE = {"gone": True}
# Variables that can be relaxed: the server then syncs periodically, not at each transaction.
RELAXED = {"sync_binlog": 1000, "innodb_flush_log_at_trx_commit": 2}


def wait_round(plan: FailoverPlan, server: Server, names: Names) -> dict[str, object]:
    """Wait until everything is applied or the round is over; see 'round' in apply_round()."""

    def missing() -> int:
        return gtids.missing(names.engine, plan.received, server.applied(names))

    begin = time.monotonic()
    first = left = missing()
    while left and time.monotonic() - begin < ROUND:
        time.sleep(PAUSE)
        left = missing()
    stopped = position.stopped(channels.default_channel(server.channels(names))) if left else ""
    return {
        "gone": False,
        "left": left,
        "applied": first - left,
        "stopped": stopped,
        "seconds": round(time.monotonic() - begin, 3),
    }


def apply_round(
    module: AnsibleModule, plan: FailoverPlan, server: Server, names: Names
) -> dict[str, object]:
    """Run one round.

    Returns:
        round, with left, applied and seconds; stopped, with the reason why waiting is useless; or
        gone, if the IO thread was started again because the run did not come in time.
    """
    address = io_thread_resume.address(module, plan.token)
    there = io_thread_resume.release(address)
    if plan.held and not there:
        return {"changed": False, "round": dict(GONE)}
    locks.take(server, locks.flag_name(plan.token, FLAG), 0)
    if plan.held or plan.durability:
        try:
            io_thread_resume.leave(
                address, lambda: settle(module, plan), lambda: start_again(module, plan)
            )
        except OSError:
            # Relax durability only if a process is there that would restore it.
            settle(module, plan)
            start_again(module, plan)
            return {"changed": True, "round": dict(GONE)}
    steps: list[Step] = [
        (set_statement(name, RELAXED[name]), None) for name in sorted(plan.durability)
    ]
    channel = channels.default_channel(server.channels(names))
    if channel and channel["sql_running"] != "Yes" and not names.mariadb:
        steps.append((f"START {names.replica_word} SQL_THREAD", None))
    run_steps(server, steps)
    return {
        "changed": bool(steps),
        "round": wait_round(plan, server, names),
        "statements": role_statements.shown(steps),
    }


def careful_steps(durability: dict[str, str]) -> list[Step]:
    """The statements that restore the server's durability settings."""
    return [(set_statement(name, durability[name]), None) for name in sorted(durability)]


def settle(module: AnsibleModule, plan: FailoverPlan) -> None:
    """What the process left on the host does first if its run does not return."""
    if not plan.durability:
        return
    try:
        server = try_again(io_thread.RESTART, lambda: Server(login.connect(module)))
    except ServerError as error:
        complain(f"the server's durability settings could not be restored: {error}")
    else:
        run_steps(server, careful_steps(plan.durability))
        connection.close(server)


def start_again(module: AnsibleModule, plan: FailoverPlan) -> None:
    """What it does then, unless another run has taken its place."""
    if plan.held:
        io_thread.start_again(module)
