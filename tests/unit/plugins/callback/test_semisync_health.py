# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest

callback = pytest.importorskip("ansible_collections.dbre.semisync.plugins.callback.semisync_health")

PROJECT = pathlib.Path(__file__).resolve().parents[4]
VERDICT = {"cluster": "shop", "health": "healthy", "verdict": "15 passed, 0 failed"}
BAD = {
    "cluster": "crm",
    "health": "unhealthy",
    "verdict": "12 passed, 3 failed: P3.4 on db1; critical: degraded on db1",
}
UNSEEN = {"cluster": "blog", "health": "unknown", "verdict": "14 passed, 0 failed, 1 unknown"}


class Result:
    """What a callback is given of a task on a host."""

    def __init__(self, host, action, values, delegate_to=None):
        self._result, self._task_fields = values, {"delegate_to": delegate_to}
        self._task = type("Task", (), {"action": action})()
        self._host = type("Host", (), {"get_name": lambda self: host})()


class Display:
    """Keeps what is displayed."""

    def __init__(self):
        self.lines = []

    def display(self, line):
        self.lines.append(line)


@pytest.fixture
def health(monkeypatch, tmp_path):
    monkeypatch.setattr(callback.closing.constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    module = callback.CallbackModule()
    module._display = Display()
    return module


def closing(module):
    module.v2_playbook_on_stats(None)
    return module._display.lines


def test_each_cluster_has_a_line(health):
    health.v2_runner_on_ok(Result("db1", "dbre.semisync.semisync_verdict", VERDICT))
    health.v2_runner_on_failed(Result("db3", "semisync_verdict", BAD))
    health.v2_runner_on_failed(Result("db5", "semisync_verdict", UNSEEN))
    assert closing(health) == [
        "semi-sync: cluster blog: UNKNOWN: 14 passed, 0 failed, 1 unknown",
        (
            "semi-sync: cluster crm: UNHEALTHY: 12 passed, 3 failed: P3.4 on db1; critical:"
            " degraded on db1"
        ),
        "semi-sync: cluster shop: healthy: 15 passed, 0 failed",
    ]


def test_who_could_not_be_reached_or_judged_is_named(health):
    health.v2_runner_on_unreachable(Result("db2", "ping", {}))
    health.v2_runner_on_unreachable(Result("db2", "semisync_unit", {}, delegate_to="db3"))
    health.v2_runner_on_failed(Result("db1", "assert", {"msg": "take the cluster\nwhole"}))
    assert closing(health) == [
        "semi-sync: UNREACHABLE: db2, db3",
        "semi-sync: no verdict: db1: take the cluster whole",
    ]


def test_a_playbook_of_something_else_has_no_line(health):
    health.v2_runner_on_ok(Result("db1", "copy", {"changed": True}))
    health.v2_runner_on_ok(Result("db2", "semisync_verdict", {"skipped": True}))
    assert closing(health) == []


def test_what_the_run_ends_with_by_itself_is_not_said_before(health):
    callback.closing.leave("shop", "health", ["semi-sync: cluster shop: healthy"])
    health.v2_runner_on_ok(Result("db1", "semisync_verdict", VERDICT))
    health.v2_runner_on_failed(Result("db3", "semisync_verdict", BAD))
    assert [line.split(":")[1] for line in closing(health)] == [" cluster crm"]


def test_a_host_that_another_takes_out_of_the_run_has_no_line(health):
    lost = (PROJECT / "roles" / "common" / "tasks" / "lost.yml").read_text()
    assert f"    that: {callback.ECHO}\n" in lost
    health.v2_runner_on_failed(Result("db2", "assert", {"msg": "cannot log in"}))
    health.v2_runner_on_failed(
        Result("db1", "assert", {"msg": "left as it is", "assertion": callback.ECHO})
    )
    assert closing(health) == ["semi-sync: no verdict: db2: cannot log in"]
