# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import types

import pytest
from ansible_collections.dbre.semisync.plugins.modules import semisync_heartbeat

VARIABLES = {"port": "3306", "super_read_only": "OFF"}


class Server:
    """Answers whether a table, a view or an account is there, and keeps what it is told to do."""

    def __init__(self, *there):
        self.there, self.told = there, []

    def rows(self, statement, arguments=None):
        if statement.startswith("SELECT"):
            return [{"there": 1}] if arguments[-1] in self.there else []
        self.told.append(statement)
        return []

    def variables(self):
        return VARIABLES


@pytest.mark.parametrize(
    "there,missing",
    [
        ((), ["`a`.`semisync_heartbeat`", "`a`.`semisync_heartbeat_newest`"]),
        # Set up before there was a view.
        (("semisync_heartbeat",), ["`a`.`semisync_heartbeat_newest`"]),
        (("semisync_heartbeat", "semisync_heartbeat_newest"), []),
    ],
)
def test_the_source_creates_the_table_and_its_view(there, missing):
    names, statements = semisync_heartbeat.to_create(Server(*there), "a")
    assert names == missing
    assert bool(statements) is bool(missing)
    assert any("CREATE OR REPLACE" in words for words in statements) is bool(missing)


@pytest.mark.parametrize("check_mode", [False, True])
@pytest.mark.parametrize("there", [(), ("semisync_heartbeat_newest",)])
def test_each_host_drops_the_view_outside_its_binary_log(there, check_mode):
    module = types.SimpleNamespace(params={"schema": "a"}, check_mode=check_mode)
    server = Server("semisync_heartbeat", *there)
    steps = semisync_heartbeat.absent(module, server, VARIABLES, None)
    assert steps == ["drop `a`.`semisync_heartbeat_newest`" for name in there]
    told = [
        "SET SESSION sql_log_bin = 0",
        "DROP VIEW IF EXISTS `a`.`semisync_heartbeat_newest`",
        "SET SESSION sql_log_bin = 1",
    ]
    assert server.told == (told if there and not check_mode else [])
