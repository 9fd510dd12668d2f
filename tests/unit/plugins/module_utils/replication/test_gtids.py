# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtids import (
    MariadbGtids,
    MysqlGtids,
    kind_by_text,
    kind_of,
    parse,
)

A = "91c92dd4-e5a0-11f1-9b95-0242ac130002"
B = "92139d91-e5a0-11f1-923b-0242ac130003"


@pytest.mark.parametrize(
    "text,expected",
    [
        ("", ""),
        (None, ""),
        (A + ":1-3924", A + ":1-3924"),
        (A + ":7", A + ":7"),
        (A + ":1-3:5-9", A + ":1-3:5-9"),
        (A + ":5-9:1-4", A + ":1-9"),
        (A.upper() + ":1-2", A + ":1-2"),
        (A + ":1-5,\n" + B + ":1", A + ":1-5," + B + ":1"),
        # tags, from MySQL 8.3: the intervals behind a tag are the tag's own
        (
            A + ":1-3:backup:1-2:5:Audit:9," + B + ":4",
            f"{A}:1-3,{A}:audit:9,{A}:backup:1-2:5,{B}:4",
        ),
    ],
)
def test_a_gtid_set_is_read_as_intervals(text, expected):
    assert str(MysqlGtids.parse(text)) == expected
    assert bool(MysqlGtids.parse(text)) == bool(expected)


@pytest.mark.parametrize(
    "text",
    [
        "ON",
        "0-1-5",
        A,
        A + ":",
        A + ":1-",
        A + ":-3",
        A + ":3-1",
        A + ":0",
        A + ":1-2-3",
        A + ":a-b:1",
        A + "1:1",
        A + ":tag",
    ],
)
def test_what_is_no_gtid_set_is_refused(text):
    with pytest.raises(ValueError):
        MysqlGtids.parse(text)


@pytest.mark.parametrize(
    "one,other,rest",
    [
        ("", A + ":1-5", ""),
        (A + ":1-5", "", A + ":1-5"),
        (A + ":1-5", A + ":1-5", ""),
        (A + ":1-5", A + ":1-9", ""),
        (A + ":1-9", A + ":3-5", A + ":1-2:6-9"),
        (A + ":1-9", A + ":1-2:4:8-20", A + ":3:5-7"),
        (A + ":1-3:7-9", A + ":2-8", A + ":1:9"),
        (A + ":1-3," + B + ":1-2", A + ":1-3", B + ":1-2"),
        (A + ":tag:1-4", A + ":1-4", A + ":tag:1-4"),
        (A + ":tag:1-4", A + ":tag:1-3", A + ":tag:4"),
    ],
)
def test_subtraction_leaves_what_the_other_lacks(one, other, rest):
    mine, theirs = MysqlGtids.parse(one), MysqlGtids.parse(other)
    assert mine.minus(theirs) == mine.beyond(theirs) == MysqlGtids.parse(rest)
    assert str(mine.minus(theirs)) == rest


def test_subtraction_undoes_union_for_any_intervals():
    for mask in range(256):
        for other in (0, 0x0F, 0x5A, 0xFF, 0x81):
            left = [number + 1 for number in range(8) if mask >> number & 1]
            right = [number + 1 for number in range(8) if other >> number & 1]
            spelled = [
                A + "".join(f":{number}" for number in numbers) if numbers else ""
                for numbers in (left, right)
            ]
            one, two = (MysqlGtids.parse(text) for text in spelled)
            only = [number for number in left if number not in right]
            assert one.minus(two) == MysqlGtids.of(*(f"{A}:{number}" for number in only))
            assert two.missing_of(one) == len(only)
            assert one.union(two) == one.minus(two).union(two)
            assert one.union(two).minus(two) == one.minus(two)
            assert two.covers(one) == (not only)


@pytest.mark.parametrize(
    "text,expected",
    [
        ("", ""),
        (None, ""),
        ("0-1112514424-5", "0-1112514424-5"),
        ("1-1-3, 0-1-5,0-2-9,\n10-1-3", "0-1-5,0-2-9,1-1-3,10-1-3"),
        ("0-1-9,0-1-5", "0-1-9"),
    ],
)
def test_a_mariadb_list_is_read(text, expected):
    assert str(MariadbGtids.parse(text)) == expected
    assert bool(MariadbGtids.parse(text)) == bool(expected)


