# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Benchmark suites: reading and checking them, and the order in which their cells run.

A suite is a YAML file: a load, and cells that say under which conditions it runs. See docs/benchmarks.md.
"""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import difflib
import os

import yaml

TOOLS = ("mysqlslap", "sysbench", "client")
REPLICATION = ("none", "async", "semisync")
LOAD_TYPES = ("mixed", "update", "write", "key", "read")
WAIT_POINTS = ("AFTER_SYNC", "AFTER_COMMIT")

# What a key may hold: a type, then a range or the words that are possible.
LOAD = {
    "tool": (str, TOOLS), "clients": (int, (1, 10000)), "queries": (int, (1, 10 ** 9)), "seconds": (int, (1, 86400)),
    "load_type": (str, LOAD_TYPES), "engine": (str, None), "create": (str, None), "query": (str, None),
    "script": (str, None), "table_size": (int, (1, 10 ** 9)), "same_row": (bool, None),
}
DURABILITY = {"sync_binlog": (int, (0, 2 ** 32 - 1)), "innodb_flush_log_at_trx_commit": (int, (0, 2))}
CONDITIONS = {
    "delay_ms": (float, (0, 10000)), "durability": (dict, DURABILITY), "wait_point": (str, WAIT_POINTS),
    "timeout_ms": (int, (0, 2 ** 32 - 1)), "load": (dict, LOAD),
}
CELL = dict(CONDITIONS, **{
    "id": (str, None), "label": (str, None), "checkpoint": (str, None), "replication": (str, REPLICATION),
    "baseline": (str, None),
})
FOUND = {"what": (str, None), "figure": (str, None), "found": (str, None)}
GENERAL = dict(CONDITIONS, **{
    "title": (str, None), "document": (str, None), "what": (str, None), "metric": (str, ("seconds", "rate")),
    "repetitions": (int, (1, 1000)), "warm_up": (bool, None), "time_limit": (int, (1, 86400)), "needs_client": (bool, None),
})
SUITE = dict(GENERAL, **{
    "cells": (list, CELL), "documented": (list, FOUND), "profiles": (dict, {"quick": (dict, GENERAL)}),
})
DEFAULTS = {"what": "", "document": None, "repetitions": 5, "warm_up": True, "time_limit": 300, "documented": [],
            "needs_client": False, "metric": None}
LOAD_DEFAULTS = {"tool": "mysqlslap", "clients": 10, "queries": 1000, "load_type": "mixed"}
TYPES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", dict: "a mapping", list: "a list"}

# For the expected duration, before anything was measured: statements a second of one client, seconds for what surrounds
# a run, and the rows that mysqlslap inserts one by one before it begins.
GUESSED_RATE, GUESSED_AROUND, PRELOAD = 200.0, 6.0, 100
# A host puts settings back by itself after what they are needed for, and this many seconds; they are set again before
# they are needed for longer than the other.
MARGIN, LONGEST_HOLD = 120, 1800


class Wrong(Exception):
    """A suite that cannot run; the text names the file, the line and the key."""


def find(name, folders):
    """The path of a suite: one of the collection's by its name, or a file of the user's by its path.

    Raises:
        Wrong: there is none.
    """
    if os.path.sep in name or name.endswith((".yml", ".yaml")):
        if os.path.isfile(name):
            return name
        raise Wrong("there is no suite file %s" % name)
    known = {}
    for folder in folders:
        known.update((file[:-len(".yml")], os.path.join(folder, file)) for file in sorted(os.listdir(folder))
                     if file.endswith(".yml"))
    if name not in known:
        raise Wrong("there is no suite %r; there is: %s, or the path of a file of yours" % (name, ", ".join(sorted(known))))
    return known[name]


def read(text, name, profile):
    """A suite with its defaults filled in, each cell with all its conditions.

    Args:
        text: the file's text.
        name: what messages call it.
        profile: full, or quick for what the suite's profile of that name says.

    Raises:
        Wrong: it is no YAML, has a key that is not known, a value that is not possible, or cells that do not fit together.
    """
    try:
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise Wrong("%s is no YAML: %s" % (name, " ".join(str(error).split())))
    if tree is None:
        raise Wrong("%s is empty" % name)
    suite = value_of(tree, (dict, SUITE), "the suite", name)
    for key in ("title", "cells"):
        if not suite.get(key):
            raise Wrong("%s: %s is missing" % (name, key))
    if profile != "full":
        changed = (suite.get("profiles") or {}).get(profile, {})
        load = changed.pop("load", {})
        suite["load"] = dict(suite.get("load") or {}, **load)
        # A cell's own amount of work is shortened too.
        for cell in suite["cells"]:
            cell["load"] = dict(cell.get("load") or {}, **load)
        suite.update(changed)
    suite = dict(DEFAULTS, **suite)
    suite["cells"] = [filled(cell, suite) for cell in suite["cells"]]
    for line, problem in fits(suite["cells"]):
        raise Wrong("%s: cell %s: %s" % (name, line, problem))
    return suite


def value_of(node, kind, key, name):
    """A YAML node's value, checked.

    Raises:
        Wrong: see read().
    """
    wanted, allowed = kind
    where = "%s, line %d" % (name, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode) and wanted is dict:
        found = {}
        for key_node, value_node in node.value:
            inner = str(key_node.value)
            if inner not in allowed:
                near = difflib.get_close_matches(inner, allowed, 1)
                raise Wrong("%s, line %d: %s has no key %r; %s" % (
                    name, key_node.start_mark.line + 1, key,
                    inner, "did you mean %s?" % near[0] if near else "possible are " + ", ".join(sorted(allowed))))
            found[inner] = value_of(value_node, allowed[inner], inner, name)
        return found
    if isinstance(node, yaml.SequenceNode) and wanted is list:
        return [value_of(entry, (dict, allowed), "an entry of " + key, name) for entry in node.value]
    value = yaml.SafeLoader("").construct_object(node, deep=True) if isinstance(node, yaml.ScalarNode) else node
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, wanted) or wanted is int and isinstance(value, bool):
        said = node.value if isinstance(node, yaml.ScalarNode) else TYPES[list if isinstance(node, yaml.SequenceNode) else dict]
        raise Wrong("%s: %s is %s; %s is needed" % (where, key, said, TYPES[wanted]))
    if isinstance(allowed, tuple) and allowed and not isinstance(allowed[0], str) and not allowed[0] <= value <= allowed[1]:
        raise Wrong("%s: %s is %s; from %s to %s is possible" % (where, key, node.value, allowed[0], allowed[1]))
    if isinstance(allowed, tuple) and isinstance(allowed[0], str) and value not in allowed:
        raise Wrong("%s: %s is %s; possible are %s" % (where, key, node.value, ", ".join(allowed)))
    return value


def filled(cell, suite):
    """A cell with the suite's conditions where it has none of its own."""
    own, general = cell.get("load") or {}, dict(LOAD_DEFAULTS, **(suite.get("load") or {}))
    # What was said for one tool is nothing for another.
    load = dict(LOAD_DEFAULTS if own.get("tool", general["tool"]) != general["tool"] else general, **own)
    if load["tool"] == "client":
        load["clients"] = 1 if "clients" not in (cell.get("load") or {}) else load["clients"]
    if load["tool"] != "mysqlslap":
        load.pop("load_type", None)
    if load.get("seconds"):
        load["queries"] = None
    found = {"id": cell.get("id"), "label": cell.get("label") or cell.get("id"), "checkpoint": cell.get("checkpoint"),
             "replication": cell.get("replication"), "baseline": cell.get("baseline"), "load": load}
    for key, otherwise in (("delay_ms", 0.0), ("durability", None), ("wait_point", None), ("timeout_ms", None)):
        found[key] = cell.get(key, suite.get(key, otherwise))
    return found


