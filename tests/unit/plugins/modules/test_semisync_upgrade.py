# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a server that has its new program."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.modules import semisync_upgrade
from ansible_collections.dbre.semisync.plugins.plugin_utils._rolling import restart_steps


@pytest.mark.parametrize(
    "version,read_only,wanted,closed,words",
    [
        ("11.8.9", "ON", "11.8", True, ""),
        ("11.8.9", "ON", "11.8.9", True, ""),
        # MariaDB 12 has more values than two, and none of them but OFF takes writes.
        ("12.3.1", "NO_LOCK", "12.3", True, ""),
        ("11.8.9", "OFF", "11.8", False, ""),
        ("11.8.9", "OFF", "11.8", True, "takes writes since it has the new version"),
        ("10.11.18", "ON", "11.8", True, "has version 10.11.18 after the tasks"),
        ("11.81.0", "ON", "11.8", True, "has version 11.81.0 after the tasks"),
    ],
)
def test_a_server_with_another_version_or_that_takes_writes_is_not_upgraded(
    version, read_only, wanted, closed, words
):
    said = semisync_upgrade.wrong_after(version, read_only, wanted, closed)
    assert words in said and bool(words) is bool(said)


@pytest.mark.parametrize(
    "before,now,closed",
    [
        ("ON", "ON", True),
        # An interrupted run's new version takes writes already.
        ("ON", "OFF", True),
        ("ON", None, True),
        # The former source, before its role moved.
        ("OFF", "OFF", False),
        ("OFF", None, False),
        ("OFF", "ON", True),
    ],
)
def test_a_server_that_took_no_writes_must_take_none_after_its_upgrade(before, now, closed):
    info = None if now is None else {"variables": {"read_only": now}}
    assert restart_steps.is_closed(before, info) is closed
