"""The live tests' parts: nothing falls between them."""

import argparse
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from support import parts

PROJECT = Path(__file__).parents[2]


@pytest.mark.parametrize("count", range(1, 5))
def test_every_file_is_in_exactly_one_part(count):
    shared = parts.parts(parts.files(), count)
    assert len(shared) == count
    assert sorted(name for part in shared for name in part) == sorted(
        path.name for path in (PROJECT / "tests/live").glob("test_*.py")
    )


def test_make_test_runs_every_part_once():
    text = (PROJECT / "Makefile").read_text(encoding="utf-8")
    listed = re.search(r"^live_parts = (.+)$", text, re.MULTILINE)
    assert listed
    count = len(listed[1].split())
    assert listed[1].split() == [f"{number}/{count}" for number in range(1, count + 1)]
    assert "$(foreach part,$(live_parts),'live $(part)=$(MAKE) live PART=$(part)')" in text


def test_what_is_known_to_take_time_is_a_file_that_is_there():
    assert set(parts.SECONDS) <= set(parts.files())


def test_the_longest_files_are_shared_out_first():
    seconds = {"a": 60, "b": 50, "c": 40, "d": 20}
    assert parts.parts(["d", "new", "c", "b", "a"], 2, seconds) == [["a", "d", "new"], ["b", "c"]]


@pytest.mark.parametrize("count", range(1, 5))
def test_files_that_use_the_same_hosts_are_in_one_part_in_their_order(count):
    items = [SimpleNamespace(path=Path(name)) for name in sorted(parts.files())]
    parts.bring_together(items)
    names = [item.path.name for item in items]
    assert sorted(names) == sorted(parts.files())
    for group in parts.TOGETHER:
        (its,) = [part for part in parts.parts(parts.files(), count) if group[0] in part]
        assert tuple(name for name in its if name in group) == group
        assert tuple(name for name in names if name in group) == group


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "one/2", "1/2/3"])
def test_what_is_no_part_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="such as 1/2"):
        parts.part(text)