def fits(cells):
    """(cell, what is wrong with it) of cells that do not fit together."""
    known = [cell["id"] for cell in cells]
    found = []
    for number, cell in enumerate(cells, 1):
        name = cell["id"] or "number %d" % number
        if not cell["id"] or not cell["replication"]:
            found.append((name, "id and replication are needed"))
        elif known.count(cell["id"]) > 1:
            found.append((name, "there are two of this id"))
        elif cell["baseline"] and cell["baseline"] not in known:
            found.append((name, "its baseline %r is no cell" % cell["baseline"]))
        elif cell["load"]["tool"] == "client" and not cell["load"].get("query"):
            found.append((name, "the tool client needs a query"))
        elif cell["load"]["tool"] == "client" and cell["load"]["clients"] != 1:
            found.append((name, "the tool client is one connection, not %d" % cell["load"]["clients"]))
        elif cell["load"]["tool"] == "mysqlslap" and cell["load"].get("seconds"):
            found.append((name, "mysqlslap runs a number of queries, not seconds"))
        elif cell["load"]["tool"] == "sysbench" and not cell["load"].get("script"):
            found.append((name, "sysbench needs a script"))
        elif cell["load"].get("queries") and cell["load"]["queries"] < cell["load"]["clients"]:
            found.append((name, "it has fewer queries (%d) than clients (%d)"
                          % (cell["load"]["queries"], cell["load"]["clients"])))
    return found


