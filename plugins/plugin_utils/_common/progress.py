# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines by which a long step shows how far it is, and about how long it still takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ansible_collections.dbre.semisync.plugins.module_utils._server.values import amount

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import SeedMarker

# The stages of a seeding in which its bytes arrive. In the others, they do not show how far it is.
COPYING = ("clone", "copies", "loads")


def duration_text(seconds: float) -> str:
    """A duration as text."""
    if seconds < 90:
        return f"{round(seconds)} s"
    if seconds < 5400:
        return f"{round(seconds / 60.0)} min"
    hours, minutes = divmod(int(seconds // 60), 60)
    return f"{hours} h {minutes:02d} min"


def time_left(seconds: float) -> str:
    """The end of a line of progress: the time left."""
    return f"; about {duration_text(seconds)} left"


def at_this_rate(done: float, left: float, seconds: float) -> str:
    """The same, if what is left goes as fast as what was done in so many seconds."""
    return time_left(left * seconds / done) if done > 0 else "; it is not known how long it takes"


def position_text(position: int, count: int) -> str:
    """The beginning of a line about one of several runs, such as [ 7/52]."""
    return f"  [{position:{len(str(count))}d}/{count}]"


def catch_up_line(
    host: str, seen: dict[str, Any], first: int | None, target: str, seconds: float
) -> str:
    """A replica that catches up: seconds since it began, and how far it is.

    Args:
        seen: result of semisync_catch_up.
        first: transactions that were missing when the wait began; None if none are counted.
        target: the position that the replica has to reach, as text, if none are counted.
        seconds: since the wait began.
    """
    missing = seen["missing"]
    if missing is None or first is None:
        how_far = f"applied {place(seen)} of {target}"
    else:
        how_far = f"{int(missing)} of {first} transactions to apply"
        how_far += at_this_rate(first - missing, missing, seconds)
    return f"  catch up {host}: {int(seconds):4} s  {how_far}"


def place(seen: dict[str, Any]) -> str:
    """The replica's position in its source's binary log, such as binlog.000042:1337."""
    return f"{seen['place']['file']}:{seen['place']['position']}"


def time_is_up_message(
    host: str, seen: dict[str, Any], first: int | None, target: str, seconds: float
) -> str:
    """The message when the time is up; see catch_up_line()."""
    sentence = f"{host} follows its source, but after {int(seconds)} s it has not applied"
    missing = seen["missing"]
    if missing is None or first is None:
        sentence += f" all up to {target}: it is at {place(seen)}"
    else:
        rate = (first - missing) / seconds if seconds else 0
        sentence += (
            f" what the source had when the wait began: {int(missing)} of {first} transactions are"
            " missing"
        )
        sentence += f", it applies {rate:.1f} a second" if rate > 0 else ", and it applies none"
    if seen["seconds_behind"] is not None:
        sentence += f" ({seen['seconds_behind']} s behind, as it says itself)"
    return (
        sentence
        + ". No data are lost. Run again: it waits again; semisync_catch_up_timeout says how long"
    )


def seed_line(host: str, marker: SeedMarker, seconds: int) -> str:
    """A seeding: seconds since it began, stage, bytes of the expected ones, the time left."""
    done, total = marker.get("bytes") or 0, marker.get("total") or 0
    stage, share = marker.get("stage") or "starts", ""
    if total and done > total:
        share = ", more than was estimated"
    elif total:
        share = f" ({done * 100 // total} %)"
        share += at_this_rate(done, total - done, seconds) if stage in COPYING else ""
    return (
        f"  seed {host}: {int(seconds):4} s  {stage!s:<10} {amount(done)} of about"
        f" {amount(total)}{share}"
    )
