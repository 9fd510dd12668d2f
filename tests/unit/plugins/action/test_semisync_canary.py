# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.action import semisync_canary
from ansible_collections.dbre.semisync.tests.unit.actions import runner


@pytest.fixture
def canary(monkeypatch, tmp_path):
    """Runs the action on a host of a captured pair; what hosts are given is in canary.given."""
    given = []

    def execute(self, module, arguments, task_vars):
        given.append((task_vars["inventory_hostname"], module.rpartition("_")[2], arguments))
        return {"written": []}

    monkeypatch.setattr(semisync_canary.Reaching, "_execute_module", execute)
    run = runner(semisync_canary.ActionModule, monkeypatch, tmp_path)
    run.given = given
    return run


def test_all_hosts_of_a_watch_have_one_token(canary):
    tokens = {canary(host, {"mode": "watch"})["token"] for host in ("db1", "db2")}
    assert len(tokens) == 1 and tokens == {one["token"] for _host, _module, one in canary.given}


def test_the_row_is_left_to_the_source(canary):
    assert canary("db2", {"watched_from": "info"})["skipped"]
    assert "skipped" not in canary("db1", {"watched_from": "info"})
    assert [(host, module) for host, module, _arguments in canary.given] == [("db1", "canary")]


def test_a_source_is_brought_back_by_a_row_that_is_not_counted(canary):
    login = {"login_user": "root", "keep": 5, "timeout": 15}
    canary("db1", {"watched_from": "info", "bring_back": True, **login})
    first, waited, second = (arguments for _host, _module, arguments in canary.given)
    assert first["token"] == f"{second['token']} back"
    assert waited == {
        "login_user": "root",
        "wait_for": {"source_status": True},
        "wait_timeout": 15,
    }


def test_a_token_that_is_given_is_kept(canary):
    canary("db1", {"token": "mine", "rows": 2})
    assert canary.given[0][2] == {"token": "mine", "rows": 2}
