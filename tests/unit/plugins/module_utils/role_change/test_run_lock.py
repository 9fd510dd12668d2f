# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import lock_holder, locks
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError


class Server:
    """A server with sessions, the first of which has the lock; our own is not among them."""

    def __init__(self, sessions, privileged=(), roles=(), unseen=False, fails=None):
        self.sessions, self.privileged, self.roles = list(sessions), privileged, roles
        self.unseen, self.fails, self.killed, self.waited = unseen, fails, [], []

    def rows(self, statement, arguments=()):
        if self.fails and self.fails[0] in statement:
            raise ServerError(Exception(self.fails[1], "refused"))
        if statement.startswith("SELECT GET_LOCK"):
            self.waited.append(arguments[1])
            return [{"got": 0 if self.sessions else 1}]
        if "IS_USED_LOCK" in statement:
            number = self.sessions[0][0] if self.sessions else None
            return [{"id": number, "login": "root@localhost"}]
        if statement == "SHOW PROCESSLIST":
            seen = [] if self.unseen else self.sessions
            return [{"Id": number, "User": user, "Host": "10.0.0.5"} for number, user in seen]
        if "USER_PRIVILEGES" in statement:
            return [{"grantee": f"'{user}'@'%'"} for user in self.privileged]
        if "roles" in statement:
            return [{"roles": int(arguments[0] in self.roles)}]
        assert statement.startswith("KILL ")
        self.killed.append(int(statement.split()[1]))
        self.sessions = [one for one in self.sessions if one[0] != self.killed[-1]]
        return []


def test_an_account_of_an_application_keeps_nobody_from_a_change_of_roles():
    server = Server([(17, "app"), (18, "app"), (19, b"app")])
    assert lock_holder.holder(server, "repl") == (17, "connection 17 of app@10.0.0.5", True)
    assert locks.take_run_lock(server, 0, "repl") and server.killed == [17, 18, 19]


@pytest.mark.parametrize(
    "user,more",
    [
        ("root", {}),
        ("repl", {}),
        ("alice", {"privileged": ["alice"]}),
        ("alice", {"roles": ["alice"]}),
        ("app", {"unseen": True}),
        ("app", {"fails": ("USER_PRIVILEGES", 1142)}),
        ("app", {"fails": ("role_edges", 1142)}),
    ],
)
def test_another_run_and_who_may_be_one_is_waited_for(user, more):
    server = Server([(17, user)], **more)
    assert not locks.take_run_lock(server, 0, "repl")
    assert server.killed == [] and server.waited == [0]
    has = lock_holder.holder(server, "repl")
    assert has.number == 17 and not has.stranger and "connection 17" in has.words


def test_who_is_said_to_be_no_run_is_ended_whoever_it_is():
    server = Server([(17, "root"), (18, "repl")], unseen=True)
    assert locks.take_run_lock(server, 0, "repl", ends_any=True) and server.killed == [17, 18]


def test_a_server_of_before_roles_has_strangers_too():
    server = Server([(17, "app")], fails=("mysql.role", 1146))
    assert locks.take_run_lock(server, 0, "repl") and server.killed == [17]


def test_nobody_has_a_lock_that_is_free():
    assert lock_holder.holder(Server([]), "repl") is None and locks.take_run_lock(
        Server([]), 0, "repl"
    )
