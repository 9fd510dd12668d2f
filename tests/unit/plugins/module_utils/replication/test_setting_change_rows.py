# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import time
import types

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load import settings_rollback
from ansible_collections.dbre.semisync.plugins.module_utils._replication import setting_change_rows
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

NAMES = Names("mysql", (9, 7, 4))
PARAMS = {
    "journal_schema": "important",
    "host": "db1",
    "token": "feed",
    "reason": "timeout",
    "row": "feed",
}


class Cursor:
    """A source, whose journal takes so many seconds, or fails."""

    def __init__(self, status="ON", seconds=0.0, error=None, enabled="ON", journal=()):
        self.enabled, self.journal = enabled, journal
        self.status, self.seconds, self.error, self.written = status, seconds, error, []

    def execute(self, statement, arguments=None):
        self.rows = []
        if statement.startswith("INSERT"):
            if self.error:
                raise self.error
            self.written.append(arguments)
            time.sleep(self.seconds)
        elif statement.startswith("CREATE"):
            self.error = None
        elif "semisync_journal" in statement:
            self.rows = list(self.journal)
        elif "VARIABLES" in statement:
            self.rows = [
                {"n": "server_uuid", "v": "u"},
                {"n": "rpl_semi_sync_source_enabled", "v": self.enabled},
            ]
        else:
            self.rows = [{"n": "Rpl_semi_sync_source_status", "v": self.status}]

    def fetchall(self):
        return self.rows


@pytest.mark.parametrize(
    "cursor,expected,words",
    [
        (Cursor(), (True, True), ""),
        # It continued alone: no replica acknowledged the row.
        (Cursor(status="OFF"), (True, False), ""),
        # A new cluster promises nothing yet, and its replicas do not follow.
        (Cursor(enabled="OFF"), (False, False), ""),
        (Cursor(seconds=5), (True, False), "not acknowledged within 0.2 s"),
        # A source that never changed has no journal yet.
        (Cursor(error=Exception(1146, "no such table")), (True, True), ""),
        (Cursor(error=Exception(1049, "no such schema")), (True, True), ""),
        (Cursor(error=Exception(1290, "super-read-only")), (False, False), "not written: "),
        (Cursor(error=Exception(1114, "the table is full")), (False, False), "not written: "),
    ],
)
def test_the_row_is_written_ahead_and_never_waited_for_longer(cursor, expected, words):
    module, begin = types.SimpleNamespace(check_mode=False, params=PARAMS), time.monotonic()
    result = setting_change_rows.give(module, Server(cursor), NAMES, 0.2)
    assert (result["written"], result["acknowledged"]) == expected
    assert words in result["problem"] and bool(words) == bool(result["problem"])
    # Nothing changes that another controller has not heard of; a closed server confirms nothing.
    assert result["keeps"] == (bool(words) and "super-read-only" not in result["problem"])
    assert time.monotonic() - begin < 2
    if result["written"]:
        assert cursor.written[0][:7] == ("settings", "feed", "begun", "db1", "db1", "u", "u")


def test_check_mode_writes_nothing():
    cursor = Cursor()
    module = types.SimpleNamespace(check_mode=True, params=PARAMS)
    assert not setting_change_rows.give(module, Server(cursor), NAMES)["written"]
    assert cursor.written == []


@pytest.mark.parametrize(
    "timeout,seconds", [(None, 3), ("10000", 13), ("57000", 60), ("58000", 10), ("3600000", 10)]
)
def test_a_source_that_gives_up_soon_is_waited_for(timeout, seconds):
    assert setting_change_rows.patience(timeout) == seconds


LEFT = (
    {"number": 4, "run": "left", "state": "begun", "age": 3600},
    {"number": 5, "run": "over", "state": "begun", "age": 3000},
    {"number": 6, "run": "over", "state": "done", "age": 2900},
    {"number": 7, "run": "other", "state": "begun", "age": 60},
    {"number": 8, "run": "feed", "state": "begun", "age": 2},
)


@pytest.mark.parametrize("mine,closed", [("feed", "feed"), (None, "left")])
def test_a_change_that_is_made_closes_its_own_row_and_a_run_without_one_what_is_old(mine, closed):
    cursor = Cursor(journal=LEFT)
    module = types.SimpleNamespace(check_mode=False, params=dict(PARAMS, row=mine))
    result = setting_change_rows.close_rows(module, Server(cursor), NAMES)
    assert (result["changed"], result["written"], result["problem"]) == (True, True, "")
    assert [row[:4] for row in cursor.written] == [("settings", closed, "done", "db1")]


@pytest.mark.parametrize(
    "mine,in_force,closed",
    [
        ("feed", False, ["feed"]),
        ("feed", True, ["feed"]),
        ("gone", False, []),
        (None, False, ["left"]),
        # A benchmark's timer is still to put its settings back.
        (None, True, []),
    ],
)
def test_what_may_be_under_way_is_left_open(mine, in_force, closed):
    assert (
        setting_change_rows.closing({"left": 900, "other": 899, "feed": 2}, mine, in_force)
        == closed
    )


def test_a_look_is_not_trusted_while_another_run_may_be_under_way():
    cursor = Cursor(journal=LEFT[3:])
    module = types.SimpleNamespace(check_mode=False, params=dict(PARAMS, row=None))
    result = setting_change_rows.close_rows(module, Server(cursor), NAMES)
    assert (result["changed"], cursor.written) == (False, [])
    assert result["problem"] == setting_change_rows.UNDER_WAY


def test_a_benchmark_says_where_its_settings_are_in_force():
    assert setting_change_rows.IN_FORCE == settings_rollback.KEPT


@pytest.mark.parametrize(
    "cursor,check_mode,changed,words",
    [
        (Cursor(), False, False, ""),
        (Cursor(journal=LEFT), True, True, ""),
        (Cursor(journal=LEFT, error=Exception(1290, "super-read-only")), False, False, "not writ"),
        (Cursor(journal=LEFT, seconds=5), False, False, "not acknowledged within 0.2 s"),
    ],
)
def test_what_is_not_closed_says_why_and_keeps_nothing_from_going_on(
    cursor, check_mode, changed, words
):
    module = types.SimpleNamespace(check_mode=check_mode, params=PARAMS)
    result = setting_change_rows.close_rows(module, Server(cursor), NAMES, 0.2)
    assert (result["changed"], result["keeps"]) == (changed, False)
    assert words in result["problem"] and bool(words) == bool(result["problem"])
    assert check_mode is False or cursor.written == []
