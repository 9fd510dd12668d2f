# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stop only a replica's IO thread: a source that is alive after all gets no more acknowledgements
from here, and what was received stays as it is read.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._host import detached
from ansible_collections.dbre.semisync.plugins.module_utils._replication.channel import Step
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    io_thread_resume,
    lock_holder,
    locks,
    received_outcome,
    role_statements,
    traces,
    trials,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import Place
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import IoThreadPlan
from ansible_collections.dbre.semisync.plugins.module_utils._server import (
    channels,
    connection,
    login,
    names_more,
    sessions,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.attempts import try_again
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import (
    Server,
    identify,
    run_steps,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import REPLICA, Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.read import gtids_of
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import set_statement
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import canonical_value

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        Channel,
        Variables,
    )

# Seconds until a server that was restarted meanwhile answers again.
RESTART = 120
# Seconds that a stop may wait for a connection to the source. 0 would be for as long as it takes.
CALL = 1
# Seconds that the process left on the host waits for the run's lock: its own run's part has it for
# a moment if it comes too late.
LOCK = 5
LEFT_STOPPED = "an IO thread that a failover stopped was not started again"
DISCARDS = "the applier is stopped, too, and a start would discard what was received (MDEV-4698)"


class Stop(NamedTuple):
    """The statements that stop the thread, in order.

    Attributes:
        restore: those at their end that restore a setting.
    """

    steps: list[Step]
    restore: list[Step]


def how_to_stop(names: Names, variables: Variables) -> Stop:
    """The stop; on MariaDB it waits little for a connection to a dead source."""
    stop = (f"STOP {names.replica_word} IO_THREAD", None)
    name, enabled = names_more.stop_call_timeout(names), names.variables(REPLICA)["enabled"]
    value = variables.get(name)
    calls = canonical_value(variables.get(enabled) or "OFF") == "1"
    if not calls or value is None or int(value) == CALL:
        return Stop([stop], [])
    restore: Step = (set_statement(name, int(value)), None)
    return Stop([(set_statement(name, CALL), None), stop, restore], [restore])


def start_steps(names: Names) -> list[Step]:
    return [(f"START {names.replica_word} IO_THREAD", None)]


def stop(
    module: AnsibleModule, plan: IoThreadPlan, server: Server, names: Names
) -> dict[str, object]:
    """Stop the IO thread, and read the state; a process stays that restarts the thread unless it is
    dismissed. One that a run before has left is relieved: what it would start is this run's now.
    """
    before = channels.default_channel(server.channels(names))
    if not before:
        return {"changed": False, "stopped": False, "msg": "it no longer follows a source"}
    how = how_to_stop(names, server.variables())
    relieved = not module.check_mode and relieve(module, plan, how)
    if relieved:
        # The other may have started it at the last moment.
        before = channels.default_channel(server.channels(names)) or before
    steps = [] if before["io_running"] == "No" else how.steps
    if module.check_mode:
        return {
            "changed": bool(steps),
            "stopped": False,
            "statements": role_statements.shown(steps),
        }
    if steps and not relieved:
        leave(module, plan, how)
    again = SourceAgain(module, plan.user, before)
    if steps:
        run_stop(server, how)
    return {
        "changed": bool(steps) or relieved,
        "statements": role_statements.shown(steps),
        "was": before["io_running"],
        "at": time.time(),
        **read_stopped(server, names, plan.schema),
        "source_answered": again.answered(),
    }


class SourceAgain:
    """A second try at the source, while its replica's IO thread stops. A host that says nothing
    until that is done is not waited for: it was when the replica was read first.
    """

    def __init__(self, module: AnsibleModule, user: str, channel: Channel) -> None:
        """Begin it.

        Args:
            module: as for log_in().
            user: the replication account; if empty, nothing is tried.
            channel: to the source.
        """
        self.module, self.user = module, user
        self.place = Place(channel["source_host"], channel["source_port"], known=False)
        self.knock = trials.Knock(self.place) if user and self.place.address else None

    def answered(self) -> bool:
        """Whether a server answers there now."""
        takes = self.knock is not None and self.knock.seen == "open"
        return takes and trials.reach_place(self.module, self.user, self.place)[1]


def leave(module: AnsibleModule, plan: IoThreadPlan, how: Stop) -> None:
    """Leave the process that starts the thread again."""
    io_thread_resume.leave(
        io_thread_resume.address(module, plan.token),
        lambda: settle(module, how.restore),
        lambda: start_again(module),
    )


def relieve(module: AnsibleModule, plan: IoThreadPlan, how: Stop) -> bool:
    """Take the place of the processes that other runs have left; False if there are none. Ours is
    there first, so that one of them starts the thread if this run ends here.
    """
    others = io_thread_resume.of_other_runs(module, plan.token)
    if others:
        leave(module, plan, how)
        io_thread_resume.take_over(others)
    return bool(others)


def read_stopped(server: Server, names: Names, schema: str) -> dict[str, object]:
    """What was received and applied, whether the IO thread stands still, and what tells whether
    the relay log is still the one that was written: since when server and machine run, and the
    applier's thread, which stops for whatever throws a relay log away; and the source's newest
    beats.

    Args:
        schema: of the heartbeat's table; empty if it is not read.
    """
    all_channels = server.channels(names)
    channel = channels.default_channel(all_channels)
    variables = server.variables()
    ids = sessions.read_sessions(server, names, variables, all_channels)["applier_ids"]
    return {
        "read_at": time.time(),
        "server_seconds": int(server.uptime()["seconds"]),
        "kernel_seconds": traces.kernel_seconds(),
        "applier_ids": ids,
        "applier_seconds": traces.applier_seconds(server, names, ids),
        "received_applied": received_outcome.received_applied(server, names, variables),
        "beats": traces.newest_beats(server, schema),
        "stopped": channel is not None and channel["io_running"] == "No",
        "channel": channel,
        "gtid": gtids_of(variables),
    }


def resume_io_thread(
    module: AnsibleModule, plan: IoThreadPlan, server: Server, names: Names
) -> dict[str, object]:
    """Restart the IO thread if this run has stopped it."""
    io_thread_resume.release(io_thread_resume.address(module, plan.token))
    steps = start(server, names, module.warn)
    return {"changed": bool(steps), "statements": role_statements.shown(steps)}


def start(server: Server, names: Names, complain: Callable[[str], object]) -> list[Step]:
    """Start the thread if it stands still; the statements. Not if that would discard what was
    received: on MariaDB by GTID, once both threads are stopped (MDEV-4698).
    """
    channel = channels.default_channel(server.channels(names))
    if not channel or channel["io_running"] != "No":
        return []
    if names.mariadb and channel["gtid"] and channel["sql_running"] == "No":
        complain(f"{LEFT_STOPPED}: {DISCARDS}")
        return []
    steps = start_steps(names)
    run_steps(server, steps)
    return steps


def run_stop(server: Server, how: Stop) -> None:
    """Stop the thread, and restore the setting even if the stop is refused.

    Raises:
        ServerError: the server refuses a statement.
    """
    try:
        run_steps(server, how.steps)
    except ServerError:
        with contextlib.suppress(ServerError):
            run_steps(server, how.restore)
        raise


def settle(module: AnsibleModule, restore: Sequence[Step]) -> None:
    """What the process left on the host does first if its run does not return.

    Args:
        restore: statements that the run may not have reached.

    Raises:
        ServerError: the server refuses the login or a statement.
    """
    if restore:
        server = try_again(RESTART, lambda: Server(login.connect(module)))
        run_steps(server, restore)
        connection.close(server)


def start_again(module: AnsibleModule) -> None:
    """What it does then, unless another run has taken its place. If another one is at work on this
    server, that one decides about the thread: a replica must not acknowledge to a source that
    lives after all, while another takes over.

    Raises:
        ServerError: the server refuses the login or the statement.
    """
    server = try_again(RESTART, lambda: Server(login.connect(module)))
    # Held until the connection ends, so that no part begins in between.
    if locks.take(server, lock_holder.RUN_LOCK, LOCK):
        start(server, identify(server), detached.complain)
    else:
        detached.complain(f"{LEFT_STOPPED}: another role change is in progress on this server")
    connection.close(server)
