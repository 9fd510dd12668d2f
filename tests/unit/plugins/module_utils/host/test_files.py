# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import gzip
import os

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import file_writing, files


def test_any_byte_becomes_text(tmp_path):
    path = tmp_path / "comm"
    path.write_bytes(b"sshd\xff")
    assert files.read_text(str(path)) == files.text_if_any(str(path)) == "sshd\ufffd"


def test_a_packed_file_is_unpacked(tmp_path):
    path = tmp_path / "config.gz"
    path.write_bytes(gzip.compress(b"CONFIG_NET_SCH_NETEM=m\n"))
    assert files.text_if_any(str(path)) == "CONFIG_NET_SCH_NETEM=m\n"
    path.write_bytes(b"no such thing")
    assert files.text_if_any(str(path)) == ""


def test_a_file_that_is_not_there(tmp_path):
    assert files.text_if_any(str(tmp_path / "none")) == ""
    with pytest.raises(OSError):
        files.read_text(str(tmp_path / "none"))


def test_a_file_is_replaced_whole_and_keeps_its_owner_and_mode(tmp_path):
    path = tmp_path / "my.cnf"
    file_writing.replace(str(path), "new", 0o644)
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o644)
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 54321, 54322)
    before = path.stat()
    file_writing.replace(str(path), "newer", 0o644)
    after = path.stat()
    assert path.read_text() == "newer" and [entry.name for entry in tmp_path.iterdir()] == [
        "my.cnf"
    ]
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )


def test_a_file_is_not_replaced_through_a_link(tmp_path):
    victim = tmp_path / "shadow"
    victim.write_text("secret")
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "my.cnf").symlink_to(victim)
    with pytest.raises(OSError, match="is not a regular file"):
        file_writing.replace(str(folder / "my.cnf"), "new")
    assert victim.read_text() == "secret"
    assert [entry.name for entry in folder.iterdir()] == ["my.cnf"]
