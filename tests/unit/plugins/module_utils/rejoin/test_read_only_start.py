# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A former source starts read-only, whoever starts it."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import process, server_options
from ansible_collections.dbre.semisync.plugins.module_utils._rejoin import (
    offline_server,
    read_only_start,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import read_only_dropin
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import OptionFile
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import HoldPlan


class FailedError(Exception):
    """What fail_json says."""


class Module:
    """A host."""

    check_mode = False

    def __init__(self, printed="--read_only=ON"):
        self.printed = printed

    def run_command(self, *_words, **_keywords):
        return 0, self.printed, ""

    def fail_json(self, **result):
        raise FailedError(result["msg"])


@pytest.fixture(name="dead")
def fixture_dead(tmp_path, monkeypatch):
    """A server that does not run, with a log, and our lines in a drop-in."""
    datadir = tmp_path / "mysql"
    datadir.mkdir()
    (datadir / "binlog.index").write_text("./binlog.000001\n")
    options = {"datadir": str(datadir), "log-bin": "binlog", "pid-file": str(tmp_path / "pid")}
    running = process.Running(None, [], None, [], "")
    there = offline_server.OfflineServer("mysql", running, options)
    monkeypatch.setattr(offline_server, "find", lambda *_words: there)
    ours = {
        "path": str(tmp_path / "zz-dbre-semisync.cnf"),
        "kind": "drop-in",
        "group": "mysqld",
        "reader": "mysqld --print-defaults",
        "command_line": {},
    }
    monkeypatch.setattr(server_options, "read_options", lambda *_words: ours)
    return HoldPlan(False, ["mysql"], "/usr/sbin/mysqld", "")


def test_a_dead_source_starts_read_only_whoever_starts_it(dead, tmp_path):
    done = read_only_start.hold(Module(), dead)
    text = (tmp_path / "zz-dbre-semisync-switchover.cnf").read_text()
    assert done == {"changed": True, "fence": str(tmp_path / "zz-dbre-semisync-switchover.cnf")}
    assert "[mysqld]\nread_only = ON\n" in text and "rejoin.yml" in text
    assert set(read_only_dropin.CLOSED) <= set(text.splitlines())
    assert read_only_start.remove_option_file(
        Module(), OptionFile(**server_options.read_options(None))
    ) == {"changed": True}
    assert not (tmp_path / "zz-dbre-semisync-switchover.cnf").exists()


def test_nothing_is_written_where_it_runs_by_now_or_is_not_found(dead, tmp_path, monkeypatch):
    monkeypatch.setattr(
        read_only_start.log_access, "running", lambda _files: "its process 7 is there"
    )
    with pytest.raises(FailedError, match="is running by now"):
        read_only_start.hold(Module(), dead)

    def nowhere(*_words):
        raise offline_server.PlaceError("there is no unit mysql")

    monkeypatch.setattr(offline_server, "find", nowhere)
    with pytest.raises(FailedError, match="not read-only: there is no unit"):
        read_only_start.hold(Module(), dead)
    assert not (tmp_path / "zz-dbre-semisync-switchover.cnf").exists()


# As MySQL 9.7.4 and 8.0.45 write them, shortened.
AUTO = (
    '{"Version": 2, "mysql_dynamic_variables": {"read_only": {"Value": "OFF", "Metadata":'
    ' {"Host": "localhost", "User": "root", "Timestamp": 1764231400000000}}}}'
)
AUTO_8 = (
    '{"Version": 1, "mysql_server": {"max_connections": {"Value": "300", "Metadata": {}},'
    ' "mysql_server_static_options": {"read_only": {"Value": "OFF", "Metadata": {}}}}}'
)


@pytest.mark.parametrize(
    "printed,persisted,words",
    [
        ("--read_only=ON --read_only=OFF", "", "what is read later overrides that"),
        ("--read_only=ON", AUTO, "mysqld-auto.cnf has read_only = OFF"),
        ("--read_only=ON", AUTO_8, "mysqld-auto.cnf has read_only = OFF"),
        ("", "", "does not read that file"),
    ],
)
def test_a_fence_that_would_not_hold_is_said_and_stays(dead, tmp_path, printed, persisted, words):
    (tmp_path / "mysql" / "mysqld-auto.cnf").write_text(persisted)
    with pytest.raises(FailedError, match=words):
        read_only_start.hold(Module(printed), dead)
    assert (tmp_path / "zz-dbre-semisync-switchover.cnf").exists()


@pytest.mark.parametrize("persisted", ["", "{", '{"Version": 2}', AUTO.replace("OFF", "ON")])
def test_a_fence_that_nothing_overrides_holds(dead, tmp_path, persisted):
    (tmp_path / "mysql" / "mysqld-auto.cnf").write_text(persisted)
    assert read_only_start.hold(Module(), dead)["changed"]
