# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the judge of a failover needs to know of one replica beside what semisync_info says."""

from __future__ import annotations

import threading
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.host.files import read_text
from ansible_collections.dbre.semisync.plugins.module_utils.role_change import run_lock
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.facts import (
    filters,
    first_gtids,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.log_in import refusal
from ansible_collections.dbre.semisync.plugins.module_utils.server import login, skipping
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import (
    Server,
    identify,
)
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils.server.peer import TLS_FAILED
from ansible_collections.dbre.semisync.plugins.module_utils.server.sql import quote_text
from ansible_collections.dbre.semisync.plugins.module_utils.server.values import text
from ansible_collections.dbre.semisync.plugins.module_utils.shapes import State

# Seconds that a host may take to answer before it counts as gone.
ANSWER = 2
UPTIME = "/proc/uptime"


def read(module: Any, info: State) -> dict[str, Any]:
    """look() by a connection of its own; where that breaks, `msg` says why."""
    try:
        server = Server(login.connect(module))
        return look(module.params, server, identify(server), info)
    except (ServerError, OSError) as error:
        return {"failed": True, "msg": str(error)}


def look(params: dict[str, Any], server: Server, names: Names, info: State) -> dict[str, Any]:
    """`look` of the RETURN section of semisync_switchover.

    Args:
        params: the others' `places`, and the replication account's `user` and `password`.
        info: what was read of the server.
    """
    has = run_lock.holder(server, params["user"])
    return {
        "running": bool(has and not has.stranger),
        "lock_of": has.words if has else "",
        "tried": try_all(places_of(params["places"], info), params),
        "filters": filters(server, names) + skips(server),
        "first_gtids": first_gtids(server, names),
        "kernel_seconds": kernel_seconds(),
        "server_seconds": int(server.uptime()["seconds"]),
    }


def places_of(others: list[dict[str, Any]], info: State) -> list[dict[str, Any]]:
    """Where the others may be reached, each place once: where the controller thinks, and where this
    server's own source is. Whether they have TLS is not known yet; likely they do as this one.
    """
    channel = info["channel"]
    own = {"address": channel["source_host"], "port": channel["source_port"]} if channel else None
    tls_at = {
        (str(place["address"]), int(place["port"] or 3306)): bool(info["tls"]["on"])
        for place in [*others, *([own] if own else [])]
        if place["address"]
    }
    return [
        {"address": address, "port": port, "tls": tls, "known": False}
        for (address, port), tls in tls_at.items()
    ]


def kernel_seconds() -> float | None:
    """Since when this machine runs; None where it does not say."""
    try:
        return float(read_text(UPTIME).split()[0])
    except (OSError, ValueError, IndexError):
        return None


def skips(server: Server) -> list[str]:
    """What lets the applier pass over a transaction that it cannot apply: name and value."""
    wanted = ", ".join(quote_text(name) for name in (*skipping.VARIABLES, *skipping.COUNTERS))
    rows = server.rows(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({wanted})")
    named = {text(row["Variable_name"]): text(row["Value"]) for row in rows}
    return [
        f"{name} = {value}" for name, value in sorted(named.items()) if skipping.passes_over(value)
    ]


def try_all(places: list[dict[str, Any]], params: dict[str, Any]) -> list[dict[str, Any]]:
    """Each place with `words`, why the replication account cannot log in there from here, empty
    where it can, and whether anybody there `answered` at all. All at the same time: a host that is
    gone takes its time to be.
    """
    tried = [dict(place, words="it was not tried", answered=False) for place in places]

    def one(place: dict[str, Any]) -> None:
        place["words"], place["answered"] = reach(place, params)

    threads = [threading.Thread(target=one, args=(place,)) for place in tried]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tried


def reach(peer: dict[str, Any], params: dict[str, Any]) -> tuple[str, bool]:
    """(why it cannot log in to a member, whether that answered: who refuses a login does)."""
    tls = (peer["tls"] or None) if peer.get("known", True) else None
    error = refusal(peer, params, tls, ANSWER)
    return ("", True) if error is None else (str(error), answered(error))


def answered(error: ServerError) -> bool:
    """Whether an error of a login is a server's word, or the driver's about one that spoke; not
    where the connection did not come about (2000 to 2999 are the client library's own).
    """
    if "cryptography" in str(error):
        return True
    if error.number == TLS_FAILED:
        return True
    return error.number is not None and not (error.number == 0 or 2000 <= error.number < 3000)
