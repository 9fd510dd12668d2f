# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a plan makes the last look at a source prove nothing any more."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.server_part import (
    spending,
    spends,
)
from ansible_collections.dbre.semisync.tests.unit import samples

ENGINES = ("mysql", "mariadb")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_that_changes_nothing_spends_nothing(engine):
    assert {plan["spends"] for plan in samples.plans(samples.pair(engine)).values()} == {""}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("key", ["enabled", "timeout", "wait_no_replica", "wait_point"])
def test_what_a_source_waits_for_spends_the_look_at_it_and_a_replicas_does_not(engine, key):
    source, replica = samples.pair(engine)
    name = source.info["names"]["source"]["variables"][key]
    drift = {name: ("1", "2"), "read_only": ("ON", "OFF")}
    assert spends(source, drift, []) == f"{name} goes from 1 to 2"
    assert spends(source, {"read_only": ("ON", "OFF")}, []) == ""
    assert spends(source, {}, ["server_id is 1, 2 is wanted"]) == "its server is restarted"
    assert spends(replica, drift, ["x"]) == ""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_change_is_closed_by_the_run_that_made_it_or_by_the_next(engine):
    source, replica = samples.pair(engine)
    assert spending(source, {}, ["x"]) == {"spends": "its server is restarted", "settles": True}
    assert not spending(source, {}, [])["settles"]
    for member in (source, replica):
        member.info["settings_open"] = 7
    assert spending(source, {}, []) == {"spends": "", "settles": True}
    assert not spending(replica, {}, [])["settles"]
    plans = samples.plans([source, replica])
    assert [plan["changes"] for plan in plans.values()] == [True, False]
    # A row that a killed benchmark left open does not keep the next one from going on.
    assert not any(plan["differs"] or plan["cluster_differs"] for plan in plans.values())
    assert all(plan["cluster_changes"] for plan in plans.values())
