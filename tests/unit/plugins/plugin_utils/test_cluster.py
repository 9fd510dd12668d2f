# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re
import types
from typing import Any

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import (
    canary_row,
    cluster,
    plan_goals,
    refusal,
    settings,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import LOST
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import problems
from ansible_collections.dbre.semisync.tests.unit import samples

READ: dict[str, Any] = {"variables": {}, "channel": None, "engine": "mysql"}


def follower(host, **more):
    """What a server said that follows a host."""
    channel = dict.fromkeys(("io_running", "sql_running"), "Yes")
    channel.update(source_host=host, source_port=3306, source_uuid=None, source_server_id=0)
    return dict(READ, channel=channel, **more)


def task_vars(hosts, me="a1", active=None):
    """A task's variables: hosts is name -> (group, variables)."""
    groups = {"all": list(hosts)}
    for host, (group, _dummy) in hosts.items():
        groups.setdefault(group, []).append(host)
    hostvars = {host: dict({"info": READ}, **more) for host, (dummy, more) in hosts.items()}
    return dict(
        hostvars[me],
        hostvars=hostvars,
        groups=groups,
        inventory_hostname=me,
        ansible_play_hosts_all=list(hosts),
        ansible_play_hosts=list(hosts) if active is None else active,
    )


TWO = {
    "a1": ("semisync_source", {"semisync_cluster": "a"}),
    "a2": ("semisync_replica", {"semisync_cluster": "a"}),
    "b1": ("semisync_source", {"semisync_cluster": "b"}),
    "b2": ("semisync_replica", {"semisync_cluster": "b"}),
    "c1": ("semisync_source", {}),
    "c2": ("semisync_replica", {"semisync_cluster": "default"}),
    "web": ("webservers", {"semisync_cluster": "a"}),
}


@pytest.mark.parametrize(
    "me,name,members",
    [
        ("a1", "a", [("a1", "source"), ("a2", "replica")]),
        ("a2", "a", [("a1", "source"), ("a2", "replica")]),
        ("b2", "b", [("b1", "source"), ("b2", "replica")]),
        ("c1", "default", [("c1", "source"), ("c2", "replica")]),
    ],
)
def test_a_cluster_is_its_own_hosts_only(me, name, members):
    found_name, found = cluster.members(task_vars(TWO, me), "info")
    assert (found_name, [(one.host, one.side) for one in found]) == (name, members)


@pytest.mark.parametrize(
    "installed,words",
    [
        ({}, "Nothing was changed."),
        ({"changed": False}, "Nothing was changed."),
        ({"changed": True}, "Nothing was changed, but PyMySQL was installed on a2."),
    ],
)
def test_a_refusal_tells_of_a_package_that_was_installed_before(installed, words):
    hosts = dict(
        TWO,
        a2=(TWO["a2"][0], dict(TWO["a2"][1], __semisync_installed=installed)),
        b2=(TWO["b2"][0], dict(TWO["b2"][1], __semisync_installed={"changed": True})),
    )
    given = task_vars(hosts)
    assert refusal.untouched(given, cluster.members(given, "info")[1]) == words


def test_a_cluster_may_be_named_by_a_number():
    found = cluster.members(
        task_vars(
            {
                "a1": ("semisync_source", {"semisync_cluster": 7}),
                "a2": ("semisync_replica", {"semisync_cluster": "7"}),
            }
        ),
        "info",
    )
    assert found[0] == "7" and len(found[1]) == 2


@pytest.mark.parametrize(
    "more,address",
    [
        ({}, "a1"),
        ({"ansible_host": "10.0.0.1"}, "10.0.0.1"),
        ({"ansible_host": "10.0.0.1", "semisync_address": "192.168.0.1"}, "192.168.0.1"),
        ({"semisync_address": ""}, "a1"),
    ],
)
def test_how_replicas_reach_a_host(more, address):
    assert (
        cluster.members(task_vars({"a1": ("semisync_source", more)}), "info")[1][0].address
        == address
    )


@pytest.mark.parametrize("value,number", [(None, 0), ("", 0), (0, 0), (7, 7), ("7", 7)])
def test_the_server_id_that_is_asked_for(value, number):
    more = {} if value is None else {"semisync_server_id": value}
    assert (
        cluster.members(task_vars({"a1": ("semisync_source", more)}), "info")[1][0].explicit_id
        == number
    )


@pytest.mark.parametrize(
    "result,words",
    [
        ({"failed": True, "msg": "wrong login: …"}, "wrong login"),
        ({"unreachable": True, "msg": "timed out"}, "unreachable: timed out"),
        ({}, "not read"),
        (None, "not read"),
    ],
)
def test_a_host_without_a_state_has_a_reason(result, words):
    one = cluster.members(task_vars({"a1": ("semisync_source", {"info": result})}), "info")[1][0]
    assert one.info is None and words in one.error


def test_a_host_that_failed_in_this_play_counts_as_lost_where_that_matters():
    variables = task_vars(TWO, "a1", active=["a1", "b1", "b2"])
    assert [one.info is None for one in cluster.members(variables, "info")[1]] == [False, False]
    lost = cluster.members(variables, "info", active_only=True)[1]
    assert [one.info is None for one in lost] == [False, True]
    assert lost[1].error == LOST


def test_a_host_that_is_lost_because_it_could_not_be_read_says_why():
    said = {"failed": True, "msg": "the server is not running"}
    hosts = dict(TWO, a2=("semisync_replica", {"semisync_cluster": "a", "info": said}))
    variables = task_vars(hosts, "a1", active=["a1", "b1", "b2"])
    lost = cluster.members(variables, "info", active_only=True)[1]
    assert lost[1].info is None and lost[1].error == "the server is not running"


@pytest.mark.parametrize("active_only", [False, True])
def test_a_host_that_failed_before_it_was_read_is_no_matter_of_limit(active_only):
    hosts = dict(TWO, a2=("semisync_replica", {"semisync_cluster": "a", "info": None}))
    variables = task_vars(hosts, "a1", active=["a1", "b1", "b2"])
    assert cluster.members(variables, "info", active_only)[1][1].error == LOST


def test_a_host_outside_the_play_is_not_lost():
    variables = task_vars(TWO, "a1", active=["a1"])
    variables["ansible_play_hosts_all"] = ["a1"]
    assert all(one.info for one in cluster.members(variables, "info", active_only=True)[1])


@pytest.mark.parametrize("active,speaker", [(None, "a1"), (["a2", "b1"], "a2"), (["b1"], None)])
def test_one_host_speaks_for_its_cluster(active, speaker):
    variables = task_vars(TWO, "a1", active)
    assert cluster.speaker(variables, cluster.members(variables, "info")[1]) == speaker


def test_nobody_speaks_again_for_a_cluster_whose_speaker_failed_by_what_it_said(
    monkeypatch, tmp_path
):
    """A host whose task begins later finds the first out of the play."""
    monkeypatch.setattr(refusal.constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    task, next_task = types.SimpleNamespace(_uuid="1"), types.SimpleNamespace(_uuid="2")

    def speaks(me, active, task):
        variables = task_vars(TWO, me, active)
        return cluster.speaks(variables, cluster.members(variables, "info")[1], task)

    assert not speaks("a2", None, task)
    assert speaks("a1", None, task) and speaks("b1", None, task)
    assert not speaks("a2", ["a2", "b1", "b2"], task)
    assert speaks("a2", ["a2", "b1", "b2"], next_task)


def test_the_canary_is_the_sources_and_arrivals_are_the_replicas():
    hosts = {
        "a1": ("semisync_source", {"written": {"written": [1]}}),
        "a2": ("semisync_replica", {"info": follower("a1", arrival={"arrived": True})}),
        "a3": ("semisync_replica", {"info": follower("a1")}),
        "a4": ("semisync_replica", {}),
    }
    variables = task_vars(hosts)
    members = cluster.members(variables, "info")[1]
    assert cluster.canary(variables, members, "written", "info") == (
        {"written": [1]},
        {
            "a2": {"arrived": True},
            "a3": None,
            "a4": {"arrived": False, "msg": "it follows no source"},
        },
    )
    assert cluster.canary(variables, members, None, "info") == (None, {})


def test_without_a_row_there_is_a_reason():
    variables = task_vars(
        {"a1": ("semisync_source", {"info": {"unreachable": True, "msg": "timed out"}})}
    )
    members = cluster.members(variables, "info")[1]
    assert cluster.canary(variables, members, "written", "info")[0] == {
        "msg": "unreachable: timed out"
    }
    assert cluster.canary(
        task_vars(TWO), [samples.member("a1", "source", READ)], "written", "info"
    )[0] == {"msg": "no row was written"}


@pytest.fixture
def run_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(refusal.constants, "DEFAULT_LOCAL_TMP", str(tmp_path))


def test_a_refusal_is_said_once_in_a_run_and_every_host_fails(run_folder):
    text = f"Cluster 'a': {'no' * refusal.SHORT}"
    results = [refusal.refused(text, host) for host in ("a2", "a1", "a3", "a2")]
    assert all(result["failed"] for result in results)
    assert [result["msg"] == text for result in results] == [True, False, False, True]
    assert results[1] == {
        "failed": True,
        "msg": "Refused with the rest of its cluster; a2 says why.",
        "refused_with": "a2",
    }


def test_a_short_refusal_is_the_same_for_all_hosts_and_names_who_speaks(run_folder):
    results = [refusal.refused("Cluster 'a': no", host) for host in ("a2", "a1")]
    assert {result["msg"] for result in results} == {"Cluster 'a': no"}
    assert [result.get("refused_with") for result in results] == [None, "a2"]


def test_another_refusal_is_said_as_well(run_folder):
    said = [refusal.refused(text, host)["msg"] for text, host in (("one", "a1"), ("two", "a2"))]
    assert said == ["one", "two"]


def test_a_refusal_that_cannot_be_noted_down_is_said_by_every_host(monkeypatch):
    monkeypatch.setattr(refusal.constants, "DEFAULT_LOCAL_TMP", "/nowhere/at/all")
    assert [refusal.refused("no", host)["msg"] for host in ("a1", "a2")] == ["no", "no"]


def test_inputs_are_judged_for_all_hosts_of_a_cluster_at_once():
    hosts = dict(TWO, a2=("semisync_replica", {"semisync_cluster": "a", "semisync_timeout": 0}))
    for me in ("a1", "a2"):
        with pytest.raises(refusal.RefusedError, match=r"Cluster 'a': a2: semisync_timeout is 0"):
            cluster.judge_inputs(task_vars(hosts, me))
    cluster.judge_inputs(task_vars(hosts, "b1"))


@pytest.mark.parametrize(
    "values,refused",
    [
        ({"semisync_timeout": 10}, True),
        ({"semisync_timeout": "99"}, True),
        ({"semisync_timeout": 100}, False),
        ({"semisync_timeout": 10, "semisync_accept": "short_timeout"}, False),
        ({"semisync_timeout": 10, "semisync_accept": ["short_timeout"]}, False),
        ({}, False),
    ],
)
def test_a_timeout_that_was_meant_in_seconds_is_asked_back_once_with_its_unit(values, refused):
    hosts = {"a1": ("semisync_source", values), "a2": ("semisync_replica", values)}
    given = task_vars(hosts)
    # A failover does not wait for an answer.
    cluster.judge_inputs(given, ask_back=False)
    if not refused:
        cluster.judge_inputs(given)
        return
    with pytest.raises(refusal.RefusedError) as caught:
        cluster.judge_inputs(given)
    said = str(caught.value)
    assert re.search(r"a1, a2: semisync_timeout is (\d+), .* \1 ms .* set it to (?:\1)000; ", said)
    assert said.endswith("semisync_accept=short_timeout")


def test_what_is_accepted_is_a_name_that_there_is():
    hosts = {"a1": ("semisync_source", {"semisync_accept": ["short"]})}
    with pytest.raises(refusal.RefusedError, match="it must be names of cases"):
        cluster.judge_inputs(task_vars(hosts))


def test_members_know_what_is_wanted_of_each_host():
    hosts = {
        "a1": ("semisync_source", {"semisync_timeout": 500}),
        "a2": ("semisync_replica", {"semisync_timeout": 700}),
    }
    own = settings.Settings(timeout_ms=500, trace_level=16)
    members = cluster.members(task_vars(hosts), "info", own=own)[1]
    assert [member.settings["timeout_ms"] for member in members] == [500, 700]
    assert [member.settings["trace_level"] for member in members] == [16, 16]


def test_variables_are_templated_when_they_are_read():
    class Templar:
        def template(self, value):
            return value.upper()

    values = cluster.TaskVariables({"semisync_cluster": "a", "other": "b"}, Templar())
    assert "semisync_cluster" in values and "nobody" not in values
    assert settings.read(values)[0]["cluster"] == "A"


def moved(me="a1"):
    """A cluster whose inventory's source follows its replica."""
    return task_vars(
        {"a1": ("semisync_source", {"info": follower("a2")}), "a2": ("semisync_replica", {})}, me
    )


def test_the_side_is_what_the_servers_say_and_the_source_comes_first():
    members = cluster.members(moved(), "info")[1]
    assert [(one.host, one.side, one.group) for one in members] == [
        ("a2", "source", "replica"),
        ("a1", "replica", "source"),
    ]


def test_before_anything_was_read_the_groups_say_it():
    members = cluster.members(moved(), "nothing")[1]
    assert [(one.host, one.side) for one in members] == [("a1", "source"), ("a2", "replica")]


def test_the_groups_are_said_to_be_old_once_a_run(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(refusal.constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    monkeypatch.setattr(cluster.display, "display", said.append)
    for me in ("a1", "a2", "a1"):
        cluster.members(moved(me), "info")
    assert said == ["The inventory's groups are out of date: a2 is the source of cluster default"]


def test_nobody_writes_a_row_where_two_take_writes():
    variables = moved()
    for host in ("a1", "a2"):
        info = dict(variables["hostvars"][host]["info"], channel=None)
        variables["hostvars"][host]["info"] = dict(info, variables={"read_only": "OFF"})
    row = {"number": 1, "operation": "failover", "run": "r", "state": "done", "happened": "now"}
    row.update(from_host="a1", to_host="a2", from_id="1", to_id="2")
    variables["hostvars"]["a1"]["info"]["variables"]["server_uuid"] = "1"
    variables["hostvars"]["a2"]["info"]["variables"]["server_uuid"] = "2"
    variables["hostvars"]["a2"]["info"]["journal"] = row
    members = cluster.members(variables, "info")[1]
    canary, arrivals = cluster.canary(variables, members, "written", "info")
    assert "no row was written: a2 and a1 take writes" in canary["msg"] and arrivals == {}


def left_behind(me, **more):
    """a2 has taken over from a1, which is gone, and a3 follows."""
    row = {"number": 1, "operation": "failover", "run": "r", "state": "done", "happened": "now"}
    row.update(from_host="a1", to_host="a2", from_id="1", to_id="2")
    away = [{"host": "a1", "id": "1", "to_host": "a2", "happened": "now"}]
    known = {"journal": row, "held": away}
    new = dict(READ, variables={"read_only": "OFF", "server_uuid": "2"}, **known)
    return task_vars(
        {
            "a1": ("semisync_source", {"info": {"unreachable": True, "msg": "gone"}, **more}),
            "a2": ("semisync_replica", {"info": new}),
            "a3": ("semisync_replica", {"info": dict(follower("a2"), **known)}),
        },
        me,
    )


def test_a_cluster_goes_on_without_the_source_that_a_failover_left_behind(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(refusal.constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    monkeypatch.setattr(cluster.display, "display", said.append)
    for me in ("a2", "a3"):
        members = cluster.members(left_behind(me), "info")[1]
        assert [(one.host, one.side) for one in members] == [("a2", "source"), ("a3", "replica")]
        assert problems.inventory_problems("default", members) == []
    assert len(said) == 1 and "a1 lost the source's role to a2" in said[0]
    with pytest.raises(refusal.HeldError, match="a1 lost the source's role"):
        cluster.members(left_behind("a1"), "info")
    (held,) = cluster.held_hosts(left_behind("a3"), "info")
    assert held.member.host == "a1"
    for goal in ("apply", "sides"):
        variables = cluster.TaskVariables(left_behind("a1"), NoTemplar())
        plan = plan_goals.GOALS[goal](variables, "info", {"hold_back": True})
        assert plan["side"] == "held" and not plan.get("cluster_changes")
    # A run that may overwrite its data needs to see it as a member.
    members = cluster.members(left_behind("a1", semisync_seed_overwrite=True), "info")[1]
    assert "a1" in [one.host for one in members]


class NoTemplar:
    """Values are as they are."""

    def template(self, value):
        return value


@pytest.mark.parametrize(
    "said,writes", [(READ, True), ({"unreachable": True, "msg": "No route to host"}, False)]
)
def test_a_source_that_cannot_be_reached_is_not_asked_to_write_a_row(said, writes):
    hosts = {
        "a1": ("semisync_source", {"semisync_cluster": "a", "info": said}),
        "a2": ("semisync_replica", {"semisync_cluster": "a", "info": follower("a1")}),
    }
    reason = canary_row.why_not(task_vars(hosts), "info")
    assert (reason == "") is writes and (writes or "No route to host" in reason)
