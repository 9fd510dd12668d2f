# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils.seed import folders


@pytest.mark.parametrize(
    "path,kind", [("/var/lib/mysql", "ext4"), ("/var/lib/mysqlx", "overlay"), ("/", "overlay")]
)
def test_the_file_system_of_a_folder(tmp_path, path, kind):
    mounts = tmp_path / "mounts"
    mounts.write_text("overlay / overlay rw 0 0\n/dev/vda /var/lib/mysql ext4 rw 0 0\n")
    assert folders.file_system(path, str(mounts)) == kind


def test_old_files_move_whole_and_lost_and_found_stays(tmp_path):
    (tmp_path / "a" / "lost+found").mkdir(parents=True)
    (tmp_path / "a" / "shop").mkdir()
    (tmp_path / "b").mkdir()
    folders.move(str(tmp_path / "a"), str(tmp_path / "b"))
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["shop"]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["lost+found"]
