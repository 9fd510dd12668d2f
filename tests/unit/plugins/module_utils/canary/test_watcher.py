# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import time
import uuid

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._canary import wait, watcher

SERVER = {"login_unix_socket": "/run/mysqld/mysqld.sock", "login_port": 3306}


@pytest.fixture
def name():
    return watcher.address(uuid.uuid4().hex, SERVER)


def sees(ready):
    ready()
    time.sleep(0.2)
    return {"arrived": True, "arrived_at": 12.5}


def test_what_the_process_saw_is_told_to_who_asks(name, tmp_path):
    go = tmp_path / "go"

    def sees_later(ready):
        ready()
        deadline = time.monotonic() + 4
        while not go.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        return {"arrived": go.exists(), "arrived_at": 12.5}

    # It comes back while the process still waits.
    assert wait.leave_behind(name, 5, sees_later)
    go.touch()
    assert watcher.ask(name, 5) == {"arrived": True, "arrived_at": 12.5}


def test_a_process_that_was_asked_is_gone(name):
    wait.leave_behind(name, 5, sees)
    watcher.ask(name, 5)
    time.sleep(0.1)
    result = watcher.ask(name, 1)
    assert result["arrived"] is False and "the process that watches for the row" in result["msg"]


def test_asking_has_an_end(name):
    def never(ready):
        ready()
        time.sleep(3)
        return {}

    wait.leave_behind(name, 1, never)
    result = watcher.ask(name, 0.2)
    assert result["arrived"] is False and "was not seen within" in result["msg"]


def test_a_watch_that_fails_says_why(name):
    def fails(ready):
        raise ValueError("Access denied")

    assert wait.leave_behind(name, 5, fails) is False
    assert "Access denied" in watcher.ask(name, 5)["msg"]


def test_two_servers_of_a_host_have_watchers_of_their_own():
    other = dict(SERVER, login_port=3307)
    assert watcher.address("t", SERVER) != watcher.address("t", other)
    assert watcher.address("t", SERVER) == watcher.address("t", dict(SERVER))
