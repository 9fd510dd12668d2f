# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids, position
from ansible_collections.dbre.semisync.plugins.module_utils._seed import marker, marker_writing
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.replication import (
    has_to_catch_up,
)

A = "91c92dd4-e5a0-11f1-9b95-0242ac130002"
B = "92139d91-e5a0-11f1-923b-0242ac130003"


@pytest.mark.parametrize(
    "engine,target,applied,missing",
    [
        ("mysql", "", "", 0),
        ("mysql", A + ":1-10", A + ":1-10", 0),
        ("mysql", A + ":1-10", A + ":1-12", 0),
        ("mysql", A + ":1-10", A + ":1-7", 3),
        # gaps of a parallel applier count, what the replica has of its own does not
        ("mysql", A + ":1-10," + B + ":1-2", A + ":1-3:5-9," + B + ":2-9", 3),
        ("mysql", A + ":1-4", "", 4),
        ("mariadb", "", "0-1-5", 0),
        ("mariadb", "0-1-10", "0-1-7", 3),
        ("mariadb", "0-1-10", "0-2-12", 0),
        ("mariadb", "0-1-10,3-1-2", "0-1-10", 2),
        ("mariadb", "0-1-10", "", 10),
        # the same number by another server: two histories
        ("mariadb", "0-1-10", "0-2-10", 1),
    ],
)
def test_how_many_transactions_a_replica_lacks(engine, target, applied, missing):
    assert gtids.missing(engine, target, applied) == missing


def channel(**values):
    return dict(
        {"gtid": True, "io_running": "Yes", "sql_running": "Yes", "last_sql_error": ""}, **values
    )


@pytest.mark.parametrize(
    "found,reason",
    [
        (channel(), ""),
        (channel(io_running="Connecting"), ""),
        (None, "it has no replication channel"),
        (channel(sql_running="No"), "its applier has stopped"),
        (
            channel(sql_running="No", last_sql_error="Duplicate entry"),
            "its applier has stopped: Duplicate entry",
        ),
    ],
)
def test_an_applier_that_stands_is_not_waited_for(found, reason):
    assert position.stopped(found) == reason


SEEDED = {"state": "done", "caught_up": False}


@pytest.mark.parametrize(
    "role,step,seeded,found,due",
    [
        ("source", "none", SEEDED, None, False),
        ("replica", "configure", None, None, True),
        ("replica", "start", None, channel(), True),
        ("replica", "start", None, channel(gtid=False), False),
        ("replica", "none", None, channel(), False),
        ("replica", "none", SEEDED, channel(), True),
        ("replica", "none", dict(SEEDED, caught_up=True), channel(), False),
        ("replica", "none", {"state": "done"}, channel(), False),
        ("replica", "none", {"state": "loading"}, channel(), False),
    ],
)
def test_who_is_waited_for(role, step, seeded, found, due):
    info = {"names": {"gtid": True}, "seed": seeded, "channel": found}
    assert has_to_catch_up(role, step, info) is due
    assert not has_to_catch_up(role, step, dict(info, names={"gtid": False}))


@pytest.mark.parametrize(
    "facts,after",
    [
        (None, None),
        ({"state": "loading"}, None),
        ({"state": "done", "caught_up": False, "at": 1.0}, True),
        ({"state": "done", "caught_up": True, "at": 1.0}, True),
    ],
)
def test_that_it_caught_up_is_written_down_once(tmp_path, monkeypatch, facts, after):
    monkeypatch.setattr(marker, "FOLDER", str(tmp_path))
    path = tmp_path / "seed-3306.json"
    if facts:
        path.write_text(json.dumps(facts))
    marker_writing.caught_up("3306")
    found = marker.read_marker(3306)
    assert (found or {}).get("caught_up") is after
    if facts and facts.get("caught_up"):
        assert found == facts
