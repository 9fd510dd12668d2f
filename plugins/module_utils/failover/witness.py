# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the judge of a failover needs to know of one replica beside what semisync_info says."""

from __future__ import annotations

import threading
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.host.files import read_text
from ansible_collections.dbre.semisync.plugins.module_utils.server import login
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils.server.sql import quote_text
from ansible_collections.dbre.semisync.plugins.module_utils.server.values import (
    canonical_value,
    text,
)
from ansible_collections.dbre.semisync.plugins.module_utils.switchover import flags, rules
from ansible_collections.dbre.semisync.plugins.module_utils.switchover.look import (
    filters,
    first_gtids,
)

# Seconds that a host may take to answer before it counts as gone.
ANSWER = 2
UPTIME = "/proc/uptime"


def look(module: Any, server: Server, names: Names) -> dict[str, Any]:
    """See the RETURN section of semisync_switchover."""
    params = module.params
    errors, answering = reach_all(params)
    locked = server.rows(f"SELECT IS_USED_LOCK({quote_text(rules.RUN_LOCK)}) AS id")[0]["id"]
    return {
        "changed": False,
        "running": locked is not None,
        "reach": errors,
        "answered": answering,
        "filters": filters(server, names) + skips(server),
        "first_gtids": first_gtids(server, names),
        "kernel_seconds": kernel_seconds(),
        "server_seconds": int(server.uptime()["seconds"]),
    }


def kernel_seconds() -> float | None:
    """Since when this machine runs; None where it does not say."""
    try:
        return float(read_text(UPTIME).split()[0])
    except (OSError, ValueError, IndexError):
        return None


def skips(server: Server) -> list[str]:
    """What lets the applier pass over a transaction that it cannot apply: name and value."""
    rows = server.rows(
        "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('slave_skip_errors', 'replica_skip_errors',"
        " 'sql_slave_skip_counter', 'sql_replica_skip_counter')"
    )
    named = {text(row["Variable_name"]): text(row["Value"]) for row in rows}
    return [
        f"{name} = {value}"
        for name, value in sorted(named.items())
        if canonical_value(value) not in ("0", "")
    ]


def reach_all(params: dict[str, Any]) -> tuple[dict[str, str], list[str]]:
    """(why the replication account cannot log in to each member from here, empty where it can; the
    members that answered at all). All at the same time: a host that is gone takes its time to be.
    """
    seen: dict[str, tuple[str, bool]] = {}

    def one(peer: dict[str, Any]) -> None:
        seen[peer["host"]] = reach(peer, params)

    threads = [threading.Thread(target=one, args=(peer,)) for peer in params["members"]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    errors = {
        peer["host"]: seen.get(peer["host"], ("it was not tried", False))[0]
        for peer in params["members"]
    }
    return errors, sorted(host for host, (_words, answered) in seen.items() if answered)


def reach(peer: dict[str, Any], params: dict[str, Any]) -> tuple[str, bool]:
    """(why it cannot log in to a member, whether that answered: who refuses a login does)."""
    try:
        server = Server(
            login.connect_to(
                peer["address"],
                peer["port"],
                params["user"],
                params["password"],
                peer["tls"],
                ANSWER,
            )
        )
    except ServerError as error:
        return str(error), answered(error)
    flags.close(server)
    return "", True


def answered(error: ServerError) -> bool:
    """Whether an error of a login is a server's word, or the driver's about one that spoke; not
    where the connection did not come about (2000 to 2999 are the client library's own).
    """
    if "cryptography" in str(error):
        return True
    return error.number is not None and not (error.number == 0 or 2000 <= error.number < 3000)
