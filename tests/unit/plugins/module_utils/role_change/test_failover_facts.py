# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a failover asks of a replica beside its state."""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.module_utils._role_change import failover_facts
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import (
    FirstLookPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError


def test_a_server_that_breaks_off_meanwhile_is_said_so(monkeypatch):
    def gone(_module):
        raise ServerError(Exception(2013, "Lost connection"))

    monkeypatch.setattr(failover_facts.login, "connect", gone)
    plan = FirstLookPlan([], "repl")
    assert failover_facts.failover_facts(None, plan, {}) == {
        "failed": True,
        "msg": "(2013, 'Lost connection')",
    }
