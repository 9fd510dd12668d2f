# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A switchover from db1 to db2 began and has no end, and one of the two is lost."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import clock
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import current_source
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    cases,
    failover_plan,
    interrupted_failover,
    interrupted_switchover,
    survivors,
    switchover_plan,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.peers import peers_of
from ansible_collections.dbre.semisync.tests.unit import samples
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.role_change import remnants
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.role_change.remnants import (
    SOURCE,
    uuid,
)

ENGINES = ["mysql", "mariadb"]


def row_of(engine, **more):
    made = {
        "number": 3,
        "operation": "switchover",
        "run": "feed",
        "state": "begun",
        "from_host": "db1",
        "to_host": "db2",
        "from_id": SOURCE if engine == "mysql" else "1",
        "to_id": uuid("db2") if engine == "mysql" else "2",
        "happened": "2026-11-22T10:00:00Z",
        "position": f"{SOURCE}:1-90" if engine == "mysql" else "0-1-90",
    }
    return dict(made, **more)


def lost_source(engine, **more):
    """db1 is lost; db2 and db3 were read, and have the row."""
    evidence = remnants.evidence(engine, whole=True)
    for member in survivors.readable(evidence.members):
        member.info["journal"] = row_of(engine, **more)
        member.info["variables"]["read_only"] = "ON"
    return evidence


def lost_target(engine, attached=True):
    """db2 is lost; db1 was read, and follows it where it was attached; db3 has moved."""
    evidence = remnants.evidence(engine, whole=True)
    old, target, other = evidence.members
    old.info, target.info = target.info, None
    old.error, target.error = "", "unreachable: No route to host"
    if engine == "mysql":
        old.info["variables"]["server_uuid"] = SOURCE
    else:
        old.info["variables"]["server_id"] = "1"
    for member in (old, other):
        member.info["journal"] = row_of(engine)
        member.info["variables"]["read_only"] = "ON"
        follow(member, "db2")
    if not attached:
        old.info["channel"] = None
        follow(other, "db1")
    looks = dict.fromkeys(("db1", "db3"), evidence.looks["db2"])
    decided = current_source.decide(evidence.members)
    for member in evidence.members:
        member.side = "source" if member.host == decided.source else "replica"
    said = {"unreachable": True, "msg": "No route to host"}
    for look in looks.values():
        look["reach"] = {"db1": "", "db2": "refused", "db3": ""}
        look["answered"] = ["db1", "db3"]
    return evidence._replace(source=said, looks=looks)


def follow(member, host):
    """Have a channel to another server, that has met it."""
    member.info["channel"].update(source_host=host)
    if member.info["engine"] == "mysql":
        member.info["channel"]["source_uuid"] = SOURCE if host == "db1" else uuid(host)
    else:
        member.info["channel"]["source_server_id"] = int(host[-1])


def write(member, engine, sequence=101):
    """The target has taken a write of its own."""
    if engine == "mysql":
        member.info["gtid"]["gtid_executed"] += f",{uuid('db2')}:1"
    else:
        member.info["gtid"]["gtid_binlog_state"] += f",0-2-{sequence}"


def names(evidence):
    return [case.name for case in cases.decide(evidence).cases]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_target_that_was_never_opened_may_take_over(engine):
    evidence = lost_source(engine)
    assert names(evidence) == []
    assert interrupted_failover.find(evidence.members, None) is None


@pytest.mark.parametrize("engine", ENGINES)
def test_what_the_target_wrote_before_the_switchover_opened_nothing(engine):
    position = f"{SOURCE}:1-90,{uuid('db2')}:1" if engine == "mysql" else "0-1-90"
    evidence = lost_source(engine, position=position)
    write(evidence.members[1], engine, 80)
    assert interrupted_switchover.own(evidence.members, row_of(engine, position=position)) == ""
    assert interrupted_failover.find(evidence.members, None) is None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("where", [1, 2], ids=["on it", "on a replica of it"])
def test_a_target_that_wrote_is_opened_again_though_it_is_read_only(engine, where):
    """Its server was started again, by its option file of before."""
    evidence = lost_source(engine)
    write(evidence.members[where], engine)
    found = interrupted_failover.find(evidence.members, None)
    assert (found.target.host, found.source) == ("db2", "db1")
    assert found.source_id == (SOURCE if engine == "mysql" else "1")
    assert "interrupted" in names(evidence)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_target_whose_row_says_done_is_opened_again_where_it_started_read_only(engine):
    evidence = lost_source(engine, state="done")
    assert interrupted_failover.find(evidence.members, None).target.host == "db2"
    evidence.members[1].info["variables"]["read_only"] = "OFF"
    evidence.members[1].info["channel"].update(io_running="Connecting")
    assert interrupted_failover.find(evidence.members, None) is None


