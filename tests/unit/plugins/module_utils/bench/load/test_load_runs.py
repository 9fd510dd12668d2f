# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.module_utils._bench.load import load_runs
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError


class Dropping:
    """A server that fails so often before it drops a schema."""

    def __init__(self, failures):
        self.failures, self.asked = failures, []

    def rows(self, statement):
        self.asked.append(statement)
        if len(self.asked) <= self.failures:
            raise ServerError(Exception(2013, "Lost connection to MySQL server"))


def test_a_schema_is_dropped_by_a_server_that_was_away(monkeypatch):
    monkeypatch.setattr(load_runs.time, "sleep", lambda _seconds: None)
    monkeypatch.setattr(load_runs, "Server", lambda connected: connected)
    back = Dropping(0)
    answers = [ServerError(Exception(2002, "nobody listens")), back]

    def connect(_module):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(load_runs.login, "connect", connect)
    before = Dropping(9)
    assert load_runs.drop(None, before, "s") == ("", back)
    assert (len(before.asked), back.asked) == (2, ["DROP DATABASE IF EXISTS `s`"])


def test_a_schema_that_stays_is_named_with_its_reason(monkeypatch):
    monkeypatch.setattr(load_runs, "PATIENCE", 0)
    server = Dropping(9)
    words, _server = load_runs.drop(None, server, "s")
    assert "Lost connection" in words or words == "the server did not answer in time"
