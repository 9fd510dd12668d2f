# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which rows two servers have both written, out of what mysqlbinlog of Debian's MySQL 9.7.4 printed
of tables with a primary key and without one; and how what one wrote is carried out on the other.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._binlog import (
    log_transactions,
    row_conflicts,
)
from ansible_collections.dbre.semisync.plugins.module_utils._rejoin import replay
from ansible_collections.dbre.semisync.tests.unit import printed as of_log
from ansible_collections.dbre.semisync.tests.unit import samples

KEYED, BARE, LASTING = "`app`.`keyed`", "`app`.`bare`", "`app`.`lasting`"
PRIMARY = {KEYED: ["1"], BARE: [], LASTING: ["1"]}


def printed():
    path = Path(samples.FIXTURES) / "mysqlbinlog-9.7-verbose.txt"
    return path.read_bytes().splitlines(keepends=True)


def written():
    seen = []
    reader = row_conflicts.Rows(seen.append)
    assert list(log_transactions.printed_statements(of_log.lines(printed()), reader.comment))
    reader.finished()
    return seen


def test_each_row_has_its_table_and_what_it_was_and_is():
    seen = written()
    assert [row.table for row in seen] == [LASTING, KEYED, BARE, BARE, KEYED, KEYED]
    assert seen[0].images == [{"1": "901", "2": "'phantom'"}]
    assert seen[2].images == [{"1": "2", "2": "'b'"}, {"1": "2", "2": "'phantom'"}]


def meeting(lines, of=None):
    mine = row_conflicts.Written(written() if of is None else of, PRIMARY)
    return row_conflicts.Meeting(mine).read(of_log.lines([line.encode() for line in lines])).met


def event(*lines):
    return ["DELIMITER /*!*/;\n", *(f"{line}\n" for line in lines)]


def insert(table, *values):
    columns = [f"###   @{number}={value}" for number, value in enumerate(values, 1)]
    return event(f"### INSERT INTO {table}", "### SET", *columns, "#at 7")


@pytest.mark.parametrize(
    "lines,words",
    [
        # The same table, and another row of it.
        (insert(KEYED, "1001", "'new'"), ""),
        (insert("`app`.`other`", "901", "'new'"), ""),
        (insert("`shop`.`keyed`", "901", "'new'"), ""),
        (insert(KEYED, "901", "'new'"), "app.keyed: the row of 901"),
        # Nothing says which of its rows are the same.
        (insert(BARE, "77", "'new'"), "app.bare, which has no primary key"),
        # A row that the one has deleted, and one that was made to be another.
        (event("### DELETE FROM `app`.`keyed`", "### WHERE", "###   @1=3"), "the row of 3"),
        (
            event(
                "### UPDATE `app`.`keyed`",
                "### WHERE",
                "###   @1=50",
                "### SET",
                "###   @1=902",
                "###   @2='x'",
            ),
            "the row of 902",
        ),
        # binlog_row_image=MINIMAL: what it was says which it is.
        (
            event(
                "### UPDATE `app`.`keyed`",
                "### WHERE",
                "###   @1=902",
                "### SET",
                "###   @2='x'",
            ),
            "the row of 902",
        ),
        (event("ALTER TABLE keyed ADD COLUMN x INT/*!*/;"), "ALTER TABLE"),
        (event("DROP DATABASE `app`/*!*/;"), "DROP DATABASE"),
        (event("CREATE TABLE keyed_more (id INT)/*!*/;"), ""),
        (event("UPDATE app.keyed SET words = 'x'/*!*/;"), "UPDATE app.keyed"),
    ],
)
def test_a_row_that_both_have_written_is_met_and_no_other(lines, words):
    met = meeting(lines)
    assert bool(met) is bool(words)
    assert words in "".join(met)


def test_a_name_with_a_backtick_and_a_dot_is_split_as_it_is():
    assert row_conflicts.split("`a``b`.`c.d`") == ("a`b", "c.d")


def test_what_is_given_to_the_other_host_comes_out_as_it_was():
    one = log_transactions.Transaction("x:1", [b"BEGIN", b"BINLOG '\xff\x00'", b"COMMIT"])
    assert replay.unpack(replay.pack([one], written())) == ([one], written())


def test_a_statement_in_place_of_rows_is_not_carried_out_again():
    replay.check(
        log_transactions.Transaction("x:1", [b"SET TIMESTAMP=1", b"BEGIN", b"BINLOG ''", b"COMMIT"])
    )
    words = (b"UPDATE t SET a = 1", b"BINLOG 'a client gave it'")
    for word in words:
        with pytest.raises(replay.ReplayError, match=word.decode().split()[0]):
            replay.check(log_transactions.Transaction("x:1", [b"BEGIN", word, b"COMMIT"], (word,)))


class Session:
    """A connection that is told what it refuses."""

    def __init__(self, refused=b"-"):
        self.said, self.refused, self.cursor = [], refused, self

    def rows(self, statement):
        self.said.append(statement)
        return []

    def execute(self, statement):
        self.said.append(statement)
        if self.refused in statement:
            raise ValueError("1062 duplicate")


AHEAD = [b"/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=1*/", b"BINLOG 'file'"]
ONE = log_transactions.Transaction(
    "x:1",
    [
        *AHEAD,
        b"/*!50718 SET TRANSACTION ISOLATION LEVEL READ COMMITTED*/",
        b"/*!80001 SET @@session.original_commit_timestamp=1*/",
        b"SET @@SESSION.GTID_NEXT= 'x:1'",
        b"SET TIMESTAMP=1",
        b"BEGIN",
        b"BINLOG 'rows'",
        b"COMMIT",
    ],
)


def test_all_is_tried_in_one_transaction_and_rolled_back():
    session = Session()
    replay.rehearse(session, [ONE, log_transactions.Transaction("x:2", ONE.statements)])
    first, rows_of_it = b"SET TIMESTAMP=1", b"BINLOG 'rows'"
    assert session.said == [
        *AHEAD,
        first,
        "SET SESSION gtid_next = 'AUTOMATIC'",
        "BEGIN",
        rows_of_it,
        first,
        rows_of_it,
        "ROLLBACK",
    ]
    session = Session(b"BINLOG 'rows'")
    with pytest.raises(replay.ReplayError, match=r"x:1 .* duplicate"):
        replay.rehearse(session, [ONE])
    assert session.said[-1] == "ROLLBACK"


def test_what_was_written_meanwhile_is_looked_at_before_the_commit():
    session = Session()

    def look():
        assert session.said[-1] == b"BINLOG 'rows'"
        raise replay.ReplayError("both")

    with pytest.raises(replay.ReplayError, match="both"):
        replay.carry_out(session, ONE, look)
    assert b"COMMIT" not in session.said
