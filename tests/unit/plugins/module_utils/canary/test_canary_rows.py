# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._canary import canary_rows as rows
from ansible_collections.dbre.semisync.plugins.module_utils._server import sql
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import rises


@pytest.mark.parametrize(
    "name,quoted",
    [
        ("stuff", "`stuff`"),
        ("my stuff", "`my stuff`"),
        ("a`b", "`a``b`"),
        ("a.b", "`a.b`"),
        ("`; DROP TABLE x; --", "```; DROP TABLE x; --`"),
    ],
)
def test_an_identifier_stays_one_whatever_is_in_it(name, quoted):
    assert sql.quote(name) == quoted


def test_the_canarys_table_is_made():
    statements = rows.create_statements("important", "stuff")
    assert statements[0] == "CREATE DATABASE IF NOT EXISTS `important`"
    assert statements[1].startswith(
        "CREATE TABLE IF NOT EXISTS `important`.`stuff` (id BIGINT UNSIGNED"
    )
    for column in rows.COLUMNS:
        assert column + " " in statements[1]
    assert statements[1].endswith("ENGINE=InnoDB")


@pytest.mark.parametrize(
    "columns,missing",
    [
        (["id", "details", "happened"], []),
        (["ID", "Details", "HAPPENED", "more"], []),
        (["id"], ["details", "happened"]),
        ([], ["id", "details", "happened"]),
    ],
)
def test_a_table_of_the_users_needs_these_columns(columns, missing):
    assert rows.missing_columns(columns) == missing


def test_every_row_has_a_text_of_its_own_and_our_mark():
    texts = [rows.row_text(token, number, 3) for token in ("a", "b") for number in (1, 2, 3)]
    assert len(set(texts)) == 6 and all(text.startswith(rows.MARK + " ") for text in texts)
    assert rows.row_text("a", 1, 3) == "dbre.semisync canary a 1/3"
    assert len(rows.row_text("f" * 32, 10**6, 10**6)) < 255


def test_only_our_own_rows_are_pruned_and_few_at_a_time():
    statement = rows.prune_statement("important", "stuff")
    assert (
        statement
        == "DELETE FROM `important`.`stuff` WHERE id <= %s AND details LIKE %s ORDER BY id LIMIT"
        " 1000"
    )
    assert statement.count("%s") == 2


@pytest.mark.parametrize(
    "before,after,expected",
    [
        (
            {"yes_tx": "3", "no_tx": "0", "no_times": "0", "net_waits": "5"},
            {"yes_tx": "4", "no_tx": "0", "no_times": "0", "net_waits": "6"},
            {"yes_tx": 1, "no_tx": 0, "no_times": 0, "net_waits": 1},
        ),
        ({"yes_tx": None, "no_tx": None}, {"yes_tx": None, "no_tx": None}, {}),
        ({"yes_tx": None}, {"yes_tx": "1"}, {}),
        ({}, {}, {}),
    ],
)
def test_how_far_counters_rose(before, after, expected):
    assert rises(before, after, rows.COUNTERS) == expected


def test_a_row_is_one_insert_with_its_text_as_an_argument():
    class Server:
        def rows(self, *statement):
            self.statement = statement

    server = Server()
    rows.insert(server, "important", "stuff", "it's a row")
    assert server.statement == (
        "INSERT INTO `important`.`stuff` (details) VALUES (%s)",
        ("it's a row",),
    )
