# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a replica's applier is: places in its source's binary log, and transactions that it
lacks.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.replication import gtids
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import Names


def missing(names: Names, target: str, applied: str) -> int:
    """How many transactions a replica lacks of what its source had.

    Args:
        names: of the replica.
        target: gtid_binlog_pos or gtid_executed of the source.
        applied: gtid_slave_pos or gtid_executed of the replica.

    Raises:
        ValueError: one of them is something else.
    """
    kind = gtids.kind_of(names.engine)
    return kind.parse(applied).missing_of(kind.parse(target))


def stopped(channel: dict[str, Any] | None) -> str:
    """Why waiting is of no use, in words; empty while the applier works."""
    if not channel:
        return "it has no replication channel"
    if channel["sql_running"] != "Yes":
        return (
            "its applier has"
            f" stopped{': ' + channel['last_sql_error'] if channel['last_sql_error'] else ''}"
        )
    return ""


def reached(file: str | None, position: int, target_file: str, target_position: int) -> bool:
    """True where an applier that is at one place of its source's binary log has passed another."""
    stem, _dot, number = (file or "").rpartition(".")
    target_stem, _dot, target = target_file.rpartition(".")
    if stem != target_stem or not number.isdigit() or not target.isdigit():
        return False
    return (int(number), int(position)) >= (int(target), int(target_position))


def passed(channel: dict[str, Any] | None, file: str, position: int) -> bool:
    """True where a replica's channel has applied its source's binary log up to a place."""
    if channel is None:
        return False
    return reached(channel["applied_file"], channel["applied_position"], file, position)
