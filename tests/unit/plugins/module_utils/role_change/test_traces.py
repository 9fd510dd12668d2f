# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a replica shows of its source's last time."""

from __future__ import annotations

import threading
import time

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host.files import read_text
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import traces
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

MYSQL, MARIADB = Names("mysql", (8, 4, 0), ()), Names("mariadb", (10, 11, 0), ())
OURS = read_text("/proc/self/comm").strip()


class Server:
    """Answers every statement with the same rows, or an error."""

    def __init__(self, rows=(), error=None):
        self.answer, self.error, self.asked = list(rows), error, []

    def rows(self, statement, _arguments=None):
        self.asked.append(statement)
        if self.error:
            raise ServerError(Exception(self.error, "no"))
        return self.answer


@pytest.fixture(name="thread")
def fixture_thread():
    """A thread of this process that was started a moment ago."""
    end, begun = threading.Event(), threading.Event()
    made = threading.Thread(target=lambda: (begun.set(), end.wait()))
    made.start()
    begun.wait()
    yield made.native_id
    end.set()
    made.join()


def test_a_thread_says_for_how_long_it_has_run(monkeypatch, thread):
    assert traces.thread_seconds(thread) is None, "it is no database server's"
    monkeypatch.setattr(traces, "SERVERS", (OURS,))
    assert traces.thread_seconds(thread) < 2
    time.sleep(1.1)
    assert 1 < traces.thread_seconds(thread) < 4
    assert traces.thread_seconds(2**30) is None


@pytest.mark.parametrize("names", [MYSQL, MARIADB])
def test_only_the_one_applier_s_thread_counts(monkeypatch, thread, names):
    monkeypatch.setattr(traces, "SERVERS", (OURS,))
    rows = [{"id": 5, "tid": thread}, {"id": 6, "tid": 1}, {"id": 7, "tid": None}]
    server = Server(rows)
    assert traces.applier_seconds(server, names, [5]) is not None
    for ids in ([], None, [5, 6], [7], [8]):
        assert traces.applier_seconds(server, names, ids) is None
    assert traces.applier_seconds(Server(error=1142), names, [5]) is None
    assert ("THREAD_OS_ID" in server.asked[0]) is (names is MYSQL)


@pytest.mark.parametrize("error", [1146, 1142, 1049, 2013])
def test_a_table_that_is_not_there_or_cannot_be_read_has_no_beats(error):
    assert traces.newest_beats(Server(error=error), "important") == []


def test_without_a_schema_nothing_is_asked():
    server = Server()
    assert traces.newest_beats(server, "") == []
    assert server.asked == []
