# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a server reports of its replication channels, in the same shape for every version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ansible_collections.dbre.semisync.plugins.module_utils._server.values import text

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Channel


def normalise_channel(row: Mapping[str, Any]) -> Channel:
    """One row of SHOW REPLICA STATUS or SHOW SLAVE STATUS under one set of lower-case names."""
    short: dict[str, Any] = {}
    for key, value in row.items():
        name = key.lower().replace("master", "source").replace("slave", "replica")
        short[name] = text(value) if isinstance(value, (bytes, bytearray)) else value
    gtid = short.get("using_gtid")
    return {
        "name": short.get("channel_name") or short.get("connection_name") or "",
        "source_host": short.get("source_host"),
        "source_port": short.get("source_port"),
        "source_user": short.get("source_user"),
        "source_uuid": short.get("source_uuid") or None,
        "source_server_id": short.get("source_server_id"),
        "io_running": short.get("replica_io_running"),
        "sql_running": short.get("replica_sql_running"),
        "gtid": (
            (gtid not in (None, "No"))
            if gtid is not None
            else bool(int(short.get("auto_position") or 0))
        ),
        "retrieved": short.get("retrieved_gtid_set") or short.get("gtid_io_pos") or "",
        "read_file": short.get("source_log_file") or "",
        "read_position": int(short.get("read_source_log_pos") or 0),
        "applied_file": short.get("relay_source_log_file") or "",
        "applied_position": int(short.get("exec_source_log_pos") or 0),
        "seconds_behind": short.get("seconds_behind_source"),
        "last_io_error": short.get("last_io_error") or "",
        "last_sql_error": short.get("last_sql_error") or "",
        "connect_retry": short.get("connect_retry"),
        "delay": int(short.get("sql_delay") or 0),
        "tls": str(short.get("source_ssl_allowed")).lower() == "yes",
        "tls_ca": short.get("source_ssl_ca_file") or "",
        "tls_verify": str(short.get("source_ssl_verify_server_cert")).lower() == "yes",
    }


def running(channel: Channel | None) -> bool:
    """Whether both threads of a channel run and the IO thread is connected."""
    if not channel:
        return False
    return channel["io_running"] == "Yes" and channel["sql_running"] == "Yes"


def default_channel(channels: list[Channel]) -> Channel | None:
    """The channel without a name: the only one semi-sync works on (MySQL manual, "Semisynchronous
    Replication").
    """
    for channel in channels:
        if channel["name"] == "":
            return channel
    return None


def describe_channel(channel: Channel | None) -> str:
    """A channel's state in one line, with its last errors."""
    if not channel:
        return "no channel"
    words = f"IO thread {channel['io_running']}, SQL thread {channel['sql_running']}"
    errors = [error for error in (channel["last_io_error"], channel["last_sql_error"]) if error]
    return words + (": " + "; ".join(errors) if errors else "")
