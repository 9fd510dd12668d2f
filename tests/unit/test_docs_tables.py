# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What pages have from tables in the code is what the tables say."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import CRITICAL
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import kinds

from tools import docs_tables


@pytest.mark.parametrize("page", docs_tables.PARTS)
def test_a_page_has_what_the_tables_say(page):
    text = (docs_tables.PROJECT / page).read_text(encoding="utf-8")
    assert docs_tables.renewed(page, text) == text, "run: make generated"


def test_a_changed_table_makes_a_page_stale(monkeypatch):
    page = "docs/findings.md"
    text = (docs_tables.PROJECT / page).read_text(encoding="utf-8")
    kind = kinds.TABLE["degraded"]._replace(severity=CRITICAL, remedy="Do something else.")
    monkeypatch.setitem(kinds.TABLE, "degraded", kind)
    assert "| remedy | Do something else. |" in docs_tables.renewed(page, text)


def test_a_page_without_its_part_is_refused():
    with pytest.raises(ValueError, match="lacks"):
        docs_tables.renewed("docs/failover.md", "# Failover\n")


def test_other_pages_are_links():
    assert docs_tables.linked("see docs/backlog.md now") == "see [backlog.md](backlog.md) now"


def test_a_premise_is_in_the_guide_by_its_registry():
    text = (docs_tables.PROJECT / "docs" / "failover.md").read_text(encoding="utf-8")
    written = docs_tables.renewed("docs/failover.md", text.replace("| C1 |", "| C1 old words |"))
    rows = [f"| {one.id} | {one.seen} |\n" for one in docs_tables.premises.REGISTRY]
    assert all(row in written for row in rows) and "old words" not in written
