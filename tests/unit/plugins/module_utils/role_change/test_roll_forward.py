# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was salvaged, before it is carried out."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._binlog import log_transactions
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import roll_forward
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.participant import (
    AbortError,
)


@pytest.mark.parametrize("size,refused", [(99, False), (100, True)])
def test_a_statement_that_the_server_does_not_take_is_named_with_the_way_out(size, refused):
    eyes = SimpleNamespace(rows=lambda _statement: [{"value": 100}])
    part = SimpleNamespace(monitor=eyes, host="db2")
    transactions = [
        log_transactions.Transaction("one:1", []),
        log_transactions.Transaction("one:2", [b"x" * size]),
    ]
    if not refused:
        roll_forward.fits(part, transactions)
        return
    with pytest.raises(AbortError, match=r"one:2 .* 100 on db2: SET GLOBAL"):
        roll_forward.fits(part, transactions)
