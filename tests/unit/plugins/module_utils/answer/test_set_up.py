# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the services of the HTTP answer and the heartbeat come to a host."""

from __future__ import annotations

import os
import pwd
import stat

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._answer import set_up
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError

ME = pwd.getpwuid(os.getuid()).pw_name


class Recorder:
    """A server that takes every statement, or none but the session's own."""

    def __init__(self, refuses=False):
        self.statements = []
        self.refuses = refuses

    def variables(self):
        return {"super_read_only": "OFF"}

    def rows(self, statement, arguments=()):
        self.statements.append((statement, arguments))
        if self.refuses and not statement.startswith("SET SESSION"):
            raise ServerError(Exception(1227, "refused"))
        return []


def created(password):
    return [("CREATE USER x IDENTIFIED BY %s", (password,))]


def test_a_new_login_is_in_its_file_and_in_no_binary_log(tmp_path):
    server, path = Recorder(), tmp_path / "service.password"
    set_up.give_login(server, str(path), ME, [("DROP USER x", ())], created)
    password = path.read_text().strip()
    assert server.statements == [
        ("SET SESSION sql_log_bin = 0", ()),
        ("DROP USER x", ()),
        ("CREATE USER x IDENTIFIED BY %s", (password,)),
        ("SET SESSION sql_log_bin = 1", ()),
    ]
    assert password and stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_login_that_could_not_be_created_has_its_file_all_the_same(tmp_path):
    # The service's login fails then, by which the next run notices.
    server, path = Recorder(refuses=True), tmp_path / "service.password"
    with pytest.raises(ServerError):
        set_up.give_login(server, str(path), ME, [], created)
    assert path.exists()
    assert server.statements[-1] == ("SET SESSION sql_log_bin = 1", ())


def test_what_was_done_is_a_change_and_shows_the_files_before_and_after():
    said = set_up.outcome(["write /a"], False, {}, {"/a": "text\n"})
    assert said == {
        "changed": True,
        "steps": ["write /a"],
        "shared": False,
        "diff": {"before": "", "after": "# /a\ntext\n"},
    }
    assert set_up.outcome([], True, {}, {})["changed"] is False


def test_the_services_of_other_servers_on_this_host_are_seen(tmp_path):
    for port in (3306, 3307):
        (tmp_path / f"answer-{port}.json").write_text("{}")
    where = {"settings": str(tmp_path / "answer-3306.json")}
    assert set_up.others(f"{tmp_path}/answer-*.json", where) == [str(tmp_path / "answer-3307.json")]
