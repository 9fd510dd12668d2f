# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hooks of a commit: what a message needs, and which tests the changed files touch."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tools import commit_message, touched

PROJECT = Path(__file__).resolve().parents[2]
GOOD = "Failover: stop the IO threads first\n\nA replica could acknowledge after it was read.\n"


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (GOOD, ""),
        ("# a comment of git\n" + GOOD, ""),
        ("x" * 72 + "\n\nWhy.\n", ""),
        ("x" * 73 + "\n\nWhy.\n", "73 characters"),
        ("Subject alone\n", "no body"),
        ("Subject\n\n# only a comment\n", "no body"),
        ("Subject\n\nSigned-off-by: A <a@example.org>\n", "no body"),
        ("Subject\nwithout an empty line\n", "empty"),
        ("Subject\n\n" + commit_message.SCISSORS + "\ndiff --git a b\n", "no body"),
        ("Merge branch 'main' into a-branch\n", ""),
        ("fixup! " + "x" * 80 + "\n", ""),
        ("", ""),
    ],
)
def test_a_message_has_a_short_subject_and_a_body(message, problem):
    found = commit_message.problems(message)
    assert bool(found) == bool(problem)
    assert problem in " ".join(found)


def test_the_hook_fails_with_what_is_wrong(tmp_path, capsys):
    path = tmp_path / "COMMIT_EDITMSG"
    path.write_text("Subject alone\n", encoding="utf-8")
    assert commit_message.main(str(path)) == 1
    assert "say why" in capsys.readouterr().err
    path.write_text(GOOD, encoding="utf-8")
    assert commit_message.main(str(path)) == 0


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("tests/unit/test_hooks.py", "tests/unit/test_hooks.py"),
        (
            "plugins/module_utils/_replication/gtids.py",
            "tests/unit/plugins/module_utils/replication/test_gtids.py",
        ),
        ("tests/tools/touched.py", "tests/unit/test_hooks.py"),
        ("roles/answer/files/places.py", "tests/unit/roles/test_places.py"),
        ("docs/failover.md", "tests/unit/test_words.py"),
    ],
)
def test_a_changed_file_runs_the_tests_that_it_touches(changed, expected):
    assert expected in touched.chosen([changed])


def test_a_file_of_common_use_runs_no_more_than_the_hook_has_time_for():
    files = touched.chosen(["tests/unit/samples.py", "plugins/plugin_utils/_common/member.py"])
    assert 0 < len(files) <= touched.MOST_FILES


def test_what_takes_minutes_is_left_out():
    assert touched.chosen(["tests/unit/test_protocol.py"]) == []
    assert all((PROJECT / "tests" / "unit" / name).exists() for name in touched.SLOW)


def test_nothing_is_run_for_what_no_test_touches():
    assert touched.main([]) == 0
    assert touched.chosen(["Makefile", "tests/unit/test_that_is_gone.py"]) == []


def test_what_takes_minutes_runs_before_a_push_and_not_before_a_commit():
    config = yaml.safe_load((PROJECT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert config["default_stages"] == ["pre-commit"]
    assert config["default_install_hook_types"] == ["pre-commit", "commit-msg"]
    (local,) = config["repos"]
    entries = {
        hook["id"]: hook["entry"] for hook in local["hooks"] if hook.get("stages") != ["pre-push"]
    }
    assert set(entries) == {"ruff", "ruff-format", "yamllint", "roles", "touched", "message"}
    assert not any("make " in entry or "ansible-lint" in entry for entry in entries.values())
