# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster
from ansible_collections.dbre.semisync.tests.unit import samples

READ = {"semisync": {}, "engine": "mysql"}


def task_vars(hosts, me="a1", active=None):
    """A task's variables: hosts is name -> (group, variables)."""
    groups = {"all": list(hosts)}
    for host, (group, dummy) in hosts.items():
        groups.setdefault(group, []).append(host)
    hostvars = dict((host, dict(dict(info=READ), **more)) for host, (dummy, more) in hosts.items())
    return dict(hostvars[me], hostvars=hostvars, groups=groups, inventory_hostname=me, ansible_play_hosts_all=list(hosts),
                ansible_play_hosts=list(hosts) if active is None else active)


TWO = {
    "a1": ("semisync_source", {"semisync_cluster": "a"}),
    "a2": ("semisync_replica", {"semisync_cluster": "a"}),
    "b1": ("semisync_source", {"semisync_cluster": "b"}),
    "b2": ("semisync_replica", {"semisync_cluster": "b"}),
    "c1": ("semisync_source", {}),
    "c2": ("semisync_replica", {"semisync_cluster": "default"}),
    "web": ("webservers", {"semisync_cluster": "a"}),
}


@pytest.mark.parametrize("me,name,members", [
    ("a1", "a", [("a1", "source"), ("a2", "replica")]),
    ("a2", "a", [("a1", "source"), ("a2", "replica")]),
    ("b2", "b", [("b1", "source"), ("b2", "replica")]),
    ("c1", "default", [("c1", "source"), ("c2", "replica")]),
])
def test_a_cluster_is_its_own_hosts_only(me, name, members):
    found_name, found = cluster.members(task_vars(TWO, me), "info")
    assert (found_name, [(one.host, one.role) for one in found]) == (name, members)


@pytest.mark.parametrize("installed,words", [
    ({}, "Nothing was changed."), ({"changed": False}, "Nothing was changed."),
    ({"changed": True}, "Nothing was changed, but PyMySQL was installed on a2."),
])
def test_a_refusal_tells_of_a_package_that_was_installed_before(installed, words):
    hosts = dict(TWO, a2=(TWO["a2"][0], dict(TWO["a2"][1], __semisync_installed=installed)),
                 b2=(TWO["b2"][0], dict(TWO["b2"][1], __semisync_installed={"changed": True})))
    given = task_vars(hosts)
    assert cluster.untouched(given, cluster.members(given, "info")[1]) == words


def test_a_cluster_may_be_named_by_a_number():
    found = cluster.members(task_vars({"a1": ("semisync_source", {"semisync_cluster": 7}),
                                       "a2": ("semisync_replica", {"semisync_cluster": "7"})}), "info")
    assert found[0] == "7" and len(found[1]) == 2


@pytest.mark.parametrize("more,address", [
    ({}, "a1"), ({"ansible_host": "10.0.0.1"}, "10.0.0.1"),
    ({"ansible_host": "10.0.0.1", "semisync_address": "192.168.0.1"}, "192.168.0.1"),
    ({"semisync_address": ""}, "a1"),
])
def test_how_replicas_reach_a_host(more, address):
    assert cluster.members(task_vars({"a1": ("semisync_source", more)}), "info")[1][0].address == address


@pytest.mark.parametrize("value,number", [(None, 0), ("", 0), (0, 0), (7, 7), ("7", 7)])
def test_the_server_id_that_is_asked_for(value, number):
    more = {} if value is None else {"semisync_server_id": value}
    assert cluster.members(task_vars({"a1": ("semisync_source", more)}), "info")[1][0].explicit_id == number


@pytest.mark.parametrize("result,words", [
    ({"failed": True, "msg": "wrong login: …"}, "wrong login"),
    ({"unreachable": True, "msg": "timed out"}, "unreachable: timed out"),
    ({}, "not read"),
    (None, "not read"),
])
def test_a_host_without_a_state_has_a_reason(result, words):
    one = cluster.members(task_vars({"a1": ("semisync_source", {"info": result})}), "info")[1][0]
    assert one.info is None and words in one.error


def test_a_host_that_failed_in_this_play_counts_as_lost_where_that_matters():
    variables = task_vars(TWO, "a1", active=["a1", "b1", "b2"])
    assert [one.info is None for one in cluster.members(variables, "info")[1]] == [False, False]
    lost = cluster.members(variables, "info", active_only=True)[1]
    assert [one.info is None for one in lost] == [False, True]
    assert lost[1].error == "failed or became unreachable in this run"


def test_a_host_outside_the_play_is_not_lost():
    variables = task_vars(TWO, "a1", active=["a1"])
    variables["ansible_play_hosts_all"] = ["a1"]
    assert all(one.info for one in cluster.members(variables, "info", active_only=True)[1])


@pytest.mark.parametrize("active,speaker", [(None, "a1"), (["a2", "b1"], "a2"), (["b1"], None)])
def test_one_host_speaks_for_its_cluster(active, speaker):
    variables = task_vars(TWO, "a1", active)
    assert cluster.speaker(variables, cluster.members(variables, "info")[1]) == speaker


def test_the_canary_is_the_sources_and_arrivals_are_the_replicas():
    hosts = {"a1": ("semisync_source", {"written": {"written": [1]}}), "a2": ("semisync_replica", {"arrived": {"arrival": {"arrived": True}}}),
             "a3": ("semisync_replica", {})}
    variables = task_vars(hosts)
    members = cluster.members(variables, "info")[1]
    assert cluster.canary(variables, members, "written", "arrived") == (
        {"written": [1]}, {"a2": {"arrived": True}, "a3": None})
    assert cluster.canary(variables, members, None, None) == (None, {})


def test_without_a_row_there_is_a_reason():
    variables = task_vars({"a1": ("semisync_source", {"info": {"unreachable": True, "msg": "timed out"}})})
    members = cluster.members(variables, "info")[1]
    assert cluster.canary(variables, members, "written", "arrived")[0] == {"msg": "unreachable: timed out"}
    assert cluster.canary(task_vars(TWO), [samples.member("a1", "source", READ)], "written", "arrived")[0] == \
        {"msg": "no row was written"}
