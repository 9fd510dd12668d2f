# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may become the source, what is refused with which words, and in which order it is done."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    context,
    registered,
    switchover_plan,
    switchover_premises,
    switchover_steps,
    task_options,
)
from ansible_collections.dbre.semisync.tests.unit import samples


def cluster(engine="mysql", replicas=1):
    """A cluster that is ready for a switchover to db2."""
    members = samples.replicating(engine, replicas)
    for one in members:
        for side in ("source", "replica"):
            if one.info["names"][side]["plugin"]:
                samples.install_plugin(one.info, side)
        one.info["semisync"][one.side]["variables"]["enabled"] = "ON"
        one.info["variables"].update(
            read_only="OFF" if one.side == "source" else "ON",
            log_bin="ON",
            log_slave_updates="ON",
            log_replica_updates="ON",
        )
        one.info["tls"] = {"on": False}
        one.info["option_files"]["options"]["bind_address"] = "*"
    for one in members[1:]:
        one.info["channel"].update(delay=0, tls=False)
        if engine == "mariadb":
            one.info["gtid"]["gtid_slave_pos"] = "0-101-900"
    samples.settle(members)
    return members


def looks(members):
    hosts = [one.host for one in members]
    return {
        host: {
            "running": False,
            "reach": dict.fromkeys(hosts, ""),
            "filters": [],
            "events": [],
            "event_scheduler": "ON",
            "first_gtids": "",
        }
        for host in hosts
    }


def wanted(**more):
    return samples.settings(switchover_to=more.pop("to", "db2"), **more)


def refusals(members, seen=None, **more):
    return switchover_premises.refusals(members, seen or looks(members), wanted(**more))


def test_a_premise_is_a_check_and_a_plan_keeps_its_old_form():
    members = cluster()
    members[1].info["channel"]["delay"] = 60
    known = switchover_premises.premises(members, looks(members), wanted())
    (late,) = [one for one in known if one["outcome"] != "passed"]
    assert late == {
        "id": "S0",
        "host": "db2",
        "title": "it is not delayed",
        "expected": "it is not delayed",
        "observed": "a delay of 60 s",
        "outcome": "failed",
        "reason": "",
        "remedy": "remove the delay, or name another replica",
    }
    assert switchover_premises.plan_row(late) == {
        "premise": "it is not delayed",
        "host": "db2",
        "good": False,
        "observed": "a delay of 60 s",
        "remedy": "remove the delay, or name another replica",
    }


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
@pytest.mark.parametrize("replicas", [1, 2])
def test_a_healthy_cluster_may(engine, replicas):
    assert refusals(cluster(engine, replicas)) == []


def test_a_channel_that_trusts_one_source_alone_is_not_moved():
    members = cluster("mysql", 2)
    copy = members[2].info["certificates"]["copy"]["path"]
    members[2].info["channel"].update(tls=True, tls_ca="/etc/ssl/company.pem")
    assert refusals(members) == []
    for one in members[1:]:
        one.info["channel"].update(tls=True, tls_ca=copy)
    (said,) = refusals(members)
    # The target's own channel goes.
    assert said.startswith(f"{members[2].host}: its channel's authority holds for every source")
    assert f"{copy}, the copy of one source's own; run site.yml" in said


def test_an_authority_counts_for_nothing_without_tls():
    members = cluster()
    wishes = {"replication_ssl": "disabled", "replication_ssl_ca": "generated"}
    assert refusals(members, **wishes) == []


@pytest.mark.parametrize(
    "place,name,value,found,remedy",
    [
        ("persisted", "read_only", "OFF", "SET PERSIST", "run RESET PERSIST read_only there"),
        (
            "persisted",
            "super_read_only",
            "OFF",
            "SET PERSIST",
            "run RESET PERSIST super_read_only there",
        ),
        ("command_line", "read_only", "0", "its command line", "remove read_only from its unit"),
    ],
)
def test_nothing_may_override_the_option_file_that_keeps_writers_out(
    place, name, value, found, remedy
):
    members = cluster()
    facts = members[0].info
    where = facts[place] if place == "persisted" else facts["option_files"].setdefault(place, {})
    where[name] = "ON"
    assert refusals(members) == []
    where[name] = value
    (said,) = refusals(members)
    assert said.startswith("db1: an option file can make it start read-only: ")
    assert f"{found} has {name} = {value}" in said and remedy in said


