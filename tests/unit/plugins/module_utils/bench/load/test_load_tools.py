# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import time

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load import load_tools

PARAMS = {
    "login_user": "bench",
    "login_password": "geheim",
    "login_host": "192.0.2.1",
    "login_port": 3306,
    "login_unix_socket": None,
    "config_file": "",
    "clients": 1,
    "queries": 20,
    "seconds": None,
    "load_type": "mixed",
    "engine": None,
    "create": "CREATE TABLE t (i INT); CREATE TABLE u (i INT);",
    "query": "INSERT INTO t VALUES (1)",
    "script": "oltp_insert",
    "table_size": 100,
    "timeout": 5,
}
CSV = ",mixed,0.400,0.400,0.400,1,20\n"


class Server:
    """Keeps what it is asked; a query takes a while, and fails if it is told to."""

    def __init__(self, fails_after=None, takes=0.0):
        self.asked, self.done, self.basedir = [], 0, "/nowhere"
        self.fails_after, self.takes, self.cursor = fails_after, takes, self

    def rows(self, statement):
        self.asked.append(statement)
        return [{"id": 7}]

    def variables(self):
        return {"pid_file": "/nowhere.pid", "datadir": "/nowhere", "basedir": str(self.basedir)}

    def execute(self, dummy_query):
        if self.done == self.fails_after:
            raise RuntimeError("gone away")
        time.sleep(self.takes)
        self.done += 1


class Module:
    """Runs no command, and gives the answer that it was made with."""

    def __init__(self, answer=(0, "", ""), **more):
        self.params, self.answer, self.commands = dict(PARAMS, **more), answer, []

    def get_bin_path(self, name):
        return "/usr/bin/" + name

    def run_command(self, words, environ_update, **dummy):
        self.commands.append((words, environ_update))
        return self.answer


class Names:
    slapper = "mariadb-slap"


@pytest.fixture(name="connection")
def fixture_connection(monkeypatch):
    """The second connection, which the client's load runs on."""

    def connect(**more):
        server = Server(**more)
        monkeypatch.setattr(load_tools, "connect", lambda module: server)
        monkeypatch.setattr(load_tools, "Server", lambda given: given)
        return server

    return connect


def client(**more):
    return load_tools.Client(Module(**more), Server(), Names(), "bench_1")


def test_the_client_works_in_a_schema_of_its_own(connection):
    load = client()
    assert load.prepare() == ""
    assert load.server.asked == [
        "CREATE DATABASE `bench_1`",
        "USE `bench_1`",
        "CREATE TABLE t (i INT)",
        " CREATE TABLE u (i INT)",
    ]
    worker = connection()
    load.run()
    assert worker.asked[0] == "USE `bench_1`"


def test_the_client_times_each_of_its_queries(connection):
    connection(takes=0.002)
    outcome = client().run()
    assert outcome["reason"] == "" and outcome["asked"] == outcome["operations"] == 20
    assert outcome["seconds"] >= 0.04 and outcome["latency_ms"]["p50"] >= 2
    assert outcome["rate"] == pytest.approx(20 / outcome["seconds"], rel=0.01)


def test_the_client_runs_for_as_long_as_it_is_asked_to(connection):
    connection(takes=0.01)
    outcome = client(seconds=1, queries=None).run()
    assert 0.9 <= outcome["seconds"] <= 2 and outcome["operations"] > 20


def test_a_query_that_fails_is_the_reason(connection):
    connection(fails_after=3)
    outcome = client().run()
    assert outcome["reason"] == "the query failed after 3 of its runs: gone away"
    assert outcome["operations"] == 3


def test_a_client_that_takes_too_long_is_ended_on_the_server(connection):
    connection(takes=0.5)
    load = client(timeout=0.2)
    assert load.run()["reason"].startswith("the run took longer than 0 s")
    assert load.server.asked == ["KILL 7"]


@pytest.mark.parametrize(
    "answer,words",
    [
        ((0, CSV, ""), ""),
        ((0, "", ""), "printed no figures"),
        ((0, CSV, "Error when connecting"), "reported: Error when connecting"),
        ((1, CSV, "no"), "failed (1): no"),
        ((124, CSV, ""), "took longer than 5 s"),
        ((137, CSV, ""), "took longer than 5 s"),
    ],
)
def test_mysqlslap_says_why_its_run_does_not_count(answer, words):
    load = load_tools.Slap(Module(answer), Server(), Names(), "bench_1")
    try:
        assert load.prepare() == "" and load.command[0] == "/usr/bin/mariadb-slap"
        outcome = load.run()
    finally:
        load.close()
    assert words in outcome["reason"] and bool(outcome["reason"]) == bool(words)
    (command, environment), *_rest = load.module.commands
    assert command[:3] == ["timeout", "--kill-after=5", "5"] and environment["LC_ALL"] == "C"
    assert "geheim" not in " ".join(command)
    assert (outcome.get("seconds"), outcome.get("rate")) == ((None, None) if words else (0.4, 50.0))


def test_mysqlslap_of_the_server_counts_more_than_one_on_the_path(tmp_path):
    # As under /usr/local/mysql, with a manually unpacked tarball.
    program = tmp_path / "bin" / "mariadb-slap"
    program.parent.mkdir()
    program.touch(mode=0o755)
    server = Server()
    server.basedir = tmp_path
    load = load_tools.Slap(Module(), server, Names(), "bench_1")
    load.prepare()
    load.close()
    assert load.command[0] == str(program)


@pytest.mark.parametrize(
    "answer,words", [((0, "", ""), "printed no report"), ((1, "FATAL: no table", ""), "no table")]
)
def test_sysbench_says_why_its_run_does_not_count(answer, words):
    load = load_tools.Sysbench(Module(answer, clients=4), Server(), Names(), "bench_1")
    try:
        prepared = load.prepare()
        outcome = load.run()
    finally:
        load.close()
    assert words in outcome["reason"] and (prepared == "" or words in prepared)
    assert load.server.asked == ["CREATE DATABASE `bench_1`"]
    assert "geheim" not in str(load.module.commands)
