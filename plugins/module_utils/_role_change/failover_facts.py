# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts about one replica that the failover judge needs in addition to its server's state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._replication.state import READ_SECONDS
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    lock_holder,
    log_facts,
    received_outcome,
    traces,
    trials,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import (
    FirstLookPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import (
    channels,
    login,
    read,
    skipped_errors,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import (
    Server,
    identify,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import quote_text
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import text

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import RoleState


def failover_facts(
    module: AnsibleModule,
    plan: FirstLookPlan,
    info: RoleState,
    knocks: tuple[trials.Knock, ...] = (),
) -> dict[str, object]:
    """server_facts() over a separate connection; if that breaks, `msg` says why."""
    try:
        server = Server(login.connect(module)).within(READ_SECONDS)
        return server_facts(module, plan, server, identify(server), info, knocks)
    except (ServerError, OSError) as error:
        return {"failed": True, "msg": str(error)}


def server_facts(
    module: AnsibleModule,
    plan: FirstLookPlan,
    server: Server,
    names: Names,
    info: RoleState,
    knocks: tuple[trials.Knock, ...],
) -> dict[str, object]:
    """`look` of the RETURN section of semisync_switchover.

    Args:
        info: what was read from the server.
        knocks: at hosts that are expected to be dead, begun before that.
    """
    has = lock_holder.holder(server, plan.user)
    return {
        "running": bool(has and not has.stranger),
        "lock_of": has.words if has else "",
        "tried": trials.try_all(module, plan.user, trials.places_of(plan.places, info), knocks),
        "filters": log_facts.filters(server, names) + skips(server),
        "first_gtids": log_facts.first_gtids(server, names),
        "kernel_seconds": traces.kernel_seconds(),
        "server_seconds": int(server.uptime()["seconds"]),
        "applier_seconds": traces.applier_seconds(server, names, info["applier_ids"]),
        "received_applied": received_outcome.received_applied(server, names, info["variables"]),
        "beats": traces.newest_beats(server, str(module.params["journal_schema"])),
    }


def watch_applier(_module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
    """How far a replica's applier is now: the controller compares it with the first look."""
    variables = server.variables()
    moment = server.rows("SELECT UNIX_TIMESTAMP(NOW(6)) AS now")[0]
    return {
        "gtid": read.gtids_of(variables),
        "channel": channels.default_channel(server.channels(names)),
        "clock": float(moment["now"]),
    }


def skips(server: Server) -> list[str]:
    """The settings that let the applier skip a transaction that it cannot apply: name and value."""
    wanted = ", ".join(
        quote_text(name) for name in (*skipped_errors.VARIABLES, *skipped_errors.COUNTERS)
    )
    rows = server.rows(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({wanted})")
    named = {text(row["Variable_name"]): text(row["Value"]) for row in rows}
    return [f"{name} = {named[name]}" for name in sorted(skipped_errors.that_let_it(named))]
