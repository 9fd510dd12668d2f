"""Whether a former source may come back: what it has that the new one lacks, by their GTIDs."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtids import MysqlGtids
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import errant
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.errant import (
    CANNOT_TELL,
    CLEAN,
    PHANTOMS,
    Has,
)

A = "aaaaaaaa-1111-2222-3333-444444444444"
B = "bbbbbbbb-1111-2222-3333-444444444444"
C = "cccccccc-1111-2222-3333-444444444444"


def mysql(old: str, new: str, purged: str = "", **more: Any) -> errant.Judged:
    return errant.errant_verdict(
        Has("db1", "mysql", A, old)._replace(**more), Has("db2", "mysql", B, new, oldest=purged)
    )


def mariadb(old: str, new: str, first: str | None = "", **more: Any) -> errant.Judged:
    """Both in strict mode, and the former source's log was read, unless it is said otherwise."""
    wanted: dict[str, Any] = {"strict": True, "disorder": "", **more}
    strict = bool(wanted.pop("new_strict", True))
    return errant.errant_verdict(
        Has("db1", "mariadb", "1", old)._replace(**wanted),
        Has("db2", "mariadb", "2", new, oldest=first, strict=strict),
    )


@pytest.mark.parametrize(
    ("old", "new", "phantoms"),
    [
        # The new source has the same, or more.
        (f"{A}:1-100", f"{A}:1-100", ""),
        (f"{A}:1-100", f"{A}:1-100,{B}:1-7", ""),
        # No replica acknowledged the last two.
        (f"{A}:1-102", f"{A}:1-100,{B}:1-7", f"{A}:101-102"),
        # Not the last ones: what a client wrote beside others that were acknowledged.
        (f"{A}:1-102", f"{A}:1-100:102", f"{A}:101"),
        # A UUID of no remaining server, of the new source itself, and several.
        (f"{A}:1-9,{C}:1-4", f"{A}:1-9,{C}:1-3", f"{C}:4"),
        (f"{A}:1-9,{B}:1-4", f"{A}:1-9,{B}:1-3", f"{B}:4"),
        (f"{A}:1-10,{C}:1", f"{A}:1-9", f"{A}:10,{C}:1"),
        # Each tag counts for itself, and is no part of the untagged ones.
        (f"{A}:1-9:app:1-3", f"{A}:1-9:app:1-3", ""),
        (f"{A}:1-9:app:1-3", f"{A}:1-9:app:1-2", f"{A}:app:3"),
        (f"{A}:1-3:app:1-3", f"{A}:1-9", f"{A}:app:1-3"),
        (f"{A}:app:1-3:web:1", f"{A}:app:1-3:web:1,{B}:app:1", ""),
        # As the servers write it, with line breaks and in capitals.
        (f"{A.upper()}:1-5,\n{C}:1-2", f"{C}:1-2,\n{A}:1-5", ""),
    ],
)
def test_on_mysql_no_uuid_and_no_tag_is_left_out(old: str, new: str, phantoms: str) -> None:
    said = mysql(old, new)
    assert (said.verdict, said.phantoms) == (PHANTOMS if phantoms else CLEAN, phantoms)


@pytest.mark.parametrize(
    ("old", "new", "more", "words"),
    [
        ("", f"{A}:1", {}, "gtid_executed of db1 is empty"),
        (f"{A}:1", "", {}, "gtid_executed of db2 is empty"),
        (f"{A}:1", f"{A}:1", {"by_gtid": False}, "gtid_mode of db1 is not ON"),
        (f"{A}:1", f"{A}:1", {"identity": B}, "have the same server_uuid"),
        (f"{A}:1", f"{A}:1", {"identity": ""}, "server_uuid of db1 is not known"),
        (f"{C}:1-5", f"{A}:1-9,{B}:1", {}, "no transaction in common"),
        ("0-1-5", f"{A}:1-9", {}, "is no GTID set"),
        (f"{A}:1", f"{A}:1", {"engine": "mariadb"}, "are different engines"),
    ],
)
def test_on_mysql_what_says_nothing_is_told_and_is_neither_verdict(
    old: str, new: str, more: dict, words: str
) -> None:
    said = mysql(old, new, **more)
    assert said.verdict == CANNOT_TELL
    assert words in " ".join(said.why)
    assert not said.phantoms


