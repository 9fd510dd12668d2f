# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import LOST
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import problems
from ansible_collections.dbre.semisync.tests.unit import samples

ENGINES = ("mysql", "mariadb")


def one_problem(found, *words):
    assert len(found) == 1, found
    for word in words:
        assert word in found[0]


def of_cluster(members, **changes):
    return problems.cluster_problems(members, samples.settings(**changes))


# Clusters that are right


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("build", [samples.pair, samples.bare, samples.replicating])
def test_a_sound_cluster_has_no_problem(engine, build):
    members = build(engine)
    assert problems.inventory_problems("default", members) == []
    assert problems.reading_problems(members) == of_cluster(members) == []


@pytest.mark.parametrize(
    "engine,version", [("mysql", "5.7.44"), ("mysql", "8.0.25"), ("mariadb", "10.3.2")]
)
def test_a_sound_cluster_of_old_servers_has_no_problem(engine, version):
    assert (
        of_cluster(samples.bare(engine, 2, version))
        == of_cluster(samples.replicating(engine, 2, version))
        == []
    )


def test_servers_without_gtids_that_replicate_are_none():
    assert of_cluster(samples.replicating("mysql", 1, "5.5.62")) == []


# Inventory


def hosts(*roles):
    return [samples.member(f"db{number + 1}", role, None) for number, role in enumerate(roles)]


def test_replicas_without_a_source():
    one_problem(
        problems.inventory_problems("shop", hosts("replica", "replica")),
        "cluster 'shop' (semisync_cluster) has no source",
        "db1, db2",
        "semisync_source",
    )


def test_two_sources():
    one_problem(
        problems.inventory_problems("shop", hosts("source", "source", "replica")),
        "cluster 'shop'",
        "2 sources: db1, db2",
        "semisync_replica",
    )


def test_a_source_without_replicas():
    one_problem(
        problems.inventory_problems("shop", hosts("source")),
        "no replica",
        "db1",
        "semisync_replica",
    )


def test_a_host_in_both_groups():
    members = [*hosts("source", "replica"), samples.member("db1", "replica", None)]
    one_problem(
        problems.inventory_problems("shop", members),
        "db1 is in both groups",
        "semisync_source",
        "semisync_replica",
    )


# Values


# Hosts that could not be read. The texts are those that the modules give.


@pytest.mark.parametrize(
    "result,words",
    [
        (
            {
                "failed": True,
                "msg": (
                    "wrong login: the server at /run/mysqld/mysqld.sock refuses root: (1045, …)."
                ),
            },
            "wrong login",
        ),
        (
            {"failed": True, "msg": "the server is not running, or does not listen at …"},
            "the server is not running",
        ),
        ({"failed": True, "msg": "server not identified: mysql 5.1.73 is too old"}, "too old"),
        (
            {
                "failed": True,
                "msg": "PyMySQL is missing for the Python that Ansible uses on this host",
            },
            "PyMySQL is missing",
        ),
        (
            {"unreachable": True, "msg": "Failed to connect to the host\n via ssh:  timed out"},
            "unreachable: Failed to connect to the host via ssh: timed out",
        ),
        ({}, "was not read in this run"),
        (None, "was not read in this run"),
        ({"failed": True}, "could not be read"),
    ],
)
def test_a_host_that_could_not_be_read_says_why(result, words):
    members = [
        samples.member("db1", "source", samples.server("mysql")),
        samples.member("db2", "replica", None, error=problems.unreadable(result)),
    ]
    one_problem(problems.reading_problems(members), "db2: ", words)


def test_a_host_that_was_lost_while_its_module_ran_says_nothing_of_python():
    ssh = 'Data could not be sent to remote host "10.99.0.11". Make sure it can be reached over ssh'
    python = "Exception ignored in: <function f>\nTraceback (most recent call last):\n  File x"
    result = {"unreachable": True, "msg": f"Task failed: {ssh}: {python}"}
    assert problems.unreadable(result) == f"unreachable: {ssh}"


