# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import option_files
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import apply, option_lines
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.server_part import (
    option_file_step,
)
from ansible_collections.dbre.semisync.tests.unit import samples

ENGINES = ("mysql", "mariadb")
P0 = {
    "server_id",
    "log_bin",
    "gtid_mode",
    "enforce_gtid_consistency",
    "log_slave_updates",
    "log_replica_updates",
    "relay_log",
    "bind_address",
}
SERVERS = [
    ("mysql", "9.7.4"),
    ("mysql", "8.4.3"),
    ("mysql", "8.0.25"),
    ("mysql", "5.7.44"),
    ("mariadb", "11.8.2"),
    ("mariadb", "10.11.19"),
    ("mariadb", "10.3.2"),
    ("mariadb", "10.1.2"),
]
STARTS = {"bare": samples.bare, "replicating": samples.replicating}


def written(planned):
    return option_files.parse_ours(planned["option_file"]["content"])


def enabled(role, engine):
    word = {"mysql": role, "mariadb": {"source": "master", "replica": "slave"}[role]}[engine]
    return f"rpl_semi_sync_{word}_enabled"


# A pair that is what it should be.


@pytest.mark.parametrize("engine", ENGINES)
def test_a_pair_that_is_right_is_left_alone(engine):
    for planned in samples.plans(samples.pair(engine)).values():
        assert not planned["changes"] and not planned["server_changes"]
        assert (planned["restart"], planned["restart_reasons"], planned["set_global"]) == (
            False,
            [],
            {},
        )
        assert not (planned["install_plugin"] or planned["restart_io"] or planned["account"])
        assert not planned["option_file"]["changed"] and planned["channel"] == "none"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("how", [{"apply": "online"}, {"stage": "replication"}])
def test_a_pair_that_is_right_is_left_alone_however_it_is_asked(engine, how):
    assert samples.changed(samples.plans(samples.pair(engine), **how)) == []


def test_the_captured_option_files_are_those_that_are_written_today():
    for engine in ENGINES:
        for planned in samples.plans(samples.pair(engine)).values():
            assert planned["option_file"]["content"] == planned["option_file"]["before"]


# A bare pair.


