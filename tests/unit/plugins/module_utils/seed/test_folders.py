# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._seed import folders


@pytest.mark.parametrize(
    "path,kind", [("/var/lib/mysql", "ext4"), ("/var/lib/mysqlx", "overlay"), ("/", "overlay")]
)
def test_the_file_system_of_a_folder(tmp_path, path, kind):
    mounts = tmp_path / "mounts"
    mounts.write_text("overlay / overlay rw 0 0\n/dev/vda /var/lib/mysql ext4 rw 0 0\n")
    assert folders.file_system(path, str(mounts)) == kind


MYSQL = 54321
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")


@pytest.fixture
def data(tmp_path):
    """A data directory of the server's user below a folder of its, and an open copy."""
    home = tmp_path / "home"
    data = home / "data"
    (data / "shop").mkdir(parents=True)
    (data / "lost+found").mkdir()
    (data / "shop" / "t.ibd").write_text("old")
    if os.geteuid() == 0:
        for path in (home, data):
            os.chown(path, MYSQL, MYSQL)
    copy = folders.Folders(str(data))
    yield data, copy
    copy.close()


def names(path):
    return sorted(entry.name for entry in path.iterdir())


def test_the_copy_takes_the_place_of_the_data_and_lost_and_found_stays(data):
    path, copy = data
    copy.make()
    new = path.parent / folders.WORK / "new"
    (new / "bank").mkdir()
    copy.swap()
    assert names(path) == ["bank", "lost+found"]
    assert names(path.parent / folders.WORK / "old") == ["shop"]
    copy.swap_back()
    assert names(path) == ["lost+found", "shop"] and names(new) == ["bank"]
    copy.remove()
    assert names(path.parent) == ["data"]


@as_root
def test_the_server_user_writes_in_the_folder_of_the_copy_only(data):
    path, copy = data
    copy.make()
    work = path.parent / folders.WORK
    owners = [
        (folder.stat().st_uid, folder.stat().st_mode & 0o777)
        for folder in (work, work / "old", work / "new")
    ]
    assert owners == [(0, 0o710), (0, 0o700), (MYSQL, 0o700)]


def test_what_is_moved_is_what_was_made_whoever_has_its_name_by_now(data, tmp_path):
    path, copy = data
    copy.make()
    victim = tmp_path / "etc"
    victim.mkdir()
    (victim / "shadow").write_text("secret")
    work = path.parent / folders.WORK
    (work / "new" / "bank").mkdir()
    # As the server's user may, who owns the folder above.
    work.rename(path.parent / "away")
    work.mkdir()
    (work / "new").symlink_to(victim)
    copy.swap()
    assert names(path) == ["bank", "lost+found"] and names(victim) == ["shadow"]
    assert names(path.parent / "away" / "old") == ["shop"]
    copy.remove()
    assert names(victim) == ["shadow"]


def test_nothing_that_a_link_leads_to_is_removed_or_worked_in(data, tmp_path):
    path, copy = data
    victim = tmp_path / "etc"
    victim.mkdir()
    (victim / "shadow").write_text("secret")
    (path.parent / folders.WORK).symlink_to(victim)
    with pytest.raises(OSError):
        copy.make()
    assert names(victim) == ["shadow"]


def test_a_data_directory_that_is_a_link_by_now_is_refused(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "etc")
    with pytest.raises(OSError):
        folders.Folders(str(tmp_path / "data"))


def test_root_reads_no_file_of_another_host_through_a_link(tmp_path):
    (tmp_path / "shadow").write_text("secret")
    (tmp_path / "info").symlink_to(tmp_path / "shadow")
    (tmp_path / "plain").write_text("file\t4\t0-1-2")
    folder = os.open(tmp_path, folders.FOLDER)
    assert folders.read_in_folder(folder, "plain") == "file\t4\t0-1-2"
    with pytest.raises(OSError):
        folders.read_in_folder(folder, "info")
    os.close(folder)
