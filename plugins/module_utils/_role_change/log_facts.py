# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a server's logs lack: what filters keep out of them, and what came before they begin."""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import quote_text
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import text


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
