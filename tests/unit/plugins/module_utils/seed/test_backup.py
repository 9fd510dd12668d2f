# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import subprocess

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._seed import backup, folders, replica
from ansible_collections.dbre.semisync.plugins.module_utils._seed.seed_error import SeedError

MYSQL = 54321
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
# What `mbstream -x -C FOLDER` and `mariadb-backup --prepare --target-dir=FOLDER` do here.
STREAM = """#!/bin/sh
id -u > "$3/unpacked_by"
cat > "$3/stream"
printf 'log.1\\t4\\t0-1-42' > "$3/xtrabackup_binlog_info"
"""
BACKUP = """#!/bin/sh
for word; do folder=${word#--target-dir=}; done
id -u > "$folder/prepared_by"
"""


class Replica(replica.Replica):
    """A replica whose server is no process, and whose source sends a few bytes."""

    def __init__(self, folder, datadir):
        self.datadir, self.ran = str(datadir), []
        tools = {}
        for name, text in (("stream", STREAM), ("backup", BACKUP)):
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
            tools[name] = str(folder / name)
        params = {"unit": "mariadb", "tools": tools, "restart_timeout": 1}
        module = type("Module", (), {"params": params})()
        module.get_bin_path = lambda _name: None
        module.run_command = self.run_command
        marker = type("Marker", (), {"facts": {}, "write": lambda self, **f: self.facts.update(f)})
        super().__init__(module, marker(), type("Names", (), {"reset_binary_logs": "RESET"}))

    def run_command(self, words, **_keywords):
        if words[0] == "systemctl":
            return 0, "active", ""
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def variable(self, name):
        return self.datadir if name == "datadir" else ""

    def need_renames(self, folder):
        pass

    def need_space(self, folder):
        pass

    def stream(self):
        return type("Stream", (), {"close": lambda self: None})()

    def server(self):
        return type("Server", (), {"rows": lambda _self, *words: self.ran.append(words)})()


@pytest.fixture
def datadir(tmp_path):
    # The server's user has to come through to its data.
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and str(folder) != "/":
            folder.chmod(folder.stat().st_mode | 0o011)
    path = tmp_path / "data"
    path.mkdir()
    (path / "old").write_text("")
    return path


@as_root
def test_what_the_source_sent_is_unpacked_and_prepared_by_the_server_user(
    tmp_path, datadir, monkeypatch
):
    os.chown(datadir, MYSQL, MYSQL)
    monkeypatch.setattr(backup, "blocks", lambda _stream: [b"one", b"two"])
    one = Replica(tmp_path, datadir)
    one.backup()
    assert (datadir / "stream").read_text() == "onetwo"
    assert (datadir / "unpacked_by").read_text() == f"{MYSQL}\n"
    assert (datadir / "prepared_by").read_text() == f"{MYSQL}\n"
    assert (datadir / "stream").stat().st_uid == MYSQL and not (datadir / "old").exists()
    assert ("SET GLOBAL gtid_slave_pos = %s", ("0-1-42",)) in one.ran
    assert not (tmp_path / folders.WORK).exists()


@as_root
def test_a_data_directory_of_root_is_not_replaced(tmp_path, datadir):
    with pytest.raises(SeedError, match="belongs to root"):
        Replica(tmp_path, datadir).backup()
    assert (datadir / "old").exists()


def test_the_position_is_read_from_the_copy_and_no_link(tmp_path):
    (tmp_path / "shadow").write_text("root:secret")
    (tmp_path / backup.POSITIONS[1]).symlink_to(tmp_path / "shadow")
    folder = os.open(tmp_path, folders.FOLDER)
    with pytest.raises(SeedError, match="cannot be read") as caught:
        backup.position_of(folder)
    assert "secret" not in str(caught.value)
    os.close(folder)


@pytest.mark.parametrize("engine", ["mysql", "percona", "mariadb"])
def test_the_client_that_loads_a_dump_takes_no_commands_of_its_own_from_it(engine):
    words = replica.client_words("/usr/bin/mysql", "/f", engine)
    assert words[1] == "--defaults-file=/f"
    assert "--loose-binary-mode" in words and "--local-infile=0" in words
    assert ("--loose-sandbox" in words) is (engine == "mariadb")
