# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A former source's data are copied aside if there is room."""

from __future__ import annotations

import dataclasses
import subprocess
import types

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._rejoin import old_data

from unit.plugins.module_utils.rejoin.rejoin_plans import PLAN


class Module:
    """A host whose commands are carried out."""

    def run_command(self, words, **_keywords):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr


@pytest.fixture(name="datadir")
def fixture_datadir(tmp_path):
    folder = tmp_path / "mysql"
    (folder / "app").mkdir(parents=True)
    (folder / "app" / "t.ibd").write_bytes(b"x" * 5000)
    return folder


def keep(datadir, **more):
    plan = dataclasses.replace(PLAN, datadir=str(datadir), **more)
    return old_data.copy_aside(Module(), plan)


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
    (datadir.parent / ("mysql-kept-2026-11-22T212800.000000Z" + old_data.PART)).mkdir()
    kept = keep(datadir)["kept"]
    assert kept.endswith("212901.605831Z")
    assert not list(datadir.parent.glob("*" + old_data.PART))


def test_where_there_is_no_room_it_is_said_and_nothing_is_copied(datadir, monkeypatch):
    full = types.SimpleNamespace(f_bavail=1, f_frsize=4096)
    monkeypatch.setattr(old_data.os, "statvfs", lambda _path: full)
    kept = keep(datadir)
    assert kept["kept"] == "" and "MB free" in kept["not_kept"]
    assert [path.name for path in datadir.parent.iterdir()] == ["mysql"]
