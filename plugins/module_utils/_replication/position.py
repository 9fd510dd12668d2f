# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a replica's applier is: positions in its source's binary log."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Channel


def stopped(channel: Channel | None) -> str:
    """Why waiting is useless, in words; empty while the applier works."""
    if not channel:
        return "it has no replication channel"
    if channel["sql_running"] != "Yes":
        return (
            "its applier has"
            f" stopped{': ' + channel['last_sql_error'] if channel['last_sql_error'] else ''}"
        )
    return ""


def reached(file: str | None, position: int, target_file: str, target_position: int) -> bool:
    """Whether an applier at one position of its source's binary log has passed another."""
    stem, _dot, number = (file or "").rpartition(".")
    target_stem, _dot, target = target_file.rpartition(".")
    if stem != target_stem or not number.isdigit() or not target.isdigit():
        return False
    return (int(number), int(position)) >= (int(target), int(target_position))


def passed(channel: Channel | None, file: str, position: int) -> bool:
    """Whether a replica's channel has applied its source's binary log up to a position."""
    if channel is None:
        return False
    return reached(channel["applied_file"], channel["applied_position"], file, position)
