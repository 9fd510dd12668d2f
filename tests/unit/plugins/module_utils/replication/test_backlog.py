# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._replication import backlog
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

UUID = "91c92dd4-e5a0-11f1-9b95-0242ac130002"
MYSQL, MARIADB = Names("mysql", (9, 7, 0), ()), Names("mariadb", (10, 11, 19), ())


class Replica:
    """One that applies and receives so many transactions in each second, or as many times a
    hundred bytes.
    """

    def __init__(self, names, has, received, rate, incoming=0, **channel):
        self.names, self.clock = names, 0.0
        self.has, self.received, self.rate, self.incoming = has, received, rate, incoming
        self.more = {
            "gtid": True,
            "sql_running": "Yes",
            "last_sql_error": "",
            "delay": 0,
            **channel,
        }

    def sleep(self, seconds):
        self.clock += seconds

    def now(self):
        got = self.received + int(self.incoming * self.clock)
        return min(self.has + int(self.rate * self.clock), got), got

    def gtids(self, number):
        return f"0-1-{number}" if self.names is MARIADB else f"{UUID}:1-{number}"

    def applied(self, names):
        return self.gtids(self.now()[0])

    def channels(self, names):
        has, got = self.now()
        return [
            {
                "name": "",
                "retrieved": self.gtids(got),
                "read_file": "binlog.000002",
                "read_position": 100 * got,
                "applied_file": "binlog.000002",
                "applied_position": 100 * has,
                **self.more,
            }
        ]


@pytest.fixture(name="measured")
def fixture_measured(monkeypatch):
    def measured(*arguments, **channel):
        replica = Replica(*arguments, **channel)
        monkeypatch.setattr(backlog.time, "monotonic", lambda: replica.clock)
        found = backlog.measure(replica, replica.names, replica.sleep)
        return found, replica.clock

    return measured


@pytest.mark.parametrize("names", [MYSQL, MARIADB])
def test_a_replica_that_is_always_busy_is_as_fast_as_it_is(measured, names):
    found, seconds = measured(names, 100, 9100, 60)
    assert found["unit"] == "transactions" and found["busy"]
    assert (found["applied"], found["left"]) == (60, 8940)
    assert found["seconds"] == pytest.approx(seconds) == pytest.approx(1.0)


def test_one_that_has_applied_what_it_had_is_not_watched_any_longer(measured):
    found, seconds = measured(MYSQL, 95, 100, 50)
    assert (found["left"], found["applied"], found["busy"]) == (0, 5, False)
    assert seconds == pytest.approx(0.1)


@pytest.mark.parametrize("names", [MYSQL, MARIADB])
def test_what_arrives_meanwhile_is_left_and_says_nothing_of_the_speed(measured, names):
    # It keeps up: it was done with what it had, and did no more than what came.
    found, _seconds = measured(names, 97, 100, 500, 80)
    assert not found["busy"] and found["applied"] == 11 and found["left"] == 0
    # It does not: at the last look more is left than at the first.
    found, _seconds = measured(names, 100, 200, 60, 80)
    assert found["busy"] and (found["applied"], found["left"]) == (60, 120)


def test_one_that_has_nothing_to_apply_is_not_waited_for(measured):
    found, seconds = measured(MYSQL, 100, 100, 60)
    assert (found["left"], found["applied"], seconds) == (0, None, 0)


@pytest.mark.parametrize("reason", [{"sql_running": "No"}, {"delay": 3600}])
def test_one_that_may_not_apply_is_not_waited_for(measured, reason):
    found, seconds = measured(MYSQL, 100, 9100, 60, **reason)
    assert (found["left"], found["applied"], seconds) == (9000, None, 0)


def test_one_that_applies_nothing_is_given_three_seconds(measured):
    found, seconds = measured(MARIADB, 100, 9100, 0)
    assert (found["applied"], found["left"]) == (0, 9000)
    assert seconds == pytest.approx(3.0)
    found, seconds = measured(MARIADB, 100, 9100, 0.5)
    assert found["applied"] == 1 and seconds == pytest.approx(2.0)


def test_without_gtids_bytes_of_one_file_are_counted(measured):
    found, _seconds = measured(MYSQL, 100, 9100, 60, gtid=False)
    assert (found["unit"], found["applied"], found["left"]) == ("bytes", 6000, 894000)
    found, _seconds = measured(MYSQL, 100, 9100, 60, gtid=False, read_file="binlog.000003")
    assert (found["left"], found["applied"], found["busy"]) == (None, 6000, False)


def test_a_server_that_follows_nobody_has_none(measured):
    assert backlog.measure(type("Alone", (), {"channels": lambda self, names: []})(), MYSQL) is None
