# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A suite's YAML file as values: every key known, every value possible, every mistake with its
line.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import NamedTuple, cast

import yaml
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load import validity
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_shapes import RawSuite

WAIT_POINTS = ("AFTER_SYNC", "AFTER_COMMIT")


class Kind(NamedTuple):
    """The values that a key may have.

    Attributes:
        type: of its value, or of the mapping or list that it is.
        words: the values that are possible; empty if any is.
        least, most: the range of a number.
        keys: of a mapping, or of each entry of a list.
    """

    type: type
    words: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    keys: Mapping[str, Kind] = {}


def number(
    least: int,
    most: int,
    kind: type = int,
) -> Kind:
    return Kind(kind, least=least, most=most)


def mapping(**keys: Kind) -> Kind:
    return Kind(dict, keys=keys)


def entries(**keys: Kind) -> Kind:
    return Kind(list, keys=keys)


TEXT, FLAG = Kind(str), Kind(bool)
LOAD = mapping(
    tool=Kind(str, validity.TOOLS),
    clients=number(1, 10000),
    queries=number(1, 10**9),
    seconds=number(1, 86400),
    load_type=Kind(str, validity.LOAD_TYPES),
    engine=TEXT,
    create=TEXT,
    query=TEXT,
    script=TEXT,
    table_size=number(1, 10**9),
    same_row=FLAG,
)
CONDITIONS = {
    "delay_ms": number(0, 10000, float),
    "durability": mapping(
        sync_binlog=number(0, 2**32 - 1),
        innodb_flush_log_at_trx_commit=number(0, 2),
    ),
    "wait_point": Kind(str, WAIT_POINTS),
    "timeout_ms": number(0, 2**32 - 1),
    "load": LOAD,
}
CELLS = entries(
    **CONDITIONS,
    id=TEXT,
    label=TEXT,
    checkpoint=TEXT,
    replication=Kind(str, validity.REPLICATION),
    baseline=TEXT,
)
GENERAL = {
    **CONDITIONS,
    "title": TEXT,
    "reference": TEXT,
    # What it was called.
    "document": TEXT,
    "what": TEXT,
    "metric": Kind(str, ("seconds", "rate")),
    "repetitions": number(1, 1000),
    "warm_up": FLAG,
    "time_limit": number(1, 86400),
    "needs_client": FLAG,
}
SUITE = mapping(
    **GENERAL,
    cells=CELLS,
    documented=entries(what=TEXT, figure=TEXT, found=TEXT),
    profiles=mapping(quick=mapping(**GENERAL)),
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
    """The suite cannot run; the text names the file, the line and the key."""


def read_values(text: str, name: str) -> RawSuite:
    """A suite's file as values, without defaults.

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
        raise SuiteError(f"{name} is not valid YAML: {' '.join(str(error).split())}") from error
    if tree is None:
        raise SuiteError(f"{name} is empty")
    values = cast("RawSuite", value_of(tree, SUITE, "the suite", name))
    for key, value in (("title", values.get("title")), ("cells", values.get("cells"))):
        if not value:
            raise SuiteError(f"{name}: {key} is missing")
    return values


def value_of(
    node: yaml.Node,
    kind: Kind,
    key: str,
    name: str,
) -> object:
    """A YAML node's value, checked.

    Raises:
        SuiteError: see read_values().
    """
    if isinstance(node, yaml.MappingNode) and kind.type is dict:
        return mapping_of(node, kind, key, name)
    if isinstance(node, yaml.SequenceNode) and kind.type is list:
        entry = Kind(dict, keys=kind.keys)
        return [value_of(each, entry, f"an entry of {key}", name) for each in node.value]
    return scalar_of(node, kind, key, f"{name}, line {line_of(node)}")


def line_of(node: yaml.Node) -> int:
    return node.start_mark.line + 1


def mapping_of(
    node: yaml.MappingNode,
    kind: Kind,
    key: str,
    name: str,
) -> dict[str, object]:
    """A mapping's values, checked; see value_of()."""
    values: dict[str, object] = {}
    for key_node, value_node in node.value:
        inner = str(key_node.value)
        if inner not in kind.keys:
            near = difflib.get_close_matches(inner, kind.keys, 1)
            possible = f"possible keys: {', '.join(sorted(kind.keys))}"
            hint = f"did you mean {near[0]}?" if near else possible
            place = f"{name}, line {line_of(key_node)}"
            raise SuiteError(f"{place}: {key} has no key {inner!r}; {hint}")
        values[inner] = value_of(value_node, kind.keys[inner], inner, name)
    return values


def scalar_of(
    node: yaml.Node,
    kind: Kind,
    key: str,
    place: str,
) -> object:
    """A scalar's value, checked; see value_of().

    Args:
        place: the file and the line.
    """
    scalar = isinstance(node, yaml.ScalarNode)
    value = yaml.SafeLoader("").construct_object(node, deep=True) if scalar else None
    if kind.type is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind.type) or (kind.type is int and isinstance(value, bool)):
        shape = TYPES[list if isinstance(node, yaml.SequenceNode) else dict]
        said = node.value if scalar else shape
        raise SuiteError(f"{place}: {key} is {said}; it must be {TYPES[kind.type]}")
    if isinstance(value, (int, float)) and not in_range(value, kind):
        limits = f"from {kind.least} to {kind.most}"
        raise SuiteError(f"{place}: {key} is {node.value}; it must be {limits}")
    if kind.words and value not in kind.words:
        words = ", ".join(kind.words)
        raise SuiteError(f"{place}: {key} is {node.value}; it must be one of {words}")
    return value


def in_range(value: float, kind: Kind) -> bool:
    if kind.least is None or kind.most is None:
        return True
    return kind.least <= value <= kind.most
