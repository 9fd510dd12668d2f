# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host keeps to put everything back."""

from __future__ import annotations

import json
import os
import shutil
from unittest import mock

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils.load import kept, setting

KEPT = {
    "variables": {"sync_binlog": "1"},
    "io": True,
    "schemas": ["semisync_bench_1"],
    "accounts": [["semisync_bench_1", "%"]],
}


@pytest.fixture(name="guard")
def fixture_guard(monkeypatch, tmp_path):
    for name, path in (
        ("FOLDER", tmp_path / "run"),
        ("KEPT", tmp_path / "run" / "kept.json"),
        ("LASTING", tmp_path / "lasting.json"),
    ):
        monkeypatch.setattr(kept, name, str(path))
    monkeypatch.setattr(kept, "systemd_runs", lambda: True)
    monkeypatch.setattr(kept, "running", mock.Mock())
    monkeypatch.setattr(kept, "find_tool", lambda *_dummy, **_more: "/usr/bin/mysql")
    monkeypatch.setattr(kept, "client_options", lambda _params: "secret")
    guard = kept.Guard(mock.Mock())
    guard.timer = mock.Mock()
    return guard


@pytest.mark.parametrize("name", ["KEPT", "LASTING"])
@pytest.mark.parametrize("text", ["", '{"variables": {"sync_bin'])
def test_what_has_to_be_put_back_and_cannot_be_read_is_not_taken_for_nothing(guard, name, text):
    assert guard.kept() == {}
    guard.arm(KEPT, [], 60, {})
    path = getattr(kept, name)
    if name == "LASTING":
        shutil.rmtree(kept.FOLDER)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)
    with pytest.raises(kept.SettingError, match=rf"cannot be read: {path}"):
        guard.kept()


def test_what_a_reboot_does_not_undo_is_still_known_after_it(guard):
    guard.arm(KEPT, ["SET GLOBAL sync_binlog = 1"], 60, {})
    assert guard.kept() == KEPT
    shutil.rmtree(kept.FOLDER)
    after = guard.kept()
    assert after == {key: KEPT[key] for key in ("schemas", "accounts")}
    assert setting.restore_statements(mock.Mock(), after, {}) == [
        "DROP DATABASE IF EXISTS `semisync_bench_1`",
        "DROP USER IF EXISTS 'semisync_bench_1'@'%'",
    ]


def test_only_root_may_read_it_and_the_lasting_file_has_no_secret(guard):
    guard.arm(KEPT, [], 60, {})
    with open(kept.LASTING, encoding="utf-8") as stream:
        assert set(json.load(stream)) == {"schemas", "accounts"}
    files = [os.path.join(kept.FOLDER, name) for name in os.listdir(kept.FOLDER)]
    assert {os.stat(path).st_mode & 0o777 for path in [*files, kept.LASTING]} == {0o600}


def test_a_replica_has_nothing_that_lasts(guard):
    guard.arm(dict(KEPT, schemas=[], accounts=[]), [], 60, {})
    assert not os.path.exists(kept.LASTING)


def test_when_everything_is_back_nothing_is_kept(guard):
    guard.arm(KEPT, [], 60, {})
    guard.forget()
    assert guard.kept() == {} and guard.timer.disarm.called
    assert not os.path.exists(kept.LASTING) and not os.path.exists(kept.FOLDER)
    script = setting.restore_script("mysql")
    assert f"rm -rf {setting.FOLDER} {setting.LASTING}" in script