def test_what_the_target_starts_with_overrides_no_fence():
    members = cluster()
    members[1].info["persisted"]["read_only"] = "OFF"
    assert refusals(members) == []


def channel(**more):
    return lambda members: members[1].info["channel"].update(more)


def variable(number, **more):
    return lambda members: members[number].info["variables"].update(more)


def gtids(number, **more):
    return lambda members: members[number].info["gtid"].update(more)


def semisync(number, side, **more):
    return lambda members: members[number].info["semisync"][side]["status"].update(more)


OTHER = "11111111-2222-3333-4444-555555555555"


@pytest.mark.parametrize(
    "spoil,host,words",
    [
        (
            semisync(1, "replica", status="OFF"),
            "db2",
            "it acknowledges: its semi-sync status is OFF",
        ),
        (channel(delay=60), "db2", "a delay of 60 s"),
        (channel(seconds_behind=61), "db2", "lag 61 s, limit 10 s"),
        (channel(seconds_behind=None), "db2", "lag unknown, limit 10 s"),
        (channel(sql_running="No", last_sql_error="dup"), "db2", "SQL thread No: dup"),
        (channel(gtid=False), "db2", "run gtid.yml first"),
        (channel(source_user="other"), "db2", "it logs in as other; set semisync_replication_user"),
        (variable(1, log_replica_updates="OFF"), "db2", "log_replica_updates is OFF"),
        (variable(1, bind_address="127.0.0.1"), "db2", "bind_address is 127.0.0.1"),
        (variable(1, read_only="OFF"), "db2", "it is read-only: read_only is OFF"),
        (variable(0, read_only="ON"), "db1", "it takes writes: read_only is ON"),
        (
            gtids(1, gtid_executed=f"{OTHER}:1-3"),
            "db2",
            f"{OTHER}:1-3; name another replica, or seed it again from db1",
        ),
        (gtids(1, gtid_purged=f"{OTHER}:1-3"), "db2", f"db1 lacks {OTHER}:1-3, which is purged"),
        (lambda members: members[1].info.update(version="9.6.0"), "db2", "upgrade it first"),
        (lambda members: members[0].info.update(version="9.6.0"), "db1", "of an older series"),
        (semisync(0, "source", status="OFF"), "db1", "it is semi-synchronous: status OFF"),
        (semisync(0, "source", clients="0"), "db1", "0 replicas acknowledge"),
        (
            lambda members: members[0].info.update(channel=members[1].info["channel"]),
            "db1",
            "remove that channel if it is not needed (RESET REPLICA ALL",
        ),
        (lambda members: members[1].info["plugins"].clear(), "db2", "run site.yml"),
    ],
)
def test_a_premise_that_fails_names_the_host_and_what_was_found(spoil, host, words):
    members = cluster()
    spoil(members)
    said = refusals(members)
    assert any(one.startswith(f"{host}: ") and words in one for one in said), said


@pytest.mark.parametrize(
    "host,key,value,words",
    [
        ("db1", "running", True, "no other switchover is in progress"),
        ("db2", "filters", ["Replicate_Do_DB = shop"], "Replicate_Do_DB = shop"),
        ("db2", "reach", {"db1": "timed out"}, "it can log in to db1: timed out"),
        ("db1", "reach", {}, "it can log in to db2: it was not tried"),
    ],
)
def test_what_a_look_found_is_refused(host, key, value, words):
    members = cluster()
    seen = looks(members)
    seen[host][key] = value
    assert any(one.startswith(f"{host}: ") and words in one for one in refusals(members, seen))


def test_events_need_the_same_scheduler():
    members = cluster()
    seen = looks(members)
    seen["db1"]["events"] = [{"status": "ENABLED"}]
    seen["db2"]["event_scheduler"] = "OFF"
    assert any("event_scheduler" in one for one in refusals(members, seen))


