# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real process that restarts the IO thread when time is up, and is dismissed."""

from __future__ import annotations

import secrets
import syslog
import time
from types import SimpleNamespace

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import io_thread_resume


def module_of(port):
    return SimpleNamespace(params={"login_unix_socket": "/run/x", "login_port": port})


def nothing():
    """There is nothing to restore."""


@pytest.fixture(name="name")
def fixture_name():
    token = secrets.token_hex(8)
    one, other = (module_of(port) for port in (3306, 3307))
    assert io_thread_resume.address(one, token) != io_thread_resume.address(other, token)
    return io_thread_resume.address(one, token)


def test_one_that_is_sent_away_does_nothing(name, tmp_path):
    io_thread_resume.leave(name, nothing, (tmp_path / "acted").touch, 1)
    assert io_thread_resume.release(name)
    assert not io_thread_resume.release(name)
    time.sleep(1.5)
    assert not (tmp_path / "acted").exists()


def test_one_that_nobody_comes_to_acts_and_cannot_be_sent_away_any_more(name, tmp_path):
    io_thread_resume.leave(name, nothing, (tmp_path / "acted").touch, 0.3)
    until = time.monotonic() + 20
    while not (tmp_path / "acted").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert (tmp_path / "acted").exists()
    assert not io_thread_resume.release(name)


def test_one_that_is_asked_to_stay_waits_as_long_again(name, tmp_path):
    io_thread_resume.leave(name, nothing, (tmp_path / "acted").touch, 1)
    for _round in range(5):
        time.sleep(0.5)
        assert io_thread_resume.renew(name)
    assert not (tmp_path / "acted").exists()
    until = time.monotonic() + 20
    while not (tmp_path / "acted").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert (tmp_path / "acted").exists()
    assert not io_thread_resume.renew(name)


def test_there_is_one_of_a_run_on_a_server(name, tmp_path):
    io_thread_resume.leave(name, nothing, (tmp_path / "acted").touch, 5)
    with pytest.raises(OSError):
        io_thread_resume.leave(name, nothing, (tmp_path / "twice").touch, 5)
    assert io_thread_resume.release(name)


def test_another_can_be_left_as_soon_as_one_is_gone(name, tmp_path):
    for _round in range(50):
        io_thread_resume.leave(name, nothing, (tmp_path / "acted").touch, 5)
        assert io_thread_resume.release(name)
    assert not (tmp_path / "acted").exists()


def test_what_its_run_has_changed_is_restored_before_it_acts(name, tmp_path):
    log = tmp_path / "log"

    def say(word):
        with log.open("a", encoding="utf-8") as lines:
            lines.write(word)

    io_thread_resume.leave(name, lambda: say("settled "), lambda: say("acted"), 0.1)
    until = time.monotonic() + 20
    while not (log.exists() and "acted" in log.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    assert log.read_text() == "settled acted"


def until_there(path):
    until = time.monotonic() + 20
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.05)
    return path.exists()


def test_the_next_run_takes_its_place(tmp_path):
    acted, settled = tmp_path / "acted", tmp_path / "settled"
    # Ports of no server, so that no other test's process is found.
    here, elsewhere = (module_of(secrets.randbelow(10**9) + 10**6) for _server in range(2))
    one, other = (io_thread_resume.address(here, token) for token in ("feed", "beef"))
    there = io_thread_resume.address(elsewhere, "feed")
    for name in (one, other, there):
        io_thread_resume.leave(name, settled.touch, acted.touch, 3)
    assert io_thread_resume.of_other_runs(here, "beef") == [one]
    io_thread_resume.take_over([one])
    assert until_there(settled)
    assert io_thread_resume.of_other_runs(here, "beef") == []
    # It is gone, as far as its own run can tell.
    assert not io_thread_resume.release(one)
    io_thread_resume.take_over([one])
    assert io_thread_resume.release(other) and io_thread_resume.release(there)
    time.sleep(4)
    assert not acted.exists()


def test_without_the_kernel_s_list_no_other_run_is_found(monkeypatch, tmp_path):
    monkeypatch.setattr(io_thread_resume, "LISTED", str(tmp_path / "none"))
    assert io_thread_resume.of_other_runs(module_of(3306), "beef") == []


def test_one_that_cannot_start_it_again_says_so_in_the_hosts_log(name, tmp_path, monkeypatch):
    log = tmp_path / "syslog"
    monkeypatch.setattr(syslog, "syslog", lambda _priority, words: log.write_text(words))

    def fail():
        raise RuntimeError("Too many connections")

    io_thread_resume.leave(name, nothing, fail, 0.1)
    until = time.monotonic() + 20
    while not (log.exists() and log.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    assert "was not started again: Too many connections" in log.read_text()
