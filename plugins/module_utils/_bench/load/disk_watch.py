# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Free space on the server's disk while a load runs: a server without any may wait silently, or
crash.
"""

from __future__ import annotations

import os
import threading
from types import TracebackType

from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.disk_space import FULL
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError

PAUSE = 0.5


class DiskWatch:
    """Watches the disk of the server's data until the block ends, if the server is on this host.
    It watches the whole time, because space that was freed later does not make a run valid, and a
    server that has crashed cannot report where its data was.
    """

    def __init__(self, server: Server) -> None:
        try:
            self.folder = str(server.rows("SELECT @@datadir AS folder")[0]["folder"])
        except ServerError:
            self.folder = ""
        self.least: int | None = None
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def look(self) -> None:
        """Record the least free space seen, in bytes."""
        try:
            disk = os.statvfs(self.folder)
        except OSError:  # the server may be on another host
            return
        left = disk.f_bavail * disk.f_frsize
        self.least = left if self.least is None else min(self.least, left)

    def watch(self) -> None:
        """Look until the block ends."""
        while not self.ended.wait(PAUSE):
            self.look()

    def __enter__(self) -> DiskWatch:
        self.look()
        self.thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.ended.set()
        self.thread.join()
        self.look()

    def words(self) -> str:
        """What follows a reason if the disk was full; empty if it was not, or unknown."""
        if self.least is None or self.least >= FULL:
            return ""
        return f"; the disk of {self.folder} was full ({self.least // 2**20} MB left)"
