# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import commit_model
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.commit_model import (
    AFTER_COMMIT,
    AFTER_SYNC,
    Reply,
)


def source(**changes) -> commit_model.Source:
    made = commit_model.Source(
        sessions=10, pause=0.0, work=0.001, log=0.0005, cpus=2, keeps_log=False
    )
    return made._replace(**changes)


@pytest.mark.parametrize("keeps_log", [False, True])
@pytest.mark.parametrize("wait_point", [AFTER_SYNC, AFTER_COMMIT])
def test_one_session_waits_for_each_round_trip(keeps_log, wait_point):
    one = source(sessions=1, keeps_log=keeps_log)
    reached = commit_model.simulate(one, wait_point, Reply(0.09))
    assert reached.rate == pytest.approx(1 / 0.0915, rel=0.02)
    assert reached.p50 == pytest.approx(0.0915, rel=0.02)


@pytest.mark.parametrize(
    "keeps_log,wait_point,least,most",
    [
        # Ten sessions that wait side by side would do 10 / 0.095 = 105 commits a second.
        (False, AFTER_SYNC, 98, 107),
        (False, AFTER_COMMIT, 100, 110),
        # Seen on MariaDB 10.11 at 90 ms: 56 % of it, see docs/evidence/benchmarks.md.
        (True, AFTER_SYNC, 60, 85),
        (True, AFTER_COMMIT, 100, 110),
    ],
)
def test_a_third_group_of_mariadb_waits_for_the_first(keeps_log, wait_point, least, most):
    reached = commit_model.simulate(source(keeps_log=keeps_log), wait_point, Reply(0.09))
    assert least < reached.rate < most


def test_sessions_that_pause_wait_for_less():
    busy = commit_model.simulate(source())
    resting = commit_model.simulate(source(pause=0.1))
    assert resting.rate == pytest.approx(10 / 0.1018, rel=0.05)
    assert resting.p50 < busy.p50
    # A round trip that is short beside the pause costs little.
    assert (
        commit_model.simulate(source(pause=0.1), AFTER_SYNC, Reply(0.005)).rate > 0.9 * resting.rate
    )


@pytest.mark.parametrize("sessions,cpus,rate", [(1, 2, 500), (10, 2, 800), (8, 32, 3000)])
def test_a_fitted_source_does_what_was_seen(sessions, cpus, rate):
    fitted = commit_model.fitted(source(sessions=sessions, cpus=cpus, log=0.0002), rate)
    assert commit_model.simulate(fitted).rate == pytest.approx(rate, rel=0.03)


def test_a_fitted_source_commits_in_groups_of_the_size_that_was_seen():
    fitted = commit_model.fitted(source(sessions=32, keeps_log=True), 900, 4.0)
    reached = commit_model.simulate(fitted)
    assert reached.group == pytest.approx(4.0, rel=0.1)
    assert reached.rate == pytest.approx(900, rel=0.05)


@pytest.mark.parametrize("wait_point", [AFTER_SYNC, AFTER_COMMIT])
def test_what_each_commit_costs_counts_for_all_of_a_group(wait_point):
    """With many sessions a group's own work hardly counts, and that for each commit does."""
    many = source(sessions=64, cpus=1, work=0.001, log=0.02)
    rates = [
        commit_model.simulate(many, wait_point, reply).rate
        for reply in (Reply(0.0), Reply(0.0, group=0.0005), Reply(0.0, each=0.0005))
    ]
    assert rates[1] > 0.9 * rates[0] and rates[2] < 0.75 * rates[0]


def test_a_prediction_is_the_same_every_time():
    assert commit_model.simulate(source()) == commit_model.simulate(source())
