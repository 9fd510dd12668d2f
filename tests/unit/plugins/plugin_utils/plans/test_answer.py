# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._answer import units
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import answer, problems, removal
from ansible_collections.dbre.semisync.tests.unit import samples

ROW = {"state": "done", "operation": "switchover", "to_id": "x"}


def installed(member, settings, begins, peers=None):
    """What the host says once the answer was set up."""
    info = member.info
    wanted = {"port": settings["http_port"], "address": "", "schema": "important", "begins": begins}
    wanted.update(allow=[], filter=[])
    others = {"db1": ["db2:8008"], "db2": ["db1:8008"]}
    wanted["peers"] = others.get(member.host, []) if peers is None else peers
    info["answer"] = {
        "python": "/usr/bin/python3",
        "files": units.files(
            int(info["variables"]["port"]),
            wanted,
            answer.program(),
            answer.program("places.py"),
            "/usr/bin/python3",
            info["variables"]["socket"],
            info["names"]["show_channels"],
        ),
        "password_kept": True,
        "enabled": True,
        "said": {"status": 200, "yes": True, "why": "", "kind": "state"},
    }


def steps(members, port):
    found = samples.plans(members, samples.settings(http_port=port))
    return {host: planned["answer"]["step"] for host, planned in found.items()}


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_it_is_set_up_where_it_is_asked_for_and_goes_where_it_is_not(engine):
    members, settings = samples.pair(engine), samples.settings(http_port=8008)
    assert steps(members, 0) == {"db1": "none", "db2": "none"}
    found = samples.plans(members, settings)
    assert steps(members, 8008) == {"db1": "present", "db2": "present"}
    assert samples.changed(found) == ["db1", "db2"]
    assert not any(planned["server_changes"] for planned in found.values())
    assert [planned["answer"]["begins"] for planned in found.values()] == [True, False]
    for member in members:
        installed(member, settings, member.side == "source")
    assert samples.changed(samples.plans(members, settings)) == []
    assert steps(members, 8009) == {"db1": "present", "db2": "present"}
    assert steps(members, 0) == {"db1": "absent", "db2": "absent"}


@pytest.mark.parametrize("row,expected", [(None, "present"), (ROW, "none")])
def test_once_there_is_a_journal_a_change_of_roles_changes_no_file(row, expected):
    members, settings = samples.pair("mysql"), samples.settings(http_port=8008)
    for member in members:
        # As it was set up when the other one was the source.
        installed(member, settings, member.side != "source")
        member.info["journal"] = row
    assert steps(members, 8008) == {"db1": expected, "db2": expected}


def test_each_knows_the_answers_of_the_others():
    members, settings = samples.pair("mysql"), samples.settings(http_port=8008)
    assert samples.plans(members, settings)["db1"]["answer"]["peers"] == ["db2:8008"]
    members[1].address = "fd00::2"
    assert samples.plans(members, settings)["db1"]["answer"]["peers"] == ["[fd00::2]:8008"]
    for address, told in (("10.1.1.2", "10.1.1.2:8010"), ("127.0.0.1", "[fd00::2]:8010")):
        members[1].settings = samples.settings(http_port=8010, http_address=address)
        assert samples.plans(members, settings)["db1"]["answer"]["peers"] == [told]
    members[1].settings = samples.settings(http_port=0)
    assert samples.plans(members, settings)["db1"]["answer"]["peers"] == []


def test_a_host_that_is_held_is_no_reason_to_change_a_file_and_a_new_one_is():
    members, settings = samples.pair("mysql"), samples.settings(http_port=8008)
    installed(members[0], settings, True, ["db2:8008", "db3:8008"])
    assert samples.plans(members, settings)["db1"]["answer"]["step"] == "none"
    installed(members[0], settings, True, ["db3:8008"])
    planned = samples.plans(members, settings)["db1"]["answer"]
    assert (planned["step"], planned["peers"]) == ("present", ["db2:8008"])


@pytest.mark.parametrize(
    "named,address,expected",
    [
        ([], "10.0.0.1", []),
        (["10.9.0.0/24"], "10.0.0.1", ["10.9.0.0/24", "10.0.0.1", "db2"]),
        (["10.0.0.1"], "10.0.0.1", ["10.0.0.1", "db2"]),
        # systemd takes no names; the program lets its own host in without.
        (["10.9.0.0/24"], "db1", ["10.9.0.0/24", "db2"]),
    ],
)
def test_a_host_may_ask_itself_by_its_own_address(named, address, expected):
    members = samples.pair("mysql")
    members[0].address = address
    settings = samples.settings(http_port=8008, http_allow=list(named))
    assert answer.step(members[0], members, settings)["allow"] == expected


ROUTERS = ("10.0.0.0/24", "fd99::/64")


def asked_by(peers, address="", named=ROUTERS):
    """(who may ask, whom systemd lets in)."""
    member = samples.pair("mysql")[0]
    allow = answer.may_ask(member, peers, samples.settings(http_allow=list(named)))
    return allow, answer.let_in_by_systemd(allow, address)


def test_only_routers_and_the_other_hosts_may_ask_if_anybody_is_named():
    assert asked_by([], named=[]) == ([], [])
    assert asked_by(["10.1.0.2:8008"], named=[]) == ([], [])
    let_in = [*ROUTERS, "10.1.0.2", "fd98::2"]
    assert asked_by(["10.1.0.2:8008", "[fd98::2]:8008"]) == (let_in, let_in)
    # The host asks itself there.
    assert asked_by([], "10.1.0.1")[1] == [*ROUTERS, "10.1.0.1"]
    assert asked_by([], "[fd98::1]")[1] == [*ROUTERS, "fd98::1"]
    assert asked_by([], "0.0.0.0")[1] == [*ROUTERS]


def test_hosts_that_are_known_by_name_are_let_in_by_the_program_alone():
    assert asked_by(["10.1.0.2:8008", "db3:8008"]) == ([*ROUTERS, "10.1.0.2", "db3"], [])


def test_removal_takes_it_away():
    members = samples.pair("mysql")
    assert not removal.removal_plan(members[0], members)["answer"]
    installed(members[0], samples.settings(http_port=8008), True)
    planned = removal.removal_plan(members[0], members)
    assert planned["answer"] and planned["changes"]


def test_the_servers_own_port_is_refused():
    members, settings = samples.pair("mysql"), samples.settings(http_port=3306)
    for member in members:
        member.settings = settings
    words = problems.cluster_problems(members, settings)
    assert [text for text in words if "semisync_http_port is 3306" in text]