def test_what_the_source_wrote_between_two_readings_is_no_transaction_of_the_targets_own():
    members = cluster()
    uuid = members[0].info["variables"]["server_uuid"]
    members[1].info["gtid"]["gtid_executed"] = f"{uuid}:1-950"
    assert refusals(members) == []
    members = cluster("mariadb")
    members[1].info["gtid"]["gtid_binlog_state"] = "0-101-950"
    assert refusals(members) == []
    members[1].info["gtid"]["gtid_binlog_state"] = "0-101-950,0-102-951"
    assert any("0-102-951" in one for one in refusals(members))


def test_binary_logs_that_a_mariadb_replica_still_needs_are_looked_for():
    members = cluster("mariadb", 2)
    seen = looks(members)
    seen["db2"]["first_gtids"] = "0-101-950"
    assert [one for one in refusals(members, seen) if "db3 lacks 0-101-950" in one]


@pytest.mark.parametrize(
    "more,words",
    [
        ({"replication_password": ""}, "semisync_replication_password is empty"),
        ({"replication_ssl_ca": "generated"}, "semisync_replication_ssl_ca"),
    ],
)
def test_what_the_inventory_lacks_is_said(more, words):
    assert any(words in one for one in refusals(cluster(), **more))


KNOWN = {"db1": "shop", "db2": "shop", "db9": "mail"}


@pytest.mark.parametrize(
    "to,words",
    [
        ("", "is empty"),
        ("db7", "'db7', which is not a host of groups"),
        ("db9", "a host of cluster 'mail'"),
        ("db2", ""),
    ],
)
def test_a_target_that_cannot_be_one_is_refused_by_its_name(to, words):
    said = switchover_premises.target_name_problem(to, cluster(), KNOWN, "shop")
    assert words in said
    assert bool(said) == bool(words)


def test_the_source_itself_is_refused():
    assert refusals(cluster(), to="db1") == [
        "db1: it is a replica: it is the source already; name a replica in semisync_switchover_to"
    ]


def plan(members, **more):
    return switchover_plan.planned_switchover(
        "shop", members, looks(members), wanted(**more), "abcd", switchover_plan.SWITCH, None
    )


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_the_statements_come_in_the_order_that_loses_nothing(engine):
    lines = [(row["host"], row["statement"]) for row in plan(cluster(engine, 2))["statements"]]
    words = [f"{host} {statement}" for host, statement in lines]

    def place(host, *parts):
        return next(
            number
            for number, line in enumerate(words)
            if line.startswith(host + " ") and all(part in line for part in parts)
        )

    freeze = place("db1", "SET GLOBAL", "read_only = 1")
    stop = place("db2", "STOP")
    side = place("db2", "enabled = 1")
    others = place("db3", "CHANGE")
    old = place("db1", "CHANGE")
    opened = place("db2", "SET GLOBAL read_only = 0")
    assert freeze < stop < side < min(others, old) < opened
    assert opened < place("db2", "RESET")
    assert not any("pass word" in line for line in words)


def test_every_host_is_given_its_part():
    hosts = plan(cluster("mysql", 2))["hosts"]
    assert {host: one["part"] for host, one in hosts.items()} == {
        "db1": "source",
        "db2": "target",
        "db3": "replica",
    }
    assert all("password" not in one for one in hosts.values())
    assert {one["token"] for one in hosts.values()} == {"abcd"}


ROW = {
    "operation": "switchover",
    "state": "begun",
    "run": "feed",
    "from_host": "db1",
    "to_host": "db2",
    "happened": "2026-01-01T00:00:00Z",
}


def mode(members, row, to="db2"):
    return switchover_plan.mode_of(members, row, to)


def test_an_interrupted_switchover_is_finished_where_the_target_was_open():
    members = cluster()
    assert mode(members, ROW) == "undo"
    members[1].info["variables"]["read_only"] = "OFF"
    assert mode(members, ROW) == "finish"


