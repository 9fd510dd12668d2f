# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows in the journal around a change of what a source waits for. From the first row on, another
controller's look proves nothing, and the replicas know that; nor does a look between the two rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._replication import (
    journal,
    journal_writing,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import errors
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import SOURCE, Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.read import by_key
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import same_value

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Variables

# Seconds that the row may wait for its acknowledgement. If the source gives up soon, wait for that:
# then it is degraded, and reports so itself.
LONGEST, SOON, SPARE = 10.0, 60.0, 3.0
# Age in seconds from which an open row is taken as left by an interrupted run.
STALE = 900
# Written by bench/load/settings_rollback.py while a benchmark's settings are in force.
IN_FORCE = "/run/dbre-semisync/kept.json"
UNDER_WAY = (
    "a playbook began to change what it waits for, and may still be in progress: a row of the last"
    " quarter of an hour, or a benchmark whose settings are in force, is not closed"
)
# Only an administrator writes to a server that is read-only (MySQL and MariaDB error numbers).
READ_ONLY = (1290, 1836)


def patience(timeout: str | None) -> float:
    """How long the row may take.

    Args:
        timeout: semi-sync's, in milliseconds, or None.
    """
    seconds = int(timeout or 0) / 1000 + SPARE
    return seconds if seconds <= SOON else LONGEST


def give(
    module: AnsibleModule,
    server: Server,
    names: Names,
    seconds: float | None = None,
) -> dict[str, object]:
    """Write the row, in a table that may not exist yet; see the RETURN section of semisync_spend.

    A change that no replica knows of must not be made while a look at the source can prove
    anything: another controller's look would prove what is no longer true.
    """
    params = module.params
    row = {
        "changed": True,
        "written": True,
        "acknowledged": False,
        "problem": "",
        "keeps": False,
    }
    variables = server.variables()
    running = by_key(names.variables(SOURCE), variables)
    if not same_value(running.get("enabled"), "ON"):
        # A look can have proved nothing about it. Its replicas may not even be set up.
        return dict(row, changed=False, written=False)
    row["row"] = params["token"]
    if module.check_mode:
        return dict(row, written=False)
    entry = entry_of(
        params,
        variables,
        params["token"],
        journal.BEGUN,
    )
    if seconds is None:
        seconds = patience(running.get("timeout"))
    try:
        with errors.answers_within(seconds):
            insert(server, params["journal_schema"], entry)
            status = by_key(names.statuses(SOURCE), server.semisync_status())["status"]
        return dict(row, acknowledged=status == "ON")
    except errors.ServerError as error:
        late = error.number == errors.SERVER_LOST
        words = f"its row in the journal was not acknowledged within {seconds:g} s"
        if not late:
            words = f"its row in the journal was not written: {error}"
        keeps = error.number not in READ_ONLY
        return dict(
            row,
            changed=late,
            written=late,
            problem=words,
            keeps=keeps,
        )


def close_rows(
    module: AnsibleModule,
    server: Server,
    names: Names,
    seconds: float | None = None,
) -> dict[str, object]:
    """Close this run's row, or without one, the rows of interrupted runs; see the RETURN section of
    semisync_spend. Looks count again from here on.

    What may still be in progress stays open: a row of the last quarter of an hour, and any row
    while a benchmark's settings are in force here, which its timer on this host will restore.
    """
    params = module.params
    row = {
        "changed": False,
        "written": False,
        "acknowledged": False,
        "problem": "",
        "keeps": False,
    }
    if seconds is None:
        seconds = LONGEST
    try:
        with errors.answers_within(seconds):
            server.rows(f"SET SESSION lock_wait_timeout = {max(1, int(seconds))}")
            left = journal_writing.unfinished(server, params["journal_schema"])
            mine = params["row"]
            closed = closing(left, mine, os.path.exists(IN_FORCE))
            if not closed or module.check_mode:
                # In check mode this run's own row was not written.
                return dict(
                    row,
                    changed=bool(closed or (mine and module.check_mode)),
                    problem="" if mine or not left or closed else UNDER_WAY,
                )
            variables = server.variables()
            for run in closed:
                entry = entry_of(
                    params,
                    variables,
                    run,
                    journal.DONE,
                )
                journal_writing.insert(server, params["journal_schema"], entry)
            status = by_key(names.statuses(SOURCE), server.semisync_status())["status"]
        return dict(
            row,
            changed=True,
            written=True,
            acknowledged=status == "ON",
        )
    except errors.ServerError as error:
        words = f"its row in the journal was not acknowledged within {seconds:g} s"
        if error.number != errors.SERVER_LOST:
            words = f"its row in the journal was not written: {error}"
        return dict(row, problem=words)


def closing(
    left: dict[str, int],
    mine: str | None,
    in_force: bool,
) -> list[str]:
    """Which open rows are closed.

    Args:
        left: of journal_writing.unfinished().
        mine: this run's own; empty or None for a run that made no change itself.
        in_force: whether a benchmark's settings are in force on this host.
    """
    if mine:
        return [mine] if mine in left else []
    return [] if in_force else [run for run, age in left.items() if age >= STALE]


def entry_of(
    params: Mapping[str, object],
    variables: Variables,
    run: str,
    state: str,
) -> journal_writing.Entry:
    """A row about this source."""
    number = journal.identity(variables)
    return journal_writing.Entry(
        operation=journal.SETTINGS,
        run=run,
        state=state,
        from_host=str(params["host"]),
        to_host=str(params["host"]),
        from_id=number,
        to_id=number,
        details=str(params["reason"]),
    )


def insert(
    server: Server,
    schema: str,
    entry: journal_writing.Entry,
) -> None:
    """Write the row; a cluster whose source never changed has no table yet.

    Raises:
        ServerError: the server refuses it.
    """
    try:
        journal_writing.insert(server, schema, entry)
    except errors.ServerError as error:
        if error.number not in journal.NOT_THERE:
            raise
        for statement in journal_writing.create_statements(schema):
            server.rows(statement)
        journal_writing.insert(server, schema, entry)
