# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import types

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._replication import ack_wait
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

CLOCK = 1790000000.5
STATUSES = ("yes_tx", "no_tx", "wait_sessions", "status")


def statuses(yes, no, waiting, status="ON"):
    return dict(zip(STATUSES, (str(yes), str(no), str(waiting), status), strict=True))


@pytest.mark.parametrize(
    "first,now,point,expected",
    [
        (statuses(10, 0, 0), statuses(10, 0, 0), "AFTER_SYNC", True),
        (statuses(10, 0, 0), statuses(10, 0, 3), None, True),
        # Two waited: one confirmation may be of one that waited, and two are of both.
        (statuses(10, 0, 2), statuses(11, 0, 1), "AFTER_SYNC", False),
        (statuses(10, 0, 2), statuses(12, 0, 5), "AFTER_SYNC", True),
        # One that came later may have been confirmed without a wait.
        (statuses(10, 0, 2), statuses(12, 0, 2), "AFTER_COMMIT", False),
        # A commit was confirmed without an acknowledgement.
        (statuses(10, 0, 1), statuses(12, 1, 0), "AFTER_SYNC", False),
        (statuses(10, 0, 1), statuses(12, 0, 0, "OFF"), "AFTER_SYNC", False),
        # FLUSH STATUS in between.
        (statuses(10, 0, 1), statuses(3, 0, 0), "AFTER_SYNC", False),
        # What the server does not say is not zero.
        (dict(statuses(10, 0, 1), wait_sessions=None), statuses(10, 0, 0), "AFTER_SYNC", False),
        (statuses(10, 0, 0), dict(statuses(10, 0, 0), no_tx=None), "AFTER_SYNC", False),
    ],
)
def test_who_waited_is_known_to_be_acknowledged_where_as_many_were(first, now, point, expected):
    assert ack_wait.released(first, now, point) is expected


class Source:
    """One whose commits wait, with so many confirmed at each look."""

    def __init__(self, waiting, confirmed):
        self.waiting, self.confirmed, self.looks = waiting, confirmed, 0

    def rows(self, _statement):
        return [{"now": CLOCK}]

    def semisync_status(self):
        yes = self.confirmed * self.looks
        self.looks += 1
        names = Names("mysql", (9, 7, 0), ()).statuses("source")
        seen = statuses(yes, 0, self.waiting)
        return {names[key].lower(): value for key, value in seen.items()}


@pytest.mark.parametrize(
    "waiting,confirmed,point,expected,looks",
    [
        (0, 0, "AFTER_SYNC", CLOCK, 1),
        (1, 1, "AFTER_SYNC", CLOCK, 2),
        (3, 1, "AFTER_SYNC", CLOCK, 4),
        # A source that stands still.
        (1, 0, "AFTER_SYNC", None, round(ack_wait.LONGEST / ack_wait.PAUSE) + 1),
        (1, 1, "AFTER_COMMIT", None, 1),
    ],
)
def test_a_busy_source_is_looked_at_until_who_waited_is_confirmed(
    monkeypatch, waiting, confirmed, point, expected, looks
):
    monkeypatch.setattr(ack_wait, "identify", lambda _server: Names("mysql", (9, 7, 0), ()))
    source = Source(waiting, confirmed)
    assert ack_wait.measure(source, point, lambda _seconds: None) == expected
    assert source.looks == looks


MARIADB = Names("mariadb", (10, 11, 19), ())


class Log:
    """A MariaDB source whose commits are behind its binary log's end for so many looks; one that
    hangs does not answer a query for that end.
    """

    def __init__(self, behind=0, hangs=False, names=MARIADB):
        self.behind, self.hangs, self.names, self.asked = behind, hangs, names, []
        self.connection = types.SimpleNamespace(close=lambda: None)

    def execute(self, statement, _arguments=None):
        self.asked.append(statement)
        if statement == self.names.show_binary_log_status:
            if self.hangs:
                raise Exception(2013, "no answer within 3 s")
            self.rows = [{"File": "b.1000000", "Position": 385, "Binlog_Ignore_DB": "x"}]
        elif statement.startswith("SHOW STATUS"):
            place = ("b.999999", 9000) if self.behind > 0 else ("b.1000000", 385)
            self.behind -= 1
            self.rows = [
                dict(zip("nv", item, strict=True))
                for item in zip(
                    ("Binlog_snapshot_file", "Binlog_snapshot_position"), place, strict=True
                )
            ]
        else:
            self.rows = []

    def fetchall(self):
        return self.rows


FILTERS = ["binlog_ignore_db = x"]


@pytest.mark.parametrize(
    "variables,status,since,log,expected",
    [
        ({"wait_point": "AFTER_SYNC"}, ("ON", "1"), CLOCK, Log(), (CLOCK, FILTERS)),
        # Others of the group are written, and were not counted among those that wait.
        ({"wait_point": "AFTER_SYNC"}, ("ON", "1"), CLOCK, Log(3), (CLOCK, FILTERS)),
        ({"wait_point": "AFTER_SYNC"}, ("ON", "1"), CLOCK, Log(1000), (None, FILTERS)),
        # Who waits holds the lock: it is not asked for.
        ({"wait_point": "AFTER_SYNC"}, ("ON", "1"), None, Log(hangs=True), (None, None)),
        ({"wait_point": "AFTER_SYNC"}, ("ON", "0"), CLOCK, Log(hangs=True), (None, None)),
        # Before MySQL 5.7.2.
        ({}, ("ON", "0"), CLOCK, Log(names=Names("mysql", (5, 6, 21), ())), (CLOCK, FILTERS)),
        ({}, ("OFF", "0"), CLOCK, Log(), (None, FILTERS)),
        ({}, ("OFF", "2"), CLOCK, Log(), (None, None)),
        ({}, (None, None), CLOCK, Log(), (None, FILTERS)),
    ],
)
def test_a_source_is_calm_where_all_that_it_logged_is_committed(
    monkeypatch, variables, status, since, log, expected
):
    monkeypatch.setattr(ack_wait.login, "connect", lambda _module: log)
    monkeypatch.setattr(ack_wait, "identify", lambda _server: log.names)
    monkeypatch.setattr(ack_wait, "measure", lambda _server, _point: since)
    monkeypatch.setattr(ack_wait, "PAUSE", 0.01)
    names = ("status", "wait_sessions")
    info = {
        "semisync": {
            "source": {"variables": variables, "status": dict(zip(names, status, strict=True))}
        }
    }
    found = ack_wait.read_ack_wait(None, info)
    assert (found["calm_since"], found["binlog_filters"]) == expected
    if since is None or status == ("OFF", "2"):
        assert log.asked == []
