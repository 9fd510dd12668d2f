# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._canary import write
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

NAMES = Names("mysql", (9, 7, 4))
COLUMNS = [{"name": name} for name in ("id", "details", "happened")]


class Server:
    """A source, with its replicas, the switch of semi-sync and the canary's table or without."""

    def __init__(self, replicas=0, enabled=None, table=False):
        self.replicas, self.enabled, self.table, self.asked = replicas, enabled, table, []

    def rows(self, statement, arguments=None):
        self.asked.append(statement)
        if "information_schema.COLUMNS" in statement:
            return COLUMNS if self.table else []
        return [{"id": 1}]

    def variables(self):
        return {"rpl_semi_sync_source_enabled": self.enabled} if self.enabled else {}

    def semisync_status(self):
        return {}

    def senders(self):
        return list(range(self.replicas))

    def wrote(self):
        return any(statement.startswith(("CREATE", "INSERT")) for statement in self.asked)


class Module:
    check_mode = False

    def __init__(self, only_followed):
        self.params = {
            "schema": "important",
            "table": "stuff",
            "rows": 1,
            "keep": 1000,
            "token": "t",
            "timeout": 5,
            "only_followed": only_followed,
        }


@pytest.mark.parametrize(
    "server,writes",
    [
        # Never set up: what would be written there, its replicas would lack.
        (Server(), False),
        (Server(enabled="OFF"), False),
        (Server(enabled="ON"), True),
        (Server(replicas=1), True),
        # Its replicas are away, and have been there.
        (Server(table=True), True),
    ],
)
def test_nothing_is_left_on_a_server_that_nobody_follows(monkeypatch, server, writes):
    monkeypatch.setattr(write.login, "connect", lambda module: None)
    monkeypatch.setattr(write, "Server", lambda cursor: server)
    result = write.write_canary(Module(True), server, NAMES)
    assert (server.wrote(), result["changed"], bool(result["written"])) == (writes,) * 3
    assert ("no row was written" in result.get("msg", "")) is not writes


def test_who_asks_for_a_row_gets_it_wherever(monkeypatch):
    server = Server()
    monkeypatch.setattr(write.login, "connect", lambda module: None)
    monkeypatch.setattr(write, "Server", lambda cursor: server)
    assert write.write_canary(Module(False), server, NAMES)["created"] and server.wrote()
