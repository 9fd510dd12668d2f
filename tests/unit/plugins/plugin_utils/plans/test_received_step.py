# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The service that applies what a MariaDB replica had received: it comes with the promise, and goes
with it.
"""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import received_place
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import received, removal
from ansible_collections.dbre.semisync.tests.unit import samples

LOSSLESS = {"promise": "lossless", "timeout_ms": 604800000}


def bare(engine="mariadb"):
    members = samples.pair(engine)
    for one in members:
        files = one.info["option_files"]
        files.update(path="/etc/mysql/mariadb.conf.d/zz-dbre-semisync.cnf", kind="drop-in")
        one.info["unit"] = "mariadb"
        one.info["received"] = {
            "python": "/usr/bin/python3",
            "user": "mysql",
            "files": {},
            "enabled": False,
            "shared": False,
        }
    return members


def install(members):
    for one in members:
        now = one.info["received"]
        now.update(files=received.texts(one, now), enabled=True)
    return members


def steps(members, **settings):
    found = samples.plans(members, samples.settings(**settings))
    return [planned["received"]["step"] for planned in found.values()]


def test_it_comes_with_the_promise_and_goes_with_it():
    members = bare()
    assert steps(members) == ["none", "none"]
    assert steps(members, **LOSSLESS) == ["present", "present"]
    install(members)
    assert steps(members, **LOSSLESS) == ["none", "none"]
    assert steps(members) == ["absent", "absent"]


@pytest.mark.parametrize(
    "path", ["program", "settings", "service", "option"], ids=lambda name: f"{name}_differs"
)
def test_a_file_that_differs_is_written_again(path):
    members = install(bare())
    place = received.paths(members[1])[path]
    members[1].info["received"]["files"][place] = "# edited\n"
    assert steps(members, **LOSSLESS) == ["none", "present"]


def change(**info):
    return lambda one: one.info.update(info)


@pytest.mark.parametrize(
    "words,spoil",
    [
        ("MySQL keeps its relay log", change(received=None)),
        ("too old for its login", change(version="10.4.34-MariaDB")),
        ("no unit", change(unit=None)),
        ("its lines are a block", lambda one: one.info["option_files"].update(kind="block")),
        ("an account without a name", lambda one: one.info["received"].update(user="")),
        (
            "a user who starts replication himself",
            lambda one: one.info["option_files"]["options"].update(skip_slave_start="ON"),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_host_that_it_does_not_fit_does_without(words, spoil):
    members = bare()
    spoil(members[1])
    found = samples.plans(members, samples.settings(**LOSSLESS))
    assert found["db2"]["received"]["step"] == "none", words


def test_the_option_that_stops_the_threads_comes_last_and_goes_first():
    members = bare()
    planned = samples.plans(members, samples.settings(**LOSSLESS))["db2"]["received"]
    option = "/etc/mysql/mariadb.conf.d/zz-dbre-semisync-received.cnf"
    assert planned["option"]["path"] == option
    assert option not in [file["path"] for file in planned["files"]]
    gone = removal.removal_plan(install(members)[1], members)["received"]["gone"]
    link = received_place.enabled_link(members[1].port, "mariadb")
    assert gone[:2] == [option, link]
    assert received_place.PROGRAM in gone


def test_what_another_server_of_the_host_needs_stays():
    members = install(bare())
    members[1].info["received"]["shared"] = True
    gone = removal.removal_plan(members[1], members)["received"]["gone"]
    assert received_place.PROGRAM not in gone
