# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import schedule, suite
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.suite_file import SuiteError

SUITES = os.path.join(
    os.path.dirname(os.path.abspath(suite.__file__)),
    "..",
    "..",
    "..",
    "roles",
    "benchmark",
    "suites",
)
GOOD = """
title: Ours
load: {tool: mysqlslap, clients: 4, queries: 100}
repetitions: 2
cells:
  - {id: a, replication: async}
  - {id: b, replication: semisync, delay_ms: 90, baseline: a}
"""


def read(text, profile="full"):
    return suite.read_suite(text, "ours.yml", profile)


@pytest.mark.parametrize(
    "name", ["four_phases", "one_client", "row_latency", "durability", "clients", "distance"]
)
@pytest.mark.parametrize("profile", ["full", "quick"])
def test_every_suite_of_the_collection_can_run(name, profile):
    with open(suite.find(name, [SUITES])) as stream:
        found = suite.read_suite(stream.read(), name, profile)
    assert schedule.expected_seconds(found, schedule.remaining_steps(found, set())) > 0
    cells = [cell["id"] for cell in found["cells"]]
    assert all(entry["found"] in cells for entry in found["documented"])


@pytest.mark.parametrize(
    "name,cells,load",
    [
        ("four_phases", 4, {"clients": 10, "queries": 1000, "tool": "mysqlslap"}),
        ("row_latency", 3, {"clients": 1, "seconds": 30, "tool": "client"}),
        ("durability", 8, {"tool": "sysbench", "script": "oltp_update_index"}),
        ("clients", 15, {"queries": 5000, "load_type": "write", "engine": "innodb"}),
    ],
)
def test_the_suites_have_the_published_figures(name, cells, load):
    with open(suite.find(name, [SUITES])) as stream:
        found = suite.read_suite(stream.read(), name, "full")["cells"]
    assert len(found) == cells
    assert {key: found[0]["load"][key] for key in load} == load


ALL = {
    "mysqlslap": "/usr/bin/mysqlslap",
    "mariadb-slap": "/usr/bin/mariadb-slap",
    "sysbench": "/usr/bin/sysbench",
    "driver": "pymysql",
}


@pytest.mark.parametrize(
    "tool,missing,words",
    [
        ("mysqlslap", (), ""),
        ("mysqlslap", ("sysbench", "mysqlslap"), ""),
        (
            "mysqlslap",
            ("mariadb-slap",),
            "load1 has no mariadb-slap: install the server's client package there",
        ),
        ("sysbench", ("mysqlslap",), ""),
        (
            "sysbench",
            ("sysbench",),
            (
                "load1 has no sysbench: install it there, or put a host that has it into group"
                " semisync_client"
            ),
        ),
        ("client", ("mysqlslap", "mariadb-slap", "sysbench"), ""),
        (
            "client",
            ("driver",),
            "load1 has no MySQL driver for Python: install PyMySQL (python3-pymysql) there",
        ),
        (
            "sysbench",
            ("sysbench", "driver"),
            (
                "load1 has no sysbench: install it there, or put a host that has it into group"
                " semisync_client; load1 has no MySQL driver for Python: install PyMySQL"
                " (python3-pymysql) there"
            ),
        ),
    ],
)
def test_a_host_that_cannot_run_the_load_is_named(tool, missing, words):
    cells = [{"load": {"tool": tool}}]
    tools = {name: None if name in missing else path for name, path in ALL.items()}
    assert suite.lacking({"cells": cells}, "load1", tools, "mariadb-slap") == words


