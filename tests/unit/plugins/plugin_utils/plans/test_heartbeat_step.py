# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._heartbeat import beat_units
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.versions import parse_version
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import heartbeat, removal
from ansible_collections.dbre.semisync.tests.unit import samples

ROW = {"state": "done", "operation": "switchover", "to_id": "x"}


def installed(member, interval, begins):
    """What the host says once it was set up."""
    info = member.info
    wanted = beat_units.Wanted(
        interval=interval,
        schema="important",
        begins=begins,
        python="/usr/bin/python3",
        names=Names(info["engine"], parse_version(info["version"]), info["plugins"]),
        variables=info["variables"],
    )
    info["heartbeat"] = {
        "python": "/usr/bin/python3",
        "files": beat_units.files(int(info["variables"]["port"]), wanted, heartbeat.programs()),
        "password_kept": True,
        "enabled": True,
        "active": True,
        "said": "",
    }


def steps(members, interval):
    found = samples.plans(members, samples.settings(heartbeat_seconds=interval))
    return {host: planned["heartbeat"]["step"] for host, planned in found.items()}


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_it_is_set_up_if_it_is_asked_for_and_goes_if_it_is_not(engine):
    members, settings = samples.pair(engine), samples.settings(heartbeat_seconds=1)
    assert steps(members, 0) == {"db1": "none", "db2": "none"}
    assert steps(members, 1) == {"db1": "present", "db2": "present"}
    found = samples.plans(members, settings)
    assert samples.changed(found) == ["db1", "db2"]
    assert not any(planned["server_changes"] for planned in found.values())
    assert [planned["heartbeat"]["table"] for planned in found.values()] == [True, False]
    for member in members:
        installed(member, 1, member.side == "source")
    assert samples.changed(samples.plans(members, settings)) == []
    assert steps(members, 5) == {"db1": "present", "db2": "present"}
    assert steps(members, 0) == {"db1": "absent", "db2": "absent"}


def test_a_change_of_roles_changes_no_file():
    members = samples.pair("mysql")
    for member in members:
        installed(member, 1, member.side != "source")
        member.info["journal"] = ROW
    assert steps(members, 1) == {"db1": "none", "db2": "none"}
    members[0].info["journal"] = members[1].info["journal"] = None
    assert steps(members, 1) == {"db1": "present", "db2": "present"}


def test_a_service_that_does_not_run_is_started():
    members = samples.pair("mysql")
    for member in members:
        installed(member, 1, member.side == "source")
    members[1].info["heartbeat"]["active"] = False
    assert steps(members, 1) == {"db1": "none", "db2": "present"}


def test_it_is_removed_with_all_else():
    members = samples.pair("mysql")
    assert removal.removal_plan(members[0], members)["heartbeat"] is False
    installed(members[0], 1, True)
    made = removal.removal_plan(members[0], members)
    assert (made["heartbeat"], made["changes"]) == (True, True)
