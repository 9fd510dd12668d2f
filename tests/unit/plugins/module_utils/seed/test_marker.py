# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import threading

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._seed import marker, marker_writing


def test_a_marker_is_whole_and_held_once(tmp_path, monkeypatch):
    monkeypatch.setattr(marker, "FOLDER", str(tmp_path / "state"))
    held_marker = marker_writing.Marker(3307, source="db1")
    assert marker.read_marker(3307) is None
    held_marker.hold()
    held_marker.write(state="loading")
    assert (
        marker.read_marker("3307")["state"] == "loading"
        and marker.read_marker(3307)["source"] == "db1"
    )
    other, waited = marker_writing.Marker(3307), []
    thread = threading.Thread(target=lambda: waited.append(other.hold() or True))
    thread.start()
    thread.join(0.2)
    assert waited == []
    held_marker.lock.close()
    thread.join(5)
    assert waited == [True]


class Away:
    """A server that answers at the given try."""

    def __init__(self, answers_at):
        self.tries, self.answers_at = 0, answers_at

    def __call__(self):
        self.tries += 1
        if self.tries < self.answers_at:
            raise ValueError("away")
        return "there"


def held(folder):
    held_marker = marker_writing.Marker(3306)
    held_marker.path = str(folder / "seed-3306.json")
    held_marker.lock = open(held_marker.path + ".lock", "w")  # noqa: SIM115
    marker.fcntl.flock(held_marker.lock, marker.fcntl.LOCK_EX)
    return held_marker


def test_a_server_that_a_seeding_restarts_is_waited_for(tmp_path):
    held_marker = held(tmp_path)
    assert marker.under_way(str(tmp_path))
    assert marker.patiently(Away(3), pause=0, folder=str(tmp_path)) == "there"
    with pytest.raises(ValueError):
        marker.patiently(Away(3), seconds=-1, pause=0, folder=str(tmp_path))
    held_marker.lock.close()
    assert not marker.under_way(str(tmp_path))


def test_a_server_that_nobody_seeds_is_not_waited_for(tmp_path):
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(ValueError):
            marker.patiently(Away(2), pause=0, folder=str(folder))


def test_a_source_remembers_that_the_clone_plugin_was_installed_for_a_seeding(tmp_path):
    note = marker_writing.Donor("3306", str(tmp_path / "new"))
    assert not note.exists()
    note.remove()
    note.write()
    assert marker_writing.Donor(3306, str(tmp_path / "new")).exists()
    note.remove()
    assert not note.exists()


@pytest.mark.parametrize(
    "facts,moment,ended",
    [
        ({}, 0, False),
        ({"state": "loading", "at": 50.0}, 0, False),
        ({"state": "done", "at": 50.0}, 0, True),
        ({"state": "done", "at": 50.0}, 50.0, False),
        ({"state": "done", "at": 90.0}, 50.0, True),
    ],
)
def test_a_seeding_that_ended_since_it_was_planned_is_not_done_again(facts, moment, ended):
    assert marker.ended_since(facts, moment) is ended


def test_who_may_not_see_whether_a_server_is_seeded_does_not_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(marker.os, "access", lambda path, mode: False)
    monkeypatch.setattr(marker.os, "listdir", lambda path: 1 / 0)
    assert not marker.under_way(str(tmp_path))
