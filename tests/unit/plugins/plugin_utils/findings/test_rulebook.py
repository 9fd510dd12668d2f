# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import SEVERITIES
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import (
    kinds,
    kinds_heartbeat,
    kinds_lossless,
    listing,
    rulebook,
)
from ansible_collections.dbre.semisync.tests.unit import samples

ENGINES = ("mysql", "mariadb")
# What a pair that site.yml set up still is told; never more than a note.
NOTES = {"relay_log_not_synced", "replication_unverified"}
PAST = {"yes_tx": 5, "no_tx": 3, "no_times": 1, "since": "2026-11-21T10:00:00Z", "reset": False}


def semisync(info, side, **values):
    """Set semi-sync's variables or statuses of one side."""
    for key, value in values.items():
        where = (
            "variables"
            if key in info["semisync"][side]["variables"] and key != "status"
            else "status"
        )
        info["semisync"][side][where][key] = value


def events(info, status="ENABLED", scheduler="ON"):
    """Give a server a scheduled event."""
    info["events"] = [{"schema": "shop", "name": "purge", "status": status}]
    info["variables"]["event_scheduler"] = scheduler


def found(members, **how):
    return {entry["id"]: entry for entry in rulebook.evaluate(members, **how)}


def new(members, **how):
    return {
        kind: (entry["severity"], entry["host"])
        for kind, entry in found(members, **how).items()
        if kind not in NOTES
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_a_pair_that_was_set_up_has_no_finding_above_a_note(engine):
    assert set(found(samples.pair(engine), ahead={"db1": (-1.2, 0.4), "db2": (-0.8, 0.9)})) == NOTES


@pytest.mark.parametrize(
    "channel,evidence",
    [
        ({"tls": False}, "the channel to 10.0.0.1 has no TLS"),
        # What a channel had when it used TLS.
        (
            {"tls": False, "tls_ca": "/etc/ca.pem", "tls_verify": True},
            "the channel to 10.0.0.1 has no TLS",
        ),
        ({"tls": True}, "the channel to 10.0.0.1 has TLS without an authority"),
        ({"tls": True, "tls_ca": "/etc/ca.pem"}, None),
        # MariaDB from 11.4 on, by the account's password.
        ({"tls": True, "tls_verify": True}, None),
    ],
)
def test_a_replica_that_cannot_know_its_source_is_a_note(channel, evidence):
    members = samples.pair("mysql")
    members[1].channel.update({"source_host": "10.0.0.1", "tls_ca": "", "tls_verify": False})
    members[1].channel.update(channel)
    entry = found(members).get("replication_unverified")
    assert (entry and entry["evidence"]) == evidence
    assert entry is None or (entry["severity"], entry["host"]) == ("info", "db2")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_pair_of_bare_servers_after_its_plans_has_none_either(engine):
    members = samples.bare(engine)
    samples.carry_out(members, samples.SETTINGS)
    assert new(members) == {}


SOURCE_CASES = [
    ("degraded", "critical", lambda info: semisync(info, "source", status="OFF")),
    ("semisync_off", "critical", lambda info: semisync(info, "source", enabled="OFF")),
    ("after_commit", "warning", lambda info: semisync(info, "source", wait_point="AFTER_COMMIT")),
    (
        "no_wait_without_replica",
        "warning",
        lambda info: semisync(info, "source", wait_no_replica="OFF"),
    ),
    (
        "timeout_freezes_writers",
        "warning",
        lambda info: semisync(info, "source", timeout="3600000"),
    ),
    ("clients_missing", "critical", lambda info: semisync(info, "source", clients="0")),
    ("source_not_durable", "warning", lambda info: info["variables"].update(sync_binlog="0")),
    (
        "source_not_durable",
        "warning",
        lambda info: info["variables"].update(innodb_flush_log_at_trx_commit="2"),
    ),
    ("server_id_clash", "critical", None),
    ("events_nowhere", "warning", lambda info: events(info, status="SLAVESIDE_DISABLED")),
    ("events_nowhere", "warning", lambda info: events(info, scheduler="OFF")),
    ("events_nowhere", "warning", lambda info: events(info, scheduler="DISABLED")),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind,severity,change", SOURCE_CASES)
def test_what_endangers_a_source(engine, kind, severity, change):
    members = samples.pair(engine)
    if change:
        change(members[0].info)
    else:
        members[1].info["variables"]["server_id"] = members[0].info["variables"]["server_id"]
    its = new(members)
    assert its[kind] == (severity, "db2" if kind == "server_id_clash" else "db1")
    # A value that only the running server has is a finding of its own.
    assert set(its) - {kind} <= {"restart_changes_it"}


WANTED = {
    "timeout_ms": 10000,
    "wait_point": "AFTER_SYNC",
    "wait_for_replica_count": 1,
    "wait_no_replica": True,
}
GENERATION = {"mysql": ("source", "no_replica"), "mariadb": ("master", "no_slave")}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "key,running,wanted,words",
    [
        ("timeout_ms", "500", 10000, "rpl_semi_sync_{0}_timeout is 500, semisync_timeout is 10000"),
        ("timeout_ms", "10000", 500, "rpl_semi_sync_{0}_timeout is 10000, semisync_timeout is 500"),
        (
            "wait_point",
            "AFTER_COMMIT",
            "AFTER_SYNC",
            "rpl_semi_sync_{0}_wait_point is AFTER_COMMIT, semisync_wait_point is AFTER_SYNC",
        ),
        (
            "wait_no_replica",
            "OFF",
            True,
            "rpl_semi_sync_{0}_wait_{1} is OFF, semisync_wait_no_replica is True",
        ),
        (
            "wait_no_replica",
            "ON",
            False,
            "rpl_semi_sync_{0}_wait_{1} is ON, semisync_wait_no_replica is False",
        ),
    ],
)
def test_a_value_that_differs_from_the_inventory(engine, key, running, wanted, words):
    members = samples.pair(engine)
    semisync(members[0].info, "source", **{key.replace("_ms", ""): running})
    entry = found(members, settings=dict(WANTED, **{key: wanted}))["differs_from_inventory"]
    assert entry["evidence"].startswith(words.format(*GENERATION[engine]))
    assert (entry["severity"], entry["host"]) == ("warning", "db1")


@pytest.mark.parametrize("engine,differs", [("mysql", True), ("mariadb", False)])
def test_mariadb_has_no_number_of_acknowledgements_to_differ(engine, differs):
    assert (
        "differs_from_inventory"
        in found(samples.pair(engine), settings=dict(WANTED, wait_for_replica_count=2))
    ) is differs


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "wanted,changes",
    [
        (WANTED, {}),
        # What is not wanted, or not known, is not compared.
        ({"wait_no_replica": True}, {"timeout": "500"}),
        (None, {"timeout": "500"}),
        (dict(WANTED, wait_point="after_sync"), {}),
        # Switched off is a finding of its own, and site.yml sets the values as it switches on.
        (WANTED, {"timeout": "500", "enabled": "OFF"}),
    ],
)
def test_what_does_not_differ_from_the_inventory(engine, wanted, changes):
    members = samples.pair(engine)
    semisync(members[0].info, "source", **changes)
    assert "differs_from_inventory" not in found(members, settings=wanted)


