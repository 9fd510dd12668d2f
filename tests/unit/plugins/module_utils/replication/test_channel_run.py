# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._replication import channel_run
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.tests.unit import samples

REFUSED = "error connecting to source: Can't connect (111)"
AGAIN = ["STOP REPLICA IO_THREAD", "START REPLICA IO_THREAD"]


class FailedError(Exception):
    """In place of the end of the module."""


class Module:
    check_mode = False

    def __init__(self, wait):
        self.params = {"wait": wait}

    def fail_json(self, msg, **more):
        raise FailedError(msg)


class Server:
    """A replica whose source answers to a try after so many that fail. A try takes two looks; after
    one that failed the server waits for its connect_retry, here for ever.
    """

    def __init__(self, fails, state="Connecting", error=REFUSED):
        self.fails, self.ran, self.looks = fails, [], 0
        self.state, self.error = state, error

    def rows(self, statement, arguments=None):
        self.ran.append(statement)
        if statement.startswith("START"):
            self.state, self.error, self.looks = "Connecting", "", 2
        return []

    def channels(self, dummy):
        if self.looks:
            self.looks -= 1
            if not self.looks:
                self.fails -= 1
                self.state = "Yes" if self.fails < 0 else "Connecting"
                self.error = "" if self.fails < 0 else REFUSED
        now = dict(samples.captured("mysql", "replica")["channel"])
        return [dict(now, io_running=self.state, last_io_error=self.error)]


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(channel_run, "POLL_SECONDS", 0)
    monkeypatch.setattr(channel_run, "AGAIN_SECONDS", 0)


def reconnected(server, wait=5):
    replica = channel_run.Replica(Module(wait), server, Names("mysql", (9, 7, 4)))
    replica.reconnect()
    return server.ran


@pytest.mark.parametrize("fails,times", [(0, 1), (2, 3)])
def test_a_replica_tries_again_at_once_until_its_source_answers(fails, times):
    assert reconnected(Server(fails)) == AGAIN * times


@pytest.mark.parametrize("state", ["Yes", "No"])
def test_an_io_thread_that_is_connected_or_was_stopped_is_left_alone(state):
    assert reconnected(Server(0, state)) == []


def test_a_source_that_does_not_come_back_is_told_with_the_channels_own_error(monkeypatch):
    monkeypatch.setattr(channel_run, "AGAIN_SECONDS", 3600)
    server = Server(9)
    with pytest.raises(FailedError, match=r"does not reach its source: IO thread Conn.*\(111\)"):
        reconnected(server, wait=0.05)
    # One try a pause, however often it looks.
    assert server.ran == AGAIN
