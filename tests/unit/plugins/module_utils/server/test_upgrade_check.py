# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What CHECK TABLE ... FOR UPGRADE says against tables."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils.server import upgrade_check


def row(table, kind, words):
    return {"Table": table, "Op": "check", "Msg_type": kind, "Msg_text": words}


@pytest.mark.parametrize(
    "rows,found",
    [
        ([row("s.t", "status", "OK")], []),
        ([row("s.t", "status", "Table is already up to date")], []),
        ([row("s.t", "note", "The storage engine for the table doesn't support check")], []),
        ([row("s.t", b"status", b"OK")], []),
        (
            [
                row("s.t", "Error", "Tablespace is missing"),
                row("s.t", "status", "Operation failed"),
            ],
            ["s.t: Tablespace is missing", "s.t: Operation failed"],
        ),
        ([row("s.t", "error", "Table rebuild required.")] * 2, ["s.t: Table rebuild required."]),
    ],
)
def test_only_what_is_said_against_a_table_counts(rows, found):
    assert upgrade_check.problems(rows) == found


def test_every_table_is_in_one_of_the_statements_whatever_its_name():
    tables = [("a`b", str(number)) for number in range(upgrade_check.MANY + 1)]
    first, second = upgrade_check.statements(tables)
    assert first.startswith("CHECK TABLE `a``b`.`0`, ") and first.endswith(" FOR UPGRADE")
    assert second == f"CHECK TABLE `a``b`.`{upgrade_check.MANY}` FOR UPGRADE"
