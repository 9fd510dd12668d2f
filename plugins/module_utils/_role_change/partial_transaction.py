# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A partial transaction: the source died while it sent it, and the replica has only the first half.
No client got a confirmation of its commit.

MySQL's parallel applier has begun it. Asked to stop, it waits for the rest for a minute
(SLAVE_WAIT_GROUP_DONE, sql/rpl_replica.cc), and gives it up then with error 1756. Ended by KILL it
gives it up at once, with the same error and the same result (seen on 9.7.4: 61 s, and 0.5 s).
"""

from __future__ import annotations

import time

from ansible_collections.dbre.semisync.plugins.module_utils._replication import position
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.participant import (
    PAUSE,
    Participant,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError

# Seconds that a replica may take to stop: that minute, and the rollback.
STOP = 75
BEGUN = (
    "SELECT applier.PROCESSING_TRANSACTION AS gtid, thread.PROCESSLIST_ID AS id"
    " FROM performance_schema.replication_applier_status_by_coordinator applier"
    " JOIN performance_schema.threads thread USING (THREAD_ID)"
    " WHERE applier.CHANNEL_NAME = ''"
)


def give_up(part: Participant, wanted: str) -> None:
    """End an applier that has begun a transaction that did not come whole, when everything that
    did come is applied.

    Args:
        wanted: the GTIDs that this replica received.

    Raises:
        ServerError: the server is gone.
    """
    received = part.gtids(wanted)
    rows = part.control.rows(BEGUN) if part.names.shows_what_is_applied else []
    for row in rows:
        if row["id"] and not received.covers(part.gtids(row["gtid"])):
            part.log_event("half", row["gtid"])
            end(part, int(row["id"]))


def end(part: Participant, thread: int) -> None:
    """End the applier by KILL; if that is not allowed, STOP ends it too, in a minute."""
    try:
        part.run_statements([(f"KILL {thread}", None)])
    except ServerError as error:
        part.log_event("half", f"its applier cannot be ended: {error}")
        return
    limit = time.monotonic() + STOP
    while time.monotonic() < limit and not position.stopped(part.channel()):
        time.sleep(PAUSE)
