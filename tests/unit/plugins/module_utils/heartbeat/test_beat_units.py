# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._answer import answer_layout
from ansible_collections.dbre.semisync.plugins.module_utils._heartbeat import beat_place, beat_units
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.read import SERVER_VARIABLES

PROGRAMS = {"program": "program\n", "answer": "answer\n", "places": "places\n"}
VARIABLES = {"performance_schema": "ON", "socket": "/run/x.sock", "port": "3307"}


def texts(engine="mysql", version=(9, 7, 0), variables=(), **changes):
    wanted = beat_units.Wanted(
        interval=1,
        schema="a`b",
        begins=True,
        python="/usr/bin/python3",
        names=Names(engine, version),
        variables={**VARIABLES, **dict(variables)},
    )
    return beat_units.files(3307, wanted._replace(**changes), PROGRAMS)


def settings(*words, **more):
    return json.loads(texts(*words, **more)[beat_place.paths(3307)["settings"]])


def test_servers_of_one_host_have_files_of_their_own_but_for_the_programs():
    shared = set(beat_place.paths(3306).values()) & set(beat_place.paths(3307).values())
    assert shared == {beat_place.PROGRAM, answer_layout.PROGRAM, answer_layout.PLACES}
    assert settings()["table"] == "`a``b`.`semisync_heartbeat`"
    assert settings()["journal"] == "`a``b`.`semisync_journal`"


class Noting(dict):
    """A server's variables, and those that were asked for."""

    def __init__(self):
        super().__init__(socket="/run/x")
        self.asked = set()

    def get(self, name, default=None):
        self.asked.add(name)
        return super().get(name, default)

    def __getitem__(self, name):
        self.asked.add(name)
        return super().__getitem__(name)


@pytest.mark.parametrize("engine,version", [("mysql", (9, 7, 0)), ("mariadb", (10, 11, 0))])
def test_the_controller_knows_each_variable_on_which_the_files_depend(engine, version):
    # Without one of them it plans other files than the host has, in every run.
    noting, names = Noting(), Names(engine, version)
    wanted = beat_units.Wanted(1, "app", True, "/usr/bin/python3", names, noting)
    beat_units.files(3307, wanted, PROGRAMS)
    assert noting.asked <= set(SERVER_VARIABLES), noting.asked


def test_it_reaches_its_server_by_the_socket_alone():
    unit = texts()[beat_place.paths(3307)["service"]]
    assert "RestrictAddressFamilies=AF_UNIX\n" in unit and "IPAddressDeny=any\n" in unit
    assert "User=dbre-semisync-beat\n" in unit and "NoNewPrivileges=yes\n" in unit
    # The host's boot, which the service could not read of /proc.
    assert unit.count("heartbeat-3307.json %b\n") == 1


@pytest.mark.parametrize(
    "engine,version,schema,gtid,acknowledgers,kills",
    [
        ("mysql", (9, 7, 0), "ON", "SELECT @@GLOBAL.gtid_executed", True, False),
        ("mysql", (9, 7, 0), "OFF", "SELECT @@GLOBAL.gtid_executed", False, False),
        ("mysql", (5, 5, 62), "ON", "", False, False),
        ("mariadb", (10, 11, 8), "ON", "SELECT @@GLOBAL.gtid_binlog_state", False, True),
    ],
)
def test_what_a_server_is_asked(engine, version, schema, gtid, acknowledgers, kills):
    asked = settings(engine, version, {"performance_schema": schema})
    assert asked["gtid"] == gtid
    assert bool(asked["acknowledgers"]) is acknowledgers
    assert ("performance_schema" in asked["sessions"]) is acknowledgers
    assert asked["kills"] is kills
    assert set(asked["statuses"]) == set(beat_units.STATUSES)


def granted(engine, version, schema="ON"):
    names = Names(engine, version)
    threads = beat_units.sees_threads(names, {"performance_schema": schema})
    return [one[0] for one in beat_units.creation(names, "a`b", "secret", threads)]


@pytest.mark.parametrize(
    "engine,version,everywhere",
    [
        ("mysql", (9, 7, 0), "REPLICATION CLIENT"),
        ("mysql", (5, 5, 62), "REPLICATION CLIENT, PROCESS"),
        ("mariadb", (10, 11, 8), "SLAVE MONITOR, PROCESS, BINLOG MONITOR"),
        ("mariadb", (10, 3, 39), "REPLICATION CLIENT, PROCESS"),
    ],
)
def test_what_its_account_may_do(engine, version, everywhere):
    statements = granted(engine, version)
    (wide,) = [words for words in statements if "ON *.*" in words]
    assert wide.startswith(f"GRANT {everywhere} ON *.* TO ")
    others = [words for words in statements if words.startswith("GRANT") and words != wide]
    assert all("`semisync_" in words or "performance_schema." in words for words in others)
    assert "secret" not in " ".join(statements)
    assert sum("MAX_USER_CONNECTIONS 8" in words for words in statements) == 1
    assert sum(words.startswith("REVOKE CREATE") for words in statements) == 2


@pytest.mark.parametrize(
    "change,lacks",
    [
        ({}, []),
        ({"files": {}}, None),
        ({"password_kept": False}, ["login"]),
        ({"enabled": False}, ["start"]),
        ({"active": False}, ["start"]),
        ({"said": "its login is refused: (1045, 'Access denied')"}, ["login"]),
    ],
)
def test_what_a_service_lacks(change, lacks):
    wanted = texts()
    now = {
        "python": "/usr/bin/python3",
        "files": dict(wanted),
        "password_kept": True,
        "enabled": True,
        "active": True,
        "said": "silent: read_only is ON",
        **change,
    }
    expected = sorted(wanted) if lacks is None else lacks
    assert beat_place.differences(now, wanted) == expected
    assert beat_place.differences(None, wanted) == [*sorted(wanted), "login", "start"]
    other = beat_place.differences({**now, "files": texts(interval=2)}, wanted)
    if not change:
        assert other == [beat_place.paths(3307)["settings"]]