def closed(engine, channel):
    """The switchover is done, db1 is lost, and a statement made db2 read-only after it."""
    evidence = lost_source(engine, state="done")
    follow(evidence.members[2], "db2")
    target = evidence.members[1].info
    started = clock.moment_of(target["journal"]["happened"]) - 60
    target["clock"] = started + int(target["uptime"]["seconds"])
    if channel:
        target["channel"].update(io_running="No", sql_running="No")
    else:
        target["channel"] = None
    decided = current_source.decide(evidence.members)
    for member in evidence.members:
        member.side = "source" if member.host == decided.source else "replica"
    return evidence


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("channel", [True, False], ids=["channel stands still", "no channel"])
def test_a_target_that_was_closed_by_hand_is_not_opened_and_the_way_out_is_said(engine, channel):
    """Neither playbook sends its operator to the other one, which would send him back."""
    evidence = closed(engine, channel)
    row = evidence.members[1].info["journal"]
    assert interrupted_failover.find(evidence.members, None) is None
    (words,) = switchover_plan.unread(evidence.members, row)
    assert "db2 was made read-only by hand" in words and "SET GLOBAL read_only = 0" in words
    assert "failover.yml" not in words and "db1 (no server listens) could not be read" in words
    found = cases.decide(evidence).cases
    if channel:
        # Who is the source is not clear: db2's channel is to db1.
        assert [case.name for case in found] == ["unclear"]
        assert "db2 was made read-only by hand" in found[0].remedy
    else:
        assert [case.name for case in found] == ["source_answers"]
    # What is said leads out.
    evidence.members[1].info["variables"]["read_only"] = "OFF"
    evidence.members[1].info["semisync"]["source"]["variables"]["enabled"] = "ON"
    decided = current_source.decide(evidence.members)
    assert (decided.source, decided.problems) == ("db2", [])
    found = interrupted_failover.find(evidence.members, None)
    assert (found.target.host if found else None) == ("db2" if channel else None)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_replica_that_follows_the_target_already_is_no_chain(engine):
    evidence = lost_source(engine)
    follow(evidence.members[2], "db2")
    assert names(evidence) == []
    # Nothing interrupted: then it is one.
    for member in survivors.readable(evidence.members):
        member.info["journal"] = None
    assert "chain:db3" in names(evidence)


@pytest.mark.parametrize("engine", ENGINES)
def test_it_asks_the_dead_source_and_nobody_else_whether_it_lives(engine):
    """One that follows the target already knows that one's address, and not the source's."""
    evidence = lost_source(engine)
    follow(evidence.members[2], "db2")
    evidence.members[2].info["channel"]["source_port"] = 4406
    (peer,) = [one for one in peers_of(evidence.members, evidence.members[2]) if one.host == "db1"]
    assert (peer.address, peer.port) == ("db1", 3306)
    evidence.members[1:] = evidence.members[:0:-1]
    assert failover_plan.source_id(evidence.members) == (SOURCE if engine == "mysql" else "1")


@pytest.mark.parametrize("engine", ENGINES)
def test_two_that_are_lost_take_a_word(engine):
    evidence = lost_source(engine)
    evidence.members[1].info, evidence.members[1].error = None, "unreachable"
    (case,) = [one for one in cases.decide(evidence).cases if one.name == "interrupted"]
    assert case.acceptable and "db2 may have been writable" in case.words