REPLICA_CASES = [
    ("semisync_off", "warning", lambda info: semisync(info, "replica", enabled="OFF")),
    (
        "applier_stopped",
        "critical",
        lambda info: info["channel"].update(sql_running="No", last_sql_error="Duplicate entry"),
    ),
    ("applier_behind", "warning", lambda info: info["channel"].update(seconds_behind=61)),
    ("relay_log_not_recovered", "warning", lambda info: info["channel"].update(gtid=False)),
    ("replica_writable", "warning", lambda info: info["variables"].update(read_only="OFF")),
    ("events_on_replica", "critical", events),
    ("events_on_replica", "warning", lambda info: events(info, scheduler="OFF")),
    (
        "events_on_replica",
        "warning",
        lambda info: (events(info), info["variables"].update(super_read_only="ON")),
    ),
    ("applier_skips", "warning", lambda info: info["variables"].update(slave_skip_errors="1062")),
    (
        "applier_skips",
        "warning",
        lambda info: info["variables"].update(replica_exec_mode="IDEMPOTENT"),
    ),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind,severity,change", REPLICA_CASES)
def test_what_endangers_a_replica(engine, kind, severity, change):
    members = samples.pair(engine)
    change(members[1].info)
    its = new(members)
    assert its[kind] == (severity, "db2") and set(its) - {kind} <= {"restart_changes_it"}


def test_a_variable_that_has_two_names_is_told_once():
    members = samples.pair("mysql")
    both = {"slave_skip_errors": "1062", "replica_skip_errors": "1062"}
    members[1].info["variables"].update(both, slave_exec_mode="STRICT", replica_exec_mode="STRICT")
    assert found(members)["applier_skips"]["evidence"] == "replica_skip_errors is 1062"


def wait_point(info):
    semisync(info, "source", wait_point="AFTER_COMMIT")
    names = info["names"]["source"]["variables"]
    info["option_files"]["options"][names["wait_point"]] = "AFTER_COMMIT"


TARGET_CASES = [
    (
        "target_loopback_only",
        lambda info: info["variables"].update(bind_address="127.0.0.1,::1"),
        "bind_address is 127.0.0.1,::1, after a restart it is *",
    ),
    (
        "target_loopback_only",
        lambda info: info["option_files"]["options"].update(bind_address="localhost"),
        "bind_address is *, after a restart it is localhost",
    ),
    (
        "target_loopback_only",
        lambda info: info["variables"].update(skip_networking="ON"),
        "skip_networking is ON",
    ),
    (
        "target_without_account",
        lambda info: info.update(accounts=[dict(info["accounts"][0], host="10.%")]),
        "repl@% of db1 is not on db2",
    ),
    (
        "target_without_binary_log",
        lambda info: info["variables"].update(log_bin="OFF"),
        "log_bin is OFF",
    ),
    (
        "target_without_binary_log",
        lambda info: info["variables"].update({info["names"]["log_updates"]: "OFF"}),
        "_updates is OFF",
    ),
    ("target_without_source_side", wait_point, "is AFTER_COMMIT, semisync_wait_point is"),
    (
        "target_without_source_side",
        lambda info: semisync(info, "source", enabled="ON"),
        "_enabled is ON on a replica",
    ),
    (
        "target_durability_differs",
        lambda info: info["variables"].update(sync_binlog="0"),
        "sync_binlog is 0, on db1 1",
    ),
    (
        "target_durability_differs",
        lambda info: info["variables"].update(innodb_flush_log_at_trx_commit="2"),
        "innodb_flush_log_at_trx_commit is 2, on db1 1",
    ),
    (
        "target_writable_at_start",
        lambda info: info["option_files"]["options"].update(read_only="OFF"),
        "after a restart read_only is OFF (option file)",
    ),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind,change,words", TARGET_CASES)
def test_what_keeps_a_replica_from_being_the_source_tomorrow(engine, kind, change, words):
    members = samples.pair(engine)
    change(members[1].info)
    its = found(members, settings=WANTED)
    assert its[kind]["host"] == "db2" and words in its[kind]["evidence"]
    assert its[kind]["severity"] == ("info" if kind == "target_writable_at_start" else "warning")
    assert set(its) - NOTES - {kind} <= {"restart_changes_it"}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_source_must_be_able_to_come_back_as_a_replica(engine):
    members = samples.pair(engine)
    semisync(members[0].info, "replica", enabled="ON")
    assert "is ON on a source" in found(members)["source_without_replica_side"]["evidence"]


def answering(status, yes, why="because"):
    return {"said": {"status": status, "yes": yes, "why": why, "kind": "state"}}


@pytest.mark.parametrize(
    "host,said,severity,words",
    [
        ("db1", (200, True), None, ""),
        ("db2", (503, False), None, ""),
        ("db1", (503, False), "warning", "of this source: 503 (because)"),
        ("db1", (None, False), "warning", "of this source: no response (because)"),
        ("db2", (None, False), "warning", "of this replica: no response (because)"),
        ("db2", (200, True), "critical", "of this replica: 200 (because)"),
    ],
)
def test_what_routers_are_told_is_compared(host, said, severity, words):
    members = samples.pair("mysql")
    next(one for one in members if one.host == host).info["answer"] = answering(*said)
    its = found(members).get("answer_wrong")
    assert (its is None) is (severity is None)
    assert its is None or (its["severity"], its["host"]) == (severity, host)
    assert its is None or words in its["evidence"]


def test_a_plugin_of_the_other_side_that_is_not_loaded_is_named():
    its = found(samples.earlier("mysql"), settings=WANTED)
    for kind, side in (
        ("target_without_source_side", "source"),
        ("source_without_replica_side", "replica"),
    ):
        assert its[kind]["evidence"] == f"the plugin rpl_semi_sync_{side} is not loaded"


def test_a_source_that_cannot_be_read_leaves_its_replicas_unjudged_where_it_is_needed():
    members = samples.pair("mysql")
    members[1].info["accounts"] = []
    members[1].info["variables"].update(sync_binlog="0")
    members[0].info = None
    assert not {"target_without_account", "target_durability_differs"} & set(found(members))


def test_an_account_with_more_privileges_is_not_judged():
    # Of such a one the source shows nothing either.
    members = samples.pair("mysql")
    members[0].info["accounts"], members[1].info["accounts"] = [], []
    assert "target_without_account" not in found(members)


def test_a_replica_that_is_more_careful_than_its_source_is_none():
    members = samples.pair("mysql")
    members[0].info["variables"].update(sync_binlog="0")
    assert "target_durability_differs" not in found(members)


def test_a_replica_that_others_set_up_may_be_written_to():
    members = samples.replicating("mysql")
    assert found(members)["replica_writable"]["severity"] == "info"


def test_a_replica_that_is_sixty_seconds_behind_is_not_far_behind():
    members = samples.pair("mysql")
    members[1].info["channel"]["seconds_behind"] = 60
    assert new(members) == {}
    assert "applier_behind" in new(members, lag_limit=59)


def test_a_replica_that_does_not_receive_is_not_said_to_acknowledge():
    members = samples.pair("mysql")
    members[1].info["channel"].update(io_running="Connecting", sql_running="No")
    assert new(members) == {}


@pytest.mark.parametrize(
    "clients,count,severity",
    [("1", "1", "warning"), ("1", "2", "critical"), ("0", "1", "critical")],
)
def test_missing_clients_are_critical_below_what_a_commit_waits_for(clients, count, severity):
    members = [*samples.pair("mysql"), samples.member("db3", "replica", None)]
    semisync(members[0].info, "source", clients=clients, wait_for_replica_count=count)
    assert found(members)["clients_missing"]["severity"] == severity


@pytest.mark.parametrize(
    "status,past,kind,words",
    [
        ("ON", PAST, "was_degraded", "no_tx +3, no_times +1 since 2026-11-21T10:00:00Z"),
        ("ON", dict(PAST, reset=True), "was_degraded", "at least no_tx +3, no_times +1"),
        ("OFF", PAST, "degraded", "first seen 09:00; no_tx +3"),
        ("OFF", None, "degraded", "first seen 09:00"),
    ],
)
def test_what_went_out_unacknowledged_is_counted(status, past, kind, words):
    members = samples.pair("mysql")
    semisync(members[0].info, "source", status=status)
    assert words in found(members, past=past, since="09:00")[kind]["evidence"]


@pytest.mark.parametrize(
    "past,title,why",
    [
        (PAST, "Transactions were confirmed without", "They existed only on the source"),
        (
            dict(PAST, no_tx=0),
            "Semi-sync was off for a time",
            "No transaction was confirmed without an acknowledgement",
        ),
        (dict(PAST, no_tx=0, reset=True), "Semi-sync was off for a time", "is not known"),
    ],
)
def test_nothing_is_said_to_be_confirmed_alone_where_semisync_was_only_off(past, title, why):
    entry = found(samples.pair("mysql"), past=past)["was_degraded"]
    assert title in entry["title"] and why in entry["why"]


def test_a_change_that_is_begun_and_not_made_is_told_of_the_source_only():
    members = samples.pair("mysql")
    for member in members:
        member.info["settings_open"] = 7
    (entry,) = [one for one in rulebook.evaluate(members) if one["id"] == "settings_unfinished"]
    assert (entry["host"], entry["severity"]) == ("db1", "warning")
    assert entry["evidence"] == "row 7 of the journal is still begun"


def test_nothing_that_went_out_unacknowledged_is_no_finding():
    assert new(samples.pair("mysql"), past=dict(PAST, no_tx=0, no_times=0)) == {}


@pytest.mark.parametrize(
    "registered,loaded,expected",
    [
        ({}, "", {"plugin_not_loaded_at_start"}),
        ({}, "semisync_source.so", set()),
        ({}, "semisync_source", set()),
        ({}, "audit.so;rpl_semi_sync_source=semisync_source.so", set()),
        ({}, "rpl_semi_sync_replica=semisync_replica.so", {"plugin_not_loaded_at_start"}),
        (
            {
                "rpl_semi_sync_source": "semisync_source.so",
                "rpl_semi_sync_master": "semisync_master.so",
            },
            "",
            {"plugin_mix"},
        ),
        ({"rpl_semi_sync_source": "semisync_source.so"}, "semisync_master.so", {"plugin_mix"}),
    ],
)
def test_plugins_at_the_next_start(registered, loaded, expected):
    members = samples.pair("mysql")
    # Of the other side, the plugin is registered as it should be.
    others = {} if "replica" in loaded else {"rpl_semi_sync_replica": "semisync_replica.so"}
    members[0].info["plugins_registered"] = dict(others, **registered)
    if loaded:
        members[0].info["option_files"]["options"]["plugin_load_add"] = loaded
    assert set(new(members)) == expected


@pytest.mark.parametrize(
    "option,persisted,running,expected",
    [
        ("10000", None, "10000", None),
        ("10000", None, "500", "is 500, after a restart it is 10000 (option file)"),
        (
            None,
            None,
            "500",
            "after a restart it is 10000 (server's default, no option file sets it)",
        ),
        (None, None, "10000", None),
        ("10000", "700", "10000", "after a restart it is 700 (SET PERSIST)"),
    ],
)
def test_a_value_that_a_restart_would_change(option, persisted, running, expected):
    members = samples.pair("mysql")
    info, name = members[0].info, "rpl_semi_sync_source_timeout"
    semisync(info, "source", timeout=running)
    info["option_files"]["options"].pop(name)
    if option:
        info["option_files"]["options"][name] = option
    if persisted:
        info["persisted"][name] = persisted
    its = found(members)
    assert ("restart_changes_it" in its) is bool(expected)
    assert not expected or expected in its["restart_changes_it"]["evidence"]


def test_an_option_without_a_value_switches_on():
    members = samples.pair("mysql")
    members[1].info["option_files"]["options"]["read_only"] = ""
    assert new(members) == {}


@pytest.mark.parametrize(
    "ahead,expected",
    [
        ({}, None),
        ({"db1": (-1, 0.3)}, None),
        # Whatever lies between being asked and now may be the time that it took.
        ({"db1": (-1, 0.3), "db2": (1.2, 2.5)}, None),
        ({"db1": (-9, 0.3), "db2": (-1, 7)}, None),
        ({"db1": (-1, 0.3), "db2": (1.4, 2.7)}, "at least 1.1 seconds ahead of db1"),
        ({"db1": (-1, 0.3), "db2": (-61, -60)}, "at least 59.0 seconds behind db1"),
    ],
)
def test_clocks_are_compared_through_the_controllers(ahead, expected):
    its = found(samples.pair("mysql"), ahead=ahead)
    assert its.get("clocks_differ", {}).get("evidence") == expected


def test_a_known_defect_names_its_version_and_the_way_out():
    members = samples.pair("mariadb")
    members[0].info.update(version="10.6.19", version_full="10.6.19-MariaDB")
    entry = found(members)["known_bad_version"]
    assert (
        "mariadb-35109" in entry["evidence"] and entry["remedy"] == "Upgrade to 10.6.21 or later."
    )
    assert entry["why"] and entry["source"]


def test_a_full_disk_is_the_first_finding_also_of_a_server_that_cannot_be_read():
    full = "the file system of /var/lib/mysql is full (0 MB left)"
    members = samples.pair("mysql")
    members[1].info, members[1].error = None, f"{full}; cannot connect"
    for member in members:
        member.disk_full = full
    first, second = rulebook.evaluate(members)[:2]
    assert [first["id"], first["host"], first["evidence"]] == ["disk_full", "db1", full]
    assert [second["id"], second["host"], second["severity"]] == ["disk_full", "db2", "critical"]


def test_a_host_that_was_not_read_is_said_and_nothing_else_is_said_of_it():
    members = samples.pair("mysql")
    members[1].info, members[1].error = None, "unreachable: timed out"
    assert new(members) == {"not_read": ("warning", "db2")}
    assert found(members)["not_read"]["evidence"] == "unreachable: timed out"


@pytest.mark.parametrize("unread", ["stopped", "unreachable", "silent", "login", "driver"])
def test_a_source_that_may_be_dead_is_critical_and_nothing_is_to_be_started(unread):
    members = samples.pair("mysql")
    for member in members:
        member.info, member.unread = None, unread
        member.error = "the server is not running. If it listens elsewhere, set its socket."
    said = {entry["host"]: entry for entry in rulebook.evaluate(members)}
    dead = unread not in ("login", "driver")
    assert said["db1"]["id"] == ("source_not_read" if dead else "not_read")
    assert said["db1"]["severity"] == ("critical" if dead else "warning")
    assert ("failover.yml --check" in said["db1"]["remedy"]) is dead
    assert said["db2"]["id"] == "not_read"
    assert ("Start nothing" in said["db2"]["remedy"]) is dead
    assert "Start it" not in str(said)


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
@pytest.mark.parametrize("number", [0, 1])
def test_nothing_is_judged_by_option_files_that_could_not_be_read(engine, number):
    members = samples.pair(engine)
    info = members[number].info
    info["option_files"].update(unknown="mysqld is not to be found", options={}, elsewhere={})
    info["plugins_registered"] = {}
    assert new(members) == {"option_files_unknown": ("warning", members[number].host)}
    # What overrides them is known all the same.
    name = info["names"][members[number].side]["variables"]["enabled"]
    for place in (info["persisted"], info["option_files"]["command_line"]):
        place[name] = "OFF"
        evidence = found(members)["restart_changes_it"]["evidence"]
        assert evidence.startswith(f"{name} is ON, after a restart it is OFF (")
        del place[name]


def test_what_a_server_is_started_with_counts_more_than_its_option_files():
    members = samples.pair("mysql")
    files = members[0].info["option_files"]
    files["command_line"] = {"server_id": files["options"]["server_id"], "sync_binlog": "0"}
    assert new(members) == {"restart_changes_it": ("warning", "db1")}
    assert found(members)["restart_changes_it"]["evidence"] == (
        "sync_binlog is 1, after a restart it is 0 (command line)"
    )
    members[0].info["plugins_registered"] = {}
    files["command_line"] = {"plugin_load_add": "semisync_source.so;semisync_replica.so"}
    assert new(members) == {}


def test_a_variable_that_a_server_does_not_have_is_not_off():
    members = samples.pair("mysql")
    members[1].info["variables"].update(read_only=None, relay_log_recovery=None)
    members[1].channel["gtid"] = False
    assert not {"replica_writable", "relay_log_not_recovered"} & set(found(members))


def test_every_kind_says_why_where_from_and_what_to_do():
    for kind, entry in kinds.TABLE.items():
        assert entry.severity in SEVERITIES and entry.title and entry.remedy
        assert kind == "known_bad_version" or (entry.why and entry.source)


def test_every_kind_has_a_case_here_or_is_found_above():
    tested = (
        {case[0] for case in SOURCE_CASES + REPLICA_CASES + TARGET_CASES}
        | NOTES
        | {
            "source_without_replica_side",
            "answer_wrong",
            "failover_slow",
            "differs_from_inventory",
            "was_degraded",
            "settings_unfinished",
            "plugin_mix",
            "plugin_not_loaded_at_start",
            "restart_changes_it",
            "known_bad_version",
            "clocks_differ",
            "disk_full",
            # See test_quarantined_hosts.py.
            "held",
            "held_takes_writes",
            "follows_held",
            "not_read",
            "source_not_read",
            "option_files_unknown",
            "two_sources",
            "source_unclear",
            "change_interrupted",
            # See test_next_version.py.
            "next_version",
        }
        | set(kinds_lossless.TABLE)
        # See test_rules_heartbeat.py.
        | set(kinds_heartbeat.TABLE)
    )
    assert tested == set(kinds.TABLE)


def test_the_worst_comes_first_and_names_itself():
    members = samples.pair("mysql")
    semisync(members[0].info, "source", wait_point="AFTER_COMMIT", status="OFF")
    its = rulebook.evaluate(members)
    assert [entry["severity"] for entry in its] == sorted(
        (entry["severity"] for entry in its), key=SEVERITIES.index
    )
    assert listing.reasons(its) == "degraded on db1"
    text = listing.table(its, "shop")
    assert "critical  db1" in text and "why:" in text and its[0]["remedy"] in text
    assert listing.table([], "shop") == "Findings of cluster shop: none"


def test_a_finding_has_the_shape_that_the_report_reads():
    members = samples.pair("mysql")
    semisync(members[0].info, "source", status="OFF")
    for entry in rulebook.evaluate(members):
        assert set(entry) == {
            "id",
            "severity",
            "host",
            "title",
            "evidence",
            "why",
            "source",
            "remedy",
        }
        assert all(isinstance(value, str) and value for value in entry.values())
