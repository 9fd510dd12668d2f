# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from types import SimpleNamespace

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import step_action


def on_host(host, last, operation="failover", step="look", planned=None):
    return SimpleNamespace(
        options=SimpleNamespace(operation=operation),
        step=step,
        host=host,
        last_look=lambda: last,
        result_of=lambda _registered: planned or {},
        task_vars={"groups": {"semisync_source": ["db1"], "semisync_replica": ["db2", "db3"]}},
    )


@pytest.mark.parametrize("last,dead", [(None, "db1"), ({"host": "db2"}, "db2")])
def test_the_first_look_of_a_failover_waits_less_for_the_source_of_the_last_look(last, dead):
    found = [
        host for host in ("db1", "db2", "db3") if step_action.expected_dead(on_host(host, last))
    ]
    assert found == [dead]


@pytest.mark.parametrize("planned,dead", [({"unsure": True}, False), ({"lives": True}, True)])
def test_a_host_that_a_replica_had_a_sign_of_life_from_gets_more_time(planned, dead):
    assert step_action.expected_dead(on_host("db1", None, planned=planned)) is dead


@pytest.mark.parametrize(
    "operation,step", [("failover", "salvage"), ("switchover", "look"), ("rejoin", "look")]
)
def test_no_other_step_expects_a_host_to_be_dead(operation, step):
    assert not step_action.expected_dead(on_host("db1", None, operation, step))
