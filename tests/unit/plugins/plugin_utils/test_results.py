# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import datetime
import json
import os
import stat

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import results

MOMENT = datetime.datetime(2026, 11, 21, 11, 48, 47, 759394, tzinfo=datetime.UTC)


@pytest.mark.parametrize("name", ["default", "shop-eu_1", "shop.example.com", "K\u00f6ln"])
def test_an_ordinary_cluster_has_a_folder_of_its_name(tmp_path, name):
    assert results.cluster_folder(str(tmp_path), name) == str(tmp_path / name)


HOSTILE = [
    "",
    ".",
    "..",
    "...",
    "../../etc",
    "/etc/passwd",
    "a/b",
    "a_b ",
    "a b",
    "a\nb",
    "a\0b",
    ".hidden",
    "~root",
    "$(reboot)",
    "-rf",
    "x" * 5000,
    "x" * 5000 + "y",
    "\U0001f511/\U0001f511",
    "\u6f22" * 300,
]


def test_a_hostile_cluster_name_stays_inside_and_apart(tmp_path):
    folders = [results.cluster_folder(str(tmp_path), name) for name in [*HOSTILE, "a_b"]]
    assert len(set(folders)) == len(folders)
    for folder in folders:
        assert os.path.dirname(os.path.normpath(folder)) == str(tmp_path)
        os.makedirs(folder)
        assert results.open_run(folder, MOMENT)


def test_json_is_written_with_its_folders_and_read_back(tmp_path):
    path = str(tmp_path / "a" / "b.json")
    results.write_json(path, [{"id": "P0", "observed": "\u00fc"}])
    assert results.read_json(path, None) == [{"id": "P0", "observed": "\u00fc"}]
    with open(path) as stream:
        assert stream.read().endswith("]\n")


def test_json_is_replaced_whole_or_not_at_all(tmp_path):
    path = str(tmp_path / "b.json")
    results.write_json(path, {"old": True})
    with pytest.raises(TypeError):
        results.write_json(path, {"new": object()})
    assert results.read_json(path, None) == {"old": True}
    assert os.listdir(str(tmp_path)) == ["b.json"]


def test_the_folder_of_all_results_is_closed_unless_somebody_opened_it(tmp_path):
    for base, before, after in (("new", None, 0o700), ("opened", 0o750, 0o750)):
        if before:
            (tmp_path / base).mkdir(mode=before)
        run = results.open_run(results.cluster_folder(str(tmp_path / base), "shop"), MOMENT)
        results.record(results.cluster_folder(str(tmp_path / base), "crm"), [])
        assert stat.S_IMODE((tmp_path / base).stat().st_mode) == after
        assert stat.S_IMODE(os.stat(run).st_mode) & 0o700 == 0o700


def test_json_is_as_readable_as_the_umask_says(tmp_path):
    path = str(tmp_path / "b.json")
    before = os.umask(0o027)
    try:
        results.write_json(path, {})
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o640


@pytest.mark.parametrize("text", [None, "", '{"cut": ', "\x00"])
def test_a_file_that_is_missing_or_cut_short_is_no_failure(tmp_path, text):
    path = tmp_path / "b.json"
    if text is not None:
        path.write_text(text)
    assert results.read_json(str(path), {"otherwise": 1}) == {"otherwise": 1}


def test_latest_points_at_the_newest_run_relative_to_itself(tmp_path):
    folder = str(tmp_path / "shop")
    first = results.open_run(folder, MOMENT)
    second = results.open_run(folder, MOMENT + datetime.timedelta(microseconds=1))
    assert os.path.basename(first) == "2026-11-21T114847.759394Z"
    assert os.readlink(os.path.join(folder, "latest")) == os.path.basename(second)
    assert os.path.realpath(os.path.join(folder, "latest")) == os.path.realpath(second)
    assert sorted(os.listdir(folder)) == sorted(
        [os.path.basename(first), os.path.basename(second), "latest"]
    )


def test_moments_are_utc():
    assert results.stamp(MOMENT) == "2026-11-21T11:48:47Z"
    assert results.now().tzinfo is datetime.UTC


def test_observations_are_kept_one_by_one(tmp_path):
    folder = str(tmp_path / "shop")
    assert results.observations(folder) == {}
    results.record(folder, [{"id": "P2.1", "observed": "1 s"}])
    results.record(folder, [{"id": "P3.5", "observed": "0"}])
    results.record(folder, [{"id": "P2.1", "observed": "2 s"}])
    assert results.observations(folder) == {
        "P2.1": {"id": "P2.1", "observed": "2 s"},
        "P3.5": {"id": "P3.5", "observed": "0"},
    }
    with open(os.path.join(folder, "observations.json")) as stream:
        assert set(json.load(stream)) == {"P2.1", "P3.5"}


def test_a_run_adds_its_rows_to_those_of_the_run_it_names(tmp_path):
    folder = str(tmp_path / "shop")
    path = results.open_run(folder, MOMENT)
    results.keep_rows(
        path, [{"id": "P1.1", "host": "s", "outcome": "failed"}, {"id": "P0", "host": "s"}]
    )
    assert (
        results.open_run(folder, MOMENT + datetime.timedelta(hours=1), os.path.basename(path))
        == path
    )
    every = results.keep_rows(
        path, [{"id": "P6.0", "host": "s"}, {"id": "P1.1", "host": "s", "outcome": "passed"}]
    )
    assert [row["id"] for row in every] == ["P0", "P1.1", "P6.0"] and every[1][
        "outcome"
    ] == "passed"
    assert results.read_json(os.path.join(path, "checkpoints.json"), None) == every


def test_a_run_is_found_by_its_name_or_as_the_latest(tmp_path):
    folder = str(tmp_path / "shop")
    with pytest.raises(ValueError, match="no run in"):
        results.find_run(folder)
    path = results.open_run(folder, MOMENT)
    newest = results.open_run(folder, MOMENT + datetime.timedelta(hours=1))
    assert results.find_run(folder, os.path.basename(path)) == path
    assert os.path.basename(results.find_run(folder)) == os.path.basename(newest)
    with pytest.raises(ValueError, match="names no run"):
        results.find_run(folder, "..")


@pytest.mark.parametrize(
    "name", ["..", "../other/2026-01-31T120000.000000Z", "2026", "2026-01-31T120000.000000Z/x"]
)
def test_a_run_s_name_leads_nowhere_else(tmp_path, name):
    with pytest.raises(ValueError):
        results.open_run(str(tmp_path), MOMENT, name)


def test_a_private_file_is_nobody_elses_at_any_moment(tmp_path, monkeypatch):
    path = str(tmp_path / "rejoin.json")
    modes = []
    replace = os.replace

    def seen(source, target):
        modes.append(os.stat(source).st_mode & 0o777)
        replace(source, target)

    monkeypatch.setattr(results.os, "replace", seen)
    results.write_json(path, {"rows": []}, private=True)
    assert modes == [0o600] and os.stat(path).st_mode & 0o777 == 0o600


def test_results_that_cannot_be_written_say_where_and_what_to_do(tmp_path, monkeypatch):
    path = tmp_path / "default" / "state.json"
    results.write_text(str(path), "old")

    def full(_old, _new):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(results.os, "replace", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        results.write_text(str(path), "new")
    assert str(caught.value) == (
        f"the controller cannot write {path}: No space left on device. Make room there, or set"
        " semisync_results_dir to another folder"
    )
    assert path.read_text() == "old"
    assert os.listdir(path.parent) == ["state.json"]
