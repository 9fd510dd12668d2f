# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import datetime

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._replication import (
    journal,
    journal_writing,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError

ENTRY = journal_writing.Entry(
    "switchover", "abc", "done", "db1", "db2", "uuid1", "uuid2", "uuid1:1-7"
)


def test_what_is_written_is_what_is_read():
    assert journal_writing.Entry._fields == journal.COLUMNS


class Cursor:
    """Answers every statement with the same rows, or fails with an error of a driver."""

    def __init__(self, rows=(), error=None):
        self.answer, self.error, self.seen = rows, error, []

    def execute(self, statement, arguments=None):
        self.seen.append((statement, arguments))
        if self.error:
            raise self.error

    def fetchall(self):
        return self.answer


def test_a_row_is_inserted_and_never_updated():
    cursor = Cursor()
    journal_writing.insert(Server(cursor), "im`portant", ENTRY)
    ((statement, arguments),) = cursor.seen
    assert statement.startswith("INSERT INTO `im``portant`.`semisync_journal` (`operation`, ")
    assert statement.count("%s") == len(arguments) == len(ENTRY)
    assert arguments[:3] == ("switchover", "abc", "done")


def test_the_newest_row_can_be_written_into_a_result():
    row = dict(ENTRY._asdict(), number=3, happened=datetime.datetime(2026, 11, 22, 9, 5, 1))
    assert journal.newest(Server(Cursor([row])), "important") == dict(
        ENTRY._asdict(), number=3, happened="2026-11-22T09:05:01Z"
    )


@pytest.mark.parametrize("error", [(1146, "no such table"), (1049, "no such schema")])
def test_no_journal_is_no_row(error):
    assert journal.newest(Server(Cursor(error=Exception(*error))), "important") is None


def test_an_empty_journal_is_no_row():
    assert journal.newest(Server(Cursor()), "important") is None


def test_a_journal_that_cannot_be_read_is_not_taken_for_none():
    with pytest.raises(ServerError, match="denied"):
        journal.newest(Server(Cursor(error=Exception(1142, "denied"))), "important")


@pytest.mark.parametrize(
    "variables,known_by",
    [
        ({"server_uuid": "u", "server_id": "7"}, "u"),
        ({"server_uuid": None, "server_id": "7"}, "7"),
        ({}, ""),
    ],
)
def test_what_the_journal_knows_a_server_by(variables, known_by):
    assert journal.identity(variables) == known_by


def change(operation, before, after):
    return {
        "operation": operation,
        "run": f"{operation} {before}",
        "state": "done",
        "from_host": f"db{before}",
        "to_host": f"db{after}",
        "from_id": str(before),
        "to_id": str(after),
        "happened": "2026-11-22 10:00:00",
    }


@pytest.mark.parametrize(
    "rows,away",
    [
        ([], []),
        ([change("switchover", 1, 2)], []),
        ([change("failover", 1, 2)], ["db1"]),
        ([change("failover", 1, 2), change("switchover", 2, 3)], ["db1"]),
        ([change("failover", 1, 2), change("failover", 2, 3)], ["db1", "db2"]),
        ([change("failover", 1, 2), change("rejoin", 1, 2)], []),
        ([change("failover", 1, 2), change("switchover", 2, 1)], []),
        ([change("failover", 1, 2), change("rejoin", 1, 2), change("failover", 2, 1)], ["db2"]),
    ],
)
def test_who_lost_its_role_by_a_failover_is_away_until_it_has_a_part_again(rows, away):
    assert [one["host"] for one in journal.left_by_failover(rows)] == away


def test_times_are_as_the_newest_row_has_them():
    (one,) = journal.left_by_failover([change("failover", 1, 2)])
    assert one == {"host": "db1", "id": "1", "to_host": "db2", "happened": "2026-11-22T10:00:00Z"}


def test_a_row_of_settings_changes_nobodys_role():
    number = iter(range(1, 9))
    rows = [
        dict(row, number=next(number))
        for row in (change("failover", 1, 2), change("settings", 2, 2), change("settings", 1, 1))
    ]
    cursor = Cursor(rows)
    past = journal.past(Server(cursor), "important")
    assert ([one["host"] for one in past["held"]], past["settings_row"]) == (["db1"], 3)
    journal.newest(Server(cursor), "important")
    assert ("operation <> %s" in cursor.seen[-1][0], cursor.seen[-1][1]) == (True, ("settings",))


def test_without_a_row_of_settings_its_number_is_none():
    assert journal.past(Server(Cursor()), "important")["settings_row"] == 0
    gone = Cursor(error=Exception(1146, "no such table"))
    nothing = {"held": [], "settings_row": 0, "settings_open": 0}
    assert journal.past(Server(gone), "important") == nothing


@pytest.mark.parametrize(
    "rows,newest,begun",
    [
        ([(3, "a", "begun")], 3, 3),
        ([(3, "a", "begun"), (4, "a", "done")], 4, 0),
        # The first run was interrupted, the second is not: a look is to cover neither.
        ([(3, "a", "begun"), (4, "b", "begun"), (5, "b", "done")], 5, 3),
        ([(3, "a", "begun"), (4, "b", "begun"), (5, "a", "done"), (6, "b", "done")], 6, 0),
        ([(3, "a", "begun"), (4, "a", "undone")], 4, 0),
    ],
)
def test_a_change_of_settings_is_open_until_its_run_says_that_it_is_made(rows, newest, begun):
    named = [dict(zip(("number", "run", "state"), row, strict=True)) for row in rows]
    assert journal.of_settings(named) == {"settings_row": newest, "settings_open": begun}
