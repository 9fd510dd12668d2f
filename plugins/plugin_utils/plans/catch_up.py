# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a replica's applier is from a position that its source had."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.types.shapes import Info


def due(side: str, step: str, info: Info) -> bool:
    """Whether a replica is expected to be behind: its channel begins in this run, or no run has
    waited since it was seeded.
    """
    if side != "replica" or not info["names"]["gtid"]:
        return False
    if step == "configure":
        return True
    seeded = info.get("seed")
    waiting = bool(seeded and seeded.get("state") == "done" and seeded.get("caught_up") is False)
    return bool(info["channel"] and info["channel"]["gtid"] and (step == "start" or waiting))


def progress_line(
    host: str, seen: dict[str, Any], first: int | None, target: str, seconds: float
) -> str:
    """One line of progress: seconds since it began, and how far the replica is.

    Args:
        seen: result of semisync_catch_up.
        first: transactions that were missing when the wait began; None if none are counted.
        target: the position that the replica has to reach, as text, if none are counted.
        seconds: since the wait began.
    """
    if seen["missing"] is None:
        how_far = f"applied {place(seen)} of {target}"
    else:
        how_far = f"{int(seen['missing'])} of {first} transactions to apply"
    return f"  catch up {host}: {int(seconds):4} s  {how_far}"


def place(seen: dict[str, Any]) -> str:
    """The replica's position in its source's binary log, such as binlog.000042:1337."""
    return f"{seen['place']['file']}:{seen['place']['position']}"


def time_is_up_message(
    host: str, seen: dict[str, Any], first: int | None, target: str, seconds: float
) -> str:
    """The message when the time is up; see progress_line()."""
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