def test_a_bare_mysql_pair_gets_replication_and_semisync():
    found = samples.plans(samples.bare("mysql"), hold_back=False)
    source, replica = found["db1"], found["db2"]
    assert source["fresh"] and replica["fresh"]
    assert written(source) == {
        "server_id": str(source["server_id"]),
        "gtid_mode": "ON",
        "enforce_gtid_consistency": "ON",
        "log_replica_updates": "ON",
        "relay_log": "mysql-relay-bin",
        "bind_address": "*",
        "sync_binlog": "1",
        "innodb_flush_log_at_trx_commit": "1",
        "rpl_semi_sync_source_enabled": "1",
        "rpl_semi_sync_source_timeout": "10000",
        "rpl_semi_sync_source_wait_point": "AFTER_SYNC",
        "rpl_semi_sync_source_wait_for_replica_count": "1",
        "rpl_semi_sync_source_wait_no_replica": "1",
        "rpl_semi_sync_source_trace_level": "32",
        "rpl_semi_sync_replica_enabled": "0",
        "rpl_semi_sync_replica_trace_level": "32",
    }
    assert written(replica) == {
        "server_id": str(replica["server_id"]),
        "gtid_mode": "ON",
        "enforce_gtid_consistency": "ON",
        "log_replica_updates": "ON",
        "relay_log": "mysql-relay-bin",
        "bind_address": "*",
        "read_only": "ON",
        "sync_binlog": "1",
        "innodb_flush_log_at_trx_commit": "1",
        "rpl_semi_sync_replica_enabled": "1",
        "rpl_semi_sync_replica_trace_level": "32",
        "rpl_semi_sync_source_enabled": "0",
        "rpl_semi_sync_source_timeout": "10000",
        "rpl_semi_sync_source_wait_point": "AFTER_SYNC",
        "rpl_semi_sync_source_wait_for_replica_count": "1",
        "rpl_semi_sync_source_wait_no_replica": "1",
        "rpl_semi_sync_source_trace_level": "32",
    }
    assert (source["plugin"], replica["plugin"]) == (
        "rpl_semi_sync_source",
        "rpl_semi_sync_replica",
    )
    for planned in (source, replica):
        assert planned["install"] == [planned["side"], option_lines.OTHER_SIDE[planned["side"]]]
        assert planned["install_plugin"] and planned["restart"] and planned["set_global"] == {}
        assert planned["option_file"]["path"] == "/etc/mysql/mysql.conf.d/zz-dbre-semisync.cnf"
        assert planned["option_file"]["content"].startswith(option_files.HEADER + "[mysqld]\n")
        assert "gtid_mode is OFF, ON is wanted" in planned["restart_reasons"]
    assert (source["account"], replica["account"]) == (True, False)
    assert (source["channel"], replica["channel"]) == ("none", "configure")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_replica_of_others_may_be_written_to(engine):
    assert "read_only" not in written(samples.plans(samples.replicating(engine))["db2"])
    assert "read_only" not in written(
        samples.plans(samples.bare(engine), samples.settings(replica_read_only=False))["db2"]
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("io_running,expected", [("Yes", {"read_only": "ON"}), ("No", {})])
def test_a_replica_of_ours_becomes_read_only_again_unless_it_may_have_been_promoted(
    engine, io_running, expected
):
    members = samples.pair(engine)
    members[1].info["variables"]["read_only"] = "OFF"
    members[1].info["channel"]["io_running"] = io_running
    planned = samples.plans(members)["db2"]
    assert planned["set_global"] == expected and not planned["restart"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_source_waits_with_semisync_until_its_replicas_run(engine):
    members = samples.bare(engine)
    source = samples.plans(members)["db1"]
    assert source["held"] and source["account"] and source["changes"]
    assert not [name for name in written(source) if "semi_sync" in name]
    assert samples.plans(members)["db2"]["held"] is False
    for one in members:
        samples.server_steps(one, samples.plans(members)[one.host])
    samples.connect(members[1], members[0])
    source = samples.plans(members)["db1"]
    assert not source["held"] and written(source)[enabled("source", engine)] == "1"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_semisync_source_does_not_give_it_up_for_a_stopped_channel(engine):
    members = samples.pair(engine)
    members[1].channel.update(io_running="No")
    assert samples.plans(members)["db1"]["held"] is False


def test_a_bare_mariadb_pair_gets_replication_and_semisync():
    found = samples.plans(samples.bare("mariadb"), hold_back=False)
    source, replica = found["db1"], found["db2"]
    assert written(source) == {
        "server_id": str(source["server_id"]),
        "log_bin": "mysql-bin",
        "log_slave_updates": "ON",
        "relay_log": "mysql-relay-bin",
        "bind_address": "*",
        "sync_binlog": "1",
        "innodb_flush_log_at_trx_commit": "1",
        "rpl_semi_sync_master_enabled": "1",
        "rpl_semi_sync_master_timeout": "10000",
        "rpl_semi_sync_master_wait_point": "AFTER_SYNC",
        "rpl_semi_sync_master_wait_no_slave": "1",
        "rpl_semi_sync_master_trace_level": "32",
        "rpl_semi_sync_slave_enabled": "0",
        "rpl_semi_sync_slave_trace_level": "32",
    }
    assert written(replica) == {
        "server_id": str(replica["server_id"]),
        "log_bin": "mysql-bin",
        "log_slave_updates": "ON",
        "relay_log": "mysql-relay-bin",
        "bind_address": "*",
        "read_only": "ON",
        "sync_binlog": "1",
        "innodb_flush_log_at_trx_commit": "1",
        "rpl_semi_sync_slave_enabled": "1",
        "rpl_semi_sync_slave_trace_level": "32",
        "rpl_semi_sync_master_enabled": "0",
        "rpl_semi_sync_master_timeout": "10000",
        "rpl_semi_sync_master_wait_point": "AFTER_SYNC",
        "rpl_semi_sync_master_wait_no_slave": "1",
        "rpl_semi_sync_master_trace_level": "32",
    }
    for planned in (source, replica):
        assert planned["restart"] and not planned["install_plugin"] and planned["plugin"] is None


@pytest.mark.parametrize(
    "engine,version,loose",
    [
        ("mysql", "9.7.4", True),
        ("mysql", "5.7.44", True),
        ("mariadb", "10.3.2", True),
        ("mariadb", "10.11.19", False),
    ],
)
def test_only_a_plugins_options_are_loose(engine, version, loose):
    for planned in samples.plans(samples.bare(engine, version=version)).values():
        names = [
            line.split(" = ")[0]
            for line in planned["option_file"]["content"].splitlines()
            if " = " in line
        ]
        assert [name for name in names if name.startswith("loose_")] == [
            name for name in names if "rpl_semi_sync" in name and loose
        ]


@pytest.mark.parametrize(
    "engine,version,plugins",
    [
        ("mysql", "5.7.44", ("rpl_semi_sync_master", "rpl_semi_sync_slave")),
        ("mysql", "8.0.25", ("rpl_semi_sync_master", "rpl_semi_sync_slave")),
        ("mysql", "8.0.26", ("rpl_semi_sync_source", "rpl_semi_sync_replica")),
        ("mariadb", "10.3.2", ("rpl_semi_sync_master", "rpl_semi_sync_slave")),
        ("mariadb", "10.3.3", (None, None)),
    ],
)
def test_the_plugins_are_the_servers_own(engine, version, plugins):
    found = samples.plans(samples.bare(engine, version=version))
    assert (found["db1"]["plugin"], found["db2"]["plugin"]) == plugins
    assert all(
        planned["install_plugin"] is (planned["plugin"] is not None) for planned in found.values()
    )


def test_options_that_a_server_does_not_know_are_not_written():
    assert "rpl_semi_sync_master_wait_point" not in written(
        samples.plans(samples.bare("mysql", version="5.6.51"))["db1"]
    )
    assert "rpl_semi_sync_master_wait_point" not in written(
        samples.plans(samples.bare("mariadb", version="10.1.2"))["db1"]
    )


# server_id


def test_made_up_server_ids_are_distinct_stable_and_no_defaults():
    members = samples.bare("mysql", 20)
    numbers = [
        option_lines.server_id(f"db{number}.example.com", 0, members[0].info, True)
        for number in range(200)
    ]
    assert len(set(numbers)) == 200 and min(numbers) > 1 and max(numbers) <= 4294967295
    assert numbers == [
        option_lines.server_id(f"db{number}.example.com", 0, members[0].info, True)
        for number in range(200)
    ]


@pytest.mark.parametrize(
    "running,explicit,fresh,expected",
    [
        ("1", 0, True, 3226732337),
        ("0", 0, True, 3226732337),
        (None, 0, True, 3226732337),
        ("101", 0, True, 101),
        ("101", 7, True, 7),
        ("1", 7, True, 7),
        ("101", 7, False, 101),
        ("1", 0, False, 1),
    ],
)
def test_a_servers_identity(running, explicit, fresh, expected):
    info = samples.server("mysql")
    info["variables"]["server_id"] = running
    assert option_lines.server_id("m1", explicit, info, fresh) == expected


# A pair that the collection did not set up.


@pytest.mark.parametrize("engine", ENGINES)
def test_replication_that_we_did_not_set_up_is_not_touched(engine):
    found = samples.plans(samples.replicating(engine))
    for planned in found.values():
        assert not planned["fresh"]
        assert not P0 & set(written(planned))
        assert planned["channel"] == "none" and not planned["account"]
        assert [
            reason for reason in planned["restart_reasons"] if reason.split(" is ")[0] in P0
        ] == []


@pytest.mark.parametrize("engine", ENGINES)
def test_replication_by_file_and_position_is_not_touched_either(engine):
    members = samples.replicating(engine)
    members[1].channel["gtid"] = False
    members[0].info["variables"]["gtid_mode"] = "OFF" if engine == "mysql" else None
    assert not any(P0 & set(written(planned)) for planned in samples.plans(members).values())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_second_replica_of_foreign_replication_is_set_up_without_touching_the_rest(engine):
    members = samples.replicating(engine, 2)
    members[2].info["channel"] = None
    found = samples.plans(members)
    assert (
        found["db3"]["fresh"]
        and found["db3"]["channel"] == "configure"
        and "server_id" in written(found["db3"])
    )
    assert (
        not found["db1"]["fresh"]
        and found["db1"]["account"]
        and not P0 & set(written(found["db1"]))
    )
    assert not found["db2"]["fresh"] and found["db2"]["channel"] == "none"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_foreign_channel_that_stands_still_is_started_not_configured(engine):
    members = samples.replicating(engine)
    members[1].channel.update(io_running="No", sql_running="No")
    planned = samples.plans(members)["db2"]
    assert planned["channel"] == "start" and planned["changes"]


def test_an_account_that_exists_is_not_made_again():
    members = samples.bare("mysql")
    assert samples.plans(members)["db1"]["account"]
    members[0].info["accounts"] = [
        {
            "user": "repl",
            "host": "%",
            "privileges": ["REPLICATION SLAVE ON *.*"],
            "needs_ssl": False,
        }
    ]
    assert not samples.plans(members)["db1"]["account"]
    assert samples.plans(members, samples.settings(replication_user_host="10.%"))["db1"]["account"]


# Drift


@pytest.mark.parametrize(
    "engine,role,key,value,expected",
    [
        ("mysql", "source", "enabled", "OFF", {"rpl_semi_sync_source_enabled": 1}),
        ("mysql", "source", "timeout", "500", {"rpl_semi_sync_source_timeout": 10000}),
        (
            "mysql",
            "source",
            "wait_point",
            "AFTER_COMMIT",
            {"rpl_semi_sync_source_wait_point": "AFTER_SYNC"},
        ),
        ("mysql", "source", "wait_no_replica", "OFF", {"rpl_semi_sync_source_wait_no_replica": 1}),
        ("mysql", "replica", "enabled", "OFF", {"rpl_semi_sync_replica_enabled": 1}),
        ("mariadb", "source", "enabled", "OFF", {"rpl_semi_sync_master_enabled": 1}),
        (
            "mariadb",
            "source",
            "wait_point",
            "AFTER_COMMIT",
            {"rpl_semi_sync_master_wait_point": "AFTER_SYNC"},
        ),
        ("mariadb", "replica", "enabled", "OFF", {"rpl_semi_sync_slave_enabled": 1}),
        ("mariadb", "replica", "trace_level", "1", {"rpl_semi_sync_slave_trace_level": 32}),
    ],
)
def test_what_drifted_at_run_time_is_set_without_a_restart(engine, role, key, value, expected):
    members = samples.pair(engine)
    one = members[role == "replica"]
    one.info["semisync"][role]["variables"][key] = value
    found = samples.plans(members)
    assert samples.changed(found) == [one.host]
    planned = found[one.host]
    assert planned["set_global"] == expected
    assert (
        not planned["restart"]
        and not planned["option_file"]["changed"]
        and not planned["install_plugin"]
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "name,value", [("sync_binlog", "0"), ("innodb_flush_log_at_trx_commit", "2")]
)
def test_durability_that_drifted_is_set_without_a_restart(engine, name, value):
    members = samples.pair(engine)
    members[0].info["variables"][name] = value
    planned = samples.plans(members)["db1"]
    assert (
        planned["set_global"] == {name: 1}
        and not planned["restart"]
        and not planned["option_file"]["changed"]
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("role", ["source", "replica"])
def test_an_option_line_that_is_gone_is_written_without_a_restart(engine, role):
    members = samples.pair(engine)
    one = members[role == "replica"]
    files = one.info["option_files"]
    files["ours"] = (
        "\n".join(line for line in files["ours"].splitlines() if enabled(role, engine) not in line)
        + "\n"
    )
    del files["options"][enabled(role, engine)]
    found = samples.plans(members)
    assert samples.changed(found) == [one.host]
    planned = found[one.host]
    assert planned["option_file"]["changed"] and written(planned)[enabled(role, engine)] == "1"
    assert not planned["restart"] and planned["set_global"] == {} and planned["channel"] == "none"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("role", ["source", "replica"])
def test_an_option_file_that_is_gone_is_written_without_a_restart(engine, role):
    members = samples.pair(engine)
    one = members[role == "replica"]
    files = one.info["option_files"]
    files.update(ours=None, exists=False, options={})
    planned = samples.plans(members)[one.host]
    assert (
        planned["option_file"]["changed"] and not planned["restart"] and planned["set_global"] == {}
    )
    assert written(planned)[enabled(role, engine)] == "1"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_new_value_is_written_and_set_without_a_restart(engine):
    planned = samples.plans(samples.pair(engine), samples.settings(timeout_ms=2000))["db1"]
    name = f"rpl_semi_sync_{ {'mysql': 'source', 'mariadb': 'master'}[engine] }_timeout"
    assert (
        planned["option_file"]["changed"]
        and not planned["restart"]
        and planned["set_global"] == {name: 2000}
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_online_a_new_value_is_written_and_set(engine):
    planned = samples.plans(
        samples.pair(engine), samples.settings(timeout_ms=2000), apply="online"
    )["db1"]
    assert planned["option_file"]["changed"] and not planned["restart"]
    assert list(planned["set_global"].values()) == [2000]


@pytest.mark.parametrize("engine", ENGINES)
def test_online_foreign_replication_becomes_semisync_without_a_restart(engine):
    found = samples.plans(samples.replicating(engine), apply="online")
    for role, host in (("source", "db1"), ("replica", "db2")):
        assert not found[host]["restart"] and found[host]["option_file"]["changed"]
        assert found[host]["set_global"][enabled(role, engine)] == 1
    assert found["db2"]["restart_io"]
    assert not found["db1"]["restart_io"]


@pytest.mark.parametrize("engine", ENGINES)
def test_online_restarts_for_what_cannot_be_set_at_run_time(engine):
    for planned in samples.plans(samples.bare(engine), apply="online").values():
        assert planned["restart"] and any(
            reason.startswith("server_id is 1") for reason in planned["restart_reasons"]
        )
        assert not [reason for reason in planned["restart_reasons"] if "semi_sync" in reason]


def test_a_plugin_that_is_gone_is_installed_without_a_restart():
    members = samples.pair("mysql")
    for side, one in zip(("source", "replica"), members, strict=False):
        one.info.update(plugins={}, plugins_registered={})
        samples.unload(one.info, side)
    found = samples.plans(members)
    for planned in found.values():
        assert planned["install_plugin"] and planned["changes"]
        assert not planned["restart"] and not planned["option_file"]["changed"]
    assert found["db2"]["restart_io"]


@pytest.mark.parametrize("status,step", [("OFF", True), ("ON", False)])
def test_a_replica_that_stayed_asynchronous_gets_a_new_io_thread(status, step):
    members = samples.pair("mysql")
    members[1].info["semisync"]["replica"]["status"]["status"] = status
    found = samples.plans(members)
    assert found["db2"]["restart_io"] is step and found["db2"]["changes"] is step
    assert found["db1"]["changes"] is False


@pytest.mark.parametrize(
    "io,sql", [("No", "Yes"), ("Yes", "No"), ("No", "No"), ("Connecting", "Yes")]
)
def test_a_channel_that_stands_still_is_started(io, sql):
    members = samples.pair("mariadb")
    members[1].channel.update(io_running=io, sql_running=sql)
    found = samples.plans(members)
    assert (found["db2"]["channel"], found["db2"]["restart_io"]) == ("start", False)
    assert found["db1"]["channels_change"]
    assert samples.changed(found) == ["db2"]


# Runs that were interrupted


def test_a_file_that_was_written_before_the_restart_is_taken_up():
    for engine in ENGINES:
        members = samples.bare(engine)
        for one, planned in zip(members, samples.plans(members).values(), strict=False):
            samples.write_option_file(one.info, planned["option_file"]["content"])
        for planned in samples.plans(members).values():
            assert not planned["option_file"]["changed"] and planned["restart"]


def test_a_plugin_that_was_installed_before_anything_else_is_enough_for_that_step():
    members = samples.bare("mysql")
    samples.install_plugin(members[0].info, "source")
    planned = samples.plans(members)["db1"]
    assert planned["install"] == ["replica"]
    assert planned["option_file"]["changed"] and planned["restart"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_channel_that_never_met_its_source_is_configured_again(engine):
    members = samples.pair(engine)
    samples.never_met(members[1], members[0])
    members[0].info["accounts"] = []
    found = samples.plans(members)
    assert (
        found["db2"]["channel"] == "configure" and found["db1"]["account"] and found["db2"]["fresh"]
    )
    assert found["db1"]["wait_for"]["clients"] == 0


# Several replicas


def test_replicas_have_their_turn_one_by_one_before_the_source():
    members = samples.bare("mysql", 3)
    found = samples.plans(members)
    assert [(host, found[host]["turn"]) for host in ("db2", "db3", "db4", "db1")] == [
        ("db2", 0),
        ("db3", 1),
        ("db4", 2),
        ("db1", 3),
    ]
    assert found["db1"]["clients"] == 3 and found["db3"]["replicas"] == ["db2", "db3", "db4"]
    assert all(planned["source"] == "db1" for planned in found.values())


def test_the_source_counts_the_replicas_it_had_and_the_one_whose_turn_it_is():
    members = samples.replicating("mysql", 3)
    assert [samples.plans(members)[host]["clients_after"] for host in ("db2", "db3", "db4")] == [
        1,
        1,
        1,
    ]
    members[1].info["semisync"]["replica"]["status"]["status"] = "ON"
    assert [samples.plans(members)[host]["clients_after"] for host in ("db2", "db3", "db4")] == [
        1,
        2,
        2,
    ]
    members[1].channel["io_running"] = "No"
    assert [samples.plans(members)[host]["clients_after"] for host in ("db3", "db4")] == [1, 1]


def test_a_source_expects_back_only_replicas_that_it_has_met():
    members = samples.replicating("mariadb", 3)
    assert samples.plans(members)["db1"]["wait_for"]["clients"] == 3
    samples.never_met(members[1], members[0])
    members[2].info["channel"] = None
    assert samples.plans(members, hold_back=False)["db1"]["wait_for"]["clients"] == 1


@pytest.mark.parametrize("stage", ["full", "replication"])
def test_replicas_that_read_a_source_follow_its_restart_and_others_are_left_as_they_are(stage):
    members = samples.replicating("mysql", 4)
    members[1].channel["io_running"] = "No"
    members[2].info["channel"] = None
    samples.never_met(members[3], members[0])
    planned = samples.plans(members, stage=stage)
    assert planned["db1"]["followers"] == ["db5"]
    assert all(planned[host]["followers"] == [] for host in ("db2", "db3", "db4", "db5"))


@pytest.mark.parametrize("engine", ENGINES)
def test_what_must_hold_after_a_restart(engine):
    planned = samples.plans(samples.pair(engine))
    assert planned["db1"]["wait_for"] == {
        "answering": True,
        "channel": False,
        "replica_status": False,
        "source_status": True,
        "clients": 1,
    }
    assert planned["db2"]["wait_for"] == {
        "answering": True,
        "channel": True,
        "replica_status": True,
        "source_status": False,
    }
    bare = samples.plans(samples.bare(engine), stage="replication")
    for host in ("db1", "db2"):
        assert [key for key, value in bare[host]["wait_for"].items() if value] == ["answering"]


@pytest.mark.parametrize("engine", ENGINES)
def test_an_io_thread_takes_over_what_is_set_of_semisync(engine):
    members = samples.pair(engine)
    members[1].info["semisync"]["replica"]["variables"]["trace_level"] = "16"
    members[0].info["semisync"]["source"]["variables"]["trace_level"] = "16"
    planned = samples.plans(members)
    assert planned["db2"]["restart_io"] and not planned["db1"]["restart_io"]
    members = samples.pair(engine)
    members[1].info["variables"]["read_only"] = "OFF"
    assert not samples.plans(members)["db2"]["restart_io"]


@pytest.mark.parametrize("engine", ENGINES)
def test_all_hosts_of_a_cluster_know_whether_anything_changes_in_it(engine):
    members = samples.pair(engine)
    assert not any(plan["cluster_changes"] for plan in samples.plans(members).values())
    members[1].info["variables"]["read_only"] = "OFF"
    planned = samples.plans(members)
    assert [planned[host]["changes"] for host in ("db1", "db2")] == [False, True]
    assert all(plan["cluster_changes"] and plan["turns"] == 2 for plan in planned.values())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "changes,words",
    [
        ({}, ""),
        ({"replication_password": ""}, "semisync_replication_password is empty"),
        ({"replication_user": "other"}, "its channel logs in as repl; set"),
    ],
)
def test_whether_a_replica_can_be_given_another_password(engine, changes, words):
    problem = samples.plans(samples.pair(engine), samples.settings(**changes))["db2"][
        "rotate_problem"
    ]
    assert problem.startswith(words) and bool(problem) == bool(words)


def test_a_password_that_the_replica_cannot_use_is_not_rotated_to():
    long = samples.settings(replication_password="x" * 33)
    for planned in samples.plans(samples.pair("mysql"), long).values():
        assert "has 33 characters; a MySQL replica takes at most 32" in planned["rotate_problem"]
    members = samples.pair("mysql")
    members[1].channel["last_sql_error"] = "Duplicate entry"
    assert "Duplicate entry" in samples.plans(members)["db2"]["rotate_problem"]
    members[1].info["channel"] = None
    assert "no replication channel" in samples.plans(members)["db2"]["rotate_problem"]


def test_where_replicas_reach_the_source():
    members = samples.bare("mysql")
    members[0] = samples.member("db1", "source", members[0].info, address="10.0.0.1")
    members[0].info["variables"]["port"] = "3307"
    planned = samples.plans(members)["db2"]
    assert (planned["source_address"], planned["source_port"]) == ("10.0.0.1", 3307)


@pytest.mark.parametrize(
    "address,asked,expected",
    [
        ("127.0.0.1", "*", "*"),
        ("127.0.0.1,::1", "*", "*"),
        ("localhost", "10.0.0.1", "10.0.0.1"),
        ("127.0.0.1", "", None),
        ("*", "*", None),
        ("0.0.0.0", "*", None),
        ("10.0.0.1,127.0.0.1", "*", None),
        (None, "*", None),
        ("", "*", None),
    ],
)
def test_a_member_is_opened_only_when_no_other_host_can_reach_it(address, asked, expected):
    members = samples.bare("mysql")
    for one in members:
        one.info["variables"]["bind_address"] = address
        one.info["option_files"]["options"] = (
            {"bind_address": address} if address is not None else {}
        )
    found = samples.plans(members, samples.settings(bind_address=asked))
    for planned in found.values():
        assert written(planned).get("bind_address") == expected


# What every member has beforehand of the side that it does not have


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("apply", ["restart", "online"])
def test_a_pair_of_the_version_before_is_prepared_by_the_next_run(engine, apply):
    members = samples.earlier(engine)
    found = samples.plans(members, apply=apply)
    assert samples.changed(found) == ["db1", "db2"]
    source, replica = found["db1"], found["db2"]
    assert source["option_file"]["changed"] and not source["restart"]
    # Only its address for others needs a restart, and that can wait where restarts are not wanted.
    assert replica["restart_reasons"] == (
        ["bind_address is 127.0.0.1, * is wanted"] if apply == "restart" else []
    )
    # Neither a restart nor the other side's variables disturb what acknowledges.
    assert not (source["restart_io"] or replica["restart_io"])
    assert "bind_address" not in replica["set_global"]
    assert (source["install"], replica["install"]) == (
        (["replica"], ["source"]) if engine == "mysql" else ([], [])
    )
    samples.carry_out(members, samples.settings(apply=apply), apply=apply)
    assert samples.changed(samples.plans(members, apply=apply)) == []
    # A later run that may restart does what was left.
    late = samples.plans(members)["db2"]
    assert late["restart"] is (apply == "online") and late["changes"] is late["restart"]


@pytest.mark.parametrize("engine", ENGINES)
def test_no_host_starts_with_both_sides_on(engine):
    for planned in samples.plans(samples.bare(engine), hold_back=False).values():
        lines = written(planned)
        assert lines[enabled(planned["side"], engine)] == "1"
        assert lines[enabled(option_lines.OTHER_SIDE[planned["side"]], engine)] == "0"


@pytest.mark.parametrize("engine", ENGINES)
def test_the_other_side_that_drifted_is_set_without_restarting_the_io_thread(engine):
    members = samples.pair(engine)
    members[1].info["semisync"]["source"]["variables"].update(timeout="500", enabled="ON")
    planned = samples.plans(members)["db2"]
    assert planned["set_global"] == {
        enabled("source", engine): 0,
        enabled("source", engine).replace("enabled", "timeout"): 10000,
    }
    assert not planned["restart"] and not planned["restart_io"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_source_whose_lines_are_still_those_of_a_replica_waits_for_its_replicas(engine):
    members = samples.pair(engine)
    ours = members[1].info["option_files"]["ours"]
    members[0].info["option_files"]["ours"] = ours
    members[0].info["semisync"]["source"]["variables"]["enabled"] = "OFF"
    members[1].channel.update(io_running="No")
    assert samples.plans(members)["db1"]["held"]


# Replication alone, for a baseline


@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_stage_is_replication_without_semisync(engine):
    for planned in samples.plans(samples.bare(engine), stage="replication").values():
        assert planned["stage"] == "replication" and planned["restart"]
        assert not planned["install_plugin"] and planned["plugin"] is None
        assert not [
            name for name in written(planned) if "semi_sync" in name
        ] and "sync_binlog" not in written(planned)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_stage_leaves_foreign_replication_alone(engine):
    found = samples.plans(samples.replicating(engine), stage="replication")
    assert samples.changed(found) == [] and found["db1"]["baseline"]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_stage_never_takes_semisync_away(engine):
    found = samples.plans(samples.pair(engine), stage="replication")
    assert [planned["stage"] for planned in found.values()] == ["full", "full"]
    assert not any(planned["baseline"] for planned in found.values())


@pytest.mark.parametrize("engine", ENGINES)
def test_there_is_a_before_until_the_first_replica_is_semisync(engine):
    members = samples.replicating(engine, 2)
    assert all(planned["before_first_replica"] for planned in samples.plans(members).values())
    samples.install_plugin(members[2].info, "replica") if engine == "mysql" else None
    members[2].info["semisync"]["replica"]["variables"]["enabled"] = "ON"
    assert not any(planned["before_first_replica"] for planned in samples.plans(members).values())


# Idempotence: carry a plan out, plan again, and nothing is left to do - from wherever it starts.


@pytest.mark.parametrize("engine,version", SERVERS)
@pytest.mark.parametrize("start", sorted(STARTS))
@pytest.mark.parametrize("apply", ["restart", "online"])
@pytest.mark.parametrize("replicas", [1, 3])
def test_a_second_run_changes_nothing(engine, version, start, apply, replicas):
    members = STARTS[start](engine, replicas, version)
    assert samples.changed(samples.plans(members, apply=apply)) == sorted(
        one.host for one in members
    )
    samples.carry_out(members, samples.SETTINGS, apply=apply)
    found = samples.plans(members, apply=apply)
    assert samples.changed(found) == [], found


@pytest.mark.parametrize("engine,version", SERVERS)
@pytest.mark.parametrize("start", sorted(STARTS))
@pytest.mark.parametrize("apply", ["restart", "online"])
def test_a_run_that_stops_anywhere_is_finished_by_the_next(engine, version, start, apply):
    total = samples.carry_out(STARTS[start](engine, 2, version), samples.SETTINGS, apply=apply)
    assert total >= 6
    for stop_after in range(total):
        members = STARTS[start](engine, 2, version)
        samples.carry_out(members, samples.SETTINGS, apply=apply, stop_after=stop_after)
        assert samples.changed(samples.plans(members, apply=apply)), stop_after
        samples.carry_out(members, samples.SETTINGS, apply=apply)
        found = samples.plans(members, apply=apply)
        assert samples.changed(found) == [], (stop_after, found)
        for one in members:
            assert one.info["semisync"][one.side]["variables"]["enabled"] == "ON"
        assert members[0].info["semisync"]["source"]["status"]["clients"] == "2"


@pytest.mark.parametrize("engine,version", SERVERS)
@pytest.mark.parametrize("start", sorted(STARTS))
@pytest.mark.parametrize("apply", ["restart", "online"])
def test_what_a_run_leaves_behind_survives_a_restart(engine, version, start, apply):
    members = STARTS[start](engine, 1, version)
    samples.carry_out(members, samples.SETTINGS, apply=apply)
    before = samples.clone([one.info for one in members])
    for one in members:
        samples.restart(one.info)
    samples.settle(members)
    assert [one.info for one in members] == before
    assert samples.changed(samples.plans(members, apply=apply)) == []


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "name", ["server_id", "log_bin", "log_", "relay_log", "bind_address", "sync_binlog"]
)
def test_any_line_that_is_gone_comes_back(engine, name):
    members = samples.pair(engine)
    right = [one.info["option_files"]["ours"] for one in members]
    for one in members:
        files = one.info["option_files"]
        files["ours"] = "".join(
            line + "\n" for line in files["ours"].splitlines() if not line.startswith(name)
        )
        kept = option_files.parse_ours(files["ours"])
        files["options"] = {key: value for key, value in files["options"].items() if key in kept}
        if "bind_address" not in kept:
            files["options"]["bind_address"] = "127.0.0.1"
    assert not any(planned["restart"] for planned in samples.plans(members).values())
    samples.carry_out(members, samples.SETTINGS)
    assert [one.info["option_files"]["ours"] for one in members] == right
    assert samples.changed(samples.plans(members)) == []


def test_a_server_that_somebody_numbered_elsewhere_is_not_taken_for_ours():
    """server_id on the command line, in no option file."""
    for number in ("101", "1", "0"):
        members = samples.replicating("mysql")
        for one in members:
            one.info["variables"]["server_id"] = number
            one.info["option_files"]["options"].pop("server_id")
        assert not any(planned["fresh"] for planned in samples.plans(members).values())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("explicit", [0, 77])
def test_a_lost_option_file_of_ours_comes_back_whole(engine, explicit):
    members = samples.bare(engine)
    for one in members:
        one.explicit_id = explicit and explicit + (one.side == "replica")
    samples.carry_out(members, samples.SETTINGS)
    right = [one.info["option_files"]["ours"] for one in members]
    for one in members:
        one.info["option_files"].update(
            ours=None, exists=False, options={"bind_address": "127.0.0.1"}
        )
    found = samples.plans(members)
    assert [planned["option_file"]["content"] for planned in found.values()] == right
    assert not any(planned["restart"] for planned in found.values())


@pytest.mark.parametrize("engine,version", SERVERS)
def test_a_baseline_run_leads_to_the_same_end(engine, version):
    members = samples.bare(engine, 1, version)
    samples.carry_out(members, samples.SETTINGS, stage="replication")
    assert samples.changed(samples.plans(members, stage="replication")) == []
    samples.carry_out(members, samples.SETTINGS)
    assert samples.changed(samples.plans(members)) == []
    direct = samples.bare(engine, 1, version)
    samples.carry_out(direct, samples.SETTINGS)
    assert [one.info["option_files"] for one in members] == [
        one.info["option_files"] for one in direct
    ]


@pytest.mark.parametrize("engine,version", SERVERS)
def test_a_new_setting_is_applied_once(engine, version):
    members = samples.bare(engine, 2, version)
    samples.carry_out(members, samples.SETTINGS)
    later = samples.settings(timeout_ms=500, trace_level=16, wait_no_replica=False, sync_binlog=100)
    assert samples.changed(samples.plans(members, later)) == ["db1", "db2", "db3"]
    samples.carry_out(members, later)
    assert samples.changed(samples.plans(members, later)) == []


def test_a_plan_reads_and_never_writes_what_the_servers_said():
    members = samples.bare("mysql", 2)
    before = samples.clone([one.info for one in members])
    samples.plans(members)
    assert [one.info for one in members] == before


def test_a_marked_block_carries_no_header():
    members = samples.bare("mysql")
    members[0].info["option_files"].update(kind="block", path="/etc/my.cnf")
    planned = samples.plans(members)["db1"]["option_file"]
    assert (planned["kind"], planned["path"]) == ("block", "/etc/my.cnf")
    assert planned["content"].startswith("[mysqld]\n") and "# BEGIN" not in planned["content"]
    assert option_file_step(members[0], None)["changed"] is False


@pytest.mark.parametrize("engine", ENGINES)
def test_a_source_that_fell_back_is_something_to_mend(engine):
    members = samples.pair(engine)
    assert samples.plans(members)["db1"]["fell_back"] is False
    members[0].info["semisync"]["source"]["status"]["status"] = "OFF"
    planned = samples.plans(members)["db1"]
    assert planned["fell_back"] and planned["changes"] and not planned["server_changes"]


UNSAFE = "/etc/mysql/x.cnf, or a folder above it, is not only root's to write"


@pytest.mark.parametrize("engine", ENGINES)
def test_lines_that_root_would_not_write_are_refused_before_anything_is_touched(engine):
    members = samples.bare(engine, 2)
    wanted = samples.settings()
    assert apply.unsafe_places(members, wanted, True) == []
    for member in (members[0], members[2]):
        member.info["option_files"]["unsafe"] = UNSAFE
    # Also a source whose lines of semi-sync wait until its replicas follow it.
    for hold_back in (True, False):
        said = apply.unsafe_places(members, wanted, hold_back)
        assert said == [f"db1: {UNSAFE}", f"db3: {UNSAFE}"]
    samples.carry_out(members, wanted)
    # What is there already stays.
    assert apply.unsafe_places(members, wanted, True) == []
    later = samples.settings(timeout_ms=500)
    assert apply.unsafe_places(members, later, True) == [f"db1: {UNSAFE}", f"db3: {UNSAFE}"]
