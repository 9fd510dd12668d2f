# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A source that a failover left behind is no part of its cluster until it has rejoined."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import rulebook
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import (
    current_source,
    problems,
    quarantined_hosts,
    replication_problems,
)
from ansible_collections.dbre.semisync.tests.unit import samples
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.role_change import remnants

ROW = {"host": "db1", "to_host": "db2", "happened": "2026-11-22T10:00:00Z"}
JOURNAL = {"number": 3, "operation": "failover", "run": "r", "state": "done"}


def after_failover(engine, old=None):
    """db2 has taken over from db1, and db3 follows it; old is what db1's server says, or None."""
    number = remnants.SOURCE if engine == "mysql" else "1"
    new, follower = (remnants.replica(engine, host, whole=True) for host in ("db2", "db3"))
    new.info["channel"] = None
    new.info["variables"]["read_only"] = "OFF"
    own = current_source.identity(new)
    follower.info["channel"].update(source_host="db2", io_running="Yes")
    follower.info["channel"].update(
        {"source_uuid": own} if engine == "mysql" else {"source_server_id": 2}
    )
    row = dict(JOURNAL, from_host="db1", to_host="db2", from_id=number, to_id=own)
    row["happened"] = ROW["happened"]
    for member in (new, follower):
        member.info.update(journal=row, held=[dict(ROW, id=number)])
    return [samples.member("db1", "source", old, error="" if old else "gone"), new, follower]


def came_up(engine, **variables):
    info = samples.captured(engine, "source")
    info["variables"].update(variables)
    if engine == "mysql":
        info["variables"]["server_uuid"] = remnants.SOURCE
    else:
        info["variables"]["server_id"] = "1"
    return dict(info, journal=None, held=[])


def hosts(members):
    return [member.host for member in members]


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
@pytest.mark.parametrize("read_only", [None, "OFF", "ON"], ids=["gone", "open", "read-only"])
def test_whoever_lost_its_role_by_a_failover_is_no_member(engine, read_only):
    old = read_only and came_up(engine, read_only=read_only)
    members, away = quarantined_hosts.apart(after_failover(engine, old))
    assert (hosts(members), hosts([one.member for one in away])) == (["db2", "db3"], ["db1"])
    decided = current_source.decide(members)
    assert (decided.source, decided.problems, decided.outdated) == ("db2", [], False)
    assert "db1 lost the source's role to db2" in quarantined_hosts.held_reason(away[0])
    entries = rulebook.evaluate(members, away=away)
    (entry,) = [one for one in entries if one["id"].startswith("held")]
    assert entry["host"] == "db1"
    assert entry["id"] == ("held_takes_writes" if read_only == "OFF" else "held")


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_another_server_of_the_same_name_is_not_held(engine):
    key = "server_uuid" if engine == "mysql" else "server_id"
    other = came_up(engine)
    other["variables"][key] = remnants.uuid("db9") if engine == "mysql" else "9"
    members, away = quarantined_hosts.apart(after_failover(engine, other))
    assert (len(members), away) == (3, [])


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_it_is_back_when_it_follows_a_member_and_is_read_only(engine):
    old = came_up(engine, read_only="ON")
    cluster = after_failover(engine, old)
    old["channel"] = dict(cluster[2].info["channel"])
    assert quarantined_hosts.apart(cluster)[1] == []
    # What is left of a channel of its time as a replica counts for nothing if it takes writes.
    old["variables"]["read_only"] = "OFF"
    assert len(quarantined_hosts.apart(cluster)[1]) == 1


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
@pytest.mark.parametrize("io_thread", ["Connecting", "No"])
@pytest.mark.parametrize("first_is_back", [False, True])
def test_the_second_to_lose_its_role_is_not_back_by_its_channel_to_the_first(
    engine, first_is_back, io_thread
):
    """db2 took over from db1 and died; db3 took over from db2, which has its old channel still."""
    cluster = after_failover(engine, came_up(engine, read_only="ON"))
    first, second, third = cluster
    row = dict(ROW, host="db2", to_host="db3", id=current_source.identity(second))
    third.info["held"] = [*third.info["held"], row]
    third.info["journal"] = dict(third.info["journal"], number=4, from_host="db2", to_host="db3")
    second.info["channel"] = dict(third.info["channel"], source_host="db1", io_running=io_thread)
    second.info["channel"].update(
        {"source_uuid": remnants.SOURCE} if engine == "mysql" else {"source_server_id": 1}
    )
    second.info["variables"]["read_only"] = "ON"
    if first_is_back:
        first.info["channel"] = dict(third.info["channel"], source_host="db3")
        first.info["channel"].update(source_uuid=None, source_server_id=None)
    third.info["channel"] = None
    third.info["variables"]["read_only"] = "OFF"
    members, away = quarantined_hosts.apart(cluster)
    expected = ["db1", "db2"] if not first_is_back else ["db2"] if io_thread == "No" else []
    assert hosts([one.member for one in away]) == expected
    assert first_is_back or current_source.decide(members).source == "db3"
    # A ring is no way back either.
    first.info["channel"] = dict(second.info["channel"], source_host="db2")
    first.info["channel"].update(source_uuid=None, source_server_id=None)
    assert len(quarantined_hosts.apart(cluster)[1]) == 2


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_consent_to_overwrite_its_data_makes_it_a_replica_once_it_is_read_only(engine):
    old = came_up(engine, read_only="ON")
    members, away = quarantined_hosts.apart(after_failover(engine, old), ["db1"])
    decided = current_source.decide(members)
    assert (len(members), away, decided.source, decided.problems) == (3, [], "db2", [])
    old["variables"]["read_only"] = "OFF"
    members, away = quarantined_hosts.apart(after_failover(engine, old), ["db1"])
    assert "take writes, a split brain" in current_source.decide(members).problems[0]


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
@pytest.mark.parametrize("group", ["db1", "db2"])
def test_its_data_are_not_replaced_while_it_takes_writes_whatever_was_moved_since(engine, group):
    cluster = after_failover(engine, came_up(engine, read_only="OFF"))
    for member in cluster:
        member.group = "source" if member.host == group else "replica"
    there_and_back = {"number": 5, "operation": "switchover", "from_host": "db3"}
    there_and_back["from_id"] = current_source.identity(cluster[2])
    for member in cluster[1:]:
        member.info["journal"] = dict(member.info["journal"], **there_and_back)
    members, away = quarantined_hosts.apart(cluster, ["db1"])
    assert (away, problems.inventory_problems("shop", members)) == ([], [])
    decided = current_source.decide(members)
    assert (decided.source, decided.writing) == ("db2", ("db1", "db2"))
    assert "take writes, a split brain" in decided.problems[0]


