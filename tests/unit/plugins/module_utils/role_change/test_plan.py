# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host is given for its part: complete, and with nothing that its type does not know."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import look_plan, plan
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import (
    LastWordsPlan,
    OptionFile,
    Peer,
    PlanError,
    ReachPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    FailoverPlan,
    FormerLookPlan,
    LogFiles,
    RejoinPlan,
    SwitchoverPlan,
)

MEMBERS = [
    {"host": "db1", "address": "192.0.2.1", "port": 3306, "tls": True},
    {"host": "db2", "address": "192.0.2.2", "port": 3306, "tls": False},
]
PART: dict[str, Any] = {
    "mode": "switch",
    "part": "target",
    "host": "db2",
    "token": "0badcafe",
    "source": "db1",
    "target": "db2",
    "source_id": "1",
    "target_id": "2",
    "members": MEMBERS,
    "user": "repl",
    "wait_count": 1,
    "timeout": 10,
    "drain": 10,
    "catch_up": 10,
    "schema": "important",
    "verdict": "",
    "ends_lock": False,
}
OPTION_FILE = {"path": "/etc/my.cnf.d/x.cnf", "kind": "drop-in", "group": "mysqld"}
SWITCHOVER = {
    **PART,
    "option_file": OPTION_FILE,
    "connect_retry": 10,
    "tls": {"ssl": True, "ca": None, "verify": None},
    "long_transactions": "refuse",
    "events": False,
    "event_states": None,
    "super_read_only": False,
}
FAILOVER = {
    **PART,
    "option_file": None,
    "others": ["db3"],
    "stall": 60,
    "durability": {},
    "received": "0-1-100",
    "held": True,
}
FILES = {"basename": "/var/lib/mysql/binlog", "datadir": "/var/lib/mysql"}
KINDS = [
    kind
    for kind in vars(plan).values()
    if isinstance(kind, type) and issubclass(kind, look_plan.Plan) and kind is not look_plan.Plan
]


@pytest.mark.parametrize("kind,given", [(SwitchoverPlan, SWITCHOVER), (FailoverPlan, FAILOVER)])
def test_a_part_has_the_types_of_its_plan(kind, given):
    part = kind.from_dict(given)
    assert part.members == [Peer(**one) for one in MEMBERS]
    assert part.peer("db2").address == "192.0.2.2"


def test_a_switchover_knows_its_option_file_and_a_failover_finds_it():
    known = SwitchoverPlan.from_dict(SWITCHOVER).option_file
    assert known == OptionFile("/etc/my.cnf.d/x.cnf", "drop-in", "mysqld")
    assert FailoverPlan.from_dict(FAILOVER).option_file is None


@pytest.mark.parametrize("kind,given", [(SwitchoverPlan, SWITCHOVER), (FailoverPlan, FAILOVER)])
def test_a_plan_survives_the_way_to_its_host(kind, given):
    part = kind.from_dict(given)
    assert kind.from_dict(json.loads(json.dumps(part.to_dict()))) == part


@pytest.mark.parametrize("name", sorted(FAILOVER))
def test_what_is_missing_is_named(name):
    given = {key: value for key, value in FAILOVER.items() if key != name}
    with pytest.raises(PlanError, match=f"^FailoverPlan lacks {name}$"):
        FailoverPlan.from_dict(given)


@pytest.mark.parametrize(
    "kind,given,named",
    [
        (SwitchoverPlan, {**SWITCHOVER, "stall": 60}, "SwitchoverPlan has no field stall"),
        (FailoverPlan, {**FAILOVER, "haste": 1}, "FailoverPlan has no field haste"),
        (FailoverPlan, {**FAILOVER, "members": [{"host": "a"}]}, "Peer lacks address, port, tls"),
        (
            SwitchoverPlan,
            {**SWITCHOVER, "option_file": {**OPTION_FILE, "owner": "me"}},
            "OptionFile has no field owner",
        ),
        (RejoinPlan, {}, "RejoinPlan lacks down, missed, leaves, unit, datadir, option_file"),
        (RejoinPlan, None, "RejoinPlan lacks down"),
    ],
)
def test_what_no_plan_has_is_named(kind, given, named):
    with pytest.raises(PlanError, match=f"^{named}"):
        kind.from_dict(given)


def test_a_log_that_is_not_known_stays_so():
    given = {"unit": None, "error_log": None, "files": None}
    assert LastWordsPlan.from_dict(given).files is None
    assert LastWordsPlan.from_dict({**given, "files": FILES}).files == LogFiles(**FILES)


def test_a_place_may_have_a_host_and_need_not():
    places = [{"address": "192.0.2.1", "port": None}, MEMBERS[1]]
    tried = ReachPlan.from_dict({"places": places, "user": "repl"}).places
    assert [(place.host, place.port) for place in tried] == [("", None), ("db2", 3306)]


def test_a_former_source_says_what_it_is_asked():
    made = FormerLookPlan.from_dict(
        {
            "part": "former",
            "engine": "mysql",
            "known": "",
            "files": FILES,
            "units": ["mysql"],
            "program": "",
            "since": "",
            "option_file": None,
            "peer": MEMBERS[0],
            "user": "repl",
        }
    )
    assert (made.peer.host, made.files.basename) == ("db1", FILES["basename"])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_plan_cannot_be_changed(kind):
    assert dataclasses.is_dataclass(kind)
    assert kind.__dataclass_params__.frozen
