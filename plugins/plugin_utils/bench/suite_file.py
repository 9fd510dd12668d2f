# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A suite's YAML file as values: every key known, every value possible, every mistake with its
line.
"""

from __future__ import annotations

import difflib
from typing import Any

import yaml
from ansible_collections.dbre.semisync.plugins.module_utils.bench.load import validity

WAIT_POINTS = ("AFTER_SYNC", "AFTER_COMMIT")

# What a key may hold: a type, then a range or the words that are possible.
LOAD = {
    "tool": (str, validity.TOOLS),
    "clients": (int, (1, 10000)),
    "queries": (int, (1, 10**9)),
    "seconds": (int, (1, 86400)),
    "load_type": (str, validity.LOAD_TYPES),
    "engine": (str, None),
    "create": (str, None),
    "query": (str, None),
    "script": (str, None),
    "table_size": (int, (1, 10**9)),
    "same_row": (bool, None),
}
DURABILITY = {"sync_binlog": (int, (0, 2**32 - 1)), "innodb_flush_log_at_trx_commit": (int, (0, 2))}
CONDITIONS = {
    "delay_ms": (float, (0, 10000)),
    "durability": (dict, DURABILITY),
    "wait_point": (str, WAIT_POINTS),
    "timeout_ms": (int, (0, 2**32 - 1)),
    "load": (dict, LOAD),
}
CELL = dict(
    CONDITIONS,
    id=(str, None),
    label=(str, None),
    checkpoint=(str, None),
    replication=(str, validity.REPLICATION),
    baseline=(str, None),
)
PUBLISHED = {"what": (str, None), "figure": (str, None), "found": (str, None)}
GENERAL = dict(
    CONDITIONS,
    title=(str, None),
    reference=(str, None),
    # What it was called.
    document=(str, None),
    what=(str, None),
    metric=(str, ("seconds", "rate")),
    repetitions=(int, (1, 1000)),
    warm_up=(bool, None),
    time_limit=(int, (1, 86400)),
    needs_client=(bool, None),
)
SUITE = dict(
    GENERAL,
    cells=(list, CELL),
    documented=(list, PUBLISHED),
    profiles=(dict, {"quick": (dict, GENERAL)}),
)
TYPES = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a mapping",
    list: "a list",
}


class SuiteError(Exception):
    """A suite that cannot run; the text names the file, the line and the key."""


def read_values(text: str, name: str) -> dict[str, Any]:
    """What a suite's file says, as it says it.

    Args:
        text: the file's text.
        name: what messages call it.

    Raises:
        SuiteError: it is no YAML, has a key that is not known or a value that is not possible, or
            lacks title or cells.
    """
    try:
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise SuiteError(f"{name} is no YAML: {' '.join(str(error).split())}") from error
    if tree is None:
        raise SuiteError(f"{name} is empty")
    values = value_of(tree, (dict, SUITE), "the suite", name)
    for key in ("title", "cells"):
        if not values.get(key):
            raise SuiteError(f"{name}: {key} is missing")
    return values


def value_of(node: Any, kind: tuple[Any, Any], key: str, name: str) -> Any:
    """A YAML node's value, checked.

    Raises:
        SuiteError: see read_values().
    """
    wanted, allowed = kind
    where = f"{name}, line {node.start_mark.line + 1}"
    if isinstance(node, yaml.MappingNode) and wanted is dict:
        values = {}
        for key_node, value_node in node.value:
            inner = str(key_node.value)
            if inner not in allowed:
                near = difflib.get_close_matches(inner, allowed, 1)
                line = key_node.start_mark.line + 1
                possible = f"possible are {', '.join(sorted(allowed))}"
                hint = f"did you mean {near[0]}?" if near else possible
                raise SuiteError(f"{name}, line {line}: {key} has no key {inner!r}; {hint}")
            values[inner] = value_of(value_node, allowed[inner], inner, name)
        return values
    if isinstance(node, yaml.SequenceNode) and wanted is list:
        return [
            value_of(entry, (dict, allowed), "an entry of " + key, name) for entry in node.value
        ]
    value = (
        yaml.SafeLoader("").construct_object(node, deep=True)
        if isinstance(node, yaml.ScalarNode)
        else node
    )
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        said = (
            node.value
            if isinstance(node, yaml.ScalarNode)
            else TYPES[list if isinstance(node, yaml.SequenceNode) else dict]
        )
        raise SuiteError(f"{where}: {key} is {said}; {TYPES[wanted]} is needed")
    if (
        isinstance(allowed, tuple)
        and allowed
        and not isinstance(allowed[0], str)
        and not allowed[0] <= value <= allowed[1]
    ):
        raise SuiteError(
            f"{where}: {key} is {node.value}; from {allowed[0]} to {allowed[1]} is possible"
        )
    if isinstance(allowed, tuple) and isinstance(allowed[0], str) and value not in allowed:
        raise SuiteError(f"{where}: {key} is {node.value}; possible are {', '.join(allowed)}")
    return value
