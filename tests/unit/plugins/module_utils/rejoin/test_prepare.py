# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A former source's server is made ready to be a replica."""

from __future__ import annotations

import dataclasses

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._rejoin import prepare, read_only_start
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import scheduled_events
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import OptionFile
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

from unit.plugins.module_utils.rejoin.rejoin_plans import PLAN

UUID = "11111111-1111-1111-1111-111111111111"


class Replica:
    """A server that applies one transaction a look; what it was told."""

    def __init__(self, applied, sql_running="Yes"):
        self.applied, self.sql_running, self.told = applied, sql_running, []

    def rows(self, statement, _arguments=None):
        self.told.append(statement)

    def channels(self, _names):
        self.applied += 1
        return [{"name": "", "sql_running": self.sql_running, "retrieved": f"{UUID}:1-5"}]


@pytest.mark.parametrize("running,left", [("Yes", 5), ("No", 2)])
def test_a_replica_that_missed_the_failover_takes_no_more_and_applies_what_it_has(
    monkeypatch, running, left
):
    server = Replica(1, running)
    names = Names("mysql", (9, 7, 4))
    monkeypatch.setattr(prepare.login, "connect", lambda _module: None)
    monkeypatch.setattr(prepare, "Server", lambda _connection: server)
    monkeypatch.setattr(prepare, "identify", lambda _server: names)
    monkeypatch.setattr(prepare, "global_text", lambda *_words: f"{UUID}:1-{server.applied}")
    monkeypatch.setattr(prepare, "POLL", 0)
    prepare.take_no_more(None, PLAN)
    assert server.told == ["STOP REPLICA IO_THREAD"]
    # Whose applier has stopped is not waited for; the judge says so.
    assert server.applied == left


class Reader:
    """A host whose option files say this."""

    def __init__(self, printed):
        self.printed = printed

    def run_command(self, *_words, **_keywords):
        return 0, self.printed, ""


@pytest.mark.parametrize(
    "printed,left", [("--read_only=ON --read_only=ON", False), ("--read_only=ON", True)]
)
def test_a_former_source_that_would_start_writable_keeps_the_line_that_keeps_it_read_only(
    tmp_path, monkeypatch, printed, left
):
    ours = OptionFile(str(tmp_path / "zz-dbre-semisync.cnf"), "drop-in", "mysqld", "mysqld")
    plan = dataclasses.replace(PLAN, option_file=ours)
    file = tmp_path / "zz-dbre-semisync-switchover.cnf"
    read_only_start.write_option_file(plan, ["event_scheduler = OFF"])
    monkeypatch.setattr(scheduled_events, "leave", lambda *_words: [])
    monkeypatch.setattr(scheduled_events, "scheduler", lambda *_words: "ON")
    monkeypatch.setattr(prepare, "run_steps", lambda *_words: None)
    host = Reader(printed)
    host.check_mode = False
    done = prepare.settle_as_replica(host, plan, None, Names("mariadb", (11, 8)))
    assert done == {"changed": True, "statements": []} and file.exists() is left
    if left:
        assert "\nread_only = ON\n" in file.read_text()
        assert "event_scheduler" not in file.read_text()


@pytest.mark.parametrize("down,keep,truncate", [(True, False, True), (False, True, False)])
def test_a_former_source_that_would_start_writable_is_neither_started_nor_stopped(
    down, keep, truncate, tmp_path
):
    ours = OptionFile(str(tmp_path / "zz-dbre-semisync.cnf"), "drop-in", "mysqld", "mysqld")
    plan = dataclasses.replace(
        PLAN,
        down=down,
        keep=keep,
        truncate=truncate,
        option_file=ours,
        datadir=str(tmp_path),
    )
    host, asked = Reader("--read_only=ON --read_only=OFF"), []
    host.check_mode, answer = False, host.run_command
    host.run_command = lambda words, **more: asked.append(words[0]) or answer(words, **more)
    with pytest.raises(read_only_start.ReadyError, match="Its server was not started"):
        prepare.ready(host, plan)
    assert asked == ["mysqld"]
    # Whoever starts it by hand does not cut its log.
    left = (tmp_path / "zz-dbre-semisync-switchover.cnf").read_text()
    assert "read_only = ON" in left and "init_rpl_role" not in left
