# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import re

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._heartbeat import rows
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError

FACTS = {
    "enabled": "ON",
    "status": "ON",
    "timeout": 10000,
    "wait_point": "AFTER_SYNC",
    "wait_count": 1,
    "wait_no_replica": "ON",
    "clients": 2,
    "acknowledgers": ["uuid2", "uuid3"],
    "yes_tx": 71,
    "no_tx": 3,
    "no_times": 1,
    "wait_sessions": 0,
    "killed": 0,
    "server_id": 3306001,
    "settings_row": 4,
    "binlog_filters": [],
    "sync_binlog": "1",
    "flush_log": "1",
}
ROW = {
    "number": 7,
    "server": "uuid1",
    "boot": "0dc1-boot",
    "monotonic": 12.5,
    "wall": 1764076800.25,
    "uptime": 31,
    "facts": json.dumps(FACTS),
    "gtid": "uuid1:1-7",
}


class Cursor:
    """Answers every statement with the same rows, or fails with an error of a driver."""

    def __init__(self, answer=(), error=None):
        self.answer, self.error, self.seen = answer, error, []

    def execute(self, statement, arguments=None):
        self.seen.append((statement, arguments))
        if self.error:
            raise self.error

    def fetchall(self):
        return self.answer


def newest(cursor):
    return rows.newest(Server(cursor), "im`portant", 5)


def test_a_row_is_read_as_it_was_written():
    cursor = Cursor([ROW])
    assert newest(cursor) == [{**ROW, "facts": FACTS}]
    ((statement, arguments),) = cursor.seen
    assert "FROM `im``portant`.`semisync_heartbeat` ORDER BY number DESC LIMIT %s" in statement
    assert arguments == (5,)


def test_drivers_that_return_bytes_are_understood():
    raw = {name: str(value).encode() for name, value in ROW.items()}
    assert newest(Cursor([raw])) == [{**ROW, "facts": FACTS}]


def test_a_statement_takes_what_a_row_has():
    statement = rows.insert_statement("im`portant")
    columns = ", ".join(rows.COLUMNS)
    assert statement.startswith(f"INSERT INTO `im``portant`.`semisync_heartbeat` ({columns}) ")
    assert statement.count("%s") == len(rows.COLUMNS)
    assert set(rows.COLUMNS) == set(ROW) - {"number"}
    creation = rows.create_statements("important")[-1]
    assert all(f" {name} " in f" {creation} ".replace("(", " ") for name in ROW)


def part(text, mark, count):
    """SUBSTRING_INDEX of the servers."""
    pieces = text.split(mark)
    return mark.join(pieces[:count] if count > 0 else pieces[count:])


def test_the_view_has_the_number_of_the_server_that_wrote_the_newest_row():
    statement = rows.view_statement("im`portant")
    mark = re.search(r"facts, '(.*?)', -1\), ',', 1\) AS UNSIGNED\) AS server_id", statement)[1]
    written = json.dumps({**FACTS, "binlog_filters": ['x = "server_id": 3']}, sort_keys=True)
    assert part(part(written, mark, -1), ",", 1) == "3306001"
    assert " VIEW `im``portant`.`semisync_heartbeat_newest` AS " in statement
    assert statement.endswith("`semisync_heartbeat` ORDER BY number DESC LIMIT 1")
    # With the privileges of the account that reads it.
    assert "SQL SECURITY INVOKER" in statement


def test_every_fact_has_a_type():
    checked = {*rows.TEXTS, *rows.NUMBERS, *rows.LISTS}
    assert checked == set(FACTS)
    assert len(checked) == len(rows.TEXTS) + len(rows.NUMBERS) + len(rows.LISTS)


def test_a_fact_that_was_not_read_is_unknown():
    row = {**ROW, "facts": json.dumps({**FACTS, "clients": None, "acknowledgers": None})}
    (beat,) = newest(Cursor([row]))
    assert (beat["facts"]["clients"], beat["facts"]["acknowledgers"]) == (None, None)
    (beat,) = newest(Cursor([{**ROW, "facts": "{}"}]))
    assert set(beat["facts"].values()) == {None}
    (beat,) = newest(Cursor([{**ROW, "uptime": None}]))
    assert beat["uptime"] is None


@pytest.mark.parametrize(
    "damage",
    [
        {"facts": "{"},
        {"facts": "[]"},
        {"facts": json.dumps({**FACTS, "no_tx": "3"})},
        {"facts": json.dumps({**FACTS, "timeout": True})},
        {"facts": json.dumps({**FACTS, "status": 1})},
        {"facts": json.dumps({**FACTS, "acknowledgers": [2]})},
        {"facts": json.dumps({**FACTS, "binlog_filters": "none"})},
        {"server": ""},
        {"boot": ""},
        {"wall": None},
        {"wall": float("nan")},
        {"monotonic": float("inf")},
        {"uptime": "soon"},
        # Edited by hand: no time, or a number that no server has.
        {"wall": -1.0},
        {"wall": 1e18},
        {"monotonic": -5.0},
        {"facts": json.dumps({**FACTS, "timeout": 10**400})},
        {"facts": "[" * 100000},
    ],
)
def test_a_row_of_another_kind_is_left_out_and_counted(damage):
    cursor = Cursor([{**ROW, **damage}, ROW])
    reading = rows.read(Server(cursor), "important", 5)
    assert ([beat["number"] for beat in reading.beats], reading.unreadable) == ([7], 1)


@pytest.mark.parametrize("error", [(1146, "no such table"), (1049, "no such schema")])
def test_no_table_is_no_beat(error):
    assert newest(Cursor(error=Exception(*error))) == []


def test_a_table_that_cannot_be_read_is_not_taken_for_none():
    with pytest.raises(ServerError, match="denied"):
        newest(Cursor(error=Exception(1142, "denied")))
