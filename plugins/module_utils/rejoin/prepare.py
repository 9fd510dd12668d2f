# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A former source, made ready to be a replica: its roles are in an option file before its server
starts, it lets no writers in, and its old data are kept aside where they are to be replaced.
"""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils.binlog import log_access
from ansible_collections.dbre.semisync.plugins.module_utils.host import command, server_options
from ansible_collections.dbre.semisync.plugins.module_utils.host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils.host.unit_exit import service_name
from ansible_collections.dbre.semisync.plugins.module_utils.rejoin import offline_server
from ansible_collections.dbre.semisync.plugins.module_utils.replication import (
    gtids,
    journal,
    journal_writing,
)
from ansible_collections.dbre.semisync.plugins.module_utils.replication.channel import Step
from ansible_collections.dbre.semisync.plugins.module_utils.role_change import (
    read_only_dropin,
    role_statements,
    scheduled_events,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.look_plan import OptionFile
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.participant import (
    global_text,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.plan import (
    HoldPlan,
    RejoinPlan,
    RejoinRecordPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils.server import channels, login
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import (
    Server,
    identify,
    run_steps,
)
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils.server.values import canonical_value

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

WORDS = (
    "# Written by dbre.semisync: this server was the source, and lets no writers in until"
    " rejoin.yml has\n# brought it back as a replica, which takes this file away."
)
HELD = (
    "# Written by dbre.semisync: a failover took the source's role from this server, which lets no"
    " writers in\n# until rejoin.yml has brought it back as a replica, and takes this file away."
)
# Truncates unacknowledged transactions from the binary log at the start; see Names.truncates.
TRUNCATE = ("init_rpl_role = SLAVE", "loose_rpl_semi_sync_slave_enabled = ON")
# Seconds that the statement which keeps writers out may wait for commits in progress.
PATIENCE = 20
POLL = 0.5
# What is free must hold the old data, and what comes in their place.
ROOM = 2.2
# The copy's name until it is complete.
PART = ".part"


class ReadyError(Exception):
    """The server was not made ready; the text says why, and in which state it was left."""


def ready(module: AnsibleModule, plan: RejoinPlan) -> dict[str, object]:
    """Let a former source run, read-only; see the RETURN section of semisync_rejoin.

    Raises:
        ReadyError: it does not.
    """
    if module.check_mode:
        return {"changed": True, "kept": ""}
    more = tuple(plan.lines)
    cut = TRUNCATE if plan.truncate else ()
    try:
        # A replica's option files keep writers out, however it is started.
        path = "" if plan.missed else put_fence(plan, (*more, *cut))
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
        kept = copy_data(module, plan)
    if down:
        begin(module, plan, bool(cut), path)
    if cut:
        # The next start is one of a replica, and there is nothing to cut any more.
        put_fence(plan, more)
    return {
        "changed": True,
        "statements": close(module, plan),
        "fence": path,
        **kept,
    }


def put_fence(plan: RejoinPlan, more: Sequence[str]) -> str:
    """Write the option file that makes it start read-only, with more lines.

    Raises:
        OSError: it cannot be written.
        ReadyError: its place is not known.
    """
    place = option_file_of(plan)
    return read_only_dropin.put(
        place.path,
        place.kind,
        place.group,
        WORDS,
        more,
    )


def option_file_of(plan: RejoinPlan) -> OptionFile:
    """The option file that gets its lines.

    Raises:
        ReadyError: that is not known.
    """
    if plan.option_file is None:
        raise ReadyError("it is not known where its option lines are. Nothing was done")
    return plan.option_file


def take_no_more(module: AnsibleModule, plan: RejoinPlan) -> None:
    """Have a server that follows one which lost its role take nothing more from that, and apply
    what it has received, as far as its applier runs.

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


