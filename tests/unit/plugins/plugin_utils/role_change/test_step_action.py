# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change import step_action


@pytest.mark.parametrize(
    "operation,step,group,expected",
    [
        ("failover", "look", "semisync_source", True),
        ("failover", "look", "semisync_replica", False),
        ("failover", "salvage", "semisync_source", False),
        ("switchover", "look", "semisync_source", False),
        ("rejoin", "look", "semisync_source", False),
    ],
)
def test_only_the_first_look_of_a_failover_expects_its_source_to_be_dead(
    operation, step, group, expected
):
    assert step_action.expected_dead(operation, step, {"group_names": [group]}) is expected
