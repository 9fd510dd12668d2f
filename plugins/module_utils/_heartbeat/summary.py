# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the newest rows of the heartbeat on one server say in short: how old they are, where there
are gaps, and when the source was degraded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._heartbeat import rows
from ansible_collections.dbre.semisync.plugins.module_utils._server import login
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import (
    ServerError,
    answers_within,
)

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.beat_shapes import (
        Beat,
        BeatGap,
        Beats,
        BeatSpan,
        DegradedTime,
    )

# How many rows are read: an hour with a beat each second.
ROWS = 3600
# A gap is at least so many intervals, and so many seconds.
INTERVALS, LEAST = 3, 5.0
# How many spans, gaps and degraded times are kept, the newest.
MOST = 20
# Seconds that the server has.
ANSWER = 10


def read_summary(module: AnsibleModule, schema: str, interval: int) -> Beats | None:
    """What the newest rows say; None if they could not be read.

    Args:
        module: with login's options.
        schema: of the table.
        interval: seconds between two beats.
    """
    try:
        cursor = login.connect(module)
    except ServerError:
        return None
    try:
        server = Server(cursor)
        with answers_within(ANSWER):
            reading = rows.read(server, schema, ROWS)
            (now,) = server.rows("SELECT UNIX_TIMESTAMP(NOW(6)) AS now")
    except ServerError:
        return None
    finally:
        cursor.connection.close()
    return summarize(reading, float(now["now"]), interval)


def summarize(reading: rows.Reading, now: float, interval: int) -> Beats:
    """The summary of what was read.

    Args:
        reading: the newest beat first.
        now: the server's clock, in seconds since 1970.
        interval: seconds between two beats.
    """
    beats = list(reversed(reading.beats))
    newest = beats[-1] if beats else None
    return {
        "rows": len(beats),
        "unreadable": reading.unreadable,
        "server": newest["server"] if newest else None,
        "number": newest["number"] if newest else None,
        "wall": newest["wall"] if newest else None,
        # On a replica: its lag and up to one interval, as far as the clocks agree.
        "age": round(now - newest["wall"], 3) if newest else None,
        "spans": spans(beats, interval)[-MOST:],
        "gaps": gaps(beats, interval)[-MOST:],
        "degraded": degraded(beats)[-MOST:],
    }


def gaps(beats: list[Beat], interval: int) -> list[BeatGap]:
    """Times in which no beat was written, though the same start of a server beat before and after.

    Args:
        beats: the oldest first.
    """
    return [
        {"server": before["server"], "begin": before["wall"], "end": after["wall"]}
        for before, after in zip(beats, beats[1:])
        if same_start(before, after) and not close(before, after, interval)
    ]


def spans(beats: list[Beat], interval: int) -> list[BeatSpan]:
    """Times in which one start of a server beat without a gap.

    Args:
        beats: the oldest first.
    """
    made: list[BeatSpan] = []
    before: Beat | None = None
    for beat in beats:
        if before and same_start(before, beat) and close(before, beat, interval):
            made[-1]["end"], made[-1]["rows"] = beat["wall"], made[-1]["rows"] + 1
        else:
            wall = beat["wall"]
            made.append({"server": beat["server"], "begin": wall, "end": wall, "rows": 1})
        before = beat
    return made


def close(before: Beat, after: Beat, interval: int) -> bool:
    """Whether there is no gap between two beats of one start."""
    return after["monotonic"] - before["monotonic"] <= max(LEAST, INTERVALS * interval)


def same_start(before: Beat, after: Beat) -> bool:
    """Whether two beats, one after the other, are of one start of one server."""
    if (before["server"], before["boot"]) != (after["server"], after["boot"]):
        return False
    return (before["uptime"] or 0) <= (after["uptime"] or 0)


def degraded(beats: list[Beat]) -> list[DegradedTime]:
    """Times in which semi-sync was on and its status OFF: from the last beat before to the first
    after, each end None if no beat saw it. `alone` are the commits that were confirmed without a
    replica, as far as the beats around it count them.

    Args:
        beats: the oldest first.
    """
    times: list[DegradedTime] = []
    before: Beat | None = None
    # The one that goes on.
    now: DegradedTime | None = None
    for beat in beats:
        if before and not same_start(before, beat):
            before, now = None, None
        if beat["facts"]["status"] == "OFF" and beat["facts"]["enabled"] == "ON":
            if now is None:
                now = began(before, beat)
                times.append(now)
            now["last"], now["alone"] = beat["wall"], alone(now, beat)
        elif now and beat["facts"]["status"] is not None:
            now["end"], now["alone"] = beat["wall"], alone(now, beat)
            now = None
        before = beat
    return times


def began(before: Beat | None, beat: Beat) -> DegradedTime:
    """A degraded time at its first beat."""
    counted = before or beat
    return {
        "server": beat["server"],
        "begin": before["wall"] if before else None,
        "first": beat["wall"],
        "last": beat["wall"],
        "end": None,
        "no_tx": counted["facts"]["no_tx"],
        "alone": None,
    }


def alone(time: DegradedTime, beat: Beat) -> int | None:
    """How far the counter of unacknowledged commits rose until a beat; None if it is not known."""
    before, now = time["no_tx"], beat["facts"]["no_tx"]
    return None if before is None or now is None or now < before else now - before
