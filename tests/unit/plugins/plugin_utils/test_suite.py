# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import os

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils import suite

SUITES = os.path.join(os.path.dirname(os.path.abspath(suite.__file__)), "..", "..", "roles", "benchmark", "suites")
GOOD = """
title: Ours
load: {tool: mysqlslap, clients: 4, queries: 100}
repetitions: 2
cells:
  - {id: a, replication: async}
  - {id: b, replication: semisync, delay_ms: 90, baseline: a}
"""


def read(text, profile="full"):
    return suite.read(text, "ours.yml", profile)


@pytest.mark.parametrize("name", ["b0", "b1", "b2", "b3", "b4", "wan"])
@pytest.mark.parametrize("profile", ["full", "quick"])
def test_every_suite_of_the_collection_can_run(name, profile):
    with open(suite.find(name, [SUITES])) as stream:
        found = suite.read(stream.read(), name, profile)
    assert suite.expected_seconds(found, suite.steps(found, set())) > 0
    cells = [cell["id"] for cell in found["cells"]]
    assert all(entry["found"] in cells for entry in found["documented"])


@pytest.mark.parametrize("name,cells,load", [
    ("b0", 4, {"clients": 10, "queries": 1000, "tool": "mysqlslap"}),
    ("b2", 3, {"clients": 1, "seconds": 30, "tool": "client"}),
    ("b3", 8, {"tool": "sysbench", "script": "oltp_update_index"}),
    ("b4", 15, {"queries": 5000, "load_type": "write", "engine": "innodb"}),
])
def test_the_suites_have_the_documents_figures(name, cells, load):
    with open(suite.find(name, [SUITES])) as stream:
        found = suite.read(stream.read(), name, "full")["cells"]
    assert len(found) == cells
    assert dict((key, found[0]["load"][key]) for key in load) == load


ALL = {"mysqlslap": "/usr/bin/mysqlslap", "mariadb-slap": "/usr/bin/mariadb-slap", "sysbench": "/usr/bin/sysbench", "driver": "pymysql"}


@pytest.mark.parametrize("tool,missing,words", [
    ("mysqlslap", (), ""),
    ("mysqlslap", ("sysbench", "mysqlslap"), ""),
    ("mysqlslap", ("mariadb-slap",), "load1 has no mariadb-slap: install the server's client package there"),
    ("sysbench", ("mysqlslap",), ""),
    ("sysbench", ("sysbench",), "load1 has no sysbench: install it there, or put a host that has it into group semisync_client"),
    ("client", ("mysqlslap", "mariadb-slap", "sysbench"), ""),
    ("client", ("driver",), "load1 has no MySQL driver for Python: install PyMySQL (python3-pymysql) there"),
    ("sysbench", ("sysbench", "driver"), "load1 has no sysbench: install it there, or put a host that has it into group "
     "semisync_client; load1 has no MySQL driver for Python: install PyMySQL (python3-pymysql) there"),
])
def test_a_host_that_cannot_run_the_load_is_named(tool, missing, words):
    cells = [{"load": {"tool": tool}}]
    tools = dict((name, None if name in missing else path) for name, path in ALL.items())
    assert suite.lacking({"cells": cells}, "load1", tools, "mariadb-slap") == words


@pytest.mark.parametrize("text,words", [
    (GOOD.replace("delay_ms", "dealy_ms"), "ours.yml, line 7: an entry of cells has no key 'dealy_ms'; did you mean delay_ms?"),
    (GOOD.replace("clients: 4", "clients: 0"), "ours.yml, line 3: clients is 0; from 1 to 10000 is possible"),
    (GOOD.replace("clients: 4", "clients: many"), "line 3: clients is many; a whole number is needed"),
    (GOOD.replace("clients: 4", "clients: true"), "line 3: clients is true; a whole number is needed"),
    (GOOD.replace("tool: mysqlslap", "tool: slap"), "line 3: tool is slap; possible are mysqlslap, sysbench, client"),
    (GOOD.replace("replication: semisync", "replication: sync"), "line 7: replication is sync; possible are none, async"),
    (GOOD.replace("delay_ms: 90", "delay_ms: -1"), "line 7: delay_ms is -1; from 0 to 10000 is possible"),
    (GOOD.replace("baseline: a", "baseline: c"), "cell b: its baseline 'c' is no cell"),
    (GOOD.replace("id: b", "id: a"), "cell a: there are two of this id"),
    (GOOD.replace("id: b, ", ""), "cell number 2: id and replication are needed"),
    (GOOD.replace("title: Ours\n", ""), "title is missing"),
    (GOOD.replace("tool: mysqlslap, clients: 4", "tool: client"), "the tool client needs a query"),
    (GOOD.replace("tool: mysqlslap", "tool: sysbench"), "sysbench needs a script"),
    (GOOD.replace("queries: 100", "queries: 3"), "fewer queries (3) than clients (4)"),
    (GOOD.replace("queries: 100", "seconds: 3"), "cell a: mysqlslap runs a number of queries, not seconds"),
    ("title: x\ncells: {}\n", "line 2: cells is a mapping; a list is needed"),
    ("title: [\n", "ours.yml is no YAML"),
    ("", "ours.yml is empty"),
    ("- a\n", "a mapping is needed"),
])
def test_a_suite_that_cannot_run_says_where_and_why(text, words):
    with pytest.raises(suite.Wrong) as error:
        read(text)
    assert words in str(error.value)


