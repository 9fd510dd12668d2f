# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A scheduled event runs on one server, whichever is the source."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    cleanup,
    scheduled_events,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

MYSQL, OLD_MYSQL, MARIADB = (
    Names("mysql", (9, 7, 4)),
    Names("mysql", (8, 0, 36)),
    Names("mariadb", (10, 11, 19)),
)


def event(name: str, status: str) -> dict[str, Any]:
    made = {"definer": "root@localhost", "sql_mode": "", "time_zone": "SYSTEM"}
    return dict(made, schema="app", name=name, status=status)


class Server:
    """A server with events; `closed` while super_read_only keeps everybody out."""

    def __init__(self, *here: dict[str, Any], scheduler: str = "OFF", closed: bool = False) -> None:
        self.here, self.scheduler, self.closed = list(here), scheduler, closed
        self.said: list[str] = []
        self.channel: list[dict[str, Any]] = []

    def events(self) -> list[dict[str, Any]]:
        return self.here

    def variables(self) -> dict[str, str]:
        return {"super_read_only": "ON" if self.closed else "OFF"}

    def channels(self, _names: Any) -> list[dict[str, Any]]:
        return self.channel

    def rows(self, statement: str, _arguments: Any = None) -> list[dict[str, Any]]:
        self.said.append(statement)
        if "super_read_only = " in statement:
            self.closed = statement.endswith("ON")
        assert not (statement.startswith("ALTER") and self.closed)
        if "@@GLOBAL" in statement:
            return [{"value": self.scheduler if "event" in statement else "1"}]
        return []


def test_the_new_source_has_what_the_old_one_had():
    here = [
        event("on", "SLAVESIDE_DISABLED"),
        event("off", "REPLICA_SIDE_DISABLED"),
        event("new", "REPLICA_SIDE_DISABLED"),
        event("own", "ENABLED"),
    ]
    before = [event("on", "ENABLED"), event("off", "DISABLED"), event("own", "DISABLED")]
    steps, left = scheduled_events.take_over(here, before)
    assert [words for words, _arguments in steps if words.startswith("ALTER")] == [
        "ALTER DEFINER = 'root'@'localhost' EVENT `app`.`on` ENABLE",
        "ALTER DEFINER = 'root'@'localhost' EVENT `app`.`off` DISABLE",
    ]
    assert left == ["app.new"]
    assert scheduled_events.take_over(here, None) == ([], ["app.on", "app.off", "app.new"])


@pytest.mark.parametrize(
    "names,words",
    [
        (MYSQL, "DISABLE ON REPLICA"),
        (OLD_MYSQL, "DISABLE ON SLAVE"),
        (MARIADB, "DISABLE ON SLAVE"),
    ],
)
@pytest.mark.parametrize("closed", [False, True])
def test_a_replica_leaves_its_events_to_the_source_and_logs_that_nowhere(names, words, closed):
    server = Server(event("on", "ENABLED"), event("off", "DISABLED"), closed=closed)
    scheduled_events.leave(server, names)
    off, altered, on = (
        server.said.index(one)
        for one in (
            "SET SESSION sql_log_bin = 0",
            f"ALTER DEFINER = 'root'@'localhost' EVENT `app`.`on` {words}",
            "SET SESSION sql_log_bin = 1",
        )
    )
    assert off < altered < on and server.closed == closed
    assert not any("`off`" in one for one in server.said)
    assert scheduled_events.leave(Server(event("x", "REPLICA_SIDE_DISABLED")), names) == []


@pytest.mark.parametrize("running,starts", [("No", True), ("Yes", False)])
def test_an_old_source_whose_fence_kept_its_channel_from_starting_follows(running, starts):
    server = Server()
    server.channel = [{"name": "", "io_running": running, "sql_running": running}]
    plan = SimpleNamespace(
        mode="switch", part="source", super_read_only=True, scheduler_was_on=False
    )
    assert (("START REPLICA", None) in cleanup.steps(plan, server, MYSQL)) is starts
    plan.part = "replica"
    assert cleanup.steps(plan, server, MYSQL) == []
