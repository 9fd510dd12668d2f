# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read on the host of a server that has ended."""

from __future__ import annotations

import types

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import (
    LastWordsPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import LogFiles
from ansible_collections.dbre.semisync.plugins.modules import semisync_last_words

# A host without systemd and without programs.
MODULE = types.SimpleNamespace(get_bin_path=lambda _name: None)


@pytest.mark.parametrize("salvages", [False, True])
def test_a_host_says_its_clocks_the_log_s_words_and_whether_the_binary_log_can_be_read(
    tmp_path, salvages
):
    log = tmp_path / "error.log"
    log.write_text("before\n")
    seen = log.stat()
    place = {"path": str(log), "inode": seen.st_ino, "size": seen.st_size, "at": 0.0}
    with log.open("a") as stream:
        stream.write(
            "2026-11-24T10:00:00Z 0 [System] [MY-013172] [Server] Received SHUTDOWN from user x.\n"
        )
    files = LogFiles(str(tmp_path / "binlog"), str(tmp_path)) if salvages else None
    found = semisync_last_words.read_ended(MODULE, LastWordsPlan("mysql", place, files))
    assert found["ended"] is None and found["monotonic"] > 0
    assert found["log"]["shutdown"] and found["log"]["whole"]
    assert ("salvage" in found) is salvages
