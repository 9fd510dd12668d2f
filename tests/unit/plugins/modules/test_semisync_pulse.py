# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os
import time

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._canary import pulse
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.modules import semisync_pulse

ROW = {"at": 1.0, "latency_ms": 2.0, "status": "ON", "clients": 1, "yes_tx": 1, "no_tx": 0}


class Module:
    check_mode = False

    def __init__(self, **params):
        self.params = dict({"token": "t", "seconds": 0}, **params)

    def fail_json(self, msg, **more):
        raise SystemExit(msg)


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(pulse, "PATTERN", str(tmp_path / "pulse-%s"))
    return tmp_path / "pulse-t"


def lines(*items):
    return "".join(json.dumps(item) + "\n" for item in items)


def test_what_a_writer_wrote_in_its_last_moment_counts(file, monkeypatch):
    """It ends between two looks, with the row that was waited for."""
    file.write_text(lines({"pid": 7}))

    def alive(_header):
        file.write_text(lines({"pid": 7}, ROW))
        return False

    monkeypatch.setattr(semisync_pulse, "alive", alive)
    wanted = {"status": "ON", "clients": 1, "rows": 1}
    assert semisync_pulse.wait(Module(wait_for=wanted))["rows"] == [ROW]


def test_a_server_that_does_not_answer_is_told_at_once_and_not_waited_for(file, monkeypatch):
    """Its writer never came to its file, and no row will come."""
    monkeypatch.setattr(semisync_pulse.login, "require_driver", lambda module: None)

    def connect(_module):
        raise ServerError(Exception(2003, "Can't connect to MySQL server"))

    monkeypatch.setattr(semisync_pulse.login, "connect", connect)
    wanted = {"status": "ON", "clients": 1, "rows": 1}
    begin = time.monotonic()
    with pytest.raises(SystemExit, match="the server is not running"):
        semisync_pulse.wait(Module(wait_for=wanted, seconds=30))
    assert time.monotonic() - begin < 5
    # A writer that writes is asked nothing: its own words count.
    file.write_text(lines({"pid": 7}))
    monkeypatch.setattr(semisync_pulse, "alive", lambda header: True)
    with pytest.raises(SystemExit, match="0 rows so far"):
        semisync_pulse.wait(Module(wait_for=wanted))


def test_the_row_that_a_writer_is_at_when_it_is_ended_is_read(file, monkeypatch):
    file.write_text(lines({"pid": 7}, ROW))
    stream = open(file, "a")  # noqa: SIM115

    def alive(_header):
        assert not os.path.exists(file)
        stream.write(lines(ROW))
        stream.close()
        return False

    monkeypatch.setattr(semisync_pulse, "alive", alive)
    ended = semisync_pulse.end(Module())
    assert ended == {"changed": True, "rows": [ROW, ROW], "error": ""}


def test_a_writer_that_never_came_to_write_says_why_and_leaves_no_file(file):
    file.write_text(lines({"error": "the writer on the source failed: too many connections"}))
    ended = semisync_pulse.end(Module())
    assert "too many connections" in ended["error"] and not os.path.exists(file)
    assert semisync_pulse.end(Module()) == {"changed": False, "rows": [], "error": ""}
