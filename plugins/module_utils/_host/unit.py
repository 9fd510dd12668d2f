# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server's systemd unit: what systemd reports of it, and the timer that starts it if the run does
not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._host.timer import repeated
from ansible_collections.dbre.semisync.plugins.module_utils._host.unit_exit import service_name

if TYPE_CHECKING:
    from typing import NotRequired, TypedDict
else:
    TypedDict = dict

TIMER_PREFIX = "dbre-semisync-rescue-"
PROPERTIES = ("LoadState", "ActiveState", "SubState", "MainPID")
# Our key -> systemd's property, in microseconds of the monotonic clock (org.freedesktop.systemd1,
# "Unit Objects").
TIMES = {
    "stopping": "ActiveExitTimestampMonotonic",
    "stopped": "InactiveEnterTimestampMonotonic",
    "starting": "InactiveExitTimestampMonotonic",
    "started": "ActiveEnterTimestampMonotonic",
}
# How often the timer's service tries, and the seconds between.
ATTEMPTS, PAUSE = 12, 10


def show_arguments(unit: str) -> list[str]:
    return ["show", "--property=" + ",".join(PROPERTIES + tuple(TIMES.values())), unit]


class UnitState(TypedDict):
    """What systemd reports of a unit; times in seconds since 1970, None for never."""

    known: bool
    active: str
    sub: str
    main_pid: int
    times: dict[str, float | None]
    running: bool
    # Only of a unit that does not run.
    last_words: NotRequired[list[str]]


def parse_show(text: str, now: float, monotonic: float) -> UnitState:
    """The unit's state and the times of its last changes.

    Args:
        text: of `systemctl show`.
        now: seconds since 1970.
        monotonic: seconds of the monotonic clock at the same moment.
    """
    values = dict(line.partition("=")[::2] for line in text.splitlines() if "=" in line)
    times: dict[str, float | None] = {}
    for word, name in TIMES.items():
        micros = int(values.get(name) or 0)
        times[word] = round(now - monotonic + micros / 1e6, 6) if micros else None
    pid = int(values.get("MainPID") or 0)
    return {
        "known": values.get("LoadState") == "loaded",
        "active": values.get("ActiveState", ""),
        "sub": values.get("SubState", ""),
        "main_pid": pid,
        "times": times,
        "running": values.get("ActiveState") == "active" and pid > 0,
    }


def start_script(systemctl: str, unit: str) -> str:
    """Starts the unit, and retries if that fails.

    Args:
        systemctl: its path.
    """
    start = f"{systemctl} start '{service_name(unit)}' && exit 0"
    return repeated([start], ATTEMPTS, PAUSE) + "\nexit 1"
