# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts about one host that the plan of a switchover needs in addition to semisync_info."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils.role_change import (
    client_sessions,
    dropin_place,
    lock_holder,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.log_in import (
    Address,
    refusal,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.look_plan import (
    LookPlan,
    Peer,
)
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils.server.sql import quote_text
from ansible_collections.dbre.semisync.plugins.module_utils.server.values import text

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

ANSWER = 5


def switchover_facts(
    module: AnsibleModule, plan: LookPlan, server: Server, names: Names
) -> dict[str, object]:
    """See the RETURN section of semisync_switchover."""
    has = lock_holder.holder(server, plan.user)
    scheduler = server.rows("SELECT @@GLOBAL.event_scheduler AS value")[0]
    return {
        "changed": False,
        "running": bool(has and not has.stranger),
        "lock_of": has.words if has else "",
        "reach": {one.host: reach(module, plan.user, one) for one in plan.members},
        "filters": filters(server, names),
        "events": server.events(),
        "long": client_sessions.long_transactions(server),
        "first_gtids": first_gtids(server, names),
        "event_scheduler": text(scheduler["value"]),
        "fence": dropin_place.stands(plan.option_file.path, plan.option_file.kind),
    }


def reach(module: AnsibleModule, user: str, peer: Peer) -> str:
    """Why the replication account cannot log in to a member from here; empty if it can."""
    error = refusal(module, user, Address(peer.address, peer.port, peer.tls), ANSWER)
    return "" if error is None else str(error)


def filters(server: Server, names: Names) -> list[str]:
    """The filters that keep transactions from being applied or logged: name and value."""
    rows = server.rows(names.show_channels) + server.rows(names.show_binary_log_status)
    return [
        f"{name} = {text(value)}"
        for row in rows
        for name, value in row.items()
        if value
        and name.lower().startswith(("replicate_", "binlog_do", "binlog_ignore"))
        and name.lower() != "replicate_ignore_server_ids"
    ]


def first_gtids(server: Server, names: Names) -> str | None:
    """The GTIDs at which a MariaDB server's binary logs begin; None on MySQL, which has a variable
    for this.
    """
    if not names.mariadb:
        return None
    logs = server.rows("SHOW BINARY LOGS")
    if not logs:
        return None
    for row in server.rows(
        f"SHOW BINLOG EVENTS IN {quote_text(text(logs[0]['Log_name']))} LIMIT 5"
    ):
        if text(row["Event_type"]) == "Gtid_list":
            return text(row["Info"]).strip("[]").replace(" ", "")
    return None
