# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._replication import catch_up
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

UUID = "91c92dd4-e5a0-11f1-9b95-0242ac130002"
NAMES = Names("mysql", (9, 7, 0))
BY_GTID = {"target": f"{UUID}:1-10", "file": None, "position": None}
BY_PLACE = {"target": None, "file": "binlog.000002", "position": 500}


class Replica:
    """A replica that is two transactions, and 200 bytes, further at each look."""

    def __init__(self, applied, position, sql_running="Yes"):
        self.number, self.position, self.sql_running = applied, position, sql_running

    def applied(self, names):
        self.number += 2
        return f"{UUID}:1-{self.number}"

    def channels(self, names):
        self.position += 200
        return [
            {
                "name": "",
                "applied_file": "binlog.000002",
                "applied_position": self.position,
                "sql_running": self.sql_running,
                "last_sql_error": "",
                "seconds_behind": 4,
            }
        ]


class Module:
    def __init__(self, params, timeout=5, check_mode=False):
        self.params, self.check_mode = dict(params, timeout=timeout), check_mode


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(catch_up, "POLL_SECONDS", 0)


@pytest.mark.parametrize(
    "params,first,place", [(BY_GTID, 6, 800), (BY_PLACE, None, 600)], ids=["gtid", "place"]
)
def test_a_replica_is_looked_at_until_it_is_there(params, first, place):
    result = catch_up.wait(Module(params), Replica(2, 0), NAMES)
    assert result["caught_up"] and not result["changed"]
    assert (result["missing_at_first"], result["missing"]) == (first, 0 if first else None)
    assert result["place"] == {"file": "binlog.000002", "position": place}
    assert "stopped" not in result


@pytest.mark.parametrize("params", [BY_GTID, BY_PLACE], ids=["gtid", "place"])
@pytest.mark.parametrize("timeout,check_mode", [(0, False), (3600, True)])
def test_a_replica_that_is_behind_when_time_is_up_is_only_reported(params, timeout, check_mode):
    result = catch_up.wait(Module(params, timeout, check_mode), Replica(-1, -200), NAMES)
    assert not result["caught_up"] and result["seconds_behind"] == 4


@pytest.mark.parametrize(
    "params,said",
    [(BY_GTID, "has stopped; 6 transactions are missing"), (BY_PLACE, "its applier has stopped$")],
    ids=["gtid", "place"],
)
def test_an_applier_that_has_stopped_is_not_waited_for(params, said):
    with pytest.raises(ValueError, match=said):
        catch_up.wait(Module(params, 3600), Replica(2, 0, sql_running="No"), NAMES)
