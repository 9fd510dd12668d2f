# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils import model


@pytest.mark.parametrize("clients,rtt,single,alike,waiting,in_turn,expected", [
    (1, 85, 1000, 1000, 1, False, 1000 / 86.0),         # one client at 85 ms: about 11.6/s
    (100, 85, 1000, 70000, 1, False, 100000 / 86.0),    # clients wait side by side
    (100, 0.1, 1000, 5000, 1, False, 5000),             # the server itself is the limit
    (100, 0.18, 5500, 70000, 1, True, 1 / (1 / 5500.0 + 0.00018)),   # one row: they take turns
    (10, 90, None, 383, 0.5, False, 10 / 0.045),        # half of a mixed load commits
    (10, 90, None, None, 1, True, 1 / 0.09),            # MySQL 5.5: a commit a round trip
    (1, 0, None, None, 1, False, None),
])
def test_the_limit(clients, rtt, single, alike, waiting, in_turn, expected):
    assert model.limit(clients, rtt, single, alike, waiting, in_turn) == (expected and pytest.approx(expected))


@pytest.mark.parametrize("load,point,together,expected", [
    ({}, "AFTER_SYNC", True, False), ({"same_row": True}, "AFTER_SYNC", True, True),
    ({"same_row": True}, "AFTER_COMMIT", True, False), ({}, "AFTER_COMMIT", False, True),
])
def test_whose_commits_wait_in_turn(load, point, together, expected):
    assert model.in_turn(load, point, together) is expected


@pytest.mark.parametrize("repetitions,share", [
    ([{"operations": 1000, "commits": 520}], 0.52), ([{"operations": 100, "commits": 130}], 1), ([], 1),
    ([{"operations": 100, "commits": None}], 1),
    ([{"operations": 100, "commits": None}, {"operations": 100, "commits": 50}], 0.5),
])
def test_the_share_that_waits(repetitions, share):
    assert model.waiting_share(repetitions) == pytest.approx(share)
