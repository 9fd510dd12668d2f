# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What clients wrote to make a reader of the binary log do what they want: files of Debian's MySQL
9.7.4 and MariaDB 10.11.19, and what their own mysqlbinlog printed of our copy of them.
"""

from __future__ import annotations

import base64
import io
import re
import struct
from pathlib import Path

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._binlog import (
    errant,
    events,
    log_transactions,
    row_conflicts,
    zstd,
)
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.disguise import Disguise, Lines
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.logged_gtids import History
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.session import Session
from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids
from ansible_collections.dbre.semisync.tests.unit import samples

SERVERS = ["mysql-9.7", "mariadb-10.11"]
# The token that was given when they were printed.
TOKEN = "t0ken"
ADDED = "added by mysqlbinlog"
EVIL = f"{ADDED}\n/*!*/;\nGRANT ALL ON *.* TO `m`@`%`\n/*!*/;\n{ADDED}"
ODD_TABLE, ODD_SCHEMA = "x\nDELIMITER y\nz", "d\n#b``.``c'\""


def kind(server):
    return gtids.kind_of(server.partition("-")[0])


def log(server):
    return (Path(samples.FIXTURES) / f"{server}-attacks.binlog").read_bytes()


def lines(server):
    """What is printed of its copy, and what was taken out of that."""
    content = log(server)
    hidden = Disguise(token=TOKEN)
    for _piece in hidden.copy(io.BytesIO(content), len(content)):
        pass
    printed = (Path(samples.FIXTURES) / f"{server}-attacks.bin").read_bytes()
    return Lines([*printed.splitlines(keepends=True), b""], hidden)


def read(server):
    return list(log_transactions.Reader(lambda _gtid: True).read(lines(server)))


def texts(server):
    return [text for one in read(server) for text in one.texts]


@pytest.mark.parametrize("server", SERVERS)
def test_each_transaction_is_there_with_one_statement_for_each_that_was_written(server):
    transactions = read(server)
    numbers = [int(re.split("[:-]", one.gtid)[-1]) for one in transactions]
    assert numbers == list(range(1, {"mysql-9.7": 26, "mariadb-10.11": 28}[server] + 1))
    for one in transactions:
        content = [
            text
            for text in one.statements
            if not log_transactions.is_set(text) and not text.startswith((b"USE ", b"SET @`"))
        ]
        kinds = [text for text in content if not text.startswith(b"BINLOG")]
        assert set(kinds) - {b"BEGIN", b"START TRANSACTION", b"COMMIT"} == set(one.texts)
        # None is empty, which a confirmed row would be lost in.
        assert one.texts or any(text.startswith(b"BINLOG") for text in content)


@pytest.mark.parametrize("server", SERVERS)
def test_a_comment_that_a_table_has_stays_its_comment(server):
    head = "CREATE TABLE app.c (id INT PRIMARY KEY) COMMENT="
    assert texts(server)[0].decode() == f"{head}'{EVIL}'"
    assert not any(text.startswith(b"GRANT") for one in read(server) for text in one.statements)


def test_a_row_whose_text_is_mysqlbinlogs_own_is_not_lost():
    assert b"INSERT INTO app.n VALUES (1, 'a note: added by mysqlbinlog')" in texts("mariadb-10.11")


@pytest.mark.parametrize("server", SERVERS)
def test_any_byte_of_a_text_is_as_it_was(server):
    seen = texts(server)
    assert b"CREATE TABLE app.crlf (id INT) COMMENT='a\r\n/*!*/;\r\n\0 end'" in seen
    assert b"INSERT INTO t VALUES (10, '\xe9')" in seen
    quotes = b"CREATE TABLE app.\"an\"\"si`\" (id INT) COMMENT='\\'' /*!*/;\n/*!*/;\n'"
    assert quotes in seen
    if server.startswith("mariadb"):
        assert (
            b"INSERT INTO app.n VALUES (2, _utf8mb4'x\r\n\0\x1a\xf0\x9f\x90\xac \\' /*!*/;')"
            in seen
        )
        assert b"INSERT INTO app.blob_ VALUES (3, _binary'\xff\xfe')" in seen


@pytest.mark.parametrize("server", SERVERS)
def test_a_text_that_says_a_gtid_begins_no_transaction(server):
    history = History(kind(server)).read(lines(server))
    assert not any(one.endswith("99") for one in history.gtids)
    assert len(history.gtids) == len(read(server))


@pytest.mark.parametrize("server", SERVERS)
def test_each_text_is_given_in_the_schema_that_it_was_written_in(server):
    for one in read(server):
        for place, text in enumerate(one.statements):
            if text.startswith(b"CREATE TABLE t2"):
                assert one.statements[place - 1] == b"USE `app`"
                break
        else:
            continue
        break
    else:
        pytest.fail("there is no such statement")


@pytest.mark.parametrize("server", SERVERS)
def test_a_clients_variable_keeps_its_name_and_all_its_digits(server):
    (one,) = [one for one in read(server) if b"SET @`n`:=NULL" in one.statements]
    said = b"|".join(one.statements)
    assert b"SET @`v\n;``DELIMITER x`:=_utf8mb" in said
    # mysqlbinlog prints fourteen digits.
    assert f"SET @`r`:={1.2345678901234567 / 3!r}e0".encode() in said


@pytest.mark.parametrize("server", SERVERS)
def test_rows_are_carried_out_on_the_table_of_their_own_name(server):
    encoded = [
        base64.b64decode(b"".join(text.split(b"'")[1].split(b"\n")[1:2]))
        for one in read(server)
        for text in one.statements
        if text.startswith(b"BINLOG")
    ]
    name = ODD_TABLE.encode()
    maps = [data for data in encoded if data[4] == events.TABLE_MAP and name in data]
    assert maps and not any(TOKEN.encode() in data for data in encoded)
    original = log(server)
    for data in maps:
        # Byte for byte as in the file; what was compressed has its checksum from here.
        assert data[19:-4] in original or server.startswith("mysql")
        assert struct.unpack("<I", data[9:13])[0] == len(data)


@pytest.mark.parametrize("server", SERVERS)
def test_rows_are_told_with_their_own_names_and_values(server):
    seen = []
    reader = row_conflicts.Rows(seen.append)
    assert list(log_transactions.printed_statements(lines(server), reader.comment))
    reader.finished()
    names = {row_conflicts.split(row.table) for row in seen}
    assert ("app", ODD_TABLE) in names
    if server.startswith("mysql"):
        assert (ODD_SCHEMA.replace("``", "`"), "t`.`u") in names
    (row,) = [row for row in seen if row.images[0].get("1") == "2" and "x\n" in row.table]
    assert row.images == [{"1": "2", "2": "'c'"}]


@pytest.mark.parametrize("server", SERVERS)
def test_nothing_is_hidden_from_who_asks_what_was_written(server):
    told = errant.Phantoms(kind(server), lambda _gtid: True).read(lines(server))
    assert told.count == len(read(server)) and "app.last" in told.tables


def test_what_a_table_is_called_cannot_be_taken_for_what_stands_for_another():
    assert Disguise().token != Disguise().token and len(Disguise().token) == 32


def of(content):
    return list(events.read_events(io.BytesIO(content), len(content)))


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("place", [40, 200, 400, 900, 3000])
def test_a_wrong_byte_anywhere_is_seen(server, place):
    content = log(server)
    content = content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :]
    with pytest.raises((events.EventError, events.UnknownError)):
        of(content)


def test_an_event_of_a_type_that_is_not_known_is_refused():
    content = log("mysql-9.7")
    (first, known), *_others = of(content)
    for kind, words in ((6, "type 6"), (events.INCIDENT, "incident"), (200, "type 200")):
        event = events.parse_event(first.data[:4] + bytes([kind]) + first.data[5:19] + b"GRANT")
        with pytest.raises(events.UnknownError, match=words):
            Disguise().plain(event, known)


@pytest.mark.parametrize(
    "state,text,words",
    [
        (b"", b"ALTER EVENT e ON SCHEDULE EVERY 1 DAY", ""),
        (b"\x0b\x01a\x01%", b"ALTER EVENT e ON SCHEDULE EVERY 1 DAY", "depends on its user"),
        (b"\x0b\x01a\x01%", b"GRANT EXECUTE ON PROCEDURE app.p TO b", ""),
        (b"\x0b\x01a\x01%", b"GRANT SELECT ON app.* TO CURRENT_USER()", "depends on its user"),
        (b"\x0b\x01a\x01%", b"/* x */ ALTER VIEW v AS SELECT 1", "depends on its user"),
        (b"\x0b\x01a\x01%", b"CREATE DEFINER=`a`@`%` VIEW v AS SELECT 1", ""),
        (b"\x0b\x01a\x01%", b"CREATE ALGORITHM=UNDEFINED DEFINER=`a`@`%` VIEW v AS SELECT 1", ""),
        (b"\x00\0\0\0\0\x05\x06+00:00\xfa\x0b\x01a", b"x", ""),
    ],
)
def test_who_gave_a_statement_is_known(state, text, words):
    problem = Session(state).problem(text)
    assert bool(problem) is bool(words) and words in problem


def test_a_schema_with_letters_is_chosen_in_its_own_character_set():
    made = Session(b"\x04\x08\x00\x08\x00\x21\x00").use("ä`".encode())
    assert made == [
        b"SET @@session.character_set_client=33",
        "USE `ä```".encode(),
        b"SET @@session.character_set_client=8",
    ]
    assert Session(b"").use(b"app") == [b"USE `app`"]
    assert Session(b"\x08\x21\x00").use(b"app")[-1] == b"SET @@session.collation_database=33"


@pytest.mark.parametrize(
    "charset,text,rewritten",
    [
        (8, "CREATE VIEW é AS SELECT 1", True),
        (8, "CREATE VIEW e AS SELECT 1", False),
        (255, "CREATE VIEW é AS SELECT 1", False),
        (8, "INSERT INTO t VALUES ('é')", False),
    ],
)
def test_what_a_server_puts_into_a_text_in_another_character_set_is_known(charset, text, rewritten):
    session = Session(struct.pack("<BHHH", 4, charset, charset, charset))
    assert session.is_rewritten(text.encode()) is rewritten


def query(text, schema=b"", flags=0, error=0, kind=events.QUERY):
    body = struct.pack("<IIBHH", 1, 0, len(schema), error, 0) + schema + b"\0" + text
    return events.parse_event(struct.pack("<IBIIIH", 1, kind, 1, 19 + len(body), 0, flags) + body)


@pytest.mark.parametrize(
    "event,words",
    [
        (query(b"INSERT INTO t SELECT * FROM tmp", b"app", 4), "temporary"),
        (query(b"DROP TEMPORARY TABLE IF EXISTS `tmp`", b"app", 4), ""),
        (query(b"DROP TABLE `t` /* generated by server */", b"app", 4), ""),
        (query(b"INSERT INTO t VALUES (1)", b"app", 0, 1317), "error 1317"),
        (query(b"INSERT INTO a.t SELECT DATABASE()"), "depends on its default schema"),
        (query(b"CREATE DATABASE x"), ""),
    ],
)
def test_what_would_not_be_the_same_again_is_refused_where_it_is_wanted(event, words):
    (_first, known), *_others = of(log("mysql-9.7"))
    hidden = Disguise()
    hidden.plain(query(b"CREATE TABLE t (id INT)", b"app"), known)
    hidden.plain(event, known)
    problem = hidden.taken[-1][1].problem
    assert bool(problem) is bool(words) and words in problem


def test_a_transactions_problem_is_told_only_where_it_is_wanted():
    gtid = "#261122 17:52:11 server id 1  end_log_pos 3 CRC32 0xa5 \tGTID 0-1-1 trans\n"
    text = f"DELIMITER /*!*/;\n{gtid}START TRANSACTION\n/*!*/;\nDO 1\n/*!*/;\nCOMMIT/*!*/;\n"
    (_first, known), *_others = of(log("mysql-9.7"))
    for wanted in (False, True):
        hidden = Disguise()
        hidden.plain(query(b"INSERT INTO t VALUES (1)", b"app", 0, 1317), known)
        reader = log_transactions.Reader(lambda _gtid, wanted=wanted: wanted)
        given = Lines(text.encode().splitlines(keepends=True), hidden)
        if wanted:
            with pytest.raises(
                log_transactions.TailError, match="0-1-1 has a statement that ended"
            ):
                list(reader.read(given))
        else:
            assert list(reader.read(given)) == [] and reader.seen == 1


def test_what_is_no_zstd_is_damage_and_no_library_is_said(monkeypatch):
    with pytest.raises(zstd.ZstdError):
        zstd.decompress(b"no zstd", 7)
    payload = b"\x01\x01\x07\x02\x01\x00\x03\x01\x07\x00no zstd"
    event = events.parse_event(struct.pack("<IBIIIH", 1, 40, 1, 19 + len(payload), 0, 0) + payload)
    with pytest.raises(events.EventError):
        list(events.unpacked(event))

    def gone(_data, _size):
        raise OSError("libzstd.so.1: cannot open shared object file")

    monkeypatch.setattr(zstd, "decompress", gone)
    with pytest.raises(events.UnknownError, match=r"libzstd"):
        list(events.unpacked(event))


@pytest.mark.parametrize(
    ("version", "engine"),
    [
        (b"9.7.4", "mysql"),
        (b"8.0.45-36", "mysql"),
        (b"10.11.19-MariaDB-0+deb12u1-log", "mariadb"),
        # Debian 13's has spaces, and no room for what ends it.
        (b"11.8.6-MariaDB-0+deb13u1 from Debian-log", "mariadb"),
        (b"11.8.6-MariaDB-0+deb13u1 from a very long word-log", "mariadb"),
    ],
)
def test_the_server_that_wrote_a_file_is_known_by_any_text_that_is_its_version(version, engine):
    assert events.file_description(first_event(version)).names.engine == engine


def first_event(version):
    body = b"\4\0" + version.ljust(50, b"\0") + bytes(4) + bytes([19]) + bytes(10) + b"\1"
    return events.Event(events.DESCRIPTION, bytes(19) + body, 0)


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        (b"26.3.1-other", "neither MySQL, Percona Server nor MariaDB"),
        (b"8.0.11-TiDB-v7.5.0", "no semi-synchronous replication"),
        (b"5.1.73-log", "too old"),
        (b"5.6.8-rc-log", "has no GTIDs"),
        (b"5.5.68-MariaDB", "has no GTIDs"),
    ],
)
def test_the_file_of_a_server_that_the_names_table_does_not_know_is_not_read(version, reason):
    with pytest.raises(events.UnknownError, match=reason):
        events.file_description(first_event(version))
