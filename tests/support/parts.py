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
    "test_rollback.py": 140,
    "test_existing_replication.py": 131,
    "test_gtid.py": 125,
    "test_benchmark.py": 115,
    "test_layout.py": 93,
    "test_unread.py": 80,
    "test_tags.py": 60,
    "test_bad_input.py": 55,
    "test_rotation.py": 54,
    "test_input.py": 41,
    "test_candidate.py": 49,
    "test_packages.py": 21,
}
SHORT = 5
# Files that use the same hosts, in this order and in one part: see tests/live/conftest.py.
TOGETHER = (("test_tags.py", "test_benchmark.py"),)


def parts(files: list[str], count: int, known: dict[str, int] | None = None) -> list[list[str]]:
    """Share files out, the longest first, each to the part that has least so far."""
    seconds = SECONDS if known is None else known
    groups = [[name for name in group if name in files] for group in TOGETHER]
    alone = set(files) - {name for group in groups for name in group}
    groups += [[name] for name in sorted(alone)]
    shared: list[list[str]] = [[] for _number in range(count)]
    loads = [0] * count

    def takes(group: list[str]) -> int:
        return sum(seconds.get(name, SHORT) for name in group)

    for group in sorted(groups, key=takes, reverse=True):
        least = loads.index(min(loads))
        shared[least] += group
        loads[least] += takes(group)
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


def bring_together(items: list[Any]) -> None:
    """Order the tests of the files that use the same hosts."""
    order = [name for group in TOGETHER for name in group]
    its = [item for item in items if item.path.name in order]
    rest = [item for item in items if item.path.name not in order]
    items[:] = sorted(its, key=lambda item: order.index(item.path.name)) + rest
