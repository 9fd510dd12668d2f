# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that a step gives to semisync_setting, netem and semisync_load for one run of one
cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._bench.load import temporary_settings
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem import safeguards
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import DURABILITY
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_shapes import (
    Benchmark,
    Cell,
    MeasuredCell,
    Step,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Info

# What earlier cells may have set on the source is restored, as durability is.
OF_SOURCE = ("timeout", "wait_point")
PINGS = 5


# Options of a module, by name.
Options = dict[str, object]


def cell_of(result: Benchmark, step: Step) -> MeasuredCell:
    """The cell that a step runs, as plan stored it."""
    return next(cell for cell in result["cells"] if cell["id"] == step["cell"])


def timer_prefixes(side: str) -> list[str]:
    """The prefix of the names of the timers that restore a host of this side."""
    return [
        temporary_settings.TIMER_PREFIX,
        *([safeguards.TIMER_PREFIX] if side == "source" else []),
    ]


def own_variables(info: Info, side: str) -> dict[str, str | int | None]:
    """What a server had before the run, under our keys."""
    values: dict[str, str | int | None] = {key: info["variables"][key] for key in DURABILITY}
    if side == "source":
        variables = info["semisync"]["source"]["variables"]
        known = [key for key in OF_SOURCE if variables.get(key) is not None]
        values.update((key, variables[key]) for key in known)
    return values


def cell_variables(cell: Cell) -> dict[str, str | int | None]:
    """What a cell sets, under our keys."""
    values: dict[str, str | int | None] = {}
    values.update(cell["durability"] or {})
    if cell["wait_point"]:
        values["wait_point"] = cell["wait_point"]
    if cell["timeout_ms"] is not None:
        values["timeout"] = cell["timeout_ms"]
    return values


def setting_options(
    cell: Cell,
    side: str,
    info: Info,
    replicas: int,
    seconds: int,
) -> Options:
    """semisync_setting's options for a cell.

    Args:
        side: source or replica.
        info: the server's semisync_info from before the run.
        replicas: how many the source has.
        seconds: after which the host restores everything by itself.
    """
    return {
        "side": side,
        "replication": cell["replication"],
        "replicas": replicas,
        "variables": {**own_variables(info, side), **cell_variables(cell)},
        "rollback_after": seconds,
    }


def netem_options(
    cell: Cell,
    peers: list[str],
    seconds: int,
) -> Options:
    """The module netem's options for a cell; as setting_options()."""
    if not cell["delay_ms"]:
        return {"state": "absent", "peers": peers, "ping_count": 0}
    return {
        "state": "present",
        "peers": peers,
        "ping_count": PINGS,
        "delay_ms": cell["delay_ms"],
        "rollback_after": seconds,
    }


def load_options(
    cell: Cell,
    time_limit: int,
    schema: str,
    replicas: int,
    peers: list[str],
) -> Options:
    """semisync_load's options for one run.

    Args:
        time_limit: seconds that it may take.
        schema: that it works in.
        replicas: how many the source has.
        peers: addresses to which the round trip is measured.
    """
    # The tool does not get what only a cell's limit depends on.
    work = {
        key: value for key, value in cell["load"].items() if value is not None and key != "same_row"
    }
    return {
        "iterations": 1,
        "warmup": 0,
        "schema": schema,
        "timeout": time_limit,
        "replication": cell["replication"],
        "replicas": replicas,
        "delay_ms": cell["delay_ms"],
        "peers": peers,
        **work,
    }