def test_the_first_cause_is_told_and_not_who_went_with_it():
    """A drill's source has failed with the verdict on a replica that could not be read."""
    members = [
        samples.member("db1", "source", None, error=LOST),
        samples.member("db2", "replica", None, error="the server is not running"),
    ]
    assert problems.reading_problems(members) == ["db2: the server is not running"]
    members[1] = samples.member("db2", "replica", samples.server("mysql"))
    assert problems.reading_problems(members) == ["db1: " + LOST]


# Servers


def test_mysql_and_mariadb_in_one_cluster():
    members = [samples.bare("mysql")[0], samples.bare("mariadb")[1]]
    one_problem(
        of_cluster(members),
        "mixed in one cluster",
        "MySQL: db1 (9.7.4-2)",
        "MariaDB: db2 (10.11.19-MariaDB",
    )


def test_mysql_and_percona_server_are_one_family():
    members = samples.bare("mysql")
    members[1].info["engine"] = "percona"
    assert of_cluster(members) == []


@pytest.mark.parametrize(
    "plugins,registered,way_out",
    [
        (
            {"rpl_semi_sync_master": "ACTIVE", "rpl_semi_sync_source": "ACTIVE"},
            {},
            "UNINSTALL PLUGIN rpl_semi_sync_master",
        ),
        (
            {"rpl_semi_sync_source": "ACTIVE"},
            {"rpl_semi_sync_slave": "semisync_slave.so"},
            "DELETE FROM mysql.plugin WHERE name IN ('rpl_semi_sync_slave')",
        ),
    ],
)
def test_old_and_new_plugins_on_one_host(plugins, registered, way_out):
    members = samples.pair("mysql")
    members[0].info.update(plugins=plugins, plugins_registered=registered)
    one_problem(of_cluster(members), "db1: plugins of both name generations", way_out)


def test_a_galera_node():
    members = samples.bare("mariadb")
    members[1].info["variables"]["wsrep_on"] = "ON"
    one_problem(of_cluster(members), "db2: wsrep_on is ON")


def test_a_source_without_a_network():
    members = samples.bare("mysql")
    members[0].info["variables"]["skip_networking"] = "ON"
    one_problem(of_cluster(members), "db1: skip_networking is ON", "remove it from the option file")


def test_a_replica_with_named_channels_only():
    members = samples.bare("mysql")
    members[1].info["other_channels"] = ["analytics"]
    one_problem(of_cluster(members), "db2: ", "named channel analytics", "default channel")


@pytest.mark.parametrize("engine,version", [("mysql", "5.5.62"), ("mariadb", "5.5.68")])
def test_replication_cannot_be_set_up_without_gtids(engine, version):
    found = of_cluster(samples.bare(engine, 1, version))
    assert len(found) == 2
    for host, text in zip(("db1", "db2"), found, strict=False):
        assert (
            text.startswith(f"{host}: {engine} {version} has no GTIDs")
            and "let db2 replicate" in text
        )


# server_id


@pytest.mark.parametrize("engine", ENGINES)
def test_one_server_id_on_two_hosts_that_is_asked_for(engine):
    members = samples.bare(engine)
    for one in members:
        one.explicit_id = 7
    one_problem(of_cluster(members), "server_id 7 is given to db1 and db2", "semisync_server_id")


def test_one_server_id_on_two_hosts_that_run_with_it():
    members = samples.bare("mysql")
    for one in members:
        one.info["variables"]["server_id"] = "42"
    one_problem(of_cluster(members), "server_id 42 is given to db1 and db2", "semisync_server_id")


# Acknowledgements


def test_more_acknowledgements_than_replicas():
    one_problem(
        of_cluster(samples.bare("mysql"), wait_for_replica_count=2),
        "db1: semisync_wait_for_replica_count is 2",
        "the cluster has 1 replica(s)",
    )
    assert of_cluster(samples.bare("mysql", 2), wait_for_replica_count=2) == []


def test_mariadb_waits_for_one_acknowledgement_only():
    one_problem(
        of_cluster(samples.bare("mariadb", 2), wait_for_replica_count=2),
        "db1: semisync_wait_for_replica_count is 2",
        "mariadb 10.11.19 waits for one",
        "set it to 1",
    )


# Replicas that follow another server


def test_a_mysql_replica_of_another_source():
    members = samples.replicating("mysql")
    members[1].channel.update(source_host="elsewhere", source_uuid=samples.uuid("other"))
    one_problem(
        of_cluster(members),
        "db2 replicates from another source: elsewhere:3306",
        samples.uuid("other"),
        "not from db1",
        "correct the inventory",
    )


