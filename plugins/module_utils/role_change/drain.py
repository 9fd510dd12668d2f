# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The candidate's backlog, applied in rounds before its part begins, so that the run hears how far
it is; and faster, where its disk may be less careful meanwhile.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils.host.detached import complain
from ansible_collections.dbre.semisync.plugins.module_utils.replication import gtids, position
from ansible_collections.dbre.semisync.plugins.module_utils.replication.channel import Step
from ansible_collections.dbre.semisync.plugins.module_utils.role_change import (
    io_thread,
    io_thread_resume,
    locks,
    role_statements,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.participant import try_again
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.plan import FailoverPlan
from ansible_collections.dbre.semisync.plugins.module_utils.server import (
    channels,
    connection,
    login,
)
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import (
    Server,
    run_steps,
)
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils.server.sql import set_statement

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

# Seconds that a round takes where something is left.
ROUND = 5
PAUSE = 0.05
# The others see by it that this host is at work, before the part is there.
FLAG = "applies"
GONE = {"gone": True}
# What is written to the disk now and then, and not with each transaction.
RELAXED = {"sync_binlog": 1000, "innodb_flush_log_at_trx_commit": 2}


def wait_round(plan: FailoverPlan, server: Server, names: Names) -> dict[str, object]:
    """Wait until everything is applied, or the round is over; see apply_round's 'round'."""

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
    """One round.

    Returns:
        round, with left, applied and seconds; stopped, why waiting is of no use, in words; or gone,
        if the IO thread was started again because the run did not come in time.
    """
    address = io_thread_resume.address(module, plan.token)
    there = io_thread_resume.release(address)
    if plan.held and not there:
        return {"changed": False, "round": dict(GONE)}
    locks.take(server, locks.flag_name(plan.token, FLAG), 0)
    if plan.held or plan.durability:
        try:
            io_thread_resume.leave(address, lambda: put_back(module, plan))
        except OSError:
            # Nothing is held back without a process that would put it back.
            put_back(module, plan)
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
    """What makes the server as careful with its disk as it was."""
    return [(set_statement(name, durability[name]), None) for name in sorted(durability)]


def put_back(module: AnsibleModule, plan: FailoverPlan) -> None:
    """What the process does that stays, if the run does not come back."""
    if plan.durability:
        try:
            server = try_again(io_thread.RESTART, lambda: Server(login.connect(module)))
        except ServerError as error:
            complain(f"the server is not as careful with its disk as it was: {error}")
        else:
            run_steps(server, careful_steps(plan.durability))
            connection.close(server)
    if plan.held:
        io_thread.start_again(module)
