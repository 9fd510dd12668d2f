# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import throughput_limit

NOTHING, COMMITS, ACKNOWLEDGEMENTS = (
    throughput_limit.NOTHING,
    throughput_limit.COMMITS,
    throughput_limit.ACKNOWLEDGEMENTS,
)


@pytest.mark.parametrize(
    "clients,rtt,single,alike,waiting,turns,expected",
    [
        (1, 85, 1000, 1000, 1, NOTHING, 1000 / 86.0),  # one client at 85 ms: about 11.6/s
        (100, 85, 1000, 70000, 1, NOTHING, 100000 / 86.0),  # clients wait side by side
        (100, 0.1, 1000, 5000, 1, NOTHING, 5000),  # the server itself is the limit
        (100, 0.18, 5500, 70000, 1, COMMITS, 1 / (1 / 5500.0 + 0.00018)),  # one row
        (10, 90, None, 383, 0.5, NOTHING, 10 / 0.045),  # half of a mixed load commits
        # MySQL 5.5 and 5.6: acknowledgements go one after another, local commits do not.
        (10, 90, None, None, 1, ACKNOWLEDGEMENTS, 1 / 0.09),
        (10, 90, 500, 5000, 1, ACKNOWLEDGEMENTS, 1 / 0.09),
        (10, 90, 500, 5000, 0.5, ACKNOWLEDGEMENTS, 1 / 0.045),
        (1, 90, 500, 500, 1, ACKNOWLEDGEMENTS, 1 / 0.092),
        (50, 0.2, 400, 20000, 1, ACKNOWLEDGEMENTS, 5000),
        (5, 0.2, 400, 20000, 1, ACKNOWLEDGEMENTS, 5 / 0.0027),
        (50, 0.2, 400, 1500, 1, ACKNOWLEDGEMENTS, 1500),
        (1, 0, None, None, 1, NOTHING, None),
        (1, 0, None, None, 1, ACKNOWLEDGEMENTS, None),
    ],
)
def test_the_limit(clients, rtt, single, alike, waiting, turns, expected):
    assert throughput_limit.limit(clients, rtt, single, alike, waiting, turns) == (
        expected and pytest.approx(expected)
    )


@pytest.mark.parametrize(
    "same_row,point,together,expected",
    [
        (None, "AFTER_SYNC", True, NOTHING),
        (True, "AFTER_SYNC", True, COMMITS),
        (True, "AFTER_COMMIT", True, NOTHING),
        (None, "AFTER_COMMIT", False, ACKNOWLEDGEMENTS),
        (True, "AFTER_COMMIT", False, ACKNOWLEDGEMENTS),
        (True, "AFTER_SYNC", False, COMMITS),
    ],
)
def test_what_clients_take_turns_in(same_row, point, together, expected):
    assert throughput_limit.taken_in_turn(same_row, point, together) == expected


@pytest.mark.parametrize(
    "share,expected", [(0.4, True), (1.05, True), (1.06, False), (4.07, False)]
)
def test_a_cell_above_its_limit_refutes_it(share, expected):
    assert throughput_limit.holds(share) is expected


@pytest.mark.parametrize(
    "repetitions,share",
    [
        ([{"operations": 1000, "commits": 520}], 0.52),
        ([{"operations": 100, "commits": 130}], 1),
        ([], 1),
        ([{"operations": 100, "commits": None}], 1),
        ([{"operations": 100, "commits": None}, {"operations": 100, "commits": 50}], 0.5),
    ],
)
def test_the_share_that_waits(repetitions, share):
    assert throughput_limit.waiting_share(repetitions) == pytest.approx(share)


@pytest.mark.parametrize("commits,share", [(653, 0.553), (100, 0), (60, 0)])
def test_what_was_committed_before_the_clock_ran_is_no_part_of_the_share(commits, share):
    run = {"operations": 1000, "commits": commits}
    assert throughput_limit.waiting_share([run, run], 100) == pytest.approx(share)
