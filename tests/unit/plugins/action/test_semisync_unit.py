# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from unittest import mock

import pytest

unit = pytest.importorskip("ansible_collections.dbre.semisync.plugins.action.semisync_unit")


class Lifeline:
    """Keeps what was asked of it, in order with the module's calls."""

    def __init__(self, log, reached, host):
        self.log, self.reached, self.host = log, reached, host

    def hold(self, _action, seconds):
        self.log.append(("hold", self.host, seconds))
        return self.reached

    def release(self):
        self.log.append(("release", self.host))


def call(monkeypatch, reached=True, check_mode=False, delegate_to="db2", fails=None, **options):
    """What happened, and the options that the module was called with."""
    log, modules = [], []
    monkeypatch.setattr(
        unit, "Lifeline", lambda _folder, host, _prefixes: Lifeline(log, reached, host)
    )
    task = mock.Mock(check_mode=check_mode, async_val=0, diff=False, delegate_to=delegate_to)
    task.args = options
    action = unit.ActionModule(
        task, mock.MagicMock(), mock.MagicMock(), None, mock.MagicMock(), None
    )

    def module(module_args, task_vars):
        log.append("module")
        modules.append(module_args)
        if fails:
            raise fails
        return {"changed": True}

    action._execute_module = module
    try:
        action.run(task_vars={"inventory_hostname": "db1"})
    except ConnectionError:
        log.append("failed")
    return log, modules[0]


def test_signs_of_life_begin_before_the_unit_stops_and_end_when_it_runs(monkeypatch):
    log, options = call(monkeypatch, unit="mysql", state="stopped", after=130)
    # With the 60 s that the timer has after the last of them, 130 s in all.
    assert log == [("hold", "db2", 70), "module"] and options["after"] == 60
    log, _options = call(monkeypatch, unit="mysql", state="started")
    assert log == ["module", ("release", "db2")]


@pytest.mark.parametrize("more", [{"reached": False}, {"check_mode": True}])
def test_without_signs_of_life_the_timer_has_all_its_time(monkeypatch, more):
    _log, options = call(monkeypatch, unit="mysql", state="stopped", after=130, **more)
    assert options["after"] == 130


def test_a_timer_that_is_due_soon_needs_no_sign_of_life(monkeypatch):
    log, options = call(monkeypatch, unit="mysql", state="stopped", after=60)
    assert log == ["module"] and options["after"] == 60


def test_a_start_that_fails_leaves_it_to_the_timer(monkeypatch):
    log, _options = call(
        monkeypatch, unit="mysql", state="started", fails=ConnectionError("no route")
    )
    assert log == ["module", ("release", "db2"), "failed"]


def test_without_a_delegate_it_is_the_host_itself(monkeypatch):
    log, _options = call(monkeypatch, state="rescued", delegate_to=None)
    assert log == ["module", ("release", "db1")]
