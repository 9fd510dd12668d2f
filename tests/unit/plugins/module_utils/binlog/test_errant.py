# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transactions as people read them, out of what mysqlbinlog of Debian's MySQL 9.7.4 printed of a
dead source's log: of a table without transactions, a definition, and rows of tables with a primary
key and without one.
"""

from __future__ import annotations

from pathlib import Path

from ansible_collections.dbre.semisync.plugins.module_utils._binlog import errant
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.errant import Phantoms
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtids import (
    MariadbGtids,
    MysqlGtids,
)
from ansible_collections.dbre.semisync.tests.unit import printed as of_log
from ansible_collections.dbre.semisync.tests.unit import samples

UUID = "c7a0dd3e-e6ba-11f1-b13f-0242ac1a0003:"


def printed():
    path = Path(samples.FIXTURES) / "mysqlbinlog-9.7-verbose.txt"
    return path.read_bytes().splitlines(keepends=True)


def read(lines, kind=MysqlGtids, wanted=lambda _gtid: True):
    return Phantoms(kind, wanted).read(of_log.lines(lines))


def test_each_has_its_gtid_when_it_was_its_tables_and_how_many_rows():
    seen = read(printed())
    assert seen.gtids == [f"{UUID}{number}" for number in (15, 16, 17, 18)]
    assert seen.count == 4
    assert seen.tables["app.keyed"] == {"inserted": 2, "updated": 0, "deleted": 1}
    assert seen.tables["app.bare"] == {"inserted": 0, "updated": 2, "deleted": 0}
    assert seen.tables["app.lasting"]["inserted"] == 1
    lasting, definition, rows, _last = seen.told
    assert lasting["at"] == "2026-11-22T21:28:09Z"
    assert (lasting["transactional"], rows["transactional"]) == (False, True)
    assert definition["statements"] == ["CREATE TABLE app.phantom (id INT PRIMARY KEY)"]
    assert definition["ddl"]
    assert rows["rows"][:4] == ["INSERT INTO `app`.`keyed`", "SET", "  @1=901", "  @2='phantom'"]


def test_what_cannot_be_taken_back_is_named():
    assert read(printed()).lasting == [f"{UUID}15", f"{UUID}16"]


def test_only_those_that_are_wanted_are_told():
    seen = read(printed(), wanted=lambda gtid: gtid.endswith(":17"))
    assert seen.gtids == [f"{UUID}17"]
    assert "app.lasting" not in seen.tables


def of_mariadb(flags, *body):
    head = "#261122 21:21:58 server id 7  end_log_pos 3 CRC32 0xa5 \tGTID 0-7-39 "
    lines = ["DELIMITER /*!*/;\n", f"{head}{flags}\n", *(f"{line}\n" for line in body)]
    return [line.encode() for line in lines]


def test_mariadb_says_itself_what_cannot_be_taken_back():
    ends = ["START TRANSACTION", "/*!*/;", "COMMIT/*!*/;"]
    assert read(of_mariadb("trans", *ends), MariadbGtids).lasting == []
    assert read(of_mariadb("cid=5 trans", *ends), MariadbGtids).lasting == []
    assert read(of_mariadb("", *ends), MariadbGtids).lasting == ["0-7-39"]
    assert read(of_mariadb("ddl", "CREATE TABLE t (id INT)", "/*!*/;"), MariadbGtids).lasting == [
        "0-7-39"
    ]


def test_what_may_hold_a_password_is_not_shown():
    for statement in (
        "CREATE USER a IDENTIFIED BY 'x'",
        "SET PASSWORD FOR a = 'x'",
        "UPDATE mysql.user SET authentication_string = 'x'",
    ):
        (one,) = read(of_mariadb("ddl", statement, "/*!*/;"), MariadbGtids).told
        assert one["statements"] == [errant.HIDDEN]
    rows = ["### UPDATE `mysql`.`global_priv`", "### SET", "###   @3='x'"]
    (one,) = read(of_mariadb("trans", *rows, "COMMIT/*!*/;"), MariadbGtids).told
    assert one["rows"] == ["UPDATE `mysql`.`global_priv`"]


def test_long_ones_are_cut_and_all_are_counted():
    row = ["### INSERT INTO `app`.`t`", "### SET", f"###   @1='{'x' * 1000}'"]
    seen = read(of_mariadb("trans", *(row * 100), "COMMIT/*!*/;"), MariadbGtids)
    assert seen.tables["app.t"]["inserted"] == 100
    (one,) = seen.told
    assert len(one["rows"]) == 3 * errant.ROWS
    assert max(map(len, one["rows"])) == errant.WIDTH + 1


def test_a_clients_own_lines_are_no_rows():
    body = ["CREATE PROCEDURE p() BEGIN", "### DELETE FROM `app`.`t`", "END", "/*!*/;"]
    seen = read(of_mariadb("ddl", *body), MariadbGtids)
    assert seen.tables == {}
