# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host's timers are renewed while the run lives, and no longer; the host here is a folder, and
the run a process that can be killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from unittest import mock

import pytest

lifeline = pytest.importorskip(
    "ansible_collections.dbre.semisync.plugins.plugin_utils._common.lifeline"
)

TIMER = "semisync-setting-1795271384112.timer"


class Action:
    """Stands for an action whose connection leads to a host with one timer."""

    _display = mock.Mock()

    def __init__(self, folder):
        self.folder = folder
        (folder / "timer").write_text("")

    def _low_level_execute_command(self, command):
        (self.folder / "group").write_text(str(os.getpgrp()))
        if (self.folder / "away").exists():
            raise ConnectionError("no route to host")
        if (self.folder / "hangs").exists():
            subprocess.run(["sleep", "300"], check=False)
        with open(self.folder / "signs", "a", encoding="utf-8") as stream:
            stream.write(command + "\n")
        there = (self.folder / "timer").exists()
        return {"rc": 0, "stdout": f"{TIMER} loaded active waiting x\n" if there else ""}

    def signs(self):
        path = self.folder / "signs"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def drop(self, name):
        (self.folder / name).unlink()

    def add(self, name):
        (self.folder / name).write_text("")


@pytest.fixture(name="action")
def fixture_action(tmp_path):
    return Action(tmp_path)


@pytest.fixture(name="run")
def fixture_run(monkeypatch):
    """A process in ansible-playbook's place."""
    process = subprocess.Popen(["sleep", "600"])
    monkeypatch.setattr(lifeline.os, "getppid", lambda: process.pid)
    for name, seconds in (("EVERY", 0.1), ("LOOK", 0.05), ("LEASE", 0.6)):
        monkeypatch.setattr(lifeline, name, seconds)
    yield process
    process.kill()
    process.wait()


@pytest.fixture(name="line")
def fixture_line(tmp_path, run):
    line = lifeline.Lifeline(str(tmp_path), "db1", ["semisync-setting-"])
    yield line
    line.release()


def soon(condition):
    """Whether it comes true, on a machine that may be busy."""
    for _look in range(200):
        if condition():
            return True
        time.sleep(0.05)
    return False


def silent(action):
    """Whether no sign of life arrives any more."""

    def unchanged():
        before = action.signs()
        time.sleep(0.4)
        return action.signs() == before

    return soon(unchanged)


def grows(action):
    """Whether signs of life arrive."""
    before = action.signs()
    return soon(lambda: action.signs() > before)


def ended_with_its_commands(action):
    """Whether the process that gave signs of life is gone, and each that it waited for."""
    group = (action.folder / "group").read_text()
    words = ["ps", "-e", "-o", "stat=,pgid="]
    text = subprocess.run(words, text=True, capture_output=True, check=True).stdout
    states = [line.split() for line in text.splitlines()]
    return group not in [owner for state, owner in states if not state.startswith("Z")]


def test_signs_of_life_end_with_the_run_that_is_killed(line, action, run):
    assert line.hold(action, 60)
    assert grows(action) and not line.lapsed()
    # Its parent does not wait for it: a zombie is not alive.
    os.kill(run.pid, signal.SIGKILL)
    assert silent(action) and soon(line.lapsed)


def test_a_run_that_is_stopped_gives_no_sign_of_life(line, action, run):
    assert line.hold(action, 60)
    os.kill(run.pid, signal.SIGSTOP)
    assert silent(action) and soon(line.lapsed)


def test_a_run_that_hangs_is_as_good_as_none(line, action):
    assert line.hold(action, 0.3)
    assert silent(action) and soon(line.lapsed)
    # It has gone on after all.
    assert line.hold(action, 60) and grows(action) and not line.lapsed()


def test_a_step_that_takes_long_is_held_all_the_while_by_one_process(line, action):
    assert line.hold(action, 60)
    for _look in range(6):
        time.sleep(0.2)
        assert not line.lapsed()
    line.start = None
    assert line.hold(action, 60)


def test_what_is_released_gets_no_more_signs(line, action):
    assert line.hold(action, 60)
    line.release()
    assert silent(action) and not line.lapsed()


def test_a_host_that_is_out_of_reach_has_lapsed_and_is_tried_again(line, action):
    assert line.hold(action, 60)
    action.add("away")
    assert soon(line.lapsed)
    action.drop("away")
    assert soon(lambda: not line.lapsed())


def test_a_host_that_has_put_everything_back_has_lapsed_although_it_answers(line, action):
    assert line.hold(action, 60) and grows(action)
    action.drop("timer")
    assert soon(line.lapsed) and grows(action) and line.lapsed()
    # Its timers are started anew.
    line.renewed(lifeline.clock())
    assert not line.lapsed()


def test_timers_that_are_not_there_yet_have_not_lapsed(line, action):
    action.drop("timer")
    assert line.hold(action, 60)
    time.sleep(0.8)
    assert not line.lapsed()


@pytest.mark.parametrize("trouble", ["away", "hangs"])
def test_a_host_that_cannot_be_reached_beside_a_task_is_said_to_be_so(
    line, action, monkeypatch, trouble
):
    monkeypatch.setattr(lifeline, "PATIENCE", 0.5)
    action.add(trouble)
    assert not line.hold(action, 60) and not line.lapsed()
    assert soon(lambda: ended_with_its_commands(action))
    # Later steps do not wait for that again.
    line.start = None
    assert not line.hold(action, 60)


def test_only_timers_of_these_kinds_are_renewed():
    assert lifeline.command(["semisync-setting-", "semisync-netem-rollback-"]) == (
        "systemctl try-restart 'semisync-setting-*.timer' 'semisync-netem-rollback-*.timer'"
        " >/dev/null 2>&1; systemctl list-units --plain --no-legend --no-pager --type=timer"
        " 'semisync-setting-*'"
    )


def test_hosts_do_not_share_a_lifeline(tmp_path):
    lines = [
        lifeline.Lifeline(str(tmp_path), host, prefixes)
        for host in ("db1", "db2/../x")
        for prefixes in (["semisync-setting-"], ["dbre-semisync-rescue-"])
    ]
    assert len({line.until for line in lines}) == 4
    assert {os.path.dirname(line.until) for line in lines} == {str(tmp_path)}