def lacking(suite, host, tools, slapper):
    """What a host that a suite's load is to run on has not, in words; empty when it has all.

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
    wanted = set(slapper if cell["load"]["tool"] == "mysqlslap" else cell["load"]["tool"] for cell in suite["cells"])
    missing = [tool for tool in sorted(wanted - {"client"}) + ["driver"] if not tools.get(tool)]
    return "; ".join("%s has no %s: %s" % (host, "MySQL driver for Python" if tool == "driver" else tool, remedies[tool])
                     for tool in missing)


def guess_seconds(cell):
    """How long one repetition of a cell may take, before anything was measured."""
    load, wait = cell["load"], cell["delay_ms"] / 1000.0 if cell["replication"] == "semisync" else 0.0
    around = GUESSED_AROUND
    if load["tool"] == "mysqlslap" and not load.get("query"):
        around += PRELOAD * wait
    if load.get("seconds"):
        return load["seconds"] + around
    return load["queries"] / GUESSED_RATE + load["queries"] / float(load["clients"]) * wait + around


def of_source(cell):
    """What the source is set to for a cell, besides the delay."""
    return (cell["replication"], cell["wait_point"], cell["timeout_ms"]) + of_replica(cell)


def of_replica(cell):
    """What a replica is set to for a cell."""
    return (cell["replication"] == "none", tuple(sorted((cell["durability"] or {}).items())))


def runs(suite):
    """(cell, repetition) of every run in order: a warm-up (0) of each load, then A B A B.

    The warm-up is not about the network: it runs under the first cell of its load.
    """
    cells, found, warm = suite["cells"], [], []
    if suite["warm_up"]:
        for cell in cells:
            if cell["load"] not in warm:
                warm.append(cell["load"])
                found.append((cell, 0))
    return found + [(cell, number) for number in range(1, suite["repetitions"] + 1) for cell in cells]


def steps(suite, done):
    """The runs that are left to do, and what must be set before each.

    Args:
        done: (cell's id, repetition) of those that are kept already.

    Returns:
        a list of cell (id), repetition, warm_up, and for source, replica and delay whether that one's settings change; for
        source_hold, replica_hold and delay_hold the seconds after which the host may put them back by itself.
    """
    left = [(cell, number) for cell, number in runs(suite) if (cell["id"], number) not in done]
    limit = suite["time_limit"] + MARGIN
    found = [{"cell": cell["id"], "repetition": number, "warm_up": number == 0} for cell, number in left]
    for key, kind in (("source", of_source), ("replica", of_replica), ("delay", lambda cell: cell["delay_ms"])):
        begin, hold = 0, key + "_hold"
        for index, step in enumerate(found):
            changes = index == 0 or kind(left[index][0]) != kind(left[index - 1][0])
            step[key] = changes or (index - begin + 1) * limit > LONGEST_HOLD
            step[hold] = limit
            if step[key]:
                begin = index
            else:
                found[begin][hold] += limit
    return found


def expected_seconds(suite, left, measured=None):
    """How long the runs that are left will take.

    Args:
        left: steps().
        measured: seconds that the last repetition of a cell took, with everything around it, by the cell's id.
    """
    cells = dict((cell["id"], cell) for cell in suite["cells"])
    return sum((measured or {}).get(step["cell"]) or guess_seconds(cells[step["cell"]]) for step in left)


def in_words(seconds):
    """A duration for people."""
    if seconds < 90:
        return "%d s" % round(seconds)
    if seconds < 5400:
        return "%d min" % round(seconds / 60.0)
    return "%d h %02d min" % divmod(int(seconds // 60), 60)
