# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a replica has received and not applied, and how fast it applies; read more than once if
there is anything to apply.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids, position
from ansible_collections.dbre.semisync.plugins.module_utils._server import channels, login
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import (
    Server,
    identify,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        Backlog,
        Channel,
    )

# Seconds between the first look and the last, and the same if it has applied nothing by then.
SECONDS = 1.0
LONGEST = 3.0
# Seconds until the next look at a replica that may have applied everything by then.
PAUSE = 0.1


class Look(NamedTuple):
    """A replica at one moment.

    Attributes:
        channel: as server/channels.py returns it.
        applied: its GTIDs, empty if it replicates by file and position.
        at: in seconds, by one clock for all looks.
    """

    channel: Channel
    applied: str
    at: float


def backlog_at_once(server: Server, names: Names) -> Look | None:
    """None if it follows no source."""
    channel = channels.default_channel(server.channels(names))
    if not channel:
        return None
    applied = server.applied(names) if channel["gtid"] else ""
    return Look(channel, applied, time.monotonic())


def left(engine: str, one: Look) -> int | None:
    """What is received and not applied: transactions, or bytes of the source's binary log if it
    replicates by file and position; None if they are in several files.
    """
    if one.channel["gtid"]:
        return gtids.missing(engine, one.channel["retrieved"], one.applied)
    return distance(applied_place(one), read_place(one))


def applied_between(
    engine: str,
    first: Look,
    last: Look,
) -> int | None:
    """What was applied between two looks, in the same unit."""
    if first.channel["gtid"]:
        return gtids.missing(engine, last.applied, first.applied)
    return distance(applied_place(first), applied_place(last))


def applied_place(one: Look) -> tuple[str, int]:
    return one.channel["applied_file"], one.channel["applied_position"]


def read_place(one: Look) -> tuple[str, int]:
    return one.channel["read_file"], one.channel["read_position"]


def distance(begin: tuple[str, int], end: tuple[str, int]) -> int | None:
    """Bytes between two places, None if they are in different files."""
    return end[1] - begin[1] if begin[0] == end[0] else None


def at_first(engine: str, first: Look) -> Backlog:
    """What one look shows: see between()."""
    return {
        "unit": "transactions" if first.channel["gtid"] else "bytes",
        "left": left(engine, first),
        "applied": None,
        "seconds": None,
        "busy": False,
    }


def is_at_work(seen: Backlog, first: Look) -> bool:
    """Whether a replica has something to apply, and may apply it: then it is looked at again."""
    return not (seen["left"] == 0 or position.stopped(first.channel) or first.channel["delay"])


def is_watched(
    engine: str,
    first: Look,
    last: Look,
) -> bool:
    """Whether a replica that is at work was watched for long enough."""
    # One that has applied all of it does not show its full speed, however long the watch.
    if rest(engine, first, last) == 0:
        return True
    return last.at - first.at >= (SECONDS if applied_between(engine, first, last) else LONGEST)


def between(
    engine: str,
    first: Look,
    last: Look,
) -> Backlog:
    """How much is left to apply, and how much was applied in which time.

    Returns:
        unit; left (None if it cannot be counted); applied, in seconds; busy, whether it had
        something to apply all the time, so that this is its full speed.
    """
    lacks = rest(engine, first, last)
    return {
        **at_first(engine, last),
        "applied": applied_between(engine, first, last),
        "seconds": round(last.at - first.at, 3),
        "busy": bool(lacks and lacks > 0),
    }


def rest(
    engine: str,
    first: Look,
    last: Look,
) -> int | None:
    """What is left of that which had been received at the first look: only that counts."""
    return left(engine, with_received_of(last, first))


def measure(
    server: Server,
    names: Names,
    sleep: Callable[[float], None] = time.sleep,
) -> Backlog | None:
    """The backlog of a replica, which is watched if it is at work; None if it follows no source."""
    first = backlog_at_once(server, names)
    if first is None:
        return None
    seen = at_first(names.engine, first)
    if not is_at_work(seen, first):
        return seen
    last = first
    for looks in itertools.count(1):
        sleep(max(0.0, first.at + looks * PAUSE - time.monotonic()))
        last = backlog_at_once(server, names) or last
        if is_watched(names.engine, first, last):
            break
    return between(names.engine, first, last)


def with_received_of(one: Look, first: Look) -> Look:
    """A look as if its replica had received no more than at another look."""
    channel = one.channel.copy()
    channel["retrieved"] = first.channel["retrieved"]
    channel["read_file"] = first.channel["read_file"]
    channel["read_position"] = first.channel["read_position"]
    return one._replace(channel=channel)


def measured_backlog(module: AnsibleModule) -> Backlog | None:
    """measure() on a separate connection; None if the server has gone meanwhile."""
    try:
        cursor = login.connect(module)
    except ServerError:
        return None
    try:
        server = Server(cursor)
        return measure(server, identify(server))
    except ServerError:
        return None
    finally:
        cursor.connection.close()
