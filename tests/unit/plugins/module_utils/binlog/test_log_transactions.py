# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What mysqlbinlog of Debian's MySQL 9.7.4 and mariadb-binlog of MariaDB 10.11.19 printed, of two
files each; those that are cut were stopped within a transaction.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._binlog import log_transactions, salvage
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.log_transactions import (
    TailError,
)
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtids import kind_by_text
from ansible_collections.dbre.semisync.tests.unit import printed as of_log
from ansible_collections.dbre.semisync.tests.unit import samples

MYSQL, MARIADB = "d7f2207a-e69c-11f1-b044-0242ac1b0003:", "0-3932858386-"


def printed(name):
    return (Path(samples.FIXTURES) / f"{name}.txt").read_bytes().splitlines(keepends=True)


def read(lines, received=""):
    """(the transactions beyond what was received, the reader)."""
    reader = log_transactions.Reader(lambda _gtid: True)
    if received not in ("", "none"):
        reader = log_transactions.Reader(salvage.lacking(kind_by_text(received).parse(received)))
    return list(reader.read(of_log.lines(lines))), reader


def numbers(transactions):
    return [int(one.gtid.rpartition(":" if ":" in one.gtid else "-")[2]) for one in transactions]


@pytest.mark.parametrize(
    "name,received,beyond,seen",
    [
        ("mysqlbinlog-9.7", "", list(range(3, 13)), 10),
        ("mysqlbinlog-9.7", f"{MYSQL}1-6", list(range(7, 13)), 10),
        ("mysqlbinlog-9.7", f"{MYSQL}1-5:7-11", [6, 12], 10),
        ("mysqlbinlog-9.7", f"{MYSQL}1-12", [], 10),
        ("mariadb-binlog-10.11", "", list(range(1, 9)), 8),
        ("mariadb-binlog-10.11", f"{MARIADB}6", [7, 8], 8),
        ("mariadb-binlog-10.11", f"{MARIADB}8", [], 8),
    ],
)
def test_what_a_replica_lacks_is_read_across_files(name, received, beyond, seen):
    transactions, reader = read(printed(name), received)
    assert numbers(transactions) == beyond
    assert (reader.seen, reader.torn) == (seen, "")


@pytest.mark.parametrize(
    "name,whole,torn",
    [
        ("mysqlbinlog-9.7-cut", [3, 4], f"{MYSQL}5"),
        ("mariadb-binlog-10.11-cut", [1, 2, 3, 4, 5, 6], f"{MARIADB}7"),
    ],
)
def test_a_transaction_that_the_log_ends_within_is_left_out_and_named(name, whole, torn):
    transactions, reader = read(printed(name))
    assert (numbers(transactions), reader.torn) == (whole, torn)


def test_each_is_carried_out_with_its_gtid_and_in_the_session_that_it_had():
    transactions, _reader = read(printed("mysqlbinlog-9.7"), f"{MYSQL}1-6")
    first, second = transactions[:2]
    # Set by transactions that are passed over.
    for statement in (
        b"SET @@session.sql_mode=262191",
        b"SET @@session.character_set_client=8,@@session.collation_connection=8,"
        b"@@session.collation_server=255",
    ):
        assert first.statements.index(statement) < first.statements.index(b"BEGIN")
    assert first.statements.count(b"SET @@SESSION.GTID_NEXT= '%s7'" % MYSQL.encode()) == 1
    assert first.statements[-2:] == [b"INSERT INTO cap.t (w) VALUES ('four')", b"COMMIT"]
    # The description of a file comes before its rows, and not within another's GTID.
    automatic, description = second.statements[:2]
    assert b"'AUTOMATIC'" in automatic and description.startswith(b"BINLOG '\nZysDaw9nm7W4")
    every = [text for one in transactions for text in one.statements]
    assert not any(text.startswith((b"/*!\\C", b"ROLLBACK", b"DELIMITER", b"#")) for text in every)


def test_on_mariadb_domain_and_server_are_set_where_they_were_passed_over():
    transactions, _reader = read(printed("mariadb-binlog-10.11"), f"{MARIADB}6")
    first = transactions[0].statements
    for name in (b"gtid_domain_id=0", b"server_id=3932858386", b"gtid_seq_no=7"):
        assert b"/*M!100001 SET @@session.%s*/" % name in first
    assert b"/*M!100001 SET @@session.gtid_seq_no=6*/" not in first
    assert first[-1] == b"COMMIT" and b"START TRANSACTION" in first


def test_nothing_changes_on_the_way():
    transactions, _reader = read(printed("mysqlbinlog-9.7"))
    transactions[0].statements.append(bytes(range(256)))
    # Whose the texts are is asked before.
    sent = [one._replace(texts=()) for one in transactions]
    assert salvage.unpack(salvage.pack(transactions)) == sent


GTID = b"SET @@SESSION.GTID_NEXT= '%s%d'/*!*/;\n"


def log(*parts):
    """What mysqlbinlog prints of transactions."""
    text = b"DELIMITER /*!*/;\nBINLOG '\nx\n'/*!*/;\n" + b"".join(parts) + b"DELIMITER ;\n"
    return text.splitlines(keepends=True)


def one(number, *statements):
    return GTID % (MYSQL.encode(), number) + b"".join(
        statement + b"\n/*!*/;\n" for statement in statements
    )


@pytest.mark.parametrize(
    "lines,words",
    [
        (log(b"SET @@SESSION.GTID_NEXT= 'ANONYMOUS'/*!*/;\n"), "without GTIDs"),
        (log(one(1, b"XA START X'61',X'',1", b"XA END X'61',X'',1")), "XA transaction"),
        (log(one(1, b"BEGIN", b"INSERT"), one(2, b"BEGIN", b"COMMIT")), ":1 has no end"),
        (log(b"INSERT INTO t VALUES (1)\n/*!*/;\n"), "outside any transaction"),
        (log(one(1, b"CREATE TABLE t", b"INSERT INTO t VALUES (1)")), "after its end"),
        ([*log(one(1, b"BEGIN"))[:-1], b"INSERT\n"], "a statement is incomplete"),
        (log(one(1, b"BEGIN", b"COMMIT AND CHAIN")), "an unknown statement"),
    ],
)
def test_what_is_not_understood_is_refused(lines, words):
    with pytest.raises(TailError, match=words):
        read(lines)


def test_a_statement_keeps_its_own_lines():
    body = b"CREATE PROCEDURE p() BEGIN\n# no comment of mysqlbinlog\n\nSELECT 1; END"
    transactions, _reader = read(log(one(1, body), one(2, b"BEGIN", b"a;\n#b", b"ROLLBACK")))
    assert transactions[0].statements[-1] == body
    assert transactions[1].statements[-3:] == [b"BEGIN", b"a;\n#b", b"ROLLBACK"]


def test_a_password_is_a_transaction_of_its_own():
    transactions, reader = read(log(one(1, b"SET PASSWORD FOR 'a'@'%'='*00'"), one(2, b"BEGIN")))
    assert (numbers(transactions), reader.torn) == ([1], f"{MYSQL}2")


def test_on_mariadb_a_table_that_was_logged_with_its_rows_is_refused():
    gtid = b"#261122 17:52:11 server id 1  end_log_pos 3 CRC32 0xa5 \tGTID 0-1-1 trans\n"
    body = b"START TRANSACTION\n/*!*/;\nCREATE TABLE c (a INT)\n/*!*/;\nCOMMIT\n/*!*/;\n"
    with pytest.raises(TailError, match="made a table and filled it"):
        read(log(gtid, body))
