# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which host of a cluster writes a canary row, and the token that all of them look for."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from ansible_collections.dbre.semisync.plugins.plugin_utils._common import cluster, refusal
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import problems

# The module's own options; all others are those of a login.
OWN = ("mode", "token", "rows", "schema", "table", "keep", "only_followed", "timeout")
USUAL_WAIT = 15
NOT_THE_SOURCE = "the source writes the row"

# The options of a module.
Options = Mapping[str, object]


def new_token() -> str:
    return secrets.token_hex(8)


def common_token(task: str) -> str:
    """A token that all hosts of a task have in common.

    Args:
        task: what tells it from others of the run.
    """
    mine = new_token()
    return refusal.said_by(f"canary of {task}", mine) or mine


def why_not(task_vars: Mapping[str, Any], watched_from: str) -> str:
    """Why this host does not write the row; empty if it is the source by what all hosts said."""
    try:
        name, members = cluster.members(task_vars, watched_from)
    except refusal.HeldError as error:
        return str(error)
    unclear = cluster.inventory_problems(task_vars, watched_from, name, members)
    unclear = unclear or problems.source_problems(members)
    if unclear:
        return "; ".join(unclear)
    mine = cluster.of_host(task_vars, members)
    if mine.unread == "unreachable":
        return mine.unread_words
    return "" if mine.side == "source" else NOT_THE_SOURCE


def way_back(row: Options) -> tuple[Options, Options]:
    """The options of the modules that have a source which fell back wait for its replicas again,
    as it does after the next acknowledged row: a row that is not counted, and the wait.
    """
    login = {name: one for name, one in row.items() if name not in OWN}
    seconds = int(float(str(row.get("timeout", USUAL_WAIT))))
    return (
        {**row, "token": f"{row['token']} back"},
        {**login, "wait_for": {"source_status": True}, "wait_timeout": seconds},
    )
