# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import types

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils.replication import calm
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import Names

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
        # Somebody was let go without an acknowledgement.
        (statuses(10, 0, 1), statuses(12, 1, 0), "AFTER_SYNC", False),
        (statuses(10, 0, 1), statuses(12, 0, 0, "OFF"), "AFTER_SYNC", False),
        # FLUSH STATUS in between.
        (statuses(10, 0, 1), statuses(3, 0, 0), "AFTER_SYNC", False),
    ],
)
def test_who_waited_is_known_to_be_acknowledged_where_as_many_were(first, now, point, expected):
    assert calm.released(first, now, point) is expected


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
        (1, 0, "AFTER_SYNC", None, round(calm.LONGEST / calm.PAUSE) + 1),
        (1, 1, "AFTER_COMMIT", None, 1),
    ],
)
def test_a_busy_source_is_looked_at_until_who_waited_is_confirmed(
    monkeypatch, waiting, confirmed, point, expected, looks
):
    monkeypatch.setattr(calm, "identify", lambda _server: Names("mysql", (9, 7, 0), ()))
    source = Source(waiting, confirmed)
    assert calm.measure(source, point, lambda _seconds: None) == expected
    assert source.looks == looks


@pytest.mark.parametrize(
    "variables,status,asked",
    [
        ({"wait_point": "AFTER_SYNC"}, {"status": "ON", "wait_sessions": "1"}, ["AFTER_SYNC"]),
        # Before MySQL 5.7.2.
        ({}, {"status": "ON", "wait_sessions": "0"}, [None]),
        ({}, {"status": "OFF", "wait_sessions": "0"}, []),
        ({}, {"status": None, "wait_sessions": None}, []),
    ],
)
def test_only_a_source_with_semisync_at_work_is_watched(monkeypatch, variables, status, asked):
    cursor = types.SimpleNamespace(connection=types.SimpleNamespace(close=lambda: None))
    points = []
    monkeypatch.setattr(calm.login, "connect", lambda _module: cursor)
    monkeypatch.setattr(calm, "measure", lambda _server, point: points.append(point) or CLOCK)
    info = {"semisync": {"source": {"variables": variables, "status": status}}}
    assert calm.read(None, info) == (CLOCK if asked else None)
    assert points == asked
