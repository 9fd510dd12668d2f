# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._server import sql


@pytest.mark.parametrize(
    "value,text",
    [
        (1, "1"),
        ("1", "1"),
        (-1, "-1"),
        ("AFTER_SYNC", "'AFTER_SYNC'"),
        ("ON", "'ON'"),
        ("x'; DROP TABLE t; --", "'x''; DROP TABLE t; --'"),
        ("x\\'; DROP TABLE t; --", "'x\\\\''; DROP TABLE t; --'"),
        ("1.5", "'1.5'"),
        ("1\n", "'1\n'"),
    ],
)
def test_a_value_is_a_number_or_a_text_never_part_of_the_statement(value, text):
    name = "rpl_semi_sync_source_timeout"
    assert sql.set_statement(name, value) == f"SET GLOBAL {name} = {text}"


@pytest.mark.parametrize("name", ["", "a b", "a=1", "a;b", "a`b", "%s", "a\n", "\u00e4"])
def test_what_is_no_variables_name_is_refused(name):
    with pytest.raises(ValueError):
        sql.set_statement(name, 1)


def test_names_keep_every_character():
    assert sql.quote("a`b'c") == "`a``b'c`"
    assert sql.account_name("o'b", "%") == "'o''b'@'%'"
    assert sql.account_name("a\\", "10.0.0.%") == "'a\\\\'@'10.0.0.%'"


@pytest.mark.parametrize(
    "part,text",
    [
        ("a`b", "`a``b`"),
        (("a.b", "c"), "`a.b`.`c`"),
        (["it's", "\\"], "'it''s', '\\\\'"),
        (["{part}"], "'{part}'"),
        ([], ""),
    ],
)
def test_what_is_put_into_a_statement_ends_no_name_and_no_text(part, text):
    assert sql.filled("SELECT {part} FROM t WHERE a = %s", part=part) == (
        f"SELECT {text} FROM t WHERE a = %s"
    )
