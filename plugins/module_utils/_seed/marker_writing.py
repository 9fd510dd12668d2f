# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the record of a seeding on its host; marker.py reads it."""

from __future__ import annotations

import fcntl
import json
import os
import time
from typing import IO, Any

from ansible_collections.dbre.semisync.plugins.module_utils._seed.marker import (
    FOLDER,
    marker_path,
    read_marker,
)


def caught_up(port: str) -> None:
    """Record that the replica has caught up since it was seeded, if it was."""
    facts = read_marker(port)
    if facts and facts.get("state") == "done" and not facts.get("caught_up"):
        marker = Marker(port, **facts)
        marker.write(caught_up=True)


class Donor:
    """A note on a source: the clone plugin was installed for a seeding, and must be removed with
    it.
    """

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
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        # Open, and so locked, as long as the marker is.
        self.lock = open(self.path + ".lock", "w")  # noqa: SIM115
        fcntl.flock(self.lock, fcntl.LOCK_EX)

    def write(self, **facts: Any) -> None:
        """Add to the record; on disk when this returns."""
        self.facts.update(facts, at=time.time())
        with open(self.path + ".new", "w") as handle:
            json.dump(self.facts, handle)
            handle.flush()
            os.fsync(handle.fileno())
        os.rename(self.path + ".new", self.path)

    def remove(self) -> None:
        if os.path.exists(self.path):
            os.unlink(self.path)
