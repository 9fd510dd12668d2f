# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The candidate's backlog, applied in rounds before its part begins, so that somebody hears how far
it is; and faster, where its disk may be less careful meanwhile.
"""

from __future__ import annotations

import time
from typing import Any

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
from ansible_collections.dbre.semisync.plugins.module_utils.server import channels, login
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import (
    Server,
    run_steps,
)
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils.server.sql import set_statement

# Seconds that a round takes where something is left.
ROUND = 5
PAUSE = 0.05
# The others see by it that somebody works here, before the part is there.
FLAG = "applies"
GONE = {"gone": True}
# What is written to the disk now and then, and not with each transaction.
RELAXED = {"sync_binlog": 1000, "innodb_flush_log_at_trx_commit": 2}


def work(module: Any, server: Server, names: Names) -> dict[str, Any]:
    """One round.

    Returns:
        round, with left, applied and seconds; stopped, why waiting is of no use, in words; or gone,
        where the IO thread was started again because nobody came in time.
    """
    params, durability = module.params, module.params["durability"]
    address = io_thread_resume.address(params)
    there = io_thread_resume.release(address)
    if params["held"] and not there:
        return {"changed": False, "round": dict(GONE)}
    locks.take(server, role_statements.flag_name(params["token"], FLAG), 0)
    if params["held"] or durability:
        try:
            io_thread_resume.leave(address, lambda: put_back(module))
        except OSError:
            # Nothing is held back that nobody would put back.
            put_back(module)
            return {"changed": True, "round": dict(GONE)}
    steps: list[Step] = [(set_statement(name, RELAXED[name]), None) for name in sorted(durability)]
    channel = channels.default_channel(server.channels(names))
    if channel and channel["sql_running"] != "Yes" and not names.mariadb:
        steps.append((f"START {names.replica_word} SQL_THREAD", None))
    run_steps(server, steps)
    begin = time.monotonic()
    first = left = gtids.missing(names.engine, params["received"], server.applied(names))
    while left and time.monotonic() - begin < ROUND:
        time.sleep(PAUSE)
        left = gtids.missing(names.engine, params["received"], server.applied(names))
    stopped = position.stopped(channels.default_channel(server.channels(names))) if left else ""
    done = {"gone": False, "left": left, "applied": first - left, "stopped": stopped}
    done["seconds"] = round(time.monotonic() - begin, 3)
    return {"changed": bool(steps), "round": done, "statements": role_statements.shown(steps)}


def careful_steps(durability: dict[str, Any]) -> list[Step]:
    """What makes the server as careful with its disk as it was."""
    return [(set_statement(name, durability[name]), None) for name in sorted(durability)]


def put_back(module: Any) -> None:
    """What the process does that was left behind, where nobody came back."""
    if module.params["durability"]:
        server, error = try_again(io_thread.RESTART, lambda: Server(login.connect(module)))
        if error:
            complain(f"the server is not as careful with its disk as it was: {error}")
        else:
            run_steps(server, careful_steps(module.params["durability"]))
            locks.close(server)
    if module.params["held"]:
        io_thread.start_again(module)
