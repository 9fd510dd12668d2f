# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A row in the journal ahead of a change of what a source waits for: another controller's look at
it proves nothing from there on, and its replicas know that.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.replication import journal
from ansible_collections.dbre.semisync.plugins.module_utils.server import errors
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import SOURCE, Names
from ansible_collections.dbre.semisync.plugins.module_utils.server.read import by_key

# Seconds that it may wait for its acknowledgement: the change may be what ends a longer wait.
LONGEST = 10


def give(module: Any, server: Server, names: Names, seconds: float = LONGEST) -> dict[str, Any]:
    """Write the row, where the journal's table is there; see the RETURN section of semisync_spend.

    What keeps it from being written, or acknowledged, does not keep the change from being made: it
    may be meant to let writers go that wait.
    """
    params = module.params
    number = journal.identity(server.variables())
    entry = journal.Entry(
        operation=journal.SETTINGS,
        run=params["token"],
        state=journal.DONE,
        from_host=params["host"],
        to_host=params["host"],
        from_id=number,
        to_id=number,
        details=params["reason"],
    )
    row = {"changed": True, "written": True, "acknowledged": False, "problem": ""}
    if module.check_mode:
        return dict(row, changed=False, written=False)
    try:
        with errors.answers_within(seconds):
            journal.insert(server, params["journal_schema"], entry)
            status = by_key(names.statuses(SOURCE), server.semisync_status())["status"]
        return dict(row, acknowledged=status == "ON")
    except errors.ServerError as error:
        if error.number in journal.NOT_THERE:
            return dict(row, changed=False, written=False)
        late = error.number == errors.SERVER_LOST
        words = f"its row in the journal was not acknowledged within {seconds:g} s"
        if not late:
            words = f"its row in the journal was not written: {error}"
        return dict(row, changed=late, written=late, problem=words)
