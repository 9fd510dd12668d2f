# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import (
    rises,
    same_value,
)


@pytest.mark.parametrize(
    "running,written,same",
    [
        ("10240", "10K", True),
        ("10000", "10k", False),
        ("1048576", "'1M'", True),
        ("1073741824", "1G", True),
        ("AFTER_SYNC", "after_sync", True),
        ("ON", "1", True),
        (None, None, False),
    ],
)
def test_an_option_files_spelling_of_a_value_is_the_servers(running, written, same):
    assert same_value(running, written) is same


def test_a_rise_is_told_of_the_counters_that_both_readings_have():
    before = {"yes_tx": "3", "no_tx": 0, "net_waits": None, "other": 1}
    after = {"yes_tx": 10, "no_tx": "0", "net_waits": "5", "tx_waits": "2", "other": 9}
    names = ("yes_tx", "no_tx", "net_waits", "tx_waits", "absent")
    assert rises(before, after, names) == {"yes_tx": 7, "no_tx": 0}
