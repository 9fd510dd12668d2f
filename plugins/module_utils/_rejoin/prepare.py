# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A former source is made ready to be a replica: it is started read-only, lets no writers in, and
forgets its time as a source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._host import command
from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils._host.unit_exit import service_name
from ansible_collections.dbre.semisync.plugins.module_utils._rejoin import old_data, read_only_start
from ansible_collections.dbre.semisync.plugins.module_utils._rejoin.read_only_start import (
    ReadyError,
)
from ansible_collections.dbre.semisync.plugins.module_utils._replication import (
    gtids,
    journal,
    journal_writing,
)
from ansible_collections.dbre.semisync.plugins.module_utils._replication.channel import Step
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    next_start,
    read_only_dropin,
    role_statements,
    scheduled_events,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.participant import (
    global_text,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    RejoinPlan,
    RejoinRecordPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import channels, login
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import (
    Server,
    identify,
    run_steps,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import canonical_value

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

# Truncates unacknowledged transactions from the binary log at the start; see Names.truncates.
TRUNCATE = ("init_rpl_role = SLAVE", "loose_rpl_semi_sync_slave_enabled = ON")
# Seconds that the statement which keeps writers out may wait for commits in progress.
PATIENCE = 20
POLL = 0.5


def ready(module: AnsibleModule, plan: RejoinPlan) -> dict[str, object]:
    """Have a former source run, read-only; see the RETURN section of semisync_rejoin.

    Raises:
        ReadyError: it does not run, or is not read-only.
    """
    if module.check_mode:
        return {"changed": True, "kept": ""}
    more = tuple(plan.lines)
    cut = TRUNCATE if plan.truncate else ()
    try:
        # A replica's option files keep writers out, however it is started.
        path = "" if plan.missed else read_only_start.write_option_file(plan, more)
        if path and (plan.down or plan.keep):
            refuse_open_start(module, plan)
        if path and cut:
            read_only_start.write_option_file(plan, (*more, *cut))
    except OSError as error:
        raise ReadyError(f"its option file cannot be written: {error}. Nothing was done") from error
    kept, down = {"kept": "", "not_kept": ""}, plan.down
    if not down:
        if plan.leaves:
            take_no_more(module, plan)
        # A clean shutdown would confirm what came to wait for an acknowledgement since it was read.
        close(module, plan)
    if plan.keep:
        if not down:
            systemctl(module, plan, "stop")
            down = True
        kept = old_data.copy_aside(module, plan)
    if down:
        begin(module, plan, bool(cut), path)
    if cut:
        # The next start is one of a replica, and there is nothing to cut any more.
        read_only_start.write_option_file(plan, more)
    return {
        "changed": True,
        "statements": close(module, plan),
        "fence": path,
        **kept,
    }


def refuse_open_start(module: AnsibleModule, plan: RejoinPlan) -> None:
    """Before anything is stopped or copied.

    Raises:
        ReadyError: it would start writable although its option file is there.
    """
    place = read_only_start.option_file_of(plan)
    wrong = read_only_start.opens(module, place, plan.datadir or "")
    if wrong:
        raise ReadyError(f"{wrong}. Its server was not started, and not stopped")


def take_no_more(module: AnsibleModule, plan: RejoinPlan) -> None:
    """Stop the IO thread of a server that follows a former source, and wait until it has applied
    what it received, unless its applier is stopped.

    Raises:
        ReadyError: it does not stop.
    """
    try:
        server = Server(login.connect(module))
        names = identify(server)
        run_steps(server, [(f"STOP {names.replica_word} IO_THREAD", None)])
        kind = gtids.kind_of(names.engine)

        def ends() -> bool:
            channel = channels.default_channel(server.channels(names))
            if not channel or channel["sql_running"] != "Yes":
                return True
            applied = kind.parse(global_text(server, kind.APPLIED))
            return applied.covers(kind.parse(channel["retrieved"]))

        wait_until(ends, plan.timeout, POLL)
    except ServerError as error:
        raise ReadyError(f"its IO thread cannot be stopped and read: {error}") from error


def journal_end(module: AnsibleModule, unit: str) -> str:
    """The last entries of systemd's journal for a unit, on one line."""
    words = [
        "journalctl",
        "--no-pager",
        "--lines=12",
        "--output=cat",
        "--unit",
        unit,
    ]
    _status, printed, _errors = command.run(module, words)
    lines = [line.strip() for line in printed.splitlines()]
    return " | ".join(line for line in lines if line)


def begin(
    module: AnsibleModule,
    plan: RejoinPlan,
    cutting: bool,
    path: str,
) -> None:
    """Start the server, and wait until it answers.

    Raises:
        ReadyError: it does not answer in time.
    """
    unit = unit_of(plan)
    command.run(module, ["systemctl", "reset-failed", unit])
    systemctl(
        module,
        plan,
        "start",
        "--no-block",
    )
    reason = "it did not answer"

    def answers() -> bool:
        nonlocal reason
        try:
            Server(login.connect(module)).rows("SELECT 1")
        except ServerError as error:
            reason = login.explain(error, module.params)
            return False
        return True

    if wait_until(answers, plan.timeout, POLL):
        return
    said = journal_end(module, unit)
    # systemd must not try again and again.
    command.run(module, ["systemctl", "stop", unit])
    if cutting:
        read_only_start.write_option_file(plan, plan.lines)
    raise ReadyError(
        f"its server did not answer within {plan.timeout} s ({reason}), and was stopped."
        f" {path} stays, so that it always starts read-only. The end of its log: {said}"
    )


def unit_of(plan: RejoinPlan) -> str:
    """The unit that starts its server.

    Raises:
        ReadyError: it is not known.
    """
    if not plan.unit:
        raise ReadyError("it is not known which unit starts its server; set semisync_service")
    return service_name(plan.unit)


def systemctl(module: AnsibleModule, plan: RejoinPlan, *words: str) -> None:
    verb, *options = words
    unit = unit_of(plan)
    code, output, errors = command.run(
        module,
        [
            "systemctl",
            verb,
            *options,
            unit,
        ],
    )
    if code:
        said = " ".join((errors or output).split())
        raise ReadyError(f"systemctl {verb} {unit}: {said}")


def close(module: AnsibleModule, plan: RejoinPlan) -> list[str]:
    """Keep writers out of the running server; return the statements.

    Raises:
        ReadyError: it refuses, or a commit in progress does not end.
    """
    try:
        server = Server(login.connect(module))
        names = identify(server)
        server.rows(f"SET SESSION lock_wait_timeout = {PATIENCE}")
        steps: list[Step] = [(role_statements.freeze_statement(names), None)]
        if plan.missed or plan.open_to_root:
            # A replica that was one all the time would keep super_read_only. And a clone installs
            # its plugin first; what is written meanwhile is replaced with it.
            steps = [("SET GLOBAL read_only = 1", None)]
        if plan.open_to_root:
            if names.super_read_only:
                steps.append(("SET GLOBAL super_read_only = 0", None))
            if channels.default_channel(server.channels(names)):
                # It was attached by hand, or it is of its time as a replica.
                steps += [role_statements.stop_replica(names), *role_statements.forget_steps(names)]
        run_steps(server, steps)
        if canonical_value(global_text(server, "read_only")) != "1":
            raise ReadyError("it does not become read-only")
    except ServerError as error:
        raise ReadyError(
            f"it cannot be made read-only ({error}): if commits wait there for an acknowledgement,"
            " kill the server (SIGKILL), and run this again"
        ) from error
    return role_statements.shown(steps)


def release(
    module: AnsibleModule, plan: RejoinPlan, server: Server, names: Names
) -> dict[str, object]:
    """Do what a former source without phantoms needs before its channel is set up."""
    if canonical_value(global_text(server, "read_only")) != "1":
        module.fail_json(msg="it is no longer read-only: read_only was switched off meanwhile")
    steps: list[Step] = []
    channel = channels.default_channel(server.channels(names))
    if channel:
        running = (channel["io_running"], channel["sql_running"]) != ("No", "No")
        if running and not plan.leaves:
            module.fail_json(msg=f"it follows {channel['source_host']}: stop that first")
        # What is left of its time as a replica; all of it is applied.
        steps += [
            *([role_statements.stop_replica(names)] if running else []),
            *role_statements.forget_steps(names),
        ]
    if names.mariadb:
        logged = global_text(server, "gtid_binlog_pos")
        both = role_statements.merged(global_text(server, "gtid_slave_pos"), logged)
        steps.append((f"SET GLOBAL gtid_slave_pos = '{both}'", None))
    steps += role_statements.retire_steps(names)
    if not module.check_mode:
        run_steps(server, steps)
    return {"changed": True, "statements": role_statements.shown(steps)}


def settle_as_replica(
    module: AnsibleModule, plan: RejoinPlan, server: Server, names: Names
) -> dict[str, object]:
    """Leave its events to the source before its next start would run them, and remove the option
    file that kept writers out, as far as it starts read-only without it.
    """
    if module.check_mode:
        return {"changed": False, "statements": []}
    steps = scheduled_events.leave(server, names)
    option_file = read_only_start.option_file_of(plan)
    options = next_start.start_options(module, option_file, server, names)
    more = [
        *next_start.scheduler_steps(options, server, names),
        *next_start.strict_steps(options, server, names),
    ]
    # Before the option file goes: a run that is killed leaves it, and the next one does the rest.
    run_steps(server, more)
    loosened = read_only_dropin.loosen(option_file, options)
    return {
        "changed": bool(steps or more or loosened),
        "statements": role_statements.shown([*steps, *more]),
    }


def record(
    module: AnsibleModule, plan: RejoinRecordPlan, server: Server, _names: Names
) -> dict[str, object]:
    """Write on the new source that the former one is back; see _replication/journal."""
    entry = journal_writing.Entry(operation=journal.REJOIN, state=journal.DONE, **plan.entry)
    if not module.check_mode:
        journal_writing.insert(server, plan.schema, entry)
    return {"changed": True}
