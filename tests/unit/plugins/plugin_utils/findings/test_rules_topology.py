# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._replication import journal
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.rules_topology import (
    topology_findings,
)
from ansible_collections.dbre.semisync.tests.unit import samples

ONE, TWO = "91c92dd4-e5a0-11f1-9b95-0242ac130002", "92139d91-e5a0-11f1-923b-0242ac130003"
DEFAULT_IDS = {"server_id": "1"}


def promoted(engine, gtids, state="done", **variables):
    """A pair whose replica was told to follow no source and to take writes; gtids is of both."""
    members = samples.pair(engine)
    source, replica = (member.info for member in members)
    replica.update(channel=None)
    replica["variables"].update(variables, read_only="OFF")
    source["variables"].update(variables)
    key = "gtid_binlog_state" if engine == "mariadb" else "gtid_executed"
    source["gtid"], replica["gtid"] = {key: gtids[0]}, {key: gtids[1]}
    if state:
        replica["journal"] = {
            "number": 2,
            "operation": "failover",
            "run": "r",
            "state": state,
            "from_host": "db1",
            "to_host": "db2",
            "from_id": journal.identity(source["variables"]),
            "to_id": journal.identity(replica["variables"]),
            "happened": "2026-11-22T10:00:00Z",
        }
    return members


def kinds(members):
    return [entry["id"] for entry in topology_findings(members)]


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_a_healthy_pair_has_none(engine):
    assert topology_findings(samples.pair(engine)) == []


@pytest.mark.parametrize("state", ["done", None], ids=["by the journal", "by what both have"])
@pytest.mark.parametrize(
    "engine,gtids,words",
    [
        (
            "mysql",
            (f"{ONE}:1-12", f"{ONE}:1-10,\n{TWO}:1-3"),
            f"db1 and db2 take writes; db1 has {ONE}:11-12 (2 transactions) that db2 lacks;"
            f" db2 has {TWO}:1-3 (3 transactions) that db1 lacks",
        ),
        (
            "mysql",
            (f"{ONE}:1-12", f"{ONE}:1-12"),
            "db1 and db2 take writes; db1 has nothing that db2 lacks; db2 has nothing that db1"
            " lacks",
        ),
        (
            "mariadb",
            ("0-7-12", "0-7-10,0-8-13"),
            "db1 and db2 take writes; db1 has 0-7-12 that db2 lacks; db2 has 0-8-13 that db1 lacks",
        ),
    ],
)
def test_two_that_take_writes_are_critical_with_what_each_has_alone(engine, gtids, words, state):
    (entry,) = topology_findings(promoted(engine, gtids, state))
    assert (entry["id"], entry["severity"], entry["evidence"]) == ("two_sources", "critical", words)


def test_without_gtids_it_is_said_that_nobody_can_compare():
    (entry,) = topology_findings(promoted("mysql", ("", "")))
    assert entry["evidence"] == (
        "db1 and db2 take writes; without GTIDs it is not known what each has that the other lacks"
    )


@pytest.mark.parametrize(
    "engine,gtids,variables",
    [
        ("mysql", (f"{ONE}:1-12", f"{TWO}:1-3"), {}),
        ("mysql", (f"{ONE}:1-12", ""), {}),
        ("mariadb", ("0-1-12", "0-1-3"), DEFAULT_IDS),
    ],
)
def test_a_new_replica_that_takes_writes_still_is_no_second_source(engine, gtids, variables):
    assert kinds(promoted(engine, gtids, None, **variables)) == []


def test_a_read_only_source_that_nobody_follows_contradicts_the_journal():
    members = promoted("mysql", (f"{ONE}:1-12", f"{ONE}:1-12"))
    members[0].info["variables"]["read_only"] = "ON"
    (entry,) = topology_findings(members)
    assert (entry["id"], entry["host"]) == ("source_unclear", "db2")
    assert "db2: the journal names it (failover from db1 to db2 done" in entry["evidence"]


def test_a_change_that_was_broken_off_is_said():
    members = samples.pair("mysql")
    members[0].info["journal"] = promoted("mysql", ("", ""), "begun")[1].info["journal"]
    (entry,) = topology_findings(members)
    assert (entry["id"], entry["host"]) == ("change_interrupted", "db1")


def test_servers_that_were_not_read_say_nothing():
    members = samples.pair("mysql")
    members[0].info = members[1].info = None
    assert topology_findings(members) == []
