# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/architecture.md is checked: each invariant names a test that exists, and the diagrams have
the steps of the guides.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
DOCS = PROJECT / "docs"
PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(test_\w+)`")
DEFINED = re.compile(r"^ *def (test_\w+)\(", re.MULTILINE)


def section(page: str, heading: str) -> str:
    """The text below a heading, up to the next one of its level."""
    begin = page.index(f"\n## {heading}\n")
    end = page.find("\n## ", begin + 1)
    return page[begin : end if end > 0 else len(page)]


def invariants() -> list[str]:
    """Each invariant on one line."""
    items = re.split(r"^- ", section(PAGE, "Invariants"), flags=re.MULTILINE)[1:]
    return [" ".join(item.split("\n\n")[0].split()) for item in items]


def defined() -> set[str]:
    """The names of all unit tests."""
    files = (PROJECT / "tests" / "unit").rglob("test_*.py")
    return {name for file in files for name in DEFINED.findall(file.read_text(encoding="utf-8"))}


TESTS = defined()


@pytest.mark.parametrize("invariant", invariants(), ids=lambda line: line[:40])
def test_an_invariant_names_a_test_that_exists(invariant):
    names = set(NAMED.findall(invariant))
    assert names, "no test is named"
    assert names - TESTS == set()


def test_there_are_invariants_and_three_diagrams():
    assert len(invariants()) >= 20
    assert PAGE.count("```mermaid\nsequenceDiagram\n") == 3


@pytest.mark.parametrize("guide", ["failover", "rejoin"])
def test_a_diagram_has_every_step_of_the_guide_in_its_order(guide):
    text = (DOCS / f"{guide}.md").read_text(encoding="utf-8")
    steps = re.findall(r"^(\d+)\. ", section(text, "The order"), re.MULTILINE)
    diagram = section(PAGE, f"The order of a {guide}")
    drawn = re.findall(r": ((?:\d, )*\d)\. ", diagram)
    begun = [numbers.split(", ")[-1] for numbers in drawn]
    assert list(dict.fromkeys(begun)) == steps
    assert begun == sorted(begun)


def test_the_switchovers_diagram_has_every_point_in_its_order():
    text = (DOCS / "switchover.md").read_text(encoding="utf-8")
    points = re.findall(r"^\| (S\d) \|", section(text, "The order"), re.MULTILINE)
    drawn = re.findall(r"\bS\d\b", section(PAGE, "The order of a switchover").partition("```")[2])
    assert list(dict.fromkeys(drawn)) == points
    assert drawn == sorted(drawn)


def test_the_guides_lead_to_it():
    for name in ("README.md", "docs/development.md"):
        assert "architecture.md" in (PROJECT / name).read_text(encoding="utf-8")
