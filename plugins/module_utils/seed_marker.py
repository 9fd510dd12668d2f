# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a seeding writes down on its host: a run that was interrupted is recognised by it, and progress is read from it."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import fcntl
import json
import os
import time

FOLDER = "/var/lib/dbre-semisync"
# Seconds that a server may be away because a seeding restarts it with its new data.
AWAY_SECONDS = 300


def path(port):
    return os.path.join(FOLDER, "seed-%d.json" % int(port or 3306))


def read(port):
    """The marker of the server with this port, or None."""
    try:
        with open(path(port)) as handle:
            return json.load(handle)
    except (OSError, ValueError):
        return None


def caught_up(port):
    """Note that the replica has caught up since it was seeded, where it was."""
    facts = read(port) or {}
    if facts.get("state") == "done" and not facts.get("caught_up"):
        marker = Marker(port)
        marker.facts = facts
        marker.write(caught_up=True)


def ended_since(facts, moment):
    """True where what is written down is a seeding that ended well after a moment."""
    return facts.get("state") == "done" and facts["at"] > moment + 0.001


def under_way(folder=FOLDER):
    """True while a server of this host is being seeded."""
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        if not name.endswith(".lock"):
            continue
        with open(os.path.join(folder, name)) as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return True
    return False


def patiently(connect, seconds=AWAY_SECONDS, pause=1, folder=FOLDER):
    """What connect() returns. A server that is away because it is being seeded is waited for: an earlier run was killed."""
    deadline = time.monotonic() + seconds
    while True:
        busy = under_way(folder)
        try:
            return connect()
        except Exception:  # the drivers share no exception class
            if not busy or time.monotonic() > deadline:
                raise
        time.sleep(pause)


class Donor(object):
    """A note on a source that the clone plugin was installed for a seeding, and has to go with it."""

    def __init__(self, port, folder=FOLDER):
        self.folder, self.path = folder, os.path.join(folder, "donor-%d" % int(port or 3306))

    def exists(self):
        return os.path.exists(self.path)

    def write(self):
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        with open(self.path, "w") as handle:
            handle.write("the clone plugin was installed for a seeding\n")

    def remove(self):
        if self.exists():
            os.unlink(self.path)


class Marker(object):
    """The marker of one server, held by one seeding at a time.

    Its state is 'copying' while nothing on the replica was touched, 'loading' from the first change to its data until
    they are complete, 'done' after that.
    """

    def __init__(self, port, **facts):
        self.path, self.port, self.facts, self.lock = path(port), port, facts, None

    def hold(self):
        """Wait until no other seeding of this server runs, and keep others waiting."""
        os.makedirs(FOLDER, mode=0o700, exist_ok=True)
        self.lock = open(self.path + ".lock", "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)

    def write(self, **facts):
        """Add to what is written down; on disk when this returns."""
        self.facts.update(facts, at=time.time())
        with open(self.path + ".new", "w") as handle:
            json.dump(self.facts, handle)
            handle.flush()
            os.fsync(handle.fileno())
        os.rename(self.path + ".new", self.path)

    def remove(self):
        if os.path.exists(self.path):
            os.unlink(self.path)
