# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rest of the names table: scheduled events, what the engine keeps, what a stop waits for."""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.module_utils._server.names import NEVER, Names


def disable_on_replica(names: Names) -> str:
    """What an event is on a replica (MySQL 8.2.0 release notes, "ALTER EVENT")."""
    return f"DISABLE ON {'REPLICA' if names.since((8, 2, 0), NEVER) else 'SLAVE'}"


def scheduler_by_default(names: Names) -> bool:
    """Whether event_scheduler is ON by default (MySQL 8.0.3 release notes)."""
    return names.since((8, 0, 3), NEVER)


def engine_keeps_gtids(names: Names) -> bool:
    """Whether a commit's GTID is in the engine with its rows, whatever became of the binary log
    (MySQL 8.0.17 release notes, "InnoDB": the GTID persister).
    """
    return names.since((8, 0, 17), NEVER)


def stop_call_timeout(names: Names) -> str:
    """The variable with the seconds for which a replica that has semi-sync on waits, while it stops
    its IO thread, for a connection to its source to kill the dump thread there; empty if there is
    no such connection. By default it is 5 (MariaDB's semisync_slave.cc, kill_connection).
    """
    return "rpl_semi_sync_slave_kill_conn_timeout" if names.mariadb and names.builtin else ""
