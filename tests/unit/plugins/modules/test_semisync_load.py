# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load import load_tools, validity
from ansible_collections.dbre.semisync.plugins.module_utils._server import client_login
from ansible_collections.dbre.semisync.plugins.modules import semisync_load
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import suite


def test_the_tools_login_file_is_for_its_owner_only(tmp_path, monkeypatch):
    class Module:
        def __init__(self):
            self.params = {}

    monkeypatch.setattr(client_login, "MEMORY", str(tmp_path))
    tool = load_tools.Slap(Module(), None, None, "s")
    path = tool.write("secret", ".cnf")
    assert tmp_path.joinpath(path).stat().st_mode & 0o777 == 0o600
    tool.close()
    assert list(tmp_path.iterdir()) == []


def test_there_is_a_program_for_every_tool():
    assert sorted(load_tools.TOOLS) == sorted(validity.TOOLS)


OPTIONS = {
    "tool": "mysqlslap",
    "clients": 10,
    "queries": 1000,
    "seconds": None,
    "iterations": 5,
    "warmup": 1,
    "timeout": 300,
    "table_size": 10000,
    "query": None,
    "create": None,
    "script": "oltp_insert",
    "login_password": "geheim",
}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"seconds": 5},
        {"queries": 9},
        {"create": "CREATE TABLE t (i INT)"},
        {"tool": "client"},
        {"tool": "client", "query": "SELECT 1"},
        {"tool": "sysbench", "query": "SELECT 1"},
    ],
)
def test_the_module_and_a_suite_refuse_the_same_loads(more):
    options = dict(OPTIONS, **more)
    cell = {"id": "a", "replication": "async", "baseline": None, "load": options}
    (problem,) = [words for _dummy, words in suite.problems_of([cell])] or [""]
    assert semisync_load.check(options) == problem


def test_the_module_refuses_what_sysbench_cannot_write_down():
    options = dict(OPTIONS, tool="sysbench", login_password="with a blank")
    assert "option file cannot hold a password" in semisync_load.check(options)
