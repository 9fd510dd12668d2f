"""The live tests in parts, which `make test` runs side by side: each file is in exactly one part.
The parts take about as long.
"""

from __future__ import annotations

import argparse
import pathlib
from typing import Any

import pytest

LIVE = pathlib.Path(__file__).parents[1] / "live"
# About how long a file's tests take that are not long ones, on two cores with other steps beside
# them. It decides what runs in which part and nothing else; what is not here is taken for short.
SECONDS = {
    "test_benchmark.py": 150,
    "test_rollback.py": 148,
    "test_existing_replication.py": 131,
    "test_gtid.py": 130,
    "test_layout.py": 93,
    "test_unread.py": 80,
    "test_tags.py": 60,
    "test_bad_input.py": 55,
    "test_rotation.py": 54,
    "test_candidate.py": 49,
    "test_input.py": 41,
    "test_packages.py": 21,
}
SHORT = 5


def parts(files: list[str], count: int, known: dict[str, int] | None = None) -> list[list[str]]:
    """Share files out, the longest first, each to the part that has least so far."""
    seconds = SECONDS if known is None else known
    shared: list[list[str]] = [[] for _number in range(count)]
    loads = [0] * count
    for name in sorted(files, key=lambda name: (-seconds.get(name, SHORT), name)):
        least = loads.index(min(loads))
        shared[least].append(name)
        loads[least] += seconds.get(name, SHORT)
    return shared


def files() -> list[str]:
    """The names of the files of live tests."""
    return [path.name for path in LIVE.glob("test_*.py")]


def part(text: str) -> tuple[int, int]:
    """Number and count, of such as 1/2."""
    number, _slash, count = text.partition("/")
    if not (number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
        raise argparse.ArgumentTypeError(f"{text!r} is no part: it must be such as 1/2")
    return int(number), int(count)


def add_option(parser: pytest.Parser) -> None:
    """The option that asks for a part."""
    parser.addoption(
        "--part", type=part, default=(1, 1), help="such as 1/2: the first of two parts"
    )


def deselect(config: pytest.Config, items: list[Any]) -> None:
    """Deselect the tests of the other parts."""
    number, count = config.getoption("part")
    mine = parts(files(), count)[number - 1]
    others = [item for item in items if item.path.name not in mine]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]
