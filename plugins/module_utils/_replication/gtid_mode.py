# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a server towards GTIDs, and why a replica must stay where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtids import MariadbGtids

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Variables

MODES = ("OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON")
CONSISTENCY = ("OFF", "WARN", "ON")
# Our step -> (the variable, its values in order, the one that the step sets), in the order of the
# steps.
STEPS = (
    ("warn", "enforce_gtid_consistency", CONSISTENCY, "WARN"),
    ("consistent", "enforce_gtid_consistency", CONSISTENCY, "ON"),
    ("off_permissive", "gtid_mode", MODES, "OFF_PERMISSIVE"),
    ("on_permissive", "gtid_mode", MODES, "ON_PERMISSIVE"),
    ("on", "gtid_mode", MODES, "ON"),
)
WAY_OUT = "See docs/existing-hosts.md (From file and position to GTIDs)"


def statement(step: str, variables: Variables) -> str | None:
    """The statement of a step, or None on a server that is already there or further."""
    name, values, target = next(row[1:] for row in STEPS if row[0] == step)
    current = str(variables.get(name) or "OFF").upper()
    current = {"0": "OFF", "1": "ON"}.get(current, current)
    if values.index(current) >= values.index(target):
        return None
    return f"SET GLOBAL {name} = {target}"


def refusal(
    replica: str,
    source: str,
    lost: str,
) -> str:
    """Why a MySQL replica's channel stays by position."""
    return (
        f"{replica} has not executed {lost} of its source {source} under these GTIDs; by GTID it"
        " would be sent them again, and rows that are there already would stop it or be doubled."
        f" {WAY_OUT}"
    )


def mismatch(place: dict[str, Any], at_source: str | None) -> str:
    """How a MariaDB replica's gtid_slave_pos differs from its file and position, in words; empty if
    they agree.

    Args:
        place: {'file', 'position', 'gtid'} of the replica at one moment.
        at_source: BINLOG_GTID_POS of that file and position on its source; None if the source
            does not know.
    """
    where = f"{place['file']}:{place['position']}"
    if at_source is None:
        return f"its source does not know which GTIDs belong to {where}; that file may be purged"
    here, there = (MariadbGtids.parse(one).latest() for one in (place["gtid"], at_source))
    if here == there:
        return ""
    return (
        f"it has applied its source's {where}, which is GTID position '{at_source}', but its"
        f" gtid_slave_pos is '{place['gtid']}'; by GTID it would continue from there. {WAY_OUT}"
    )


def quiet(
    watch: int,
    uptime: int,
    set_ago: float | None,
    logged_ago: float | None,
) -> float | None:
    """Seconds that the error log must still be watched, or None if a violation is too young.

    Args:
        watch: seconds without a violation that are required.
        uptime: of the server.
        set_ago: seconds since enforce_gtid_consistency was set; None if at the server's start, or
            before the seconds were counted.
        logged_ago: seconds since the last violation, or None.
    """
    if logged_ago is not None and logged_ago < watch:
        return None
    return max(0, watch - (uptime if set_ago is None else set_ago))
