# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of an upgrade, from every state that an interrupted run can leave, and what is refused
before the first server; what it shares with a restart is in test_order.py.
"""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    switchover_outcome,
    switchover_premises,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._rolling import (
    mark,
    order,
    restart_premises,
    upgrade_premises,
)
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.rolling.test_order import (
    begun,
    cluster,
    hand_over,
)

NONE_PREPARED = {"prepared": 0}
WISH = mark.Wish("", False, [], True, {}, "11.8")


def old_cluster(replicas=2, engine="mariadb", version="10.11.14"):
    members = cluster(engine, replicas)
    for one in members:
        upgrade(one, version)
    return members


def upgrade(member, version="11.8.3"):
    member.info["version"] = version


def refused(members, known=None, wish=WISH, lossless=False, look=NONE_PREPARED):
    known = known or begun(members, wish)
    ordered = order.ordered(members, known)
    return upgrade_premises.upgrade_refusals(
        members, known, wish, lossless, look
    ) + restart_premises.restart_refusals(members, known, ordered, wish)


def ended_after(number):
    members = old_cluster()
    known = begun(members, WISH._replace(back=True))
    steps = [
        lambda: upgrade(members[1]),
        lambda: upgrade(members[2]),
        lambda: hand_over(members, "db2"),
        lambda: upgrade(members[0]),
        lambda: hand_over(members, "db1"),
    ]
    for step in steps[:number]:
        step()
    return members, known


def test_from_each_state_the_versions_tell_what_is_left():
    assert [order.ordered(*ended_after(number)) for number in range(6)] == [
        ("db1", ["db2", "db3"], "db2", True, "db1"),
        ("db1", ["db3"], "db2", True, "db1"),
        ("db1", [], "db2", True, "db1"),
        ("db2", ["db1"], "", False, "db1"),
        ("db2", [], "", False, "db1"),
        ("db1", [], "", False, ""),
    ]
    assert [refused(*ended_after(number)) for number in range(3)] == [[]] * 3


def test_the_plan_says_when_there_is_no_way_back_any_more():
    members = old_cluster()
    known = begun(members, WISH)
    said = "\n".join(order.lines("shop", members, order.ordered(members, known), known, False))
    assert "Upgrade to 11.8 of the servers of cluster shop" in said
    assert "1. db2: upgrade from 10.11.14 to 11.8, while db3 acknowledges" in said
    assert "role moves from db1 to db2; from then on there is no way back to 10.11.14" in said
    assert "seeds it from db1" in order.way_back(known, members[0], "db2")


def test_a_former_source_has_no_way_back():
    members = old_cluster()
    known = begun(members, WISH)
    # The plan was made when it was the source; its turn comes after the move.
    assert "seeds" not in order.way_back(known, members[0], "db1")
    members, known = ended_after(3)
    assert "no way back to 10.11.14" in order.way_back(known, members[1], "db1")


def test_a_source_that_a_failover_made_in_between_may_have_the_old_version():
    members, known = ended_after(1)
    hand_over(members, "db3")
    assert "seeds it from db3" in order.way_back(known, members[2], "db2")
    said = "\n".join(order.lines("shop", members, order.ordered(members, known), known, True))
    assert "from db3 to db2; from then on there is no way back to 10.11.14" in said


@pytest.mark.parametrize("hooked,moves", [("db2", False), ("", True)])
def test_a_host_that_a_failover_promoted_in_its_turn_keeps_the_role_if_it_is_done(hooked, moves):
    members, known = ended_after(2)
    known = {**known, "working": "db2", "hooked": hooked, "back": False}
    (_lost, *left) = members
    hand_over(left, "db2")
    assert order.ordered(left, known).last is moves


def test_the_source_at_the_begin_may_have_had_the_version():
    members = old_cluster()
    upgrade(members[0])
    known = begun(members, WISH, ["db2", "db3"])
    hand_over(members, "db2")
    said = "\n".join(order.lines("shop", members, order.ordered(members, known), known, True))
    assert "no way back to 10.11.14" in said


def test_a_former_source_of_the_old_version_need_not_apply_what_it_gets():
    members, known = ended_after(3)
    members[0].info["channel"] = {**members[1].channel, "sql_running": "No"}
    members[1].info["semisync"]["source"]["status"]["status"] = "ON"
    assert refused(members, known) == []
    upgrade(members[0])
    assert refused(members, known)[0].startswith("db1: its channel does not run")


def test_a_replica_that_does_not_acknowledge_is_upgraded_before_one_that_does():
    # A failover promoted db2, which had the version. While db1 were away, no other acknowledged, so
    # its turn would wait in vain for db3.
    members, known = ended_after(1)
    hand_over(members, "db2")
    members[1].info["semisync"]["source"]["status"]["status"] = "ON"
    for member, status in ((members[0], "ON"), (members[2], "OFF")):
        member.info["semisync"]["replica"]["status"]["status"] = status
    assert refused(members, known) == []
    assert order.ordered(members, known).replicas == ["db3", "db1"]
    known["working"] = "db1"
    assert order.ordered(members, known).replicas == ["db1", "db3"]


def test_what_is_missing_is_named():
    wanted = {"upgrade_to": "", "hook_upgrade": ""}
    (to, hook) = upgrade_premises.missing_variables(wanted)
    assert "semisync_upgrade_to" in to and "semisync_hook_upgrade" in hook


def test_the_hosts_of_a_cluster_get_the_same_version():
    members = [one.but(settings=Settings(upgrade_to="11.8")) for one in old_cluster()]
    assert upgrade_premises.different_versions(members) == []
    members[2].settings = Settings(upgrade_to="11.4")
    (said,) = upgrade_premises.different_versions(members)
    assert "db1: 11.8, db2: 11.8, db3: 11.4" in said


def test_a_server_that_may_not_go_there_is_refused():
    members = old_cluster()
    upgrade(members[2], "12.3.1")
    (said,) = refused(members)
    assert said.startswith("db3: it has 12.3.1, and 11.8 is older")


def test_an_option_that_the_version_refuses_is_refused_before():
    members = old_cluster()
    members[1].info["option_files"]["options"]["innodb_defragment"] = "0"
    (said,) = refused(members)
    assert said.startswith("db2: 11.8 refuses innodb_defragment, which it starts with; remove that")
    assert refused(members, wish=WISH._replace(to="10.11.15")) == []


def test_plugins_of_the_old_names_are_refused_before_mysql_9_7_only():
    members = old_cluster(engine="mysql", version="8.4.6")
    for one in members:
        one.info["plugins_registered"]["rpl_semi_sync_master"] = "semisync_master.so"
    (said,) = upgrade_premises.version_refusals(members[0], "9.7")
    assert said.startswith("db1: 9.7 refuses plugin rpl_semi_sync_master")
    assert "first run site.yml with -e semisync_plugin_names=new" in said
    assert upgrade_premises.version_refusals(members[0], "8.4.7") == []


@pytest.mark.parametrize(
    "engine,version,to,run",
    [
        ("mysql", "5.7.33", "8.0.45", True),
        ("mysql", "8.0.45", "8.4", True),
        ("mysql", "8.0.44", "8.0.45", True),
        ("mysql", "8.4.3", "9.7", True),
        ("percona", "8.0.45", "8.4", False),
        ("mariadb", "10.6.20", "11.8", True),
        ("mariadb", "10.4.34", "10.11", False),
        ("mariadb", "11.8.3", "12.3", False),
    ],
)
def test_a_way_that_was_not_run_is_accepted_by_name_only(engine, version, to, run):
    family = "mariadb" if engine == "mariadb" else "mysql"
    members = old_cluster(engine=family, version=version)
    for one in members:
        one.info["engine"] = engine
    wish = WISH._replace(to=to)
    said = refused(members, wish=wish)
    assert len(said) == (0 if run else 3)
    assert all("upgrade.yml has not been run from there" in words for words in said)
    assert refused(members, wish=wish._replace(accepted=["untried"])) == []


@pytest.mark.parametrize(
    "version,to,option,refused_there",
    [
        ("8.0.45", "8.0.46", "", False),
        ("8.0.45", "8.4", "", True),
        ("8.0.45", "8.4", "ON", False),
        ("8.4.3", "9.7", "ON", True),
    ],
)
def test_accounts_that_the_version_locks_out_are_refused_before(version, to, option, refused_there):
    (one, _second, _third) = old_cluster(engine="mysql", version=version)
    one.info["native_accounts"] = ["repl@%"]
    if option:
        one.info["option_files"]["options"]["mysql_native_password"] = option
    said = upgrade_premises.version_refusals(one, to)
    there = [words for words in said if "logins by mysql_native_password (repl@%)" in words]
    assert bool(there) is refused_there


@pytest.mark.parametrize(
    "look,words",
    [
        ({"prepared": 0}, ""),
        ({"prepared": 2}, "XA transactions stay prepared (2)"),
        ({"msg": "no"}, "did not say which XA transactions are prepared (no)"),
        ({}, "did not say which XA transactions are prepared (no answer)"),
    ],
)
def test_transactions_that_stay_prepared_are_refused_on_the_source_while_anything_is_left(
    look, words
):
    members = old_cluster(engine="mysql", version="8.0.44")
    wish = WISH._replace(to="8.0.45", accepted=["untried"])
    said = refused(members, wish=wish, look=look)
    assert len(said) == bool(words) and words in "".join(said)
    # XA ROLLBACK on a replica would be an errant transaction.
    assert all(one.startswith("db1: ") for one in said)
    known = begun(members, wish)
    for one in members:
        upgrade(one, "8.0.45")
    assert refused(members, known, wish, look=look) == []
    assert refused(old_cluster(), look=look) == []


@pytest.mark.parametrize(
    "check,words,accepted",
    [
        ({}, "", False),
        ({"skipped": True, "changed": False}, "", False),
        ({"tables": 9, "of": 9, "wrong": [], "unchecked": ""}, "", False),
        ({"wrong": ["s.t: Table rebuild required"]}, "FOR UPGRADE says s.t: Table rebuild", True),
        ({"wrong": list("abcdefg")}, "says a; b; c; d; e, and 2 more; repair or drop", True),
        ({"msg": "gone"}, "could not be asked about its tables (gone)", False),
    ],
)
def test_what_a_server_says_against_its_tables_is_refused(check, words, accepted):
    said = upgrade_premises.table_refusals({"db1": {}, "db2": check}, [])
    assert len(said) == bool(words) and words in "".join(said)
    assert all(one.startswith("db2: ") for one in said)
    said = upgrade_premises.table_refusals({"db2": check}, ["tables"])
    assert bool(said) is (bool(words) and not accepted)


def test_that_tables_were_not_checked_is_said_and_no_refusal():
    # What is not known is neither fine nor wrong.
    check = {"tables": 2, "of": 9, "wrong": [], "unchecked": "s.t is in use"}
    assert upgrade_premises.table_refusals({"db2": check}, []) == []
    (said,) = upgrade_premises.unchecked_lines({"db1": {}, "db2": check})
    assert said.startswith("db2: 2 of 9 tables were checked; s.t is in use.")


def test_another_version_than_that_of_the_run_that_began_is_refused():
    members, known = ended_after(1)
    said = refused(members, known, WISH._replace(to="12.3"))
    assert "upgrades to 11.8, and is not done" in said[0]


def test_a_pair_needs_a_consent_and_is_refused_under_lossless():
    members = old_cluster(replicas=1)
    (said,) = refused(members)
    assert "while a replica is upgraded, no other can acknowledge" in said
    accepted = WISH._replace(accepted=["unprotected"])
    assert refused(members, wish=accepted) == []
    (said,) = refused(members, wish=accepted, lossless=True)
    assert "writers would wait" in said


@pytest.mark.parametrize("upgrades", [False, True])
def test_only_an_upgrade_lets_a_former_source_be_older_and_no_other(upgrades):
    members, _known = ended_after(2)
    source, target = members[:2]
    found = {
        (row["host"], row["title"]): row["outcome"]
        for row in switchover_premises.versions_premises(source, target, members, upgrades)
    }
    assert found["db1", "it can follow db2"] == ("passed" if upgrades else "failed")
    upgrade(members[2], "10.11.14")
    found = [
        row["host"]
        for row in switchover_premises.versions_premises(source, target, members, upgrades)
        if row["outcome"] == "failed"
    ]
    assert "db3" in found


def test_after_the_move_an_older_former_source_need_only_receive():
    members, _known = ended_after(3)
    channel = {
        **members[1].channel,
        "source_host": "db2",
        "source_port": 3306,
        "io_running": "Yes",
        "sql_running": "No",
    }
    members[0].info["channel"] = channel
    members[0].info["semisync"]["replica"]["status"]["status"] = "ON"
    peers = {"members": [{"host": "db2", "address": "db2", "port": 3306}]}
    plan = {"from": "db1", "to": "db2", "hosts": {one.host: peers for one in members}}
    rows = {
        row["host"]: row["outcome"]
        for row in switchover_outcome.settled(plan, members, {})
        if row["id"] == "S8"
    }
    assert rows["db1"] == "passed"
    upgrade(members[0])
    rows = {
        row["host"]: row["outcome"]
        for row in switchover_outcome.settled(plan, members, {})
        if row["id"] == "S8"
    }
    assert rows["db1"] == "failed"
