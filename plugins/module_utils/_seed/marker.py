# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of a seeding on its host: it shows the progress, and identifies an interrupted run."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import SeedMarker

Connected = TypeVar("Connected")

# The account for a clone on the source, created for one seeding and dropped after it.
DONOR = "dbre_semisync_seed"
FOLDER = "/var/lib/dbre-semisync"
# Seconds that a server may be down because a seeding restarts it with its new data.
AWAY_SECONDS = 300


def marker_path(port: int | str | None) -> str:
    """The path of the marker of the server with this port."""
    return os.path.join(FOLDER, f"seed-{int(port or 3306)}.json")


def read_marker(port: int | str | None) -> SeedMarker | None:
    """The marker of the server with this port, or None."""
    try:
        with open(marker_path(port)) as handle:
            return json.load(handle)
    except (OSError, ValueError):
        return None


def ended_since(facts: SeedMarker | None, moment: float) -> bool:
    """Whether the record is of a seeding that ended well after a moment."""
    return facts is not None and facts.get("state") == "done" and facts["at"] > moment + 0.001


def under_way(folder: str = FOLDER) -> bool:
    """True while a server of this host is being seeded."""
    # Only root sees a running seeding: other users do not wait.
    for name in os.listdir(folder) if os.access(folder, os.R_OK | os.X_OK) else []:
        if not name.endswith(".lock"):
            continue
        with open(os.path.join(folder, name)) as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return True
    return False


def patiently(
    connect: Callable[[], Connected],
    seconds: float = AWAY_SECONDS,
    pause: float = 1,
    folder: str = FOLDER,
) -> Connected:
    """What connect() returns. Waits for a server that is down because it is being seeded: an
    earlier run was killed.
    """
    deadline = time.monotonic() + seconds
    while True:
        busy, last = under_way(folder), time.monotonic() > deadline
        try:
            return connect()
        except Exception:  # the restart may resolve any error
            if not busy or last:
                raise
        time.sleep(pause)
