# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of variables are generated: what is committed is what `make generated` writes."""

from __future__ import annotations

import pytest

from tools import role_tables

README = """# A role

| variable | type | default | meaning |
|---|---|---|---|
| `semisync_limit` | int | `5` | seconds, *at most* |
| `semisync_name` | str | empty | its name |

Text.
"""
LIMIT = {"type": "int", "default": 5, "description": "Seconds."}
NAME = {"type": "str", "default": "", "description": ["Its", "name."]}


def test_nothing_that_is_committed_is_stale(capsys):
    assert role_tables.main(["--check"]) == 0, capsys.readouterr().out


def test_a_table_that_is_right_is_left_alone():
    options = {"semisync_limit": LIMIT, "semisync_name": NAME}
    assert role_tables.with_variables(README, options) == README


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            {"semisync_limit": dict(LIMIT, default=7), "semisync_name": NAME},
            "| `semisync_limit` | int | `7` | seconds, *at most* |",
        ),
        (
            {"semisync_limit": dict(LIMIT, type="float"), "semisync_name": NAME},
            "| `semisync_limit` | float | `5` | seconds, *at most* |",
        ),
        (
            {"semisync_limit": LIMIT, "semisync_name": NAME, "semisync_new": LIMIT},
            "| `semisync_new` | int | `5` | Seconds. |",
        ),
    ],
    ids=["default", "type", "new"],
)
def test_a_row_is_as_its_argument_spec(options, line):
    assert f"{line}\n" in role_tables.with_variables(README, options)


def test_a_variable_that_is_gone_leaves_no_row():
    text = role_tables.with_variables(README, {"semisync_name": NAME})
    assert "semisync_limit" not in text and "|---|\n| `semisync_name`" in text
