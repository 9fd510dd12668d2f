# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A suite of benchmark cells: the collection's or the user's, with its defaults filled in, and
whether its cells can run. See docs/benchmarks.md.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import cast

from ansible_collections.dbre.semisync.plugins.module_utils._bench.load import validity
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.load_shapes import Work
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_shapes import (
    Cell,
    RawCell,
    RawSuite,
    RawWork,
    Suite,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.suite_file import (
    SuiteError,
    read_values,
)

# The former names of the collection's suites.
FORMER_NAMES = {
    "b0": "four_phases",
    "b1": "one_client",
    "b2": "row_latency",
    "b3": "durability",
    "b4": "clients",
    "wan": "distance",
}
LOAD_DEFAULTS: RawWork = {
    "tool": "mysqlslap",
    "clients": 10,
    "queries": 1000,
    "load_type": "mixed",
}


def find(name: str, folders: list[str]) -> str:
    """The path of a suite: one of the collection's by its name or former name, or a file of the
    user's by its path.

    Raises:
        SuiteError: there is none.
    """
    if os.path.sep in name or name.endswith((".yml", ".yaml")):
        if os.path.isfile(name):
            return name
        raise SuiteError(f"there is no suite file {name}")
    known: dict[str, str] = {}
    for folder in folders:
        known.update(
            (file[: -len(".yml")], os.path.join(folder, file))
            for file in sorted(os.listdir(folder))
            if file.endswith(".yml")
        )
    if name not in known:
        name = FORMER_NAMES.get(name, name)
    if name not in known:
        raise SuiteError(
            f"there is no suite {name!r}; there is: {', '.join(sorted(known))}. You can also name"
            " the path of a file of your own"
        )
    return known[name]


def read_suite(
    text: str,
    name: str,
    profile: str,
) -> Suite:
    """A suite with its defaults filled in, each cell with all its conditions.

    Args:
        text: the file's text.
        name: what messages call it.
        profile: full, or quick for what the suite's profile of that name says.

    Raises:
        SuiteError: as read_values(), or its cells do not fit together.
    """
    raw = read_values(text, name)
    if profile != "full":
        raw = shortened(raw, profile)
    suite: Suite = {
        "title": raw["title"],
        "what": raw.get("what", ""),
        "reference": raw.get("reference", raw.get("document")),
        "metric": raw.get("metric"),
        "repetitions": raw.get("repetitions", 5),
        "warm_up": raw.get("warm_up", True),
        "time_limit": raw.get("time_limit", 300),
        "documented": raw.get("documented", []),
        "cells": [filled(cell, raw) for cell in raw["cells"]],
    }
    for cell_name, problem in problems_of(suite["cells"]):
        raise SuiteError(f"{name}: cell {cell_name}: {problem}")
    return suite


def shortened(raw: RawSuite, profile: str) -> RawSuite:
    """A suite changed by its profile of that name, if it has one."""
    changed = raw.get("profiles", {}).get(profile, {})
    work = changed.get("load", {})
    # A cell's own amount of work is shortened too.
    cells = [
        cast("RawCell", {**cell, "load": joined(cell.get("load"), work)}) for cell in raw["cells"]
    ]
    load = joined(raw.get("load"), work)
    return cast("RawSuite", {**raw, **changed, "load": load, "cells": cells})


def joined(first: RawWork | None, second: RawWork) -> RawWork:
    """A load with the other's values in place of its own."""
    return cast("RawWork", {**(first or {}), **second})


def filled(cell: RawCell, suite: RawSuite) -> Cell:
    """A cell with the suite's conditions if it has none of its own."""
    return {
        "id": cell.get("id", ""),
        "label": cell.get("label") or cell.get("id", ""),
        "checkpoint": cell.get("checkpoint"),
        "replication": cell.get("replication", ""),
        "baseline": cell.get("baseline"),
        "load": work_of(cell.get("load", {}), suite.get("load", {})),
        "delay_ms": cell.get("delay_ms", suite.get("delay_ms", 0.0)),
        "durability": cell.get("durability", suite.get("durability")),
        "wait_point": cell.get("wait_point", suite.get("wait_point")),
        "timeout_ms": cell.get("timeout_ms", suite.get("timeout_ms")),
    }


def work_of(own: RawWork, of_suite: RawWork) -> Work:
    """A cell's load with the suite's values if it has none of its own."""
    general = joined(LOAD_DEFAULTS, of_suite)
    # Values for one tool mean nothing for another.
    same_tool = own.get("tool", general["tool"]) == general["tool"]
    load = cast("Work", joined(general if same_tool else LOAD_DEFAULTS, own))
    if load["tool"] == "client" and "clients" not in own:
        load["clients"] = 1
    if load["tool"] != "mysqlslap":
        load.pop("load_type", None)
    if load.get("seconds"):
        load["queries"] = None
    return load


def problems_of(cells: list[Cell]) -> list[tuple[str, str]]:
    """(cell, what is wrong with it) of cells that do not fit together."""
    known = [cell["id"] for cell in cells]
    problems = []
    for number, cell in enumerate(cells, 1):
        name = cell["id"] or f"number {number}"
        unfit = validity.unfit(cell["load"])
        if not cell["id"] or not cell["replication"]:
            problems.append((name, "id and replication are needed"))
        elif known.count(cell["id"]) > 1:
            problems.append((name, "another cell has the same id"))
        elif cell["baseline"] and cell["baseline"] not in known:
            problems.append((name, f"its baseline {cell['baseline']!r} is not a cell of the suite"))
        elif unfit:
            problems.append((name, unfit))
    return problems


def lacking(
    suite: Suite,
    host: str,
    tools: Mapping[str, str | None],
    slapper: str,
) -> str:
    """Tools that the load needs and the host lacks, as text; empty if none.

    Args:
        host: its name.
        tools: semisync_environment's tools of it.
        slapper: what mysqlslap is called for this server.
    """
    remedies = {
        slapper: "install the server's client package there",
        "sysbench": "install it there, or put a host that has it into group semisync_client",
        "driver": "install PyMySQL (python3-pymysql) there",
    }
    tools_of_cells = {cell["load"]["tool"] for cell in suite["cells"]}
    wanted = {slapper if tool == "mysqlslap" else tool for tool in tools_of_cells}
    needed = [*sorted(wanted - {"client"}), "driver"]
    names = {"driver": "MySQL driver for Python"}
    return "; ".join(
        f"{host} has no {names.get(tool, tool)}: {remedies[tool]}"
        for tool in needed
        if not tools.get(tool)
    )
