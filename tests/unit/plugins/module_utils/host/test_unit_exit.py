# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a server ended, from what systemd remembers."""

from __future__ import annotations

import time

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import unit_exit


def printed(**changes):
    values = {
        "LoadState": "loaded",
        "ActiveState": "failed",
        "ExecMainCode": "2",
        "ExecMainStatus": "9",
        "ExecMainStartTimestampMonotonic": "100000000",
        "ActiveExitTimestampMonotonic": "500000000",
        "ExecMainExitTimestampMonotonic": "501000000",
    }
    return "\n".join(f"{name}={value}" for name, value in dict(values, **changes).items())


@pytest.mark.parametrize(
    "changes,how",
    [
        ({}, "killed"),
        ({"ExecMainCode": "3", "ExecMainStatus": "6"}, "killed"),
        ({"ExecMainCode": "1", "ExecMainStatus": "0", "ActiveState": "inactive"}, "exited"),
        ({"LoadState": "masked"}, "killed"),
        ({"LoadState": "not-found"}, None),
        ({"ExecMainCode": "0"}, None),
        ({"ActiveState": "active"}, None),
        # It was started again.
        ({"ExecMainStartTimestampMonotonic": "600000000"}, None),
        ({"ExecMainExitTimestampMonotonic": "0"}, None),
        # It is about to be started again.
        ({"ActiveState": "activating", "SubState": "auto-restart"}, None),
        ({"ActiveState": "activating", "SubState": "auto-restart", "LoadState": "masked"},
         "killed"),
    ],
)  # fmt: skip
def test_what_systemd_remembers(changes, how):
    seen = unit_exit.parse_exit(printed(**changes), 510.0)
    assert (seen and seen["how"]) == how


@pytest.mark.parametrize(
    "changes,words",
    [
        ({}, ""),
        ({"ActiveState": "activating", "SubState": "auto-restart"}, "activating (auto-restart)"),
        ({"ActiveState": "activating", "SubState": "start"}, "activating (start)"),
        # The start fails, or its unit is of another kind than what systemd watches.
        ({"ActiveState": "activating", "SubState": "auto-restart", "LoadState": "masked"}, ""),
        ({"ActiveState": "active", "SubState": "exited"}, ""),
        ({"LoadState": "not-found", "ActiveState": "activating"}, ""),
    ],
)
def test_a_server_that_systemd_starts_again_is_seen(changes, words):
    assert unit_exit.parse_start(printed(**changes)) == words


def test_the_times_are_seconds_ago():
    seen = unit_exit.parse_exit(printed(ActiveExitTimestampMonotonic="0"), 510.0)
    assert (seen["started_ago"], seen["stopping_ago"], seen["ended_ago"]) == (410.0, None, 9.0)
    assert unit_exit.parse_exit("", 510.0) is None


@pytest.mark.parametrize(
    "changes,stopping_ago",
    [
        # `systemctl stop` hung, and was ended by SIGKILL 400 s later.
        ({"ActiveExitTimestampMonotonic": "101000000"}, 409.0),
        # Killed as it ran: it left "active" as it ended.
        ({"ActiveExitTimestampMonotonic": "501000001"}, 9.0),
        # The moment is of an earlier start; this one was never "active".
        ({"ActiveExitTimestampMonotonic": "99000000"}, None),
    ],
)
def test_one_that_was_stopping_when_it_was_killed_says_since_when(changes, stopping_ago):
    seen = unit_exit.parse_exit(printed(**changes), 510.0)
    assert (seen["how"], seen["stopping_ago"]) == ("killed", stopping_ago)


@pytest.mark.parametrize(
    "units,sole",
    [
        ({"mysql": "not-found", "mysqld": "not-found", "mariadb": "not-found"}, None),
        ({"mysql": "masked", "mysqld": "not-found", "mariadb": "not-found"}, "mysql.service"),
        # Two names of one.
        ({"mariadb": "loaded"}, "mariadb.service"),
        ({"mysql": "loaded", "mariadb": "loaded"}, None),
    ],
)
def test_the_only_server_of_a_host_is_found_without_a_look(monkeypatch, units, sole):
    blocks = [f"Id={name}.service\nLoadState={state}" for name, state in units.items()]
    blocks += blocks[:1] if len(units) == 1 else []
    monkeypatch.setattr(unit_exit.command, "run", lambda *_words: (0, "\n\n".join(blocks), ""))
    assert unit_exit.sole_unit(None, "systemctl") == sole


def test_a_host_says_its_start_and_its_clocks():
    seen = unit_exit.clocks()
    assert len(seen["boot"]) == 36
    assert abs(seen["monotonic"] - time.monotonic()) < 5 and abs(seen["wall"] - time.time()) < 5
