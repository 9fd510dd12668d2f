# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting on a replica until its applier has reached a GTID position, or a position in its source's
binary log.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids, position
from ansible_collections.dbre.semisync.plugins.module_utils._server import channels
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

if TYPE_CHECKING:
    from typing import TypedDict
else:
    TypedDict = dict

POLL_SECONDS = 0.1


class Target(TypedDict):
    """What a replica must apply: a set of GTIDs, or else a position in its source's binary log."""

    target: str | None
    file: str
    position: int


class Place(TypedDict):
    """A position in a source's binary log."""

    file: str
    position: int


class Look(TypedDict):
    """How far a replica is."""

    caught_up: bool
    # Transactions; None if the target is a file and position.
    missing: int | None
    place: Place | None
    seconds_behind: int | None
    # Why its applier has stopped, or "".
    stopped: str


def replica_progress(params: Target, server: Server, names: Names) -> Look:
    """How far the replica is: {'caught_up', 'missing', 'place', 'seconds_behind', 'stopped'}.

    Args:
        params: target, or file and position.
    """
    missing = None
    if params["target"] is not None:
        missing = gtids.missing(names.engine, params["target"], server.applied(names))
    channel = channels.default_channel(server.channels(names))
    caught_up = (
        not missing
        if missing is not None
        else position.passed(channel, params["file"], params["position"])
    )
    return {
        "caught_up": caught_up,
        "missing": missing,
        "place": (
            {"file": channel["applied_file"], "position": channel["applied_position"]}
            if channel
            else None
        ),
        "seconds_behind": channel["seconds_behind"] if channel else None,
        "stopped": "" if caught_up else position.stopped(channel),
    }


def wait(module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
    """Look until the replica is there, or time is up; return the result of semisync_catch_up.

    Raises:
        ValueError: the applier has stopped, so that waiting is useless.
    """
    params = module.params
    begin = time.monotonic()
    first = replica_progress(params, server, names)
    last = first
    if not (first["caught_up"] or first["stopped"] or module.check_mode):
        last = wait_until(
            lambda: replica_progress(params, server, names),
            params["timeout"],
            POLL_SECONDS,
            enough=lambda seen: seen["caught_up"] or seen["stopped"],
        )
    if last["stopped"]:
        lacks = "" if last["missing"] is None else f"; {last['missing']} transactions are missing"
        raise ValueError(f"the replica does not catch up: {last['stopped']}{lacks}")
    result = {key: value for key, value in last.items() if key != "stopped"}
    return dict(
        result,
        changed=False,
        missing_at_first=first["missing"],
        seconds=round(time.monotonic() - begin, 3),
    )
