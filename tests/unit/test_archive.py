# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The run of the built archive leaves out no playbook."""

from __future__ import annotations

from pathlib import Path

from tools import archive

PROJECT = Path(__file__).resolve().parents[2]


def test_every_playbook_of_the_archive_is_run():
    assert not archive.playbooks_left_out(PROJECT)


def test_a_playbook_that_no_step_runs_is_named(tmp_path):
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "playbooks" / "another.yml").touch()
    assert archive.playbooks_left_out(tmp_path) == {"another"}
