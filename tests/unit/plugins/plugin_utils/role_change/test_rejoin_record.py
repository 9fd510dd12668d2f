# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    errant,
    rejoin_record,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.methods import unread


@pytest.mark.parametrize("read_by,offered", [(None, False), ("its log", True)])
def test_nobody_is_told_to_replace_what_was_not_read(read_by, offered):
    kept = {
        "host": "db1",
        "source": "db2",
        "way": "attach",
        "verdict": errant.CANNOT_TELL,
        "read_by": read_by,
        "points": [{"reason": "its unit mysql is masked: systemctl unmask mysql"}],
        "ways": [{"name": "attach", "closed": "no"}, {"name": "seed", "closed": ""}],
    }
    words = rejoin_record.why_not(kept, "nothing tells")
    assert ("semisync_rejoin_way=seed" in words) is offered
    assert ("systemctl unmask" in words) is not offered


def test_a_server_that_is_still_starting_is_waited_for():
    look = {"down": False, "why": "its server runs, but was not read: its process 7 is there"}
    assert "wait until it responds" in unread("db1", look, None)
    assert "wait until" not in unread("db1", {"down": True, "why": "no log"}, None)
