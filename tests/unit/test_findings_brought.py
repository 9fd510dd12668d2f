# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each kind of finding is brought about by a live test, on each engine that can have it; and what
such a test is held to.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import SEVERITIES
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kinds import TABLE

from support.findings import IMPOSSIBLE, Cluster, Told, brings, check_call, missing

PROJECT = Path(__file__).resolve().parents[2]
FILES = sorted((PROJECT / "tests" / "live").glob("test_findings*.py"))
A, B = ("after_commit", "source", "warning"), ("held", "source", "warning")
GRAVER = ("held", "source", "critical")


def marks_of(file: Path) -> Iterator[list[pytest.Mark]]:
    """The marks of each test of a file."""
    spec = importlib.util.spec_from_file_location(f"stated.{file.stem}", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, test in vars(module).items():
        if name.startswith("test_"):
            yield getattr(test, "pytestmark", [])


MARKS = [marks for file in FILES for marks in marks_of(file)]


def stated(engine: str) -> set[Told]:
    """What the tests that run on an engine state that they bring about."""
    told = set()
    for marks in MARKS:
        if all(mark.args[0] == engine for mark in marks if mark.name == "only"):
            told |= {one for mark in marks if mark.name == "brings" for one in mark.args}
    return told


@pytest.mark.parametrize("engine", IMPOSSIBLE)
def test_every_kind_is_brought_about_on_an_engine_that_can_have_it(engine: str) -> None:
    assert {kind for kind, _role, _severity in stated(engine)} == set(TABLE) - IMPOSSIBLE[engine]


@pytest.mark.parametrize("engine", IMPOSSIBLE)
def test_every_severity_that_the_manual_names_is_brought_about(engine: str) -> None:
    told = {(kind, severity) for kind, _role, severity in stated(engine)}
    for name in sorted(set(TABLE) - IMPOSSIBLE[engine]):
        documented = TABLE[name].severities or TABLE[name].severity
        named = {one for one in SEVERITIES if re.search(rf"\b{one}\b", documented)}
        assert {severity for kind, severity in told if kind == name} == named, name


def test_no_kind_is_impossible_on_every_engine() -> None:
    assert set.intersection(*IMPOSSIBLE.values()) == set()


def test_make_findings_runs_these_files() -> None:
    text = (PROJECT / "Makefile").read_text(encoding="utf-8")
    assert "python -m pytest tests/live/test_findings*.py" in text
    assert len(FILES) > 1


@pytest.mark.parametrize(
    ("runs", "wrong"),
    [
        ([{A, B}, set()], []),
        ([set(), {A}, {B}, set()], []),
        ([set(), {A}, set()], ["held source warning: no run has told it"]),
        ([{A, B}, {B}], ["held source warning: it was told to the end"]),
        # Less grave is not gone.
        (
            [{A, B}, {("held", "source", "critical")}],
            ["held source warning: it was told to the end"],
        ),
        ([], [f"{' '.join(one)}: no run has told it" for one in (A, B)]),
    ],
)
def test_a_test_that_states_findings_must_have_seen_them_come_and_go(runs, wrong) -> None:
    assert missing([A, B], runs) == wrong


class Item:
    """A test as pytest has it, with a cluster and a statement."""

    def __init__(self) -> None:
        # Without hosts: only what verify.yml told counts here.
        self.cluster = Cluster.__new__(Cluster)
        self.cluster.runs = [{A}, set()]
        self.funcargs = {"pair": self.cluster, "lossless": self.cluster, "tmp_path": None}

    def get_closest_marker(self, name: str) -> pytest.Mark:
        assert name == "brings"
        return brings(" ".join(A)).mark


@pytest.mark.parametrize(
    ("told", "good"), [([{A}, set()], True), ([{A}], False), ([], False), ([set()], False)]
)
def test_only_what_is_told_during_the_test_counts(told: list[set[Told]], good: bool) -> None:
    item = Item()
    call = check_call(item)
    next(call)
    item.cluster.runs += told
    with pytest.raises(StopIteration if good else AssertionError):
        call.send(None)
