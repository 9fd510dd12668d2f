# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A suite of benchmark cells: the collection's or the user's, with its defaults filled in, and
whether its cells can run. See docs/benchmarks.md.
"""

from __future__ import annotations

import os
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.bench.load import validity
from ansible_collections.dbre.semisync.plugins.plugin_utils.bench.suite_file import (
    SuiteError,
    read_values,
)

# What the collection's suites were called.
FORMER_NAMES = {
    "b0": "four_phases",
    "b1": "one_client",
    "b2": "row_latency",
    "b3": "durability",
    "b4": "clients",
    "wan": "distance",
}
DEFAULTS: dict[str, Any] = {
    "what": "",
    "reference": None,
    "repetitions": 5,
    "warm_up": True,
    "time_limit": 300,
    "documented": [],
    "needs_client": False,
    "metric": None,
}
LOAD_DEFAULTS = {"tool": "mysqlslap", "clients": 10, "queries": 1000, "load_type": "mixed"}


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
            f"there is no suite {name!r}; there is: {', '.join(sorted(known))}, or the path of a"
            " file of yours"
        )
    return known[name]


def read(text: str, name: str, profile: str) -> dict[str, Any]:
    """A suite with its defaults filled in, each cell with all its conditions.

    Args:
        text: the file's text.
        name: what messages call it.
        profile: full, or quick for what the suite's profile of that name says.

    Raises:
        SuiteError: as read_values(), or its cells do not fit together.
    """
    suite = read_values(text, name)
    if profile != "full":
        changed = (suite.get("profiles") or {}).get(profile, {})
        load = changed.pop("load", {})
        suite["load"] = dict(suite.get("load") or {}, **load)
        # A cell's own amount of work is shortened too.
        for cell in suite["cells"]:
            cell["load"] = dict(cell.get("load") or {}, **load)
        suite.update(changed)
    if "document" in suite:
        suite.setdefault("reference", suite.pop("document"))
    suite = dict(DEFAULTS, **suite)
    suite["cells"] = [filled(cell, suite) for cell in suite["cells"]]
    for cell_name, problem in problems_of(suite["cells"]):
        raise SuiteError(f"{name}: cell {cell_name}: {problem}")
    return suite


def filled(cell: dict[str, Any], suite: dict[str, Any]) -> dict[str, Any]:
    """A cell with the suite's conditions where it has none of its own."""
    own, general = cell.get("load") or {}, dict(LOAD_DEFAULTS, **(suite.get("load") or {}))
    # What was said for one tool is nothing for another.
    load = dict(
        LOAD_DEFAULTS if own.get("tool", general["tool"]) != general["tool"] else general, **own
    )
    if load["tool"] == "client":
        load["clients"] = 1 if "clients" not in (cell.get("load") or {}) else load["clients"]
    if load["tool"] != "mysqlslap":
        load.pop("load_type", None)
    if load.get("seconds"):
        load["queries"] = None
    conditions = {
        "id": cell.get("id"),
        "label": cell.get("label") or cell.get("id"),
        "checkpoint": cell.get("checkpoint"),
        "replication": cell.get("replication"),
        "baseline": cell.get("baseline"),
        "load": load,
    }
    for key, otherwise in (
        ("delay_ms", 0.0),
        ("durability", None),
        ("wait_point", None),
        ("timeout_ms", None),
    ):
        conditions[key] = cell.get(key, suite.get(key, otherwise))
    return conditions


def problems_of(cells: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """(cell, what is wrong with it) of cells that do not fit together."""
    known = [cell["id"] for cell in cells]
    problems = []
    for number, cell in enumerate(cells, 1):
        name = cell["id"] or f"number {number}"
        if not cell["id"] or not cell["replication"]:
            problems.append((name, "id and replication are needed"))
        elif known.count(cell["id"]) > 1:
            problems.append((name, "there are two of this id"))
        elif cell["baseline"] and cell["baseline"] not in known:
            problems.append((name, f"its baseline {cell['baseline']!r} is no cell"))
        elif validity.unfit(cell["load"]):
            problems.append((name, validity.unfit(cell["load"])))
    return problems


def lacking(suite: dict[str, Any], host: str, tools: dict[str, Any], slapper: str) -> str:
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
    wanted = {
        slapper if cell["load"]["tool"] == "mysqlslap" else cell["load"]["tool"]
        for cell in suite["cells"]
    }
    missing = [tool for tool in [*sorted(wanted - {"client"}), "driver"] if not tools.get(tool)]
    return "; ".join(
        f"{host} has no {'MySQL driver for Python' if tool == 'driver' else tool}: {remedies[tool]}"
        for tool in missing
    )