def test_without_a_journal_nobody_is_held():
    cluster = after_failover("mysql")
    for member in cluster[1:]:
        member.info.update(journal=None)
    assert len(quarantined_hosts.apart(cluster)[0]) == 3


def test_the_longest_journal_counts():
    # The server that came back ends its journal with another row, in which others are held.
    old = came_up("mysql", read_only="ON")
    old["journal"] = dict(JOURNAL, number=2)
    old["held"] = [dict(ROW, host="db2", id=remnants.uuid("db2"))]
    assert hosts(quarantined_hosts.apart(after_failover("mysql", old))[0]) == ["db2", "db3"]


def who_was_away(cluster):
    """Let db3 follow db1 as before the failover; it."""
    follower, engine = cluster[2], cluster[2].info["engine"]
    follower.info["channel"].update(source_host="db1")
    follower.info["channel"].update(
        {"source_uuid": remnants.SOURCE} if engine == "mysql" else {"source_server_id": 1}
    )
    return follower


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
@pytest.mark.parametrize("there", [False, True], ids=["gone", "back"])
def test_a_replica_that_was_away_follows_who_lost_its_role(engine, there):
    cluster = after_failover(engine, came_up(engine, read_only="OFF") if there else None)
    assert [quarantined_hosts.missed(member, cluster) for member in cluster] == [None] * 3
    away = who_was_away(cluster)
    assert quarantined_hosts.missed(away, cluster)["host"] == "db1"
    members, apart = quarantined_hosts.apart(cluster)
    (entry,) = [
        one for one in rulebook.evaluate(members, away=apart) if one["id"] == "follows_held"
    ]
    assert (entry["host"], entry["severity"]) == ("db3", "critical")
    assert "its channel is to db1, whose role went to db2" in entry["evidence"]
    if engine == "mariadb" and not there:
        # It has not connected since its server started, and only knows an address.
        away.info["channel"]["source_server_id"] = 0
        assert quarantined_hosts.missed(away, cluster)["host"] == "db1"
    away.info["channel"] = None
    assert quarantined_hosts.missed(away, cluster) is None


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_where_a_replica_was_away_it_is_said_who_brings_it_back(engine):
    cluster = after_failover(engine)
    away = who_was_away(cluster)
    # It has not connected since its server started: MariaDB then knows an address, and no number.
    away.info["channel"]["source_server_id"] = 0
    members, _apart = quarantined_hosts.apart(cluster)
    members[0].side = "source"
    (words,) = replication_problems.channel_problems(members[1], members[0], members)
    assert "db3 was away when db1 lost its role, and still follows it: run rejoin.yml with" in words
    # Whom the inventory has no more is known by the number alone.
    members = after_failover(engine)[1:]
    members[0].side = "source"
    who_was_away([None, *members])
    (words,) = replication_problems.channel_problems(members[1], members[0], members)
    assert words.endswith("attaches it to db2; first put db1 back into the inventory")
    for member in members:
        member.info["held"] = []
    (words,) = replication_problems.channel_problems(members[1], members[0], members)
    assert words.endswith("correct the inventory, or attach it to that source yourself")
