# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load import mysqlslap

PARAMS = {
    "clients": 10,
    "queries": 1000,
    "load_type": "mixed",
    "engine": None,
    "create": None,
    "query": None,
}
# mysqlslap --csv: engine, load type, average, minimum, maximum, clients, queries per client.
CSV = ",mixed,0.913,0.911,0.915,10,100\n"


def test_the_documents_load():
    command = mysqlslap.argv("/usr/bin/mysqlslap", "/tmp/x.cnf", "s", PARAMS)
    assert command[:2] == ["/usr/bin/mysqlslap", "--defaults-extra-file=/tmp/x.cnf"]
    for word in (
        "--concurrency=10",
        "--number-of-queries=1000",
        "--auto-generate-sql",
        "--create-schema=s",
        "--auto-generate-sql-load-type=mixed",
    ):
        assert word in command
    assert not [
        word
        for word in command
        if word.startswith(("--engine", "--query", "--create=", "--password"))
    ]


def test_ones_own_sql_replaces_the_generated_one():
    command = mysqlslap.argv(
        "mysqlslap",
        "x",
        "s",
        dict(PARAMS, query="SELECT 1; SELECT 2", create="CREATE TABLE t (i INT)", engine="innodb"),
    )
    for word in (
        "--query=SELECT 1; SELECT 2",
        "--create=CREATE TABLE t (i INT)",
        "--delimiter=;",
        "--engine=innodb",
    ):
        assert word in command
    assert not [word for word in command if word.startswith("--auto-generate")]


@pytest.mark.parametrize(
    "output,seconds",
    [(CSV, 0.913), ("innodb,write,2.6,2.6,2.6,50,100\n", 2.6), ("\n\n" + CSV + "\n", 0.913)],
)
def test_the_figures_of_a_run(output, seconds):
    assert mysqlslap.parse_csv(output) == seconds


@pytest.mark.parametrize("output", ["", "Benchmark\n\tAverage number of seconds", "a,b\n"])
def test_output_without_figures_is_no_run(output):
    with pytest.raises(ValueError) as error:
        mysqlslap.parse_csv(output)
    assert "printed no figures" in str(error.value)


@pytest.mark.parametrize(
    "clients,queries,asked", [(10, 1000, 1000), (3, 1000, 999), (100, 150, 100), (1, 1, 1)]
)
def test_queries_are_divided_among_clients_as_integers(clients, queries, asked):
    assert mysqlslap.asked(clients, queries) == asked


@pytest.mark.parametrize(
    "code,stderr,output,words",
    [
        (0, "", CSV, ""),
        (
            1,
            "mysqlslap: Error when connecting to server: 1045 Access denied",
            "",
            "failed (1): mysqlslap: Error when connecting",
        ),
        (
            0,
            "mysqlslap: Error when connecting to server: 1040 Too many connections",
            CSV,
            "reported: mysqlslap: Error",
        ),
        (0, "", "", "printed no figures"),
    ],
)
def test_a_tool_that_complains_did_not_do_its_work(code, stderr, output, words):
    reason = mysqlslap.mysqlslap_failure(code, stderr, output)
    assert words in reason and bool(reason) is bool(words)


@pytest.mark.parametrize(
    "seconds,median",
    [
        ([1.0], 1.0),
        ([3.0, 1.0, 2.0], 2.0),
        ([1.0, 2.0, 4.0, 3.0], 2.5),
        ([0.12346, 0.12346], 0.1235),
    ],
)
def test_runs_are_summed_up(seconds, median):
    assert mysqlslap.spread_of_runs(seconds) == {
        "median": median,
        "min": min(seconds),
        "max": max(seconds),
        "runs": len(seconds),
    }
