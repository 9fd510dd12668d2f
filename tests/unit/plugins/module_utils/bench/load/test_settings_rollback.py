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
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load import (
    settings_rollback,
    temporary_settings,
)

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
        monkeypatch.setattr(settings_rollback, name, str(path))
    monkeypatch.setattr(settings_rollback, "systemd_runs", lambda: True)
    monkeypatch.setattr(settings_rollback, "running", mock.Mock())
    monkeypatch.setattr(settings_rollback, "find_tool", lambda *_dummy, **_more: "/usr/bin/mysql")
    monkeypatch.setattr(settings_rollback, "client_options", lambda _params: "secret")
    guard = settings_rollback.SettingsRollback(mock.Mock())
    guard.timer = mock.Mock()
    return guard


@pytest.mark.parametrize("name", ["KEPT", "LASTING"])
@pytest.mark.parametrize("text", ["", '{"variables": {"sync_bin'])
def test_what_has_to_be_put_back_and_cannot_be_read_is_not_taken_for_nothing(guard, name, text):
    assert guard.kept() == {}
    guard.arm(KEPT, [], 60, {})
    path = getattr(settings_rollback, name)
    if name == "LASTING":
        shutil.rmtree(settings_rollback.FOLDER)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)
    with pytest.raises(settings_rollback.SettingError, match=rf"cannot be read: {path}"):
        guard.kept()


def test_what_a_reboot_does_not_undo_is_still_known_after_it(guard):
    guard.arm(KEPT, ["SET GLOBAL sync_binlog = 1"], 60, {})
    assert guard.kept() == KEPT
    shutil.rmtree(settings_rollback.FOLDER)
    after = guard.kept()
    assert after == {key: KEPT[key] for key in ("schemas", "accounts")}
    assert temporary_settings.restore_statements(mock.Mock(), after, {}) == [
        "DROP DATABASE IF EXISTS `semisync_bench_1`",
        "DROP USER IF EXISTS 'semisync_bench_1'@'%'",
    ]


def test_only_root_may_read_it_and_the_lasting_file_has_no_secret(guard):
    guard.arm(KEPT, [], 60, {})
    with open(settings_rollback.LASTING, encoding="utf-8") as stream:
        assert set(json.load(stream)) == {"schemas", "accounts"}
    files = [
        os.path.join(settings_rollback.FOLDER, name)
        for name in os.listdir(settings_rollback.FOLDER)
    ]
    assert {os.stat(path).st_mode & 0o777 for path in [*files, settings_rollback.LASTING]} == {
        0o600
    }


def test_a_replica_has_nothing_that_lasts(guard):
    guard.arm(dict(KEPT, schemas=[], accounts=[]), [], 60, {})
    assert not os.path.exists(settings_rollback.LASTING)


def test_when_everything_is_back_nothing_is_kept(guard):
    guard.arm(KEPT, [], 60, {})
    guard.forget()
    assert guard.kept() == {} and guard.timer.disarm.called
    assert not os.path.exists(settings_rollback.LASTING) and not os.path.exists(
        settings_rollback.FOLDER
    )
    script = temporary_settings.restore_script("mysql")
    assert f"rm -rf {temporary_settings.FOLDER} {temporary_settings.LASTING}" in script
