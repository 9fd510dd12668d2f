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


def path(port):
    return os.path.join(FOLDER, "seed-%d.json" % int(port or 3306))


def read(port):
    """The marker of the server with this port, or None."""
    try:
        with open(path(port)) as handle:
            return json.load(handle)
    except (OSError, ValueError):
        return None


class Marker(object):
    """The marker of one server, held by one seeding at a time.

    Its state is 'copying' while nothing on the replica was touched, 'loading' from the first change to its data until
    they are complete, 'done' after that.
    """

    def __init__(self, port, **facts):
        self.path, self.port, self.facts, self.lock = path(port), port, facts, None

    def hold(self):
        """Wait until no other seeding of this server runs; true where one was waited for."""
        os.makedirs(FOLDER, mode=0o700, exist_ok=True)
        self.lock = open(self.path + ".lock", "w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
        except OSError:
            fcntl.flock(self.lock, fcntl.LOCK_EX)
            return True

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
