# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import subprocess

from ansible_collections.dbre.semisync.plugins.module_utils._host import timer, unit

# systemd 260, a server that a drill stopped and started.
SHOWN = """LoadState=loaded
ActiveState=active
SubState=running
InactiveExitTimestampMonotonic=2122129628
ActiveEnterTimestampMonotonic=2123476986
ActiveExitTimestampMonotonic=2116734852
InactiveEnterTimestampMonotonic=2117636402
MainPID=669
"""


def test_systemds_own_times_become_the_hosts_clock():
    found = unit.parse_show(SHOWN, 1795271400.0, 2130.0)
    assert (
        found["running"]
        and found["main_pid"] == 669
        and found["active"] == "active"
        and found["known"]
    )
    assert found["times"] == {
        "stopping": 1795271386.734852,
        "stopped": 1795271387.636402,
        "starting": 1795271392.129628,
        "started": 1795271393.476986,
    }


def test_a_unit_that_never_ran_has_no_times():
    found = unit.parse_show(
        "LoadState=loaded\nActiveState=inactive\nSubState=dead\nMainPID=0\nActiveExitTimestampMonotonic=0\n",
        1.0,
        1.0,
    )
    assert not found["running"] and found["times"] == dict.fromkeys(unit.TIMES)


def test_a_unit_that_there_is_not_is_known_as_such():
    assert not unit.parse_show(
        "LoadState=not-found\nActiveState=inactive\nSubState=dead\nMainPID=0\n", 1.0, 1.0
    )["known"]


def test_a_failed_unit_with_a_process_does_not_run():
    assert not unit.parse_show("LoadState=loaded\nActiveState=deactivating\nMainPID=7\n", 1.0, 1.0)[
        "running"
    ]


def test_the_timers_script_starts_the_unit_and_tries_again():
    script = unit.start_script("/usr/bin/systemctl", "mysqld@a")
    assert "/usr/bin/systemctl start 'mysqld@a.service' && exit 0\nsleep 10" in script
    assert timer.checked(script) == script
    assert subprocess.call(["sh", "-n", "-c", script]) == 0
