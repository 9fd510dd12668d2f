# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a switchover shows before anything is changed: the statements that each host would run, and
the plan as text.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._replication import journal_writing
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import role_statements
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    SWITCH,
    UNDO,
    SwitchoverPlan,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    names_of,
    replicas_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.part_results import (
    SwitchoverLook,
    SwitchoverLooks,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.records import (
    Statement,
    SwitchoverRun,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import ScheduledEvent

# (host, statement).
Line = tuple[str, str]


def runs_events(looked: SwitchoverLook) -> list[ScheduledEvent]:
    """Scheduled events that a host executes itself."""
    return [event for event in looked.get("events", []) if event["status"] == "ENABLED"]


def in_order(
    source: Member,
    target: Member,
    members: list[Member],
    looks: SwitchoverLooks,
    settings: Settings,
    hosts: dict[str, SwitchoverPlan],
) -> list[Statement]:
    """Every statement in order, with its host, as far as it is known in advance."""
    here, there = names_of(source.facts), names_of(target.facts)
    schema = settings["canary_schema"]
    shown = role_statements.shown
    lines: list[Line] = [
        (source.host, statement) for statement in journal_writing.create_statements(schema)
    ]
    lines.append((source.host, journal_writing.insert_statement(schema)))
    events = runs_events(looks.get(source.host) or {})
    if events and not here.super_read_only:
        lines.append((source.host, "SET GLOBAL event_scheduler = 0"))
    lines.append((source.host, role_statements.freeze_statement(here)))
    lines += [(target.host, words) for words in shown(role_statements.promote_steps(there))]
    lines += of_other_replicas(members, target)
    lines += of_following(source, target, settings, hosts[source.host])
    lines.append((target.host, role_statements.open_statement()))
    lines += [(source.host, words) for words in shown(role_statements.retire_steps(here))]
    lines.append((target.host, journal_writing.insert_statement(schema)))
    lines += [(target.host, words) for words in shown(role_statements.forget_steps(there))]
    for event in events:
        enabled = role_statements.alter_event(event, "ENABLE")
        lines += [(target.host, words) for words in shown(enabled)]
    if here.super_read_only and not hosts[source.host].super_read_only:
        lines.append((source.host, "SET GLOBAL super_read_only = 0"))
    return [{"host": host, "statement": words} for host, words in lines]


def of_other_replicas(members: list[Member], target: Member) -> list[Line]:
    """The statements that make the remaining replicas follow the target."""
    lines: list[Line] = []
    for member in replicas_of(members):
        if member is not target:
            steps = role_statements.redirect_steps(
                names_of(member.facts), target.address, target.port
            )
            lines += [(member.host, words) for words in role_statements.shown(steps)]
    return lines


def of_following(
    source: Member,
    target: Member,
    settings: Settings,
    plan: SwitchoverPlan,
) -> list[Line]:
    """The statements that make the source follow the target.

    Args:
        plan: what the source is given.
    """
    here = names_of(source.facts)
    channel = role_statements.channel_of(
        {
            "source_host": target.address,
            "source_port": target.port,
            "source_user": settings["replication_user"],
            "source_password": "",
            "connect_retry": settings["replication_connect_retry"],
        },
        dataclasses.asdict(plan.tls),
    )
    begins = ""
    if here.mariadb:
        gtid = source.facts["gtid"]
        begins = str(
            role_statements.merged(gtid.get("gtid_slave_pos"), gtid.get("gtid_binlog_pos"))
        )
    steps = role_statements.attach_steps(here, channel, begins)
    return [(source.host, words) for words in role_statements.shown(steps)]


def plan_lines(plan: SwitchoverRun) -> list[str]:
    """The plan as text."""
    lines = [f"Switchover of cluster {plan['cluster']} from {plan['from']} to {plan['to']}"]
    if plan["mode"] != SWITCH:
        verb = "rolled back" if plan["mode"] == UNDO else "completed"
        return [f"{lines[0]} was interrupted, and is {verb} first"]
    lines.append("  Premises")
    lines += [f"    {row['host']}: {row['premise']}: {row['observed']}" for row in plan["premises"]]
    lines.append(
        "  Statements, in this order; writers wait from the first with read_only to the last"
    )
    lines += [f"    {row['host']}: {row['statement']};" for row in plan["statements"]]
    return lines