@pytest.mark.parametrize(
    "engine,more",
    [
        ("mysql", {"gtid_executed": f"{OTHER}:1"}),
        ("mariadb", {"gtid_binlog_state": "0-101-900,0-102-901"}),
    ],
)
def test_a_target_that_was_open_and_restarted_is_known_by_what_it_wrote(engine, more):
    members = cluster(engine)
    members[1].info["gtid"].update(more)
    assert mode(members, ROW) == "finish"


def test_what_is_left_to_settle_is_known_by_its_traces():
    members = cluster()
    assert mode(members, DONE, "db1") == "switch"
    members[1].info["fence"] = True
    assert mode(members, DONE, "db1") == "settle"


DONE = dict(ROW, state="done", to_host="db1", from_host="db2")


@pytest.mark.parametrize("settled", [False, True])
def test_only_the_step_after_the_option_files_takes_the_fence_away(settled):
    members = cluster()
    planned = switchover_plan.planned_switchover(
        "shop", members, looks(members), wanted(), "feed", "switch", None
    )
    results = {registered.SWITCHOVER_PLAN: planned, registered.SWITCHOVER_PART: {}}
    options = task_options.options_of({"step": "after", "settled": settled}, context.SWITCHOVER)
    run = SimpleNamespace(host="db1", options=options, result_of=results.get)
    assert switchover_steps.rest_of(run).unfence is settled
    assert switchover_steps.part_on_host(run).unfence is False


def test_the_role_s_last_step_is_the_one_that_takes_it_away():
    path = Path(__file__).resolve().parents[5] / "roles/switchover/tasks/settle.yml"
    tasks = yaml.safe_load(path.read_text(encoding="utf-8"))
    switchover = "dbre.semisync.semisync_switchover"
    role = "ansible.builtin.include_role"
    steps = [
        task[switchover] if switchover in task else task[role]["name"].rpartition(".")[2]
        for task in tasks
        if switchover in task or role in task
    ]
    assert steps == [
        {"step": "after"},
        "preflight",
        "server",
        {"step": "after", "settled": True},
        {"step": "report", "settled": True},
    ]


def astray():
    """db1 is the new source; db2, the old one, still has its fence, and db3 was not reached."""
    members = cluster("mysql", 2)
    members[1].info["fence"] = True
    return members


def test_a_replica_that_missed_the_move_follows_before_it_is_settled():
    members = astray()
    assert mode(members, DONE, "db1") == "settle"
    samples.connect(members[2], members[1])
    assert switchover_plan.astray(members, "db1") == ["db3"]
    assert mode(members, DONE, "db1") == "finish"


def test_a_new_source_that_was_restarted_is_opened_before_it_is_settled():
    members = astray()
    members[0].info["variables"]["read_only"] = "ON"
    assert mode(members, DONE, "db1") == "finish"
    # Nothing is left of the switchover: it was made read-only by hand.
    members[1].info["fence"] = False
    assert mode(members, DONE, "db1") == "switch"


@pytest.mark.parametrize("row", [None, dict(ROW, state="undone"), dict(ROW, operation="failover")])
def test_nothing_else_is_mended(row):
    assert mode(cluster(), row) == "switch"


def test_two_that_take_writes_are_not_mended():
    members = cluster()
    members[1].info["variables"]["read_only"] = "OFF"
    said = switchover_plan.interrupted_problems(members, ROW, looks(members))
    assert said and "both take writes" in said[0]


def test_a_run_that_is_still_under_way_is_not_mended():
    members = cluster()
    seen = looks(members)
    seen["db1"]["running"] = True
    assert "in progress" in switchover_plan.interrupted_problems(members, ROW, seen)[0]


def test_mending_goes_by_the_journal_and_not_by_what_is_asked_for():
    made = switchover_plan.planned_switchover(
        "shop", cluster("mysql", 2), {}, wanted(to="db3"), "new", switchover_plan.UNDO, ROW
    )
    assert (made["from"], made["to"], made["token"]) == ("db1", "db2", "feed")
    assert made["hosts"]["db3"]["part"] == "replica"
