# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A former source starts read-only, whoever starts it."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils.host import process, server_options
from ansible_collections.dbre.semisync.plugins.module_utils.rejoin import (
    offline_server,
    read_only_start,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change import read_only_dropin
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.look_plan import OptionFile
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.plan import HoldPlan


class FailedError(Exception):
    """What fail_json says."""


class Module:
    """A host."""

    check_mode = False

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
    ours = {"path": str(tmp_path / "zz-dbre-semisync.cnf"), "kind": "drop-in", "group": "mysqld"}
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
