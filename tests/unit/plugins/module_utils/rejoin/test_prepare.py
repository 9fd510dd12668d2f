# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is done on a former source's host before it is a replica: its data are kept if there is
room, and it starts read-only.
"""

from __future__ import annotations

import dataclasses
import subprocess
import types

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils.host import process, server_options
from ansible_collections.dbre.semisync.plugins.module_utils.rejoin import offline_server, prepare
from ansible_collections.dbre.semisync.plugins.module_utils.role_change import read_only_dropin
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.look_plan import OptionFile
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.plan import (
    HoldPlan,
    RejoinPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import Names

UUID = "11111111-1111-1111-1111-111111111111"


class FailedError(Exception):
    """What fail_json says."""


class Module:
    """A host whose commands are carried out."""

    check_mode = False

    def run_command(self, words, **_keywords):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def get_bin_path(self, _name):
        return None

    def fail_json(self, **result):
        raise FailedError(result["msg"])


@pytest.fixture(name="datadir")
def fixture_datadir(tmp_path):
    folder = tmp_path / "mysql"
    (folder / "app").mkdir(parents=True)
    (folder / "app" / "t.ibd").write_bytes(b"x" * 5000)
    return folder


PLAN = RejoinPlan(
    down=False,
    missed=False,
    leaves=False,
    unit="mysql",
    datadir=None,
    option_file=None,
    lines=[],
    open_to_root=False,
    truncate=False,
    keep=True,
    timeout=30,
    run="2026-11-22T212901.605831Z",
    since="2026-11-22T212700",
)


def keep(datadir, **more):
    plan = dataclasses.replace(PLAN, datadir=str(datadir), **more)
    return prepare.copy_data(Module(), plan)


def test_old_data_are_copied_beside_the_data_directory_for_root_alone(datadir):
    kept = keep(datadir)
    copy = datadir.parent / "mysql-kept-2026-11-22T212901.605831Z"
    assert kept == {"kept": str(copy), "not_kept": ""}
    assert (copy / "app" / "t.ibd").read_bytes() == b"x" * 5000
    assert copy.stat().st_mode & 0o777 == 0o700
    assert (datadir / "app" / "t.ibd").exists()


def test_a_copy_of_a_run_before_is_enough_and_one_of_another_incident_is_not(datadir):
    parent = datadir.parent
    (parent / "mysql-kept-2026-11-21T212901.605831Z").mkdir()
    first = keep(datadir)["kept"]
    assert first.endswith("2026-11-22T212901.605831Z")
    (datadir / "app" / "t.ibd").write_bytes(b"later")
    assert keep(datadir, run="2026-11-22T213000.000000Z")["kept"] == first


def test_a_copy_that_was_interrupted_is_none(datadir):
    (datadir.parent / ("mysql-kept-2026-11-22T212800.000000Z" + prepare.PART)).mkdir()
    kept = keep(datadir)["kept"]
    assert kept.endswith("212901.605831Z")
    assert not list(datadir.parent.glob("*" + prepare.PART))


def test_where_there_is_no_room_it_is_said_and_nothing_is_copied(datadir, monkeypatch):
    full = types.SimpleNamespace(f_bavail=1, f_frsize=4096)
    monkeypatch.setattr(prepare.os, "statvfs", lambda _path: full)
    kept = keep(datadir)
    assert kept["kept"] == "" and "MB free" in kept["not_kept"]
    assert [path.name for path in datadir.parent.iterdir()] == ["mysql"]


@pytest.fixture(name="dead")
def fixture_dead(tmp_path, datadir, monkeypatch):
    """A server that does not run, with a log, and our lines in a drop-in."""
    (datadir / "binlog.index").write_text("./binlog.000001\n")
    options = {"datadir": str(datadir), "log-bin": "binlog", "pid-file": str(tmp_path / "pid")}
    running = process.Running(None, [], None, [], "")
    there = offline_server.OfflineServer("mysql", running, options)
    monkeypatch.setattr(offline_server, "find", lambda *_words: there)
    ours = {"path": str(tmp_path / "zz-dbre-semisync.cnf"), "kind": "drop-in", "group": "mysqld"}
    monkeypatch.setattr(server_options, "read_options", lambda *_words: ours)
    return HoldPlan(False, ["mysql"], "/usr/sbin/mysqld", "")


def test_a_dead_source_starts_read_only_whoever_starts_it(dead, tmp_path):
    done = prepare.hold(Module(), dead)
    text = (tmp_path / "zz-dbre-semisync-switchover.cnf").read_text()
    assert done == {"changed": True, "fence": str(tmp_path / "zz-dbre-semisync-switchover.cnf")}
    assert "[mysqld]\nread_only = ON\n" in text and "rejoin.yml" in text
    assert set(read_only_dropin.CLOSED) <= set(text.splitlines())
    assert prepare.unfence(Module(), OptionFile(**server_options.read_options(None))) == {
        "changed": True
    }
    assert not (tmp_path / "zz-dbre-semisync-switchover.cnf").exists()


def test_nothing_is_written_where_it_runs_by_now_or_is_not_found(dead, tmp_path, monkeypatch):
    monkeypatch.setattr(prepare.log_access, "running", lambda _files: "its process 7 is there")
    with pytest.raises(FailedError, match="is running by now"):
        prepare.hold(Module(), dead)

    def nowhere(*_words):
        raise offline_server.PlaceError("there is no unit mysql")

    monkeypatch.setattr(offline_server, "find", nowhere)
    with pytest.raises(FailedError, match="not read-only: there is no unit"):
        prepare.hold(Module(), dead)
    assert not (tmp_path / "zz-dbre-semisync-switchover.cnf").exists()


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
    prepare.take_no_more(Module(), PLAN)
    assert server.told == ["STOP REPLICA IO_THREAD"]
    # Whose applier has stopped is not waited for; the judge says so.
    assert server.applied == left