@pytest.mark.parametrize("text", ["0-1", "0-1-x", A + ":1-5", "0-1-2-3", "-1-1-1"])
def test_what_is_no_mariadb_list_is_refused(text):
    with pytest.raises(ValueError):
        MariadbGtids.parse(text)


@pytest.mark.parametrize(
    "one,other,rest",
    [
        ("0-1-5", "0-1-5", ""),
        ("0-1-5", "0-1-7", ""),
        ("0-1-7", "0-1-5", "0-1-7"),
        ("0-1-5,0-2-6", "0-1-5", "0-2-6"),
        ("0-1-5,5-2-1", "0-1-9,5-2-1", ""),
        ("", "0-1-5", ""),
    ],
)
def test_local_writes_of_a_mariadb_server_are_found(one, other, rest):
    assert str(MariadbGtids.parse(one).beyond(MariadbGtids.parse(other))) == rest


@pytest.mark.parametrize(
    "wanted,position,lacking,count",
    [
        ("", "0-1-5", "", 0),
        ("0-1-5", "0-1-5", "", 0),
        ("0-1-5", "0-1-7", "", 0),
        ("0-1-7", "0-1-5", "0-1-7", 2),
        ("0-1-7", "", "0-1-7", 7),
        # A later number stands for all before it, from any server.
        ("0-1-10", "0-2-12", "", 0),
        ("0-1-10,0-2-12", "0-2-12", "", 0),
        ("0-1-10,0-2-12", "0-1-10", "0-2-12", 2),
        # The same number by another server is the same place in two histories.
        ("0-1-101", "0-2-101", "0-1-101", 1),
        ("0-1-101,0-2-101", "0-2-101", "0-1-101", 1),
        ("0-1-101", "0-1-101,0-2-101", "", 0),
        ("0-1-101,1-1-5", "0-2-101,1-1-3", "0-1-101,1-1-5", 3),
        # A domain for itself.
        ("0-1-10,3-1-2", "0-1-10", "3-1-2", 2),
    ],
)
def test_a_position_of_mariadb_lacks_what_is_later_and_what_is_split(
    wanted, position, lacking, count
):
    wanted, position = MariadbGtids.parse(wanted), MariadbGtids.parse(position)
    assert str(wanted.minus(position)) == lacking
    assert position.missing_of(wanted) == count
    assert position.covers(wanted) == (not lacking)


@pytest.mark.parametrize(
    "engine,target,applied,missing",
    [
        ("mysql", "", "", 0),
        ("mysql", A + ":1-10", A + ":1-10", 0),
        ("mysql", A + ":1-10", A + ":1-12", 0),
        ("mysql", A + ":1-10", A + ":1-7", 3),
        ("percona", A + ":1-3:5-9", A + ":1-9", 0),
        ("percona", A + ":1-9", A + ":1-3:5-9", 1),
        # gaps of a parallel applier count, what the replica has of its own does not
        ("mysql", A + ":1-10," + B + ":1-2", A + ":1-3:5-9," + B + ":2-9", 3),
        ("mysql", A + ":1-4", "", 4),
        ("mariadb", "", "0-1-5", 0),
        ("mariadb", "0-1-9", "0-1-8", 1),
        ("mariadb", "0-1-9,1-1-1", "0-1-9", 1),
        ("mariadb", "0-1-10", "0-1-7", 3),
        ("mariadb", "0-1-10", "0-2-12", 0),
        ("mariadb", "0-1-10,3-1-2", "0-1-10", 2),
        ("mariadb", "0-1-10", "", 10),
    ],
)
def test_everything_is_applied_only_where_nothing_is_missing(engine, target, applied, missing):
    wanted, has = parse(engine, target), parse(engine, applied)
    assert has.missing_of(wanted) == missing
    assert has.covers(wanted) == (missing == 0)


