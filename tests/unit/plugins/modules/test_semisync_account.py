# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.modules import semisync_account

PARAMS = {"user": "repl", "host": "%", "password": "p", "require_ssl": False}


class Server:
    """A server that has the account without REPLICATION SLAVE, or has it not."""

    def __init__(self, exists):
        self.exists = exists

    def rows(self, statement, arguments):
        assert "FROM mysql.user" in statement and arguments == ("repl", "%")
        return [{"one": 1}] if self.exists else []


@pytest.mark.parametrize("version", [(5, 5, 62), (5, 6, 21), (5, 7, 23), (9, 7, 4)])
@pytest.mark.parametrize("exists", [True, False])
def test_an_account_that_exists_keeps_its_password(version, exists):
    steps = semisync_account.creation(Server(exists), Names("mysql", version), PARAMS)
    by_grant = version < (5, 7, 8)
    assert any("IDENTIFIED" in statement for statement, dummy in steps) is not (by_grant and exists)
    # Where CREATE USER says it, it says it for a new one alone.
    assert ("CREATE USER IF NOT EXISTS" in steps[0][0]) is not by_grant
    assert steps[-1][0].startswith("GRANT REPLICATION SLAVE ON *.* TO %s@%s")