@pytest.mark.parametrize("name,words", [("b9", "there is no suite 'b9'; there is: b0, b1"), ("./no.yml", "no suite file ./no.yml")])
def test_an_unknown_suite_is_named_with_those_there_are(name, words):
    with pytest.raises(suite.Wrong) as error:
        suite.find(name, [SUITES])
    assert words in str(error.value)


def test_a_cell_has_the_suites_conditions_where_it_has_none_of_its_own():
    first, second = read(GOOD + "delay_ms: 5\ntimeout_ms: 7\n")["cells"]
    assert (first["delay_ms"], second["delay_ms"], second["timeout_ms"]) == (5.0, 90.0, 7)
    assert first["load"] == {"tool": "mysqlslap", "clients": 4, "queries": 100, "load_type": "mixed"}


def test_a_cell_with_another_tool_takes_nothing_from_the_suites_load():
    text = GOOD.replace("delay_ms: 90", "load: {tool: client, query: SELECT 1, seconds: 2}").replace("clients: 4", "engine: innodb")
    assert read(text)["cells"][1]["load"] == {"tool": "client", "clients": 1, "queries": None, "query": "SELECT 1", "seconds": 2}


def test_the_quick_profile_changes_what_it_names():
    text = GOOD + "profiles: {quick: {repetitions: 1, load: {queries: 50}}}\n"
    assert read(text)["repetitions"] == 2
    quick = read(text, "quick")
    assert (quick["repetitions"], quick["cells"][0]["load"]["queries"], quick["cells"][0]["load"]["clients"]) == (1, 50, 4)
    text = text.replace("baseline: a}", "baseline: a, load: {queries: 9000}}")
    assert [cell["load"]["queries"] for cell in read(text)["cells"]] == [100, 9000]
    assert [cell["load"]["queries"] for cell in read(text, "quick")["cells"]] == [50, 50]


def test_repetitions_are_interleaved_after_one_warm_up_of_each_load():
    order = [(cell["id"], number) for cell, number in suite.runs(read(GOOD))]
    assert order == [("a", 0), ("a", 1), ("b", 1), ("a", 2), ("b", 2)]


def test_a_step_sets_only_what_differs_from_the_one_before():
    steps = suite.steps(read(GOOD + "time_limit: 60\n"), set())
    assert [(step["cell"], step["source"], step["replica"], step["delay"]) for step in steps] == [
        ("a", True, True, True), ("a", False, False, False), ("b", True, False, True), ("a", True, False, True),
        ("b", True, False, True)]


def test_replicas_are_set_when_they_are_disconnected_and_when_durability_changes():
    text = GOOD.replace("replication: async", "replication: none")
    assert [step["replica"] for step in suite.steps(read(text + "time_limit: 60\n"), set())] == [True, False, True, True, True]
    text = GOOD.replace("replication: async", "replication: async, durability: {sync_binlog: 0}")
    assert [step["replica"] for step in suite.steps(read(text + "time_limit: 60\n"), set())] == [True, False, True, True, True]


def test_an_interrupted_run_goes_on_with_what_is_left_and_sets_everything_first():
    steps = suite.steps(read(GOOD), set([("a", 0), ("a", 1), ("b", 1), ("a", 2)]))
    assert [(step["cell"], step["repetition"], step["source"], step["replica"], step["delay"]) for step in steps] == [
        ("b", 2, True, True, True)]


def test_settings_are_held_as_long_as_they_are_needed_and_renewed_before_that_is_too_long():
    text = GOOD.replace("replication: semisync, delay_ms: 90", "replication: async").replace("repetitions: 2", "repetitions: 6")
    steps = suite.steps(read(text + "time_limit: 480\n"), set())
    renewed = [index for index, step in enumerate(steps) if step["source"]]
    assert renewed == [0, 3, 6, 9, 12]
    assert [steps[index]["source_hold"] for index in renewed] == [1800, 1800, 1800, 1800, 600]


@pytest.mark.parametrize("seconds,words", [(5, "5 s"), (89, "89 s"), (600, "10 min"), (7380, "2 h 03 min")])
def test_durations_are_told_in_words(seconds, words):
    assert suite.in_words(seconds) == words
