# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard acts where its part ends without a message, and only there."""

from __future__ import annotations

import os
import signal
import syslog
import time
from types import SimpleNamespace

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.watchdog import (
    REPORT,
    Watchdog,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import disk_space


@pytest.fixture(name="logged")
def fixture_logged(monkeypatch, tmp_path):
    """The host's log, as a file."""
    file = tmp_path / "syslog"
    monkeypatch.setattr(syslog, "syslog", lambda _priority, words: file.write_text(words))
    return file


def part(mark, tell, then, seconds=30.0):
    """A process that has a guard; the guard's word is a file."""
    child = os.fork()
    if child == 0:
        warden = Watchdog(mark.write_text, seconds)
        for stage in tell:
            warden.report_stage(stage)
        then(warden)
        os._exit(0)
    os.waitpid(child, 0)


def appears(mark, seconds=5.0):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if mark.exists() and mark.read_text():
            return mark.read_text()
        time.sleep(0.02)
    return ""


def die(_warden):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("tell,stage", [(["begun"], "begun"), (["begun", "granted"], "granted")])
def test_a_part_that_is_killed_is_recovered_from_its_last_stage(tmp_path, tell, stage):
    part(tmp_path / "mark", tell, die)
    assert appears(tmp_path / "mark") == stage


def test_a_part_that_had_done_nothing_leaves_nothing_to_do(tmp_path):
    part(tmp_path / "mark", [], die)
    assert appears(tmp_path / "mark", 0.5) == ""


def test_a_part_that_came_to_its_end_is_left_alone(tmp_path):
    part(tmp_path / "mark", ["begun"], lambda warden: warden.end())
    assert appears(tmp_path / "mark", 0.5) == ""


def test_a_part_that_hangs_is_ended_first(tmp_path):
    begin = time.monotonic()
    part(tmp_path / "mark", ["begun"], lambda _warden: time.sleep(60), seconds=0.5)
    assert time.monotonic() - begin < 10
    assert appears(tmp_path / "mark") == "begun"


def module(print_result):
    def fail_json(msg):
        print_result(msg)

    return SimpleNamespace(fail_json=fail_json)


def hang_after(what):
    """A part that can say why it ends, does this, and then waits for its server."""

    def hang(warden):
        what(warden)
        time.sleep(60)

    return hang


@pytest.mark.parametrize("full", ["", "the file system of /d is full (0 MB left)"])
def test_a_part_that_hangs_says_why_it_ends_and_which_disk_is_full(tmp_path, monkeypatch, full):
    monkeypatch.setattr(disk_space, "full_here", lambda: full)
    said = tmp_path / "said"
    part(
        tmp_path / "mark",
        ["begun"],
        hang_after(lambda warden: warden.let_part_explain(module(said.write_text))),
        seconds=0.5,
    )
    told = "it was told to end, as its watchdog does after 0 s"
    assert said.read_text() == (f"{full}; {told}" if full else told)
    assert appears(tmp_path / "mark") == "begun"


def test_a_part_that_cannot_say_why_it_ends_is_ended_all_the_same(tmp_path):
    begin = time.monotonic()
    part(
        tmp_path / "mark",
        ["begun"],
        hang_after(lambda warden: warden.let_part_explain(module(lambda _words: time.sleep(60)))),
        seconds=0.5,
    )
    assert REPORT <= time.monotonic() - begin < 10
    assert appears(tmp_path / "mark") == "begun"


def test_a_part_that_has_reported_says_nothing_more(tmp_path):
    said = tmp_path / "said"

    def told_at_its_end(warden):
        warden.let_part_explain(module(said.write_text))
        warden.end()
        os.kill(os.getpid(), signal.SIGTERM)

    part(tmp_path / "mark", ["begun"], told_at_its_end)
    assert not said.exists()
    assert appears(tmp_path / "mark", 0.5) == ""


def fails(_stage):
    raise RuntimeError("Access\ndenied")


@pytest.mark.parametrize(
    "recover,said",
    [
        (fails, "and then: Access denied"),
        (lambda _stage: {"outcome": "unknown", "reason": "db2 is silent"}, "unknown db2 is silent"),
    ],
)
def test_what_became_of_a_killed_part_is_in_the_hosts_log(logged, recover, said):
    child = os.fork()
    if child == 0:
        Watchdog(recover, 30.0).report_stage("begun")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert said in appears(logged)
