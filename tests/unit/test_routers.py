# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation's configurations of routers as the proof gives them to its hosts, and the
table of what was measured.
"""

from __future__ import annotations

import pytest

from routers import table
from support.virtual_address import CONFIGURATION, configuration

RECORD = {
    "at": "2026-11-27T13:00:00Z",
    "router": "keepalived",
    "version": "9.7.4",
    "load": 2.0,
    "switchover_s": [1.5, 2.5, 1.75],
    "cut_s": 12.0,
    "opened_s": 9.0,
    "back": {"read_only": False, "rows": 0},
    "confirmed": 1000,
    "unknown": 3,
    "wrong": {"lost": 0, "unexpected": 0, "twice": 0},
}


def test_hosts_have_the_documentation_s_keepalived_with_their_names_and_addresses():
    text = CONFIGURATION.read_text(encoding="utf-8")
    made = configuration(text, {"x-source": "172.20.0.2", "x-replica1": "172.20.0.3"}, "172.20.0.9")
    assert "    @x-source unicast_src_ip 172.20.0.2\n" in made
    assert "        @^x-replica1 172.20.0.3\n" in made
    assert "        172.20.0.9/32\n" in made
    own = [line for line in made.splitlines() if not line.strip().startswith("#")]
    assert "192.0.2." not in made.partition("global_defs")[2]
    assert not [line for line in own if "db" in line]
    with pytest.raises(ValueError, match="has 1 lines for db2"):
        configuration(text.replace("@^db2", "@^db4"), {"a": "x", "b": "y"}, "z")


def test_only_a_host_that_is_told_yes_may_have_the_address():
    """What no measurement of a healthy cluster would show."""
    lines = [line.strip() for line in CONFIGURATION.read_text(encoding="utf-8").splitlines()]
    assert "init_fail" in lines and "state BACKUP" in lines
    # A weight would only lower a priority, and leave the address at a host that says no.
    assert not [line for line in lines if line.startswith(("weight", "takes_writes weight"))]


def test_a_row_of_the_table_adds_up_cycles_of_one_router_on_one_server():
    other = RECORD | {"switchover_s": [4.0], "cut_s": 14.5, "unknown": 2, "load": 6.0}
    lines = table([RECORD, other, RECORD | {"router": "HAProxy"}]).splitlines()
    (row,) = [line for line in lines if line.startswith("| keepalived")]
    assert row == (
        "| keepalived | 9.7.4 | 4 | 4.0 s, 2.5 s | 2 | 14.5 s, 14.5 s | 9.0 s | 0 | 2000"
        " | 0 | 0 | 0 | 5 | 6 |"
    )
    assert len([line for line in lines if line.startswith("| HAProxy")]) == 1
    assert len({line.count("|") for line in lines if line.startswith("|")}) == 1