@pytest.mark.parametrize(
    "text,words",
    [
        (
            GOOD.replace("delay_ms", "dealy_ms"),
            "ours.yml, line 7: an entry of cells has no key 'dealy_ms'; did you mean delay_ms?",
        ),
        (
            GOOD.replace("clients: 4", "clients: 0"),
            "ours.yml, line 3: clients is 0; it must be from 1 to 10000",
        ),
        (
            GOOD.replace("clients: 4", "clients: many"),
            "line 3: clients is many; it must be a whole number",
        ),
        (
            GOOD.replace("clients: 4", "clients: true"),
            "line 3: clients is true; it must be a whole number",
        ),
        (
            GOOD.replace("tool: mysqlslap", "tool: slap"),
            "line 3: tool is slap; it must be one of mysqlslap, sysbench, client",
        ),
        (
            GOOD.replace("replication: semisync", "replication: sync"),
            "line 7: replication is sync; it must be one of none, async",
        ),
        (
            GOOD.replace("delay_ms: 90", "delay_ms: -1"),
            "line 7: delay_ms is -1; it must be from 0 to 10000",
        ),
        (
            GOOD.replace("baseline: a", "baseline: c"),
            "cell b: its baseline 'c' is not a cell of the suite",
        ),
        (GOOD.replace("id: b", "id: a"), "cell a: another cell has the same id"),
        (GOOD.replace("id: b, ", ""), "cell number 2: id and replication are needed"),
        (GOOD.replace("title: Ours\n", ""), "title is missing"),
        (
            GOOD.replace("tool: mysqlslap, clients: 4", "tool: client"),
            "the tool client needs a query",
        ),
        (
            GOOD.replace("tool: mysqlslap", "tool: sysbench, script: oltp_insert, query: SELECT 1"),
            "sysbench takes a script, not a query or create",
        ),
        (
            GOOD.replace("clients: 4", "create: CREATE TABLE t (i INT)"),
            "create needs a query",
        ),
        (GOOD.replace("tool: mysqlslap", "tool: sysbench"), "sysbench needs a script"),
        (GOOD.replace("queries: 100", "queries: 3"), "fewer queries (3) than clients (4)"),
        (
            GOOD.replace("queries: 100", "seconds: 3"),
            "cell a: mysqlslap runs a number of queries, not seconds",
        ),
        ("title: x\ncells: {}\n", "line 2: cells is a mapping; it must be a list"),
        ("title: [\n", "ours.yml is not valid YAML"),
        ("", "ours.yml is empty"),
        ("- a\n", "it must be a mapping"),
    ],
)
def test_a_suite_that_cannot_run_says_where_and_why(text, words):
    with pytest.raises(SuiteError) as error:
        read(text)
    assert words in str(error.value)


@pytest.mark.parametrize(
    "name,words",
    [
        ("b9", "there is no suite 'b9'; there is: clients, distance, durability, four_phases"),
        ("./no.yml", "no suite file ./no.yml"),
    ],
)
def test_an_unknown_suite_is_named_with_those_there_are(name, words):
    with pytest.raises(SuiteError) as error:
        suite.find(name, [SUITES])
    assert words in str(error.value)


@pytest.mark.parametrize(
    "former,name,reference",
    [
        ("b0", "four_phases", "B0: "),
        ("b1", "one_client", "B1: "),
        ("b2", "row_latency", "B2: "),
        ("b3", "durability", "B3: "),
        ("b4", "clients", "B4: "),
        ("wan", "distance", None),
    ],
)
def test_a_suites_former_name_still_finds_it(former, name, reference):
    path = suite.find(former, [SUITES])
    assert path == suite.find(name, [SUITES]) and os.path.basename(path) == f"{name}.yml"
    with open(path) as stream:
        found = suite.read_suite(stream.read(), former, "full")["reference"]
    assert found is None if reference is None else found.startswith(reference)


@pytest.mark.parametrize(
    "more,reference",
    [
        ("", None),
        ("reference: Ours 2026\n", "Ours 2026"),
        ("document: Ours 2026\n", "Ours 2026"),
        ("document: Older\nreference: Newer\n", "Newer"),
    ],
)
def test_a_suites_reference_may_still_be_called_document(more, reference):
    found = read(GOOD + more)
    assert found["reference"] == reference and "document" not in found


def test_a_cell_has_the_suites_conditions_where_it_has_none_of_its_own():
    first, second = read(GOOD + "delay_ms: 5\ntimeout_ms: 7\n")["cells"]
    assert (first["delay_ms"], second["delay_ms"], second["timeout_ms"]) == (5.0, 90.0, 7)
    assert first["load"] == {
        "tool": "mysqlslap",
        "clients": 4,
        "queries": 100,
        "load_type": "mixed",
    }


def test_a_cell_with_another_tool_takes_nothing_from_the_suites_load():
    text = GOOD.replace(
        "delay_ms: 90", "load: {tool: client, query: SELECT 1, seconds: 2}"
    ).replace("clients: 4", "engine: innodb")
    assert read(text)["cells"][1]["load"] == {
        "tool": "client",
        "clients": 1,
        "queries": None,
        "query": "SELECT 1",
        "seconds": 2,
    }


def test_the_quick_profile_changes_what_it_names():
    text = GOOD + "profiles: {quick: {repetitions: 1, load: {queries: 50}}}\n"
    assert read(text)["repetitions"] == 2
    quick = read(text, "quick")
    assert (
        quick["repetitions"],
        quick["cells"][0]["load"]["queries"],
        quick["cells"][0]["load"]["clients"],
    ) == (1, 50, 4)
    text = text.replace("baseline: a}", "baseline: a, load: {queries: 9000}}")
    assert [cell["load"]["queries"] for cell in read(text)["cells"]] == [100, 9000]
    assert [cell["load"]["queries"] for cell in read(text, "quick")["cells"]] == [50, 50]