@pytest.mark.parametrize("engine", ENGINES)
def test_a_source_that_followed_the_lost_target_takes_over_with_a_word(engine):
    evidence = lost_target(engine)
    assert current_source.decide(evidence.members).source == "db2"
    assert names(evidence) == ["interrupted", "unwatched"]
    assert cases.decide(evidence, ["interrupted", "unwatched"]).refused == []
    assert cases.candidate_of(evidence).host == "db1"
    # What the old source wrote as the source is nothing of its own.
    if engine == "mysql":
        evidence.members[0].info["gtid"]["gtid_executed"] = f"{SOURCE}:1-101"
    else:
        evidence.members[0].info["gtid"].update(
            gtid_slave_pos="0-1-101", gtid_binlog_state="0-1-101"
        )
    assert names(evidence) == ["interrupted", "unwatched"]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_last_look_at_the_old_source_says_nothing_of_the_target(engine):
    """Though a replica still follows the old one."""
    evidence = lost_target(engine)
    follow(evidence.members[2], "db1")
    assert names(evidence) == ["interrupted", "unwatched"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_source_that_follows_nobody_let_nobody_open(engine):
    evidence = lost_target(engine, attached=False)
    members = evidence.members
    assert current_source.decide(members).source == "db1"
    row = row_of(engine)
    if engine == "mariadb":
        # Set when it is attached; the row itself was written after that.
        members[0].info["gtid"].update(gtid_slave_pos="", gtid_binlog_pos="0-1-101")
    assert switchover_plan.unread(members, row) == []
    assert switchover_plan.mode_of(members, row, "db2") == switchover_plan.UNDO
    assert switchover_plan.interrupted_problems(members, row, {}) == []


def test_a_mariadb_server_whose_channel_a_power_cut_may_have_taken_is_not_taken_for_one():
    """Its position as a replica is that of all it has: it was attached."""
    evidence = lost_target("mariadb", attached=False)
    evidence.members[0].info["gtid"].update(gtid_slave_pos="0-1-101", gtid_binlog_pos="0-1-101")
    assert "failover.yml" in switchover_plan.unread(evidence.members, row_of("mariadb"))[0]


def test_switchover_says_which_playbook_leads_out():
    evidence = lost_source("mysql")
    (said,) = switchover_plan.unread(evidence.members, row_of("mysql"))
    assert "db1 (no server listens) could not be read" in said
    assert said.endswith("failover.yml, which continues with the others")
    evidence = lost_target("mysql")
    (said,) = switchover_plan.unread(evidence.members, row_of("mysql"))
    assert "failover.yml with -e semisync_failover_accept=interrupted, which continues" in said


def test_the_source_takes_its_role_back_without_the_target():
    evidence = lost_target("mysql", attached=False)
    members = evidence.members
    for member in members:
        if member.info is not None:
            member.info["tls"] = {"on": False}
    wanted = samples.settings(
        switchover_to="db2",
        switchover_timeout=10,
        switchover_drain=0,
        switchover_long_transactions="refuse",
        switchover_max_lag=10,
    )
    plan = switchover_plan.planned_switchover(
        "default", members, {}, wanted, "other", "undo", row_of("mysql")
    )
    assert (plan["mode"], plan["from"], plan["to"], plan["token"]) == ("undo", "db1", "db2", "feed")
    assert sorted(plan["hosts"]) == ["db1", "db3"]
    mine = plan["hosts"]["db1"]
    assert (mine["part"], mine["target"], mine["without_target"]) == ("source", "db2", True)
    assert plan["hosts"]["db3"]["part"] == "replica"
    # It is asked all the same.
    assert "db2" in [one["host"] for one in mine["members"]]


def test_the_source_takes_its_role_back_though_the_target_has_left_the_inventory():
    evidence = lost_target("mysql", attached=False)
    members = [member for member in evidence.members if member.host != "db2"]
    for member in members:
        member.info["tls"] = {"on": False}
    wanted = samples.settings(
        switchover_to="db3",
        switchover_timeout=10,
        switchover_drain=0,
        switchover_long_transactions="refuse",
        switchover_max_lag=10,
    )
    row = row_of("mysql")
    assert switchover_plan.unread(members, row) == []
    assert switchover_plan.mode_of(members, row, "db3") == "undo"
    assert switchover_plan.interrupted_problems(members, row, {}) == []
    plan = switchover_plan.planned_switchover("default", members, {}, wanted, "other", "undo", row)
    mine = plan["hosts"]["db1"]
    assert (mine["target"], mine["without_target"]) == ("db2", True)
    # The part is to know that it cannot ask it.
    assert [one["host"] for one in mine["members"]] == ["db1", "db3"]


def test_a_replica_that_is_lost_as_well_does_not_keep_it_from_being_finished():
    """Both servers of the switchover were read."""
    evidence = lost_target("mysql")
    target = remnants.replica("mysql", "db2", whole=True)
    evidence.members[1] = target
    evidence.members[2].info = None
    assert switchover_plan.unread(evidence.members, row_of("mysql")) == []
    assert [one.host for one in switchover_plan.taking_part(evidence.members, row_of("mysql"))] == [
        "db1",
        "db2",
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_source_that_took_its_role_back_needs_no_target_to_end_it(engine):
    """Of a run that was interrupted as it undid the switchover: it follows the target yet."""
    evidence = lost_target(engine)
    row = row_of(engine)
    assert switchover_plan.unread(evidence.members, row)
    evidence.members[0].info["variables"]["read_only"] = "OFF"
    assert not switchover_plan.unread(evidence.members, row)
    assert switchover_plan.without_target([evidence.members[0], evidence.members[2]], row)
    # What the target confirmed is on a host that was read: then it was open.
    write(evidence.members[2], engine)
    assert switchover_plan.unread(evidence.members, row)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_journal_never_calls_a_server_dead_that_was_read(engine):
    """A replica that was moved knows the other of the two servers."""
    evidence = lost_target(engine)
    old, target, other = evidence.members
    for member in evidence.members:
        member.side = "source" if member is target else "replica"
    follow(other, "db1")
    old.info["channel"].update(source_uuid="", source_server_id=0)
    expected = uuid("db2") if engine == "mysql" else "2"
    assert failover_plan.source_id(evidence.members) == expected
