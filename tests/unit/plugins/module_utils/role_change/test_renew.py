# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A replica that connects anew keeps what it received and has not applied."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._replication import journal
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    participant,
    replica_part,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import (
    OptionFile,
    Peer,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    ChannelTls,
    SwitchoverPlan,
)

VERSIONS = {"mysql": "9.7.4", "mariadb": "10.11.19-MariaDB"}


class Server:
    """A replica with a backlog; on MariaDB it loses that where both threads stand and one starts.

    Its applier may be one that never runs, even if it is started.
    """

    def __init__(self, engine: str, io: str, sql: str, broken: bool) -> None:
        self.engine, self.io, self.sql, self.broken = engine, io, sql, broken
        self.kept = True
        self.statements: list[str] = []

    def rows(self, statement: str, _arguments: Any = None) -> list[dict[str, Any]]:
        if statement.startswith("SELECT @@version"):
            return [{"version": VERSIONS[self.engine], "comment": ""}]
        if statement.startswith("SELECT @@GLOBAL.gtid_slave_pos"):
            return [{"value": "0-1-100"}]
        if statement.startswith(("STOP", "START")):
            self.statements.append(statement)
            on, which = statement.startswith("START"), statement.split()[2:]
            if on and self.engine == "mariadb" and (self.io, self.sql) == ("No", "No"):
                self.kept = False
            if which in ([], ["IO_THREAD"]):
                self.io = "Yes" if on else "No"
            if which in ([], ["SQL_THREAD"]):
                self.sql = "Yes" if on and not self.broken else "No"
        return []

    def plugins(self) -> dict[str, Any]:
        return {}

    def applied(self, _names: Any) -> str:
        return "0-1-100" if self.engine == "mariadb" else ""

    def channels(self, _names: Any) -> list[dict[str, Any]]:
        one = {"name": "", "source_host": "db2", "source_port": 3306, "retrieved": "0-1-500"}
        error = "1062 Duplicate entry" if self.broken else ""
        errors = {"sql_error": error, "last_sql_error": error, "io_error": ""}
        return [dict(one, **errors, io_running=self.io, sql_running=self.sql)]


PLAN = SwitchoverPlan(
    mode="finish",
    part="replica",
    host="db3",
    token="feed",
    source="db1",
    target="db2",
    source_id="1",
    target_id="2",
    members=[Peer("db2", "db2", 3306, False)],
    user="repl",
    wait_count=1,
    timeout=10,
    drain=0,
    catch_up=10,
    schema="important",
    option_file=OptionFile("x", "block", "mysqld"),
    verdict="",
    ends_lock=False,
    connect_retry=1,
    tls=ChannelTls(False),
    long_transactions="refuse",
    events=False,
    event_states=None,
    super_read_only=False,
)


class Module:
    params: ClassVar[dict[str, object]] = {"password": "secret"}


def followed(monkeypatch: Any, server: Server) -> dict[str, Any]:
    monkeypatch.setattr(participant.Participant, "local", lambda _self: server)
    monkeypatch.setattr(participant.locks, "close", lambda _server: None)
    result: dict[str, Any] = replica_part.ReplicaPart(Module(), PLAN).following.follow(
        "db2", journal.DONE
    )
    return result


@pytest.mark.parametrize("engine", list(VERSIONS))
@pytest.mark.parametrize("io,sql", [("Yes", "Yes"), ("Connecting", "Yes"), ("Yes", "No")])
def test_what_was_received_is_kept_on_the_way_to_a_new_connection(monkeypatch, engine, io, sql):
    server = Server(engine, io, sql, broken=False)
    assert followed(monkeypatch, server)["outcome"] == "done"
    assert (server.kept, server.io, server.sql) == (True, "Yes", "Yes")
    assert any(words.startswith("STOP") for words in server.statements)


def test_one_that_does_not_apply_is_left_for_its_administrator(monkeypatch):
    server = Server("mariadb", "Yes", "No", broken=True)
    result = followed(monkeypatch, server)
    assert (result["outcome"], server.kept) == ("unknown", True)
    assert "db3 received 400 transactions of db2 that it does not apply" in result["reason"]


def test_one_whose_threads_stand_both_is_started(monkeypatch):
    server = Server("mariadb", "No", "No", broken=False)
    assert followed(monkeypatch, server)["outcome"] == "done"
    assert (server.io, server.sql) == ("Yes", "Yes")
