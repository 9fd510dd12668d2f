# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left of a fence when the role has moved."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils.role_change import (
    cleanup,
    read_only_dropin,
)


class Host:
    """A host whose option files, without the fence, say this."""

    check_mode = False

    def __init__(self, printed: str) -> None:
        self.printed = printed

    def run_command(self, *_words: Any, **_keywords: Any) -> tuple[int, str, str]:
        return 0, self.printed, ""


def settled(file, part, printed):
    """Whether a fence in a file changes, and what the file has then."""
    ours = SimpleNamespace(path=str(file), kind="block", group="mysqld", reader="true")
    plan = SimpleNamespace(part=part, option_file=ours)
    return cleanup.take_fence_away(Host(printed), plan), file.read_text()


@pytest.fixture(name="file")
def fixture_file(tmp_path):
    file = tmp_path / "my.cnf"
    file.write_text("[mysqld]\nserver_id = 1\n")
    read_only_dropin.put(str(file), "block", "mysqld")
    return file


@pytest.mark.parametrize(
    "part,printed", [("source", "--read_only=1"), ("target", ""), ("target", "--read_only=1")]
)
def test_a_fence_goes_if_the_server_starts_read_only_without_it_or_is_the_source(
    file, part, printed
):
    assert settled(file, part, printed) == (True, "[mysqld]\nserver_id = 1\n")


def test_a_former_source_that_would_start_writable_keeps_that_line_and_its_channel_starts(file):
    changed, text = settled(file, "source", "--server_id=1")
    assert changed and "\nread_only = ON\n" in text
    assert "skip_replica_start" not in text and "event_scheduler" not in text
    assert "switchover.yml removes it when the role returns" in text
    # And a second run changes nothing.
    assert settled(file, "source", "--server_id=1") == (False, text)
