# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a seeding writes down on its host: a run that was interrupted is recognised by it, and
progress is read from it.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.types.shapes import SeedMarker

Connected = TypeVar("Connected")

FOLDER = "/var/lib/dbre-semisync"
# Seconds that a server may be away because a seeding restarts it with its new data.
AWAY_SECONDS = 300


def marker_path(port: int | str | None) -> str:
    """Where the marker of the server with this port lies."""
    return os.path.join(FOLDER, f"seed-{int(port or 3306)}.json")


def read_marker(port: int | str | None) -> SeedMarker | None:
    """The marker of the server with this port, or None."""
    try:
        with open(marker_path(port)) as handle:
            return json.load(handle)
    except (OSError, ValueError):
        return None


def caught_up(port: str) -> None:
    """Note that the replica has caught up since it was seeded, where it was."""
    facts = read_marker(port)
    if facts and facts.get("state") == "done" and not facts.get("caught_up"):
        marker = Marker(port, **facts)
        marker.write(caught_up=True)


def ended_since(facts: SeedMarker | None, moment: float) -> bool:
    """Whether what is written down is a seeding that ended well after a moment."""
    return facts is not None and facts.get("state") == "done" and facts["at"] > moment + 0.001


def under_way(folder: str = FOLDER) -> bool:
    """True while a server of this host is being seeded."""
    # Only root sees who seeds: for others nothing is waited for.
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
    """What connect() returns. A server that is away because it is being seeded is waited for: an
    earlier run was killed.
    """
    deadline = time.monotonic() + seconds
    while True:
        busy, last = under_way(folder), time.monotonic() > deadline
        try:
            return connect()
        except Exception:  # whatever it is, the restart may end it
            if not busy or last:
                raise
        time.sleep(pause)


class Donor:
    """A note on a source: the clone plugin was installed for a seeding, and has to go with it."""

    def __init__(self, port: int | str, folder: str = FOLDER) -> None:
        self.folder, self.path = folder, os.path.join(folder, f"donor-{int(port or 3306)}")

    def exists(self) -> bool:
        return os.path.exists(self.path)

    def write(self) -> None:
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        with open(self.path, "w") as handle:
            handle.write("the clone plugin was installed for a seeding\n")

    def remove(self) -> None:
        if self.exists():
            os.unlink(self.path)


class Marker:
    """The marker of one server, held by one seeding at a time.

    Its state is 'copying' while nothing on the replica was touched, 'loading' from the first change
    to its data until they are complete, 'done' after that.
    """

    def __init__(self, port: int | str, **facts: Any) -> None:
        self.path, self.port, self.facts = marker_path(port), port, facts
        self.lock: IO[str] | None = None

    def hold(self) -> None:
        """Wait until no other seeding of this server runs, and keep others waiting."""
        os.makedirs(FOLDER, mode=0o700, exist_ok=True)
        # Open, and so held, as long as the marker is.
        self.lock = open(self.path + ".lock", "w")  # noqa: SIM115
        fcntl.flock(self.lock, fcntl.LOCK_EX)

    def write(self, **facts: Any) -> None:
        """Add to what is written down; on disk when this returns."""
        self.facts.update(facts, at=time.time())
        with open(self.path + ".new", "w") as handle:
            json.dump(self.facts, handle)
            handle.flush()
            os.fsync(handle.fileno())
        os.rename(self.path + ".new", self.path)

    def remove(self) -> None:
        if os.path.exists(self.path):
            os.unlink(self.path)