@pytest.mark.parametrize(
    "slave_pos,binlog_pos,begin",
    [
        # A source that never was a replica.
        ("", "0-1-7", "0-1-7"),
        # One that was, and has written since.
        ("0-2-5", "0-1-7", "0-1-7"),
        # A domain that only came by a copy of the data stays.
        ("0-2-5,3-9-4", "0-1-7", "0-1-7,3-9-4"),
        # The binary log never was behind what was applied; a stale row of the table is.
        ("0-2-9", "0-1-7", "0-2-9"),
        # Of one number by two servers the one that was named last.
        ("0-2-9", "0-1-9", "0-1-9"),
        ("0-1-9", "0-2-9", "0-2-9"),
    ],
)
def test_a_mariadb_source_begins_as_a_replica_where_each_domain_ends(slave_pos, binlog_pos, begin):
    assert str(MariadbGtids.of(slave_pos, binlog_pos).latest()) == begin
    position = MariadbGtids.parse(slave_pos).union(MariadbGtids.parse(binlog_pos)).latest()
    assert str(position) == begin


def test_positions_are_compared_by_what_is_in_them():
    assert MariadbGtids.parse("0-1-7,1-1-2") == MariadbGtids.parse("1-1-2, 0-1-7")
    assert MysqlGtids.parse(f"{A}:1-7") != MysqlGtids.parse(f"{A}:1-8")
    assert MysqlGtids.parse("") != MariadbGtids.parse("")
    assert len({MysqlGtids.parse(text) for text in (f"{A}:1-7", f"{A}:1-3:4-7", f"{A}:1")}) == 2


@pytest.mark.parametrize(
    "text,server,own,others",
    [
        (f"{A}:1-9,{A}:tag:1-2,{B}:1", A.upper(), f"{A}:1-9,{A}:tag:1-2", f"{B}:1"),
        (f"{A}:1-9", B, "", f"{A}:1-9"),
        ("0-1-9,0-11-10,1-1-4", "1", "0-1-9,1-1-4", "0-11-10"),
        ("0-1-9", "", "", "0-1-9"),
    ],
)
def test_gtids_say_which_server_wrote_them(text, server, own, others):
    gtids = kind_by_text(text).parse(text)
    assert str(gtids.of_server(server)) == own
    assert str(gtids.not_of_server(server)) == others


def test_a_server_is_named_as_its_gtids_name_it():
    variables = {"server_uuid": A.upper(), "server_id": 7}
    assert kind_of("percona").server_of(variables) == A
    assert kind_of("mariadb").server_of(variables) == "7"
    assert kind_of("mysql").server_of({"server_uuid": None}) == ""


@pytest.mark.parametrize(
    "one,other,same",
    [
        (f"{A}:1-9,{B}:1", f"{A}:20", f"{A}:1-9"),
        (f"{A}:tag:1", f"{A}:1", ""),
        ("0-1-9,0-2-3", "0-1-2,1-2-3", "0-1-9"),
    ],
)
def test_two_servers_of_one_origin_have_transactions_of_one_server(one, other, same):
    kind = kind_by_text(one)
    assert str(kind.parse(one).same_places(kind.parse(other))) == same


@pytest.mark.parametrize(
    "before,log,words",
    [
        ("", ["0-1-1", "0-2-2", "0-1-3"], ""),
        ("0-1-5", ["0-1-6", "0-2-6"], ""),
        ("0-1-5", ["0-1-5"], "0-1-5 follows 0-1-5"),
        (None, ["0-1-9", "0-2-3", "0-1-7"], "0-1-7 follows 0-1-9"),
        ("", [f"{A}:9", f"{A}:7"], ""),
    ],
)
def test_the_numbers_of_a_server_of_mariadb_grow(before, log, words):
    assert kind_by_text(log[0]).disorder([before, *log]) == words


def test_gtids_of_two_engines_are_never_compared():
    one, other = MysqlGtids.parse(f"{A}:1"), MariadbGtids.parse("0-1-1")
    for ask in (one.minus, one.union, one.beyond, one.missing_of, one.covers):
        with pytest.raises(TypeError):
            ask(other)
    for ask in (other.minus, other.union, other.beyond, other.missing_of, other.covers):
        with pytest.raises(TypeError):
            ask(one)
