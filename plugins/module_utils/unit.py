# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server's systemd unit: what systemd says of it, and the timer that starts it when nobody else does."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import re

PREFIX = "dbre-semisync-rescue-"
PROPERTIES = ("LoadState", "ActiveState", "SubState", "MainPID")
# Our word -> systemd's property, in microseconds of the monotonic clock (org.freedesktop.systemd1, "Unit Objects").
TIMES = {"stopping": "ActiveExitTimestampMonotonic", "stopped": "InactiveEnterTimestampMonotonic",
         "starting": "InactiveExitTimestampMonotonic", "started": "ActiveEnterTimestampMonotonic"}
# How often the timer's service tries, and the seconds between.
ATTEMPTS, PAUSE = 12, 10


def show_arguments(unit):
    return ["show", "--property=" + ",".join(PROPERTIES + tuple(TIMES.values())), unit]


def parse_show(text, now, monotonic):
    """The unit's state and the times of its last changes.

    Args:
        text: of `systemctl show`.
        now: seconds since 1970.
        monotonic: seconds of the monotonic clock at the same moment.
    """
    values = dict(line.partition("=")[::2] for line in text.splitlines() if "=" in line)
    times = {}
    for word, name in TIMES.items():
        micros = int(values.get(name) or 0)
        times[word] = round(now - monotonic + micros / 1e6, 6) if micros else None
    pid = int(values.get("MainPID") or 0)
    return {"known": values.get("LoadState") == "loaded", "active": values.get("ActiveState", ""),
            "sub": values.get("SubState", ""), "main_pid": pid, "times": times,
            "running": values.get("ActiveState") == "active" and pid > 0}


def service_name(unit):
    """The unit with its suffix, as systemd's own commands need it."""
    return unit if re.search(r"\.(service|target|socket)\Z", unit) else unit + ".service"


def timer_name(now):
    return "%s%d" % (PREFIX, now * 1000)


def arm_command(systemd_run, systemctl, timer, unit, seconds):
    """systemd's words for a timer that starts the unit, and tries again where that fails.

    A reboot takes the timer with it, and starts what is enabled. There is no $ and no % in the script, which systemd
    would expand, and no ; because systemd 252 cannot read that again after a daemon-reload; a unit's name has none of
    them. systemd's own accuracy for timers is a minute.
    """
    script = "for attempt in %s\ndo %s start '%s' && exit 0\nsleep %d\ndone\nexit 1" % (
        " ".join(str(number) for number in range(ATTEMPTS)), systemctl, service_name(unit), PAUSE)
    return [systemd_run, "--unit=" + timer, "--description=Starts %s, which a drill of dbre.semisync stopped" % unit,
            "--on-active=%ds" % seconds, "--timer-property=AccuracySec=100ms", "--property=Type=oneshot", "--collect",
            "/bin/sh", "-c", script]


def rescues(text):
    """Our timers in `systemctl list-units --plain --no-legend`, without suffix."""
    return [match.group(1) for match in re.finditer(r"^\W*(%s\d+)\.(?:timer|service)\s" % PREFIX, text, re.M)]
