# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GTIDs of a binary log, out of what mysqlbinlog of Debian's MySQL 9.7.4 and mariadb-binlog of
MariaDB 10.11.19 printed of two files each.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.log_transactions import (
    TailError,
)
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.logged_gtids import History
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtids import (
    MariadbGtids,
    MysqlGtids,
    kind_of,
)
from ansible_collections.dbre.semisync.tests.unit import printed as of_log
from ansible_collections.dbre.semisync.tests.unit import samples

MYSQL, MARIADB = "d7f2207a-e69c-11f1-b044-0242ac1b0003:", "0-3932858386-"
OTHER = "aaaaaaaa-1111-2222-3333-444444444444"


def printed(name):
    return (Path(samples.FIXTURES) / f"{name}.txt").read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize(
    "name,before,has,torn",
    [
        ("mysqlbinlog-9.7", f"{MYSQL}1-2", f"{MYSQL}1-12", ""),
        ("mysqlbinlog-9.7-cut", f"{MYSQL}1-2", f"{MYSQL}1-4", f"{MYSQL}5"),
        ("mariadb-binlog-10.11", "", f"{MARIADB}8", ""),
        ("mariadb-binlog-10.11-cut", "", f"{MARIADB}6", f"{MARIADB}7"),
    ],
)
def test_what_a_server_has_that_does_not_run_is_in_its_last_files(name, before, has, torn):
    history = History(kind_of(name.partition("-")[0])).read(of_log.lines(printed(name)))
    assert (history.before, history.has(), history.torn) == (before, has, torn)
    assert (history.anonymous, history.disorder()) == (0, "")


def of_mysql(*lines):
    head = "#261122 17:50:10 server id 1  end_log_pos 198 CRC32 0xd53433c6 \tPrevious-GTIDs\n"
    return [line.encode() for line in ("DELIMITER /*!*/;\n", head, *lines)]


def one_of_mysql(name, *statements):
    return [f"SET @@SESSION.GTID_NEXT= '{name}'/*!*/;\n", *(f"{s}\n/*!*/;\n" for s in statements)]


def test_the_gtids_before_a_file_may_take_several_lines_and_have_tags():
    lines = of_mysql(f"# {MYSQL}1-2,\n", f"# {OTHER}:1-5:app:1-3\n", "# at 198\n")
    assert History(MysqlGtids).read(of_log.lines(lines)).before == f"{MYSQL}1-2,{OTHER}:1-5:app:1-3"
    lines += [one.encode() for one in one_of_mysql(f"{OTHER}:app:4", "BEGIN", "COMMIT")]
    assert (
        History(MysqlGtids).read(of_log.lines(lines)).has()
        == f"{OTHER}:1-5,{OTHER}:app:1-4,{MYSQL}1-2"
    )
    assert (
        History(MysqlGtids).read(of_log.lines(of_mysql("# [empty]\n", "# at 198\n"))).before == ""
    )


def test_a_file_may_have_nothing_behind_its_head():
    lines = of_mysql(f"# {MYSQL}1-2\n", "DELIMITER ;\n", "# End of log file\n")
    assert History(MysqlGtids).read(of_log.lines(lines)).has() == f"{MYSQL}1-2"
    lines = of_mysql(f"# {MYSQL}1-2\n", "# End of log file\n")
    assert History(MysqlGtids).read(of_log.lines(lines)).has() == f"{MYSQL}1-2"


def test_transactions_without_a_gtid_are_counted_and_none_is_taken_for_one():
    lines = of_mysql("# [empty]\n", *one_of_mysql("ANONYMOUS", "BEGIN", "COMMIT"))
    history = History(MysqlGtids).read(of_log.lines(lines))
    assert (history.anonymous, history.gtids) == (1, [])


def test_a_file_that_does_not_say_what_was_before_it_says_nothing():
    with pytest.raises(TailError, match="does not say which GTIDs"):
        History(MysqlGtids).read(of_log.lines([b"DELIMITER /*!*/;\n"])).has()


def of_mariadb(before, *names):
    lines = ["DELIMITER /*!*/;\n"]
    lines += [f"#261122 17:51:59 server id 1  end_log_pos 285 CRC32 0x7d4b0481 \t{before}\n"]
    for name in names:
        lines += [f"#261122 17:52:11 server id 1  end_log_pos 3 CRC32 0xa5 \tGTID {name} trans\n"]
        lines += ["START TRANSACTION\n/*!*/;\n", "COMMIT/*!*/;\n"]
    return [line.encode() for line in lines]


def test_on_mariadb_each_server_of_a_domain_has_its_last_number():
    history = History(MariadbGtids).read(
        of_log.lines(of_mariadb("Gtid list [0-1-5, 0-2-9, 7-1-2]", "0-1-10", "0-2-11"))
    )
    assert history.has() == "0-1-10,0-2-11,7-1-2"
    lines = of_mariadb("Gtid list [0-1-5,", "0-1-10")
    lines.insert(2, b"# 0-2-9]\n")
    assert History(MariadbGtids).read(of_log.lines(lines)).has() == "0-1-10,0-2-9"


@pytest.mark.parametrize(
    "names,words",
    [
        (["0-1-6", "0-1-7", "0-2-6"], ""),
        # Another server's numbers may be lower, where strict mode is off.
        (["0-1-60", "0-2-20"], ""),
        (["0-1-7", "0-1-6"], "0-1-6 follows 0-1-7"),
        (["0-1-6", "0-1-6"], "0-1-6 follows 0-1-6"),
        # Lower than what was before the file.
        (["0-1-5"], "0-1-5 follows 0-1-5"),
    ],
)
def test_on_mariadb_numbers_of_a_server_that_do_not_grow_are_told(names, words):
    assert (
        History(MariadbGtids).read(of_log.lines(of_mariadb("Gtid list [0-1-5]", *names))).disorder()
        == words
    )


def test_a_password_at_the_logs_end_is_a_whole_transaction():
    lines = of_mysql("# [empty]\n", *one_of_mysql(f"{OTHER}:1", "SET PASSWORD FOR a='*00'"))
    assert History(MysqlGtids).read(of_log.lines(lines)).has() == f"{OTHER}:1"
