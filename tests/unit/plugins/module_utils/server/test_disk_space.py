# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which file systems of a server count as full, and which are looked at."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._server import disk_space

MB = 2**20


@pytest.fixture(name="disks")
def fixture_disks(monkeypatch):
    """Folder -> (its device, megabytes of its file system, megabytes left)."""
    disks = {}

    class Stat:
        def __init__(self, folder):
            if folder not in disks:
                raise FileNotFoundError(folder)
            self.st_dev, size, left = disks[folder]
            self.f_blocks, self.f_bavail, self.f_frsize = size * 256, left * 256, 4096

    monkeypatch.setattr(disk_space.os, "stat", Stat)
    monkeypatch.setattr(disk_space.os, "statvfs", Stat)
    return disks


@pytest.mark.parametrize(
    ("size", "left", "full"),
    [
        (1000, 0, True),
        (1000, 7, True),
        (1000, 8, False),
        # Small, as /run/lock is, and nearly empty.
        (5, 4, False),
        (5, 0, True),
        # No disk, as /proc is none.
        (0, 0, False),
    ],
)
def test_a_disk_is_full_with_less_than_8_mb_of_it_left(disks, size, left, full):
    disks["/data"] = (1, size, left)
    assert disk_space.full_folders(["/data"]) == ({"/data": left * MB} if full else {})


def test_a_file_system_is_named_once_and_a_folder_that_is_not_there_is_left_out(disks):
    disks.update({"/data": (1, 1000, 1), "/data/relay": (1, 1000, 1), "/logs": (2, 1000, 3)})
    full = disk_space.full_folders(["/gone", "/data", "/data/relay", "/logs"])
    assert disk_space.words(full) == (
        "the file system of /data is full (1 MB left); the file system of /logs is full (3 MB left)"
    )
    assert disk_space.words({}) == ""


def test_a_server_s_folders_are_those_of_its_data_and_its_logs():
    variables = {
        "datadir": "/data/",
        "log_bin_basename": "/logs/binlog",
        "relay_log_basename": None,
    }
    assert disk_space.folders_of(variables)[:2] == ["/data/", "/logs"]
    assert disk_space.folders_of({"log_bin_basename": "binlog"})[:2] == [
        "/var/lib/mysql",
        "/var/lib/mysql/",
    ]


def test_a_server_that_cannot_be_asked_is_found_by_what_it_has_open(monkeypatch, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "logs").mkdir()
    program = (
        "import sys, time; log = open(sys.argv[1], 'w'); print('open', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "logs" / "binlog.000001")],
        cwd=tmp_path / "data",
        stdout=subprocess.PIPE,
    ) as process:
        try:
            assert process.stdout.readline() == b"open\n"
            with open(f"/proc/{process.pid}/comm", encoding="utf-8") as stream:
                name = stream.read().strip()
            assert str(tmp_path / "data") not in disk_space.likely_folders()
            monkeypatch.setattr(disk_space, "SERVERS", (name,))
            found = disk_space.likely_folders()
        finally:
            process.kill()
    assert found[0] == "/var/lib/mysql"
    assert {str(tmp_path / "data"), str(tmp_path / "logs")} <= {
        os.path.realpath(one) for one in found
    }
