# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scheduled events when roles change: each runs on the source, and on no other server.

A replica knows of an event that its source is to run or not; both are one status there (seen on
9.7.4 and 10.11.19). So a role change must carry over the status that the old source had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._replication.channel import Step
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import role_statements
from ansible_collections.dbre.semisync.plugins.module_utils._server import names_more
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import (
    Server,
    open_to_root,
    run_steps,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import text

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import ScheduledEvent

ENABLED, DISABLED = "ENABLED", "DISABLED"


def take_over(
    here: Sequence[ScheduledEvent], before: Sequence[Mapping[str, object]] | None
) -> tuple[list[Step], list[str]]:
    """(the statements that give the new source's events what they had on the old one, the names of
    those of which that is not known: they stay as they are, and run nowhere).

    Args:
        here: result of Server.events() on the new source.
        before: schema, name and status of those of the old one; None if they were not seen.
    """
    known = {(one["schema"], one["name"]): one["status"] for one in before or []}
    steps: list[Step] = []
    left = []
    for event in here:
        if event["status"] not in role_statements.ELSEWHERE:
            continue
        was = known.get((event["schema"], event["name"]))
        if was in (ENABLED, DISABLED):
            steps += role_statements.alter_event(event, "ENABLE" if was == ENABLED else "DISABLE")
        else:
            left.append(f"{event['schema']}.{event['name']}")
    return steps, left


def leave_steps(names: Names, here: Sequence[ScheduledEvent]) -> list[Step]:
    """On a server that is a replica from now on: it runs none itself. Its source's statements say
    the same of those that it changes from now on.
    """
    return [
        step
        for event in here
        if event["status"] == ENABLED
        for step in role_statements.alter_event(event, names_more.disable_on_replica(names))
    ]


def leave(server: Server, names: Names) -> list[Step]:
    """Run leave_steps() without logging them; return the statements.

    Raises:
        ServerError: one is refused.
    """
    steps = leave_steps(names, server.events())
    if steps:
        with open_to_root(server):
            server.rows("SET SESSION sql_log_bin = 0")
            run_steps(server, steps)
            server.rows("SET SESSION sql_log_bin = 1")
    return steps


def scheduler(server: Server) -> str:
    return text(server.rows("SELECT @@GLOBAL.event_scheduler AS value")[0]["value"])
