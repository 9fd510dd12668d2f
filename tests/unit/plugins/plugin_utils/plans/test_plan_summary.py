# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run with --check ends with."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import plan_summary
from ansible_collections.dbre.semisync.tests.unit import samples

ENGINES = ("mysql", "mariadb")


def test_nothing_is_said_of_hosts_on_which_nothing_would_change():
    assert plan_summary.summary(samples.plans(samples.pair("mysql")), 1) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_each_bare_server_has_a_line_replicas_first(engine):
    plans = samples.plans(samples.bare(engine, 2))
    lines = plan_summary.summary(plans, 1)
    assert [line.split()[0] for line in lines] == ["db2", "db3", "db1"]
    replica, source = lines[0], lines[2]
    assert "restarts once; writes /etc/" in replica and "its channel is set up" in replica
    assert "(server_id, " in replica and "the replication account is created" in source
    # What is there already is not new.
    assert "account" not in replica and "channel" not in source


@pytest.mark.parametrize(
    "side,stages,reasons,times",
    [
        ("source", 2, ["server_id is 1", "rpl_semi_sync_source_enabled is OFF"], 2),
        ("source", 1, ["server_id is 1", "rpl_semi_sync_source_enabled is OFF"], 1),
        # semi-sync is switched on at run time.
        ("source", 2, ["server_id is 1"], 1),
        ("replica", 2, ["rpl_semi_sync_replica_enabled is OFF"], 1),
        ("source", 2, [], 0),
    ],
)
def test_a_source_whose_replication_is_new_restarts_for_semi_sync_once_more(
    side, stages, reasons, times
):
    plan = {"side": side, "restart": bool(reasons), "restart_reasons": reasons}
    assert plan_summary.restarts(plan, stages) == times


def test_only_lines_that_are_new_are_named():
    step = {
        "before": "[mysqld]\nserver_id = 7\nsync_binlog = 0\n",
        "content": "[mysqld]\nserver_id = 7\nsync_binlog = 1\nloose_rpl_semi_sync_x = 1\n",
    }
    assert plan_summary.of_options(step) == " (sync_binlog, 1 of semi-sync)"
    assert plan_summary.of_options({"before": None, "content": None}) == ""


def test_of_many_hosts_some_are_counted():
    plans = samples.plans(samples.bare("mysql", 12))
    lines = plan_summary.summary(plans, 1)
    assert len(lines) == plan_summary.MOST + 1 and lines[-1] == "and 3 more hosts"
