# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cleanup on a host after the role has moved; it is not urgent. The new source drops its old
channel and runs the events, and the old source gets the settings that the replica had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._replication.channel import Step
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    dropin_place,
    next_start,
    read_only_dropin,
    role_statements,
    scheduled_events,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.participant import (
    global_text,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    SOURCE,
    SWITCH,
    TARGET,
    SwitchoverPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import channels
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import (
    Server,
    run_steps,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import set_statement
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import canonical_value

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


def settle_roles(
    module: AnsibleModule, plan: SwitchoverPlan, server: Server, names: Names
) -> dict[str, object]:
    """Clean up after the role has moved; the fence stands until the option files have the roles."""
    said = steps(plan, server, names)
    if not module.check_mode:
        run_steps(server, said)
        closed = canonical_value(global_text(server, "read_only")) == "1"
        if plan.part == SOURCE and closed:
            said += scheduled_events.leave(server, names)
    fence_went = False
    if plan.unfence:
        fence_went, again = take_fence_away(module, plan, server, names)
        said += again
    return {"changed": bool(said) or fence_went, "statements": role_statements.shown(said)}


def steps(plan: SwitchoverPlan, server: Server, names: Names) -> list[Step]:
    """The statements that this host still needs."""
    open_here = canonical_value(global_text(server, "read_only")) == "0"
    if plan.part == TARGET:
        return new_source_steps(plan, server, names) if open_here else []
    wanted: list[Step] = []
    if (
        names.super_read_only
        # After an interrupted one the target is open, and shows no longer what it had.
        and plan.mode == SWITCH
        and plan.part == SOURCE
        and not plan.super_read_only
        and canonical_value(global_text(server, "super_read_only")) == "1"
    ):
        wanted.append((set_statement("super_read_only", 0), None))
    if plan.scheduler_was_on and scheduled_events.scheduler(server) == "OFF":
        wanted.append((set_statement("event_scheduler", 1), None))
    if plan.part == SOURCE and stands_still(server, names):
        # If the server was restarted meanwhile, its fence kept its channel from starting.
        wanted.append(role_statements.start_replica(names))
    return wanted


def stands_still(server: Server, names: Names) -> bool:
    """Whether a channel exists and neither of its threads runs."""
    channel = channels.default_channel(server.channels(names))
    return bool(channel and channel["io_running"] == channel["sql_running"] == "No")


def new_source_steps(plan: SwitchoverPlan, server: Server, names: Names) -> list[Step]:
    """On the new source: drop the channel it had as a replica, and run the cluster's events."""
    wanted: list[Step] = []
    if stands_still(server, names):
        wanted += role_statements.forget_steps(names)
    return wanted + scheduled_events.take_over(server.events(), plan.event_states)[0]


def take_fence_away(
    module: AnsibleModule, plan: SwitchoverPlan, server: Server, names: Names
) -> tuple[bool, list[Step]]:
    """On the source, remove the fence; elsewhere as far as the server starts read-only all the
    same, see read_only_dropin.loosen(). Return whether anything goes, and the statements that the
    server got for that. They come first: a run that is killed leaves the fence, and the next one
    does the rest.

    Raises:
        OSError: it cannot be removed.
    """
    ours = plan.option_file
    place = (ours.path, ours.kind, ours.group)
    stands, strict = dropin_place.stands(*place), plan.part == SOURCE and plan.mode != SWITCH
    if not (stands or strict):
        return False, []
    again: list[Step] = []
    options = next_start.start_options(module, ours, server, names)
    if not module.check_mode:
        again += next_start.strict_steps(options, server, names) if strict else []
        if dropin_place.closes(*place):
            again += next_start.scheduler_steps(options, server, names)
        run_steps(server, again)
    if plan.part != TARGET:
        return read_only_dropin.loosen(ours, options, module.check_mode), again
    return stands if module.check_mode else read_only_dropin.take_away(*place), again