def test_a_mariadb_replica_of_another_source():
    members = samples.replicating("mariadb")
    members[1].channel.update(source_host="elsewhere", source_server_id=999)
    one_problem(
        of_cluster(members),
        "db2 replicates from another source: elsewhere:3306 (server_id 999)",
        "db1 (101)",
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_the_sources_address_may_be_spelled_in_any_way(engine):
    members = samples.replicating(engine)
    members[1].channel["source_host"] = "10.0.0.1"
    assert of_cluster(members) == []


# New replicas


@pytest.mark.parametrize("engine", ENGINES)
def test_a_password_is_needed_only_where_replication_is_set_up(engine):
    one_problem(
        of_cluster(samples.bare(engine), replication_password=""),
        "db2: semisync_replication_password is empty",
        "account repl",
    )
    assert of_cluster(samples.replicating(engine), replication_password="") == []
    assert of_cluster(samples.pair(engine), replication_password="") == []


def test_a_password_longer_than_a_mysql_replica_takes():
    found = of_cluster(samples.bare("mysql"), replication_password="\u00fc" * 33)
    one_problem(found, "db2: semisync_replication_password has 33 characters", "at most 32")
    assert "\u00fc" not in found[0]
    assert of_cluster(samples.bare("mysql"), replication_password="\u00fc" * 32) == []
    assert of_cluster(samples.bare("mariadb"), replication_password="x" * 40) == []


@pytest.mark.parametrize(
    "password",
    ["it's", 'say "x"', "back\\slash", "two words", "Schl\u00fcssel\U0001f511", "100%s", "{{ x }}"],
)
def test_passwords_with_any_character_are_fine(password):
    for engine in ENGINES:
        assert of_cluster(samples.bare(engine), replication_password=password) == []


def test_a_replica_to_be_with_schemas_of_its_own():
    for engine in ENGINES:
        members = samples.bare(engine)
        members[1].info["schemas"] = ["shop"]
        one_problem(
            of_cluster(members),
            "db2 holds data that the source db1 does not have: schemas shop",
            "not overwritten",
            "restored backup",
        )


def test_a_replica_to_be_with_transactions_of_its_own():
    members = samples.bare("mysql")
    mine = members[1].info["variables"]["server_uuid"]
    members[1].info["gtid"]["gtid_executed"] = mine + ":1-3"
    one_problem(of_cluster(members), "db2 holds data", f"transactions {mine}:1-3")
    members = samples.bare("mariadb")
    members[1].info["gtid"].update(gtid_binlog_state="0-2-3", gtid_slave_pos="")
    one_problem(of_cluster(members), "db2 holds data", "transactions 0-2-3")


def test_a_copy_of_the_source_may_become_a_replica():
    members = samples.replicating("mysql", 2)
    members[2].info["channel"] = None
    members[2].info["gtid"]["gtid_executed"] = (
        members[0].info["gtid"]["gtid_executed"].replace("900", "700")
    )
    assert of_cluster(members) == []
    members = samples.replicating("mariadb", 2)
    members[2].info["channel"] = None
    members[2].info["gtid"].update(gtid_binlog_state="", gtid_slave_pos="0-101-700")
    assert of_cluster(members) == []


def test_a_copy_that_is_too_old_for_the_sources_binary_logs():
    members = samples.replicating("mysql", 2)
    theirs = members[0].info["variables"]["server_uuid"]
    members[2].info["channel"] = None
    members[2].info["gtid"]["gtid_executed"] = theirs + ":1-300"
    members[0].info["gtid"]["gtid_purged"] = theirs + ":1-500"
    one_problem(
        of_cluster(members, seed_method="none"),
        "db3: the source db1 has purged binary logs",
        theirs + ":301-500",
        "restore a backup",
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_an_empty_replica_of_a_source_with_history(engine):
    members = samples.bare(engine)
    members[0].info["variables"]["gtid_mode"] = "ON"
    members[0].info["schemas"] = ["important", "shop"]
    one_problem(
        of_cluster(members, seed_method="none"),
        "db2: the source db1 holds data (schemas shop)",
        "restore a backup",
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_the_canarys_schema_is_no_history(engine):
    members = samples.bare(engine)
    members[0].info["variables"]["gtid_mode"] = "ON"
    members[0].info["schemas"] = ["important"]
    assert of_cluster(members) == []


def test_canary_rows_written_without_gtids_are_history():
    members = samples.bare("mysql")
    members[0].info["variables"]["gtid_mode"] = "OFF"
    members[0].info["schemas"] = ["important"]
    one_problem(
        of_cluster(members, seed_method="none"),
        "db2: the source db1 holds data (schemas important) from before replication",
    )


def test_an_empty_replica_of_a_source_that_purged_its_first_logs():
    members = samples.bare("mysql")
    members[0].info["gtid"]["gtid_purged"] = members[0].info["variables"]["server_uuid"] + ":1-5"
    one_problem(
        of_cluster(members, seed_method="none"),
        "db2: the source db1 has purged its first binary logs",
    )


def test_a_second_replica_where_the_first_replicates_by_file_and_position():
    members = samples.replicating("mysql", 2)
    members[0].info["variables"]["gtid_mode"] = "OFF"
    members[0].info["schemas"] = []
    members[2].info.update(channel=None, schemas=[])
    members[2].info["gtid"]["gtid_executed"] = ""
    one_problem(
        of_cluster(members), "db3: the source db1 replicates by file and position (gtid_mode OFF)"
    )


# SET PERSIST


def test_a_persisted_value_that_would_win_at_the_next_start():
    members = samples.pair("mysql")
    members[0].info["persisted"] = {
        "rpl_semi_sync_source_timeout": "500",
        "sync_binlog": "1",
        "max_connections": "9",
    }
    one_problem(
        of_cluster(members),
        "db1: rpl_semi_sync_source_timeout is persisted as 500",
        "wanted 10000",
        "RESET PERSIST rpl_semi_sync_source_timeout",
    )


def test_a_persisted_value_for_the_later_stage_is_no_problem_yet():
    members = samples.bare("mysql")
    members[0].info["persisted"] = {"rpl_semi_sync_source_timeout": "500"}
    assert of_cluster(members, stage="replication") == []


@pytest.mark.parametrize(
    "given,words",
    [
        ({"sync_binlog": "0"}, ("--sync-binlog=0", "overrides the wanted 1")),
        ({"rpl_semi_sync_source_enabled": "1", "port": "3307"}, ()),
        ({"rpl_semi_sync_source_enabled": ""}, ()),
        ({"log_bin": "/var/log/binlog"}, ()),
    ],
)
def test_what_a_server_is_started_with_must_not_override_our_lines(given, words):
    members = samples.bare("mysql")
    members[0].info["option_files"]["command_line"] = given
    if words:
        one_problem(of_cluster(members), "db1: the server is started with", *words)
    else:
        assert of_cluster(members) == []


def test_nothing_is_planned_for_a_server_whose_option_files_could_not_be_read():
    members = samples.pair("mysql")
    members[1].info["option_files"]["unknown"] = "mysqld is not to be found"
    one_problem(
        problems.reading_problems(members),
        "db2: what its server starts with is not known: mysqld is not to be found",
    )


def test_every_problem_of_a_cluster_is_said_at_once():
    members = samples.bare("mysql", 2)
    members[0].info["variables"]["skip_networking"] = "ON"
    members[1].info["schemas"] = ["shop"]
    members[2].info["other_channels"] = ["analytics"]
    found = of_cluster(members)
    assert [text.split(" ", maxsplit=1)[0].rstrip(":") for text in found] == ["db1", "db3", "db2"]


def test_no_problem_says_the_password():
    members = samples.bare("mysql", 2)
    members[1].info["schemas"] = ["shop"]
    found = of_cluster(members, replication_password="geheim" * 7)
    assert found and "geheim" not in "".join(found)


def test_a_source_whose_only_replica_is_held_is_told_how_that_comes_back():
    (words,) = problems.inventory_problems("shop", samples.pair("mysql")[:1], held=["db2"])
    assert "db2, which lost the source's role and is held" in words
    assert "semisync_rejoin=db2" in words and "put a host into group" not in words