def test_what_the_new_source_has_purged_needs_another_way_than_its_binary_logs() -> None:
    said = mysql(f"{A}:1-100", f"{A}:1-100,{B}:1-50", purged=f"{A}:1-100,{B}:1-20")
    assert said.verdict == CLEAN
    assert f"has purged binary logs that db1 needs ({B}:1-20)" in said.hindrances[0]
    assert not mysql(f"{A}:1-100", f"{A}:1-100,{B}:1-50", purged=f"{A}:1-90").hindrances


def test_own_transactions_that_were_lost_never_come_back_by_replication() -> None:
    said = mysql(f"{A}:1-90", f"{A}:1-100,{B}:1-50")
    assert said.verdict == CLEAN
    assert f"{A}:91-100" in said.hindrances[0]
    said = mysql(f"{A}:1-90:app:1", f"{A}:1-90:app:1-2,{B}:1-50")
    assert f"{A}:app:2" in said.hindrances[0]
    said = mariadb("0-1-90", "0-1-100,0-2-150")
    assert (said.verdict, "(0-1-100)" in said.hindrances[0]) == (CLEAN, True)
    # Others' are fetched.
    assert not mysql(f"{A}:1-90", f"{A}:1-90,{C}:1-9").hindrances
    assert not mariadb("0-1-90,0-3-5", "0-1-90,0-3-50,0-2-150").hindrances


def test_what_came_with_a_copy_is_in_no_log_of_mysql_and_is_not_lost() -> None:
    """db1 was cloned at A:1-73 and C:1-90, was the source again, and died."""
    new, purged = f"{A}:1-104,{B}:1-5,{C}:1-95", f"{A}:1-73,{C}:1-90"
    for logged in (f"{A}:74-104,{C}:91-95", f"{A}:74-104"):
        said = mysql(logged, new, purged, by_log=True)
        assert said.verdict == CLEAN
        assert not said.hindrances
        # A server that was asked names all that it has.
        assert len(mysql(logged, new, purged).hindrances) == 2
    # What is behind that, or in its middle, would be in the log.
    said = mysql(f"{A}:74-90:92-100,{C}:91-95", new, purged, by_log=True)
    assert f"{A}:91:101-104" in said.hindrances[0]
    said = mysql(f"{A}:74-104,{C}:91-93", new, f"{A}:1-73,{C}:1-94", by_log=True)
    assert f"needs ({C}:94)" in said.hindrances[0]


def test_what_came_with_a_copy_is_no_row_that_the_new_source_wrote_since() -> None:
    new = MysqlGtids.parse(f"{A}:1-104,{B}:1-5,{C}:1-95")
    logged = Has("db1", "mysql", A, f"{A}:74-106,{C}:91-95", by_log=True)
    known = errant.with_copied(logged, new)
    assert str(new.minus(known)) == f"{B}:1-5"
    assert known.covers(logged.state)
    # Of a server that the log names, only what is before its first; and one's own at any place.
    known = errant.with_copied(logged._replace(gtids=f"{A}:74-90:92-100,{C}:91-93"), new)
    assert str(new.minus(known)) == f"{B}:1-5,{C}:94-95"
    # A server that runs names all that it has.
    whole = Has("db1", "mysql", A, f"{A}:1-106,{C}:91-95")
    assert errant.with_copied(whole, new) == whole.state


def test_what_came_with_a_copy_is_in_no_state_of_mariadb_and_is_not_lost() -> None:
    """db1 was copied when db3 had been the source, and db2 then."""
    said = mariadb("0-1-100,0-2-70", "0-1-100,0-2-150,0-3-40", first="0-2-60,0-3-40")
    assert (said.verdict, said.hindrances) == (CLEAN, ())
    # Of another domain, or beyond what it has: it never came.
    said = mariadb("0-1-100", "0-1-100,0-2-150,0-3-120", first="0-3-120,7-3-5")
    assert "needs (0-3-120,7-3-5)" in said.hindrances[0]
    # Its own, all of which a power cut took.
    said = mariadb("0-3-90", "0-3-90,0-1-95,0-2-150")
    assert "(0-1-95)" in said.hindrances[0]