def hold(module: AnsibleModule, plan: HoldPlan) -> dict[str, object]:
    """Make a dead source start read-only, however it is started."""
    try:
        there = offline_server.find(module, plan.units, plan.program)
        if log_access.running(there.files()):
            module.fail_json(msg="its server is running by now: nothing is written there")
        ours = server_options.read_options(module, there.server, plan.option_file or None)
        if module.check_mode:
            return {"changed": True, "fence": ""}
        path = read_only_dropin.put(
            ours["path"],
            ours["kind"],
            ours["group"],
            HELD,
        )
    except (offline_server.PlaceError, log_access.SalvageError, OSError) as error:
        module.fail_json(msg=f"its next start is not read-only: {error}")
    return {"changed": True, "fence": path}


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
        put_fence(plan, plan.lines)
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
    """What has to be so on a former source without phantoms before its channel is set up."""
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


def unfence(module: AnsibleModule, option_file: OptionFile) -> dict[str, object]:
    """Take the option file away that kept writers out: the server's own says it now."""
    path, kind = option_file.path, option_file.kind
    taken = not module.check_mode and read_only_dropin.take_away(path, kind)
    return {"changed": taken}


def settle_as_replica(
    module: AnsibleModule, plan: RejoinPlan, server: Server, names: Names
) -> dict[str, object]:
    """Leave its events to the source, before its next start would run them; then unfence() it."""
    if module.check_mode:
        return {"changed": False, "statements": []}
    steps = scheduled_events.leave(server, names)
    option_file = option_file_of(plan)
    done = unfence(module, option_file)
    scheduler = scheduled_events.scheduler_steps(
        module,
        option_file.reader,
        server,
        names,
    )
    run_steps(server, scheduler)
    return {
        "changed": bool(steps or scheduler or done["changed"]),
        "statements": role_statements.shown([*steps, *scheduler]),
    }


def record(
    module: AnsibleModule, plan: RejoinRecordPlan, server: Server, _names: Names
) -> dict[str, object]:
    """Write on the new source that the former one is back; see module_utils/replication/journal."""
    entry = journal_writing.Entry(operation=journal.REJOIN, state=journal.DONE, **plan.entry)
    if not module.check_mode:
        journal_writing.insert(server, plan.schema, entry)
    return {"changed": True}


def used(folder: str) -> int:
    """The bytes that a folder takes on disk."""
    size = 0
    for path, _folders, names in os.walk(folder):
        size += sum(os.lstat(os.path.join(path, name)).st_blocks * 512 for name in names)
    return size


def copy_data(module: AnsibleModule, plan: RejoinPlan) -> dict[str, str]:
    """Copy the data of a server that does not run beside them; where, or why not. A copy that a run
    made since it lost its role is enough.

    Raises:
        ReadyError: there would be room, and it failed.
    """
    if not plan.datadir:
        raise ReadyError("it is not known where its data are")
    datadir = os.path.realpath(plan.datadir)
    made = sorted(glob.glob(glob.escape(datadir) + "-kept-*Z"))
    if made and made[-1].rpartition("-kept-")[2] > plan.since:
        return {"kept": made[-1], "not_kept": ""}
    parent, size = os.path.dirname(datadir), used(datadir)
    stat = os.statvfs(parent)
    free = stat.f_bavail * stat.f_frsize
    if free < size * ROOM:
        words = f"{parent} has {free >> 20} MB free, and {int(size * ROOM) >> 20} are needed"
        return {"kept": "", "not_kept": words}
    for left in glob.glob(glob.escape(datadir) + "-kept-*" + PART):
        # Left by an interrupted run.
        shutil.rmtree(left)
    copy = os.path.join(parent, f"{os.path.basename(datadir)}-kept-{plan.run}")
    argv = [
        "cp",
        "--archive",
        "--reflink=auto",
        "--no-target-directory",
        datadir,
        copy + PART,
    ]
    code, _output, errors = command.run(module, argv)
    if code:
        said = " ".join(errors.split())[-300:]
        raise ReadyError(f"its old data could not be copied to {copy}: {said}")
    os.chmod(copy + PART, 0o700)
    os.rename(copy + PART, copy)
    return {"kept": copy, "not_kept": ""}
