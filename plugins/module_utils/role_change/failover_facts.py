# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts about one replica that the failover judge needs in addition to its server's state."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils.replication.state import READ_SECONDS
from ansible_collections.dbre.semisync.plugins.module_utils.role_change import (
    lock_holder,
    log_facts,
    received_outcome,
    traces,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.log_in import (
    Address,
    refusal,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.look_plan import (
    FirstLookPlan,
    Place,
)
from ansible_collections.dbre.semisync.plugins.module_utils.server import (
    channels,
    login,
    read,
    skipped_errors,
)
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import (
    Server,
    identify,
)
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils.server.peer import TLS_FAILED
from ansible_collections.dbre.semisync.plugins.module_utils.server.sql import quote_text
from ansible_collections.dbre.semisync.plugins.module_utils.server.values import text

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.dbre.semisync.plugins.types.shapes import RoleState

# Seconds that a host may take to answer before it counts as gone.
ANSWER = 2
DEFAULT_PORT = 3306


def failover_facts(
    module: AnsibleModule, plan: FirstLookPlan, info: RoleState
) -> dict[str, object]:
    """server_facts() over a separate connection; if that breaks, `msg` says why."""
    try:
        server = Server(login.connect(module)).within(READ_SECONDS)
        return server_facts(module, plan, server, identify(server), info)
    except (ServerError, OSError) as error:
        return {"failed": True, "msg": str(error)}


def server_facts(
    module: AnsibleModule, plan: FirstLookPlan, server: Server, names: Names, info: RoleState
) -> dict[str, object]:
    """`look` of the RETURN section of semisync_switchover.

    Args:
        info: what was read from the server.
    """
    has = lock_holder.holder(server, plan.user)
    return {
        "running": bool(has and not has.stranger),
        "lock_of": has.words if has else "",
        "tried": try_all(module, plan.user, places_of(plan.places, info)),
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


def places_of(others: list[Place], info: RoleState) -> list[Place]:
    """The addresses at which the other members may be reached, without duplicates: those that the
    controller gave, and the one of this server's source. Whether they have TLS is not known yet; it
    is assumed to be as on this server.
    """
    channel = info["channel"]
    own = [Place(channel["source_host"], channel["source_port"])] if channel else []
    tls = bool(info["tls"]["on"])
    listening = [place for place in [*others, *own] if place.address]
    # A dictionary removes duplicates and keeps the order.
    once = {(str(place.address), int(place.port or DEFAULT_PORT)): True for place in listening}
    return [Place(address, port, tls, known=False) for address, port in once]


def skips(server: Server) -> list[str]:
    """The settings that let the applier skip a transaction that it cannot apply: name and value."""
    wanted = ", ".join(
        quote_text(name) for name in (*skipped_errors.VARIABLES, *skipped_errors.COUNTERS)
    )
    rows = server.rows(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({wanted})")
    named = {text(row["Variable_name"]): text(row["Value"]) for row in rows}
    return [f"{name} = {named[name]}" for name in sorted(skipped_errors.that_let_it(named))]


def try_all(module: AnsibleModule, user: str, places: list[Place]) -> list[dict[str, object]]:
    """Try all places at the same time, because a dead host takes long to time out. Each gets
    `words`, why the replication account cannot log in there from here (empty if it can), and
    `answered`, whether a server there answered at all.
    """
    tried = [dict(place.to_dict(), words="it was not tried", answered=False) for place in places]

    def attempt(place: Place, row: dict[str, object]) -> None:
        row["words"], row["answered"] = reach_place(module, user, place)

    threads = [
        threading.Thread(target=attempt, args=(place, row)) for place, row in zip(places, tried)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tried


def reach_place(module: AnsibleModule, user: str, place: Place) -> tuple[str, bool]:
    """(why it cannot log in there, whether a server answered: one that refuses a login does)."""
    tls = (place.tls or None) if place.known else None
    there = Address(str(place.address), int(place.port or DEFAULT_PORT), tls)
    error = refusal(module, user, there, ANSWER)
    return ("", True) if error is None else (str(error), answered(error))


def answered(error: ServerError) -> bool:
    """Whether a login error shows that a server answered: it comes from the server, or from the
    driver after the server spoke. False if no connection was made (2000 to 2999 are the client
    library's own errors).
    """
    if "cryptography" in str(error):
        return True
    if error.number == TLS_FAILED:
        return True
    return error.number is not None and not (error.number == 0 or 2000 <= error.number < 3000)
