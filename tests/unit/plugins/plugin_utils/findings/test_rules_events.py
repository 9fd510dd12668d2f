# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a look keeps of scheduled events, and of whom it says so."""

from __future__ import annotations

import datetime

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._replication import journal
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.verdict_store import ResultStore
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import rulebook, rules_events
from ansible_collections.dbre.semisync.tests.unit import samples

TICK = {"schema": "app", "name": "tick", "status": "ENABLED"}


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_a_look_keeps_the_events_of_the_source_for_the_next_one(engine, tmp_path):
    members = samples.pair(engine)
    info = members[0].info
    info["events"] = [TICK]
    now = datetime.datetime.now(datetime.UTC)
    shelf = ResultStore(str(tmp_path), "default", None, now, False)
    shelf.keep_look(members)
    last = shelf.last_state()
    assert rules_events.of_dead(last, journal.identity(info["variables"])) == [TICK]
    assert rules_events.of_dead(last, "another") is None
    assert rules_events.of_dead(last, "") is None and rules_events.of_dead(None, "7") is None


def test_a_look_of_an_older_version_knows_of_no_events():
    assert rules_events.of_dead({"server": "uuid", "server_id": "1"}, "1") is None


def test_a_replica_may_know_a_source_s_events_and_a_source_may_run_its_own():
    members = samples.pair("mysql")
    members[0].info["events"] = [TICK]
    members[1].info["events"] = [dict(TICK, status="REPLICA_SIDE_DISABLED")]
    members[0].info["variables"]["event_scheduler"] = "ON"
    kinds = {one["id"] for one in rulebook.evaluate(members)}
    assert not {"events_nowhere", "events_on_replica"} & kinds
    for member in members:
        member.info["events"] = None
    assert not {"events_nowhere", "events_on_replica"} & kinds


def test_many_events_are_counted():
    listed = [dict(TICK, name=f"e{number}") for number in range(8)]
    assert rules_events.named(listed) == "app.e0, app.e1, app.e2, app.e3, app.e4 and 3 more"