@pytest.mark.parametrize(
    ("old", "new", "phantoms"),
    [
        ("0-1-100", "0-1-100", ""),
        ("0-1-100", "0-1-100,0-2-150", ""),
        # The new source has written more since: its numbers are higher, and say nothing.
        ("0-1-100", "0-1-98,0-2-150", "0-1-100"),
        ("0-1-100", "0-1-98,0-2-100", "0-1-100"),
        ("0-1-100", "0-1-99,0-2-100", "0-1-100"),
        # It was a replica before it was the source, and the new one was the source before.
        ("0-1-100,0-2-150,0-3-90", "0-1-100,0-2-149,0-3-200", "0-2-150"),
        # A domain of its own.
        ("0-1-5,7-1-3", "0-1-5,0-2-9", "7-1-3"),
        ("0-1-5,7-1-3", "0-1-5,7-2-9,7-1-3", ""),
        # The same number by another server, in each other's place.
        ("0-1-10,0-3-11", "0-1-10,0-2-11", "0-3-11"),
        ("0-1-9,\n 0-3-8", "0-1-9, 0-3-8", ""),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_on_mariadb_each_server_is_compared_for_itself_in_each_domain(
    old: str, new: str, phantoms: str, strict: bool
) -> None:
    said = mariadb(old, new, strict=strict, new_strict=strict)
    assert (said.verdict, said.phantoms) == (PHANTOMS if phantoms else CLEAN, phantoms)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        # A former source whose state alone is known.
        ({"strict": False, "disorder": None}, "not ON on db1, and the binary log of db1 was"),
        ({"strict": None, "disorder": None}, "not ON on db1, and"),
        ({"new_strict": False, "disorder": None}, "not ON on db2, and"),
        ({"disorder": "0-1-7 follows 0-1-9"}, "do not always increase (0-1-7 follows 0-1-9)"),
        ({"strict": False, "disorder": "0-1-7 follows 0-1-9"}, "do not always increase"),
        ({"identity": "2"}, "have the same server_id (2)"),
        ({"gtids": ""}, "gtid_binlog_state of db1 is empty"),
        ({"gtids": "0-9-100"}, "no transaction in common"),
        ({"gtids": f"{A}:1"}, "is no GTID list"),
    ],
)
def test_on_mariadb_what_says_nothing_is_told_and_is_neither_verdict(
    more: dict, words: str
) -> None:
    said = mariadb("0-1-100", "0-1-100,0-2-150")
    assert said.verdict == CLEAN
    old = Has("db1", "mariadb", "1", "0-1-100", strict=True, disorder="")
    new = Has("db2", "mariadb", "2", "0-1-100,0-2-150", oldest="", strict=True)
    new = new._replace(strict=more.pop("new_strict", True))
    said = errant.errant_verdict(old._replace(**more), new)
    assert said.verdict == CANNOT_TELL
    assert words in " ".join(said.why)
    assert not said.phantoms


def test_strict_mode_on_both_stands_for_a_log_that_was_not_read() -> None:
    assert mariadb("0-1-100", "0-1-100,0-2-150", disorder=None).verdict == CLEAN
    assert mariadb("0-1-100", "0-1-99,0-2-150", disorder=None).verdict == PHANTOMS


def test_where_the_new_sources_logs_begin_decides_whether_they_suffice_on_mariadb() -> None:
    said = mariadb("0-1-100", "0-1-100,0-2-150", first="0-1-100,0-2-120")
    assert said.verdict == CLEAN
    assert "has purged binary logs that db1 needs (0-2-120)" in said.hindrances[0]
    assert not mariadb("0-1-100", "0-1-100,0-2-150", first="0-1-80").hindrances
    assert "is not known" in mariadb("0-1-100", "0-1-100,0-2-150", first=None).hindrances[0]


def test_a_server_that_was_read_says_what_it_has() -> None:
    info: Any = {
        "engine": "mysql",
        "variables": {"server_uuid": A, "server_id": "1", "gtid_mode": "ON_PERMISSIVE"},
        "gtid": {"gtid_executed": f"{A}:1-3", "gtid_purged": f"{A}:1"},
    }
    assert errant.from_info("db1", info) == Has(
        "db1", "mysql", A, f"{A}:1-3", f"{A}:1", False, None
    )
    info = {
        "engine": "mariadb",
        "variables": {"server_id": "1", "gtid_strict_mode": "ON"},
        "gtid": {"gtid_binlog_state": "0-1-3", "gtid_binlog_pos": "0-1-3"},
    }
    assert errant.from_info("db1", info, "") == Has("db1", "mariadb", "1", "0-1-3", "", True, True)
