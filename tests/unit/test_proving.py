# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make prove` without hosts: its mutants fit the playbook as it is, and its tables say no more
than was seen.
"""

from __future__ import annotations

import pytest

from support.proving import table
from support.proving.cycle import REFUSED, lies
from support.proving.faults import FAULTS
from support.proving.mutants import MUTANTS, PROJECT, Patch, broken, patched

PATCHES = [
    pytest.param(patch, id=f"{name}-{number}")
    for name, mutant in MUTANTS.items()
    for number, patch in enumerate(mutant.patches)
]


def record(**other):
    return {
        "case": "cut",
        "server": "mariadb",
        "version": "10.11-MariaDB",
        "seed": 1,
        "judged": True,
        "why": "",
        "verdict": "proven",
        "outcome": "done",
        "reasons": [],
        "cases": [],
        "confirmed": 400,
        "unknown": 3,
        "lost": 0,
        "unexpected": 0,
        "twice": 0,
        "without": 12.0,
        "to_first": 9.0,
        **other,
    }


@pytest.mark.parametrize("patch", PATCHES)
def test_a_mutant_fits_the_playbook_as_it_is(patch):
    text = (PROJECT / patch.file).read_text(encoding="utf-8")
    made = patched(text, patch)
    assert made != text
    if patch.file.endswith(".py"):
        compile(made, patch.file, "exec")


def test_a_mutant_whose_text_is_gone_is_an_error():
    with pytest.raises(ValueError, match="0 times"):
        patched("what it was\n", Patch("file.py", "what it is", "what it shall be"))


def test_a_mutant_is_a_copy(tmp_path):
    path = broken(MUTANTS["no-wait"], tmp_path)
    copy = path / "ansible_collections/dbre/semisync"
    (patch,) = MUTANTS["no-wait"].patches
    assert patch.replacement in (copy / patch.file).read_text(encoding="utf-8")
    assert patch.anchor in (PROJECT / patch.file).read_text(encoding="utf-8")
    assert (copy / "playbooks/failover.yml").exists()


def test_every_mutant_has_its_fault():
    assert {mutant.fault for mutant in MUTANTS.values()} <= set(FAULTS)


def test_a_certificate_lies_that_proves_what_was_lost():
    assert lies(record(lost=1))
    assert not lies(record())
    assert not lies(record(lost=1, verdict="not proven"))


def test_a_cycle_that_was_not_judged_counts_as_none_and_is_listed():
    broken_off = {"case": "cut", "server": "mysql", "version": "9.7", "seed": 7, "judged": False}
    text = table.document([record(), dict(broken_off, why="no answer within 300 s")])
    assert "| MariaDB 10.11 | 1 | 400 | 0 | 0 | 0 | 3 | proven: 1 | 12.0, 12.0 | 9.0, 9.0 |" in text
    assert "9.7 |" not in text
    assert "count as none: 1.\n- cut, mysql, seed 7: no answer within 300 s" in text


def test_missing_proofs_are_counted_with_their_reasons():
    poor = record(verdict="not proven", reasons=["C5, replica1: its server started"])
    text = table.document([poor, poor, record(verdict="not proven", lost=2, reasons=["C1, x: y"])])
    assert "where nothing was lost: 2.\n- 2 times cut, mariadb: not proven (C5, replica1)" in text


def test_a_liar_is_named():
    text = table.document([record(lost=1, seed=42), record(case="no-wait", lost=9)])
    assert "where a row was lost: 1 (cut 42 (mariadb))." in text
    assert "| backlog | MariaDB 10.11 | 1 | 1 | 400 | 9 | 0 | 1 | proven: 1 |" in text


def test_a_mutant_that_was_refused_was_not_seen():
    text = table.document([record(case="no-wait", verdict=REFUSED)])
    assert "| backlog | MariaDB 10.11 | 1 | 0 | 400 |" in text


def test_the_tables_are_put_between_the_marks(tmp_path):
    page = tmp_path / "failover.md"
    page.write_text(f"before\n{table.MARK}old\n{table.END}after\n", encoding="utf-8")
    table.write(page, "new\n")
    text = page.read_text(encoding="utf-8")
    assert "old" not in text and text.startswith("before\n") and text.endswith("after\n")
    page.write_text("no marks\n", encoding="utf-8")
    with pytest.raises(ValueError, match="lacks"):
        table.write(page, "new\n")
