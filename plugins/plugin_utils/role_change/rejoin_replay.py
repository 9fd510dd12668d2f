# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps by which a new source takes over what a former one has alone: read on the one's host,
and carried out on the other's.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ansible import constants
from ansible_collections.dbre.semisync.plugins.module_utils.replication.gtids import MysqlGtids
from ansible_collections.dbre.semisync.plugins.plugin_utils.findings import history
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change import errant, methods
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change.dead_source import (
    NotMeantError,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change.errant import Judged

# A rejoin.Rejoin, which imports this file.
Step = Any


def consent(way: str, judged: Judged, named: str) -> str:
    """Why the transactions are not taken over, in words: they have to be named, so that nobody
    consents to what was not shown.
    """
    if way != methods.REPLAY:
        return ""
    try:
        unnamed = MysqlGtids.parse(judged.phantoms).minus(MysqlGtids.parse(named))
    except ValueError as error:
        return f"semisync_rejoin_phantoms: {error}"
    if not unnamed:
        return ""
    return (
        f"{unnamed} was not consented to. When you have read what is shown, say"
        f" -e semisync_rejoin_phantoms={judged.phantoms}"
    )


def carry(step: Step) -> dict[str, Any]:
    """Read them on the former source's host."""
    if step.host != step.former.host:
        raise NotMeantError("it is not the one that comes back")
    wanted = step.planned()["record"]["phantoms"]["gtids"]
    result = step.on_host(step.log_of_former() | {"wanted": wanted})
    # Rows of clients: they are in no result, and in no log.
    payload = result.pop("payload", "")
    handle = os.open(payload_file(step), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as stream:
        stream.write(payload)
    return result


def replay(step: Step) -> dict[str, Any]:
    """Carry them out on the new source."""
    if step.host != step.source.host:
        raise NotMeantError("it is not the source")
    with open(payload_file(step), encoding="ascii") as stream:
        payload = stream.read()
    old = step.old_has()
    known = str(errant.with_copied(old, step.new_has().state)) if old else ""
    files = history.files_of(step.source.info)
    plan = {"files": files, "known": known, "tail": payload}
    return step.on_host(plan)


def payload_file(step: Step) -> str:
    """Where they wait for the new source, in a folder of this run alone."""
    return os.path.join(constants.DEFAULT_LOCAL_TMP, f"semisync-replay-{step.former.host}")


STEPS: dict[str, Callable[[Any], dict[str, Any]]] = {"carry": carry, "replay": replay}
