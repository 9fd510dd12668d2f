# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folders of a data directory that a copy replaces.

The server's user may write in some of them, and rename entries while root works. So root keeps them
open: what it moves or removes is in the folder that it has made or checked, whatever has its name
by now.
"""

from __future__ import annotations

import os
import shutil

# Where a copy is until it is complete, beside the data directory or in it.
WORK = "dbre-semisync-seed"
# What a copy never replaces in a data directory.
KEPT = ("lost+found", WORK)
# Of a folder: never through a link.
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
MOST_BYTES = 1 << 20


def file_system(path: str, mounts: str = "/proc/self/mounts") -> str:
    """Type of the file system that a folder is on."""
    path, best = os.path.realpath(path), ("", "unknown")
    with open(mounts) as handle:
        for line in handle:
            point, kind = line.split()[1:3]
            inside = path == point or path.startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(best[0]):
                best = (point, kind)
    return best[1]


def move(source: int, target: int) -> None:
    """Every entry of an open folder into another on the same file system."""
    for name in sorted(os.listdir(source)):
        if name not in KEPT:
            os.rename(name, name, src_dir_fd=source, dst_dir_fd=target)


def read_in_folder(folder: int, name: str) -> str:
    """The text of a file in an open folder; OSError if it is a link, or cannot be read."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(name, flags, dir_fd=folder), "rb") as stream:
        return stream.read(MOST_BYTES).decode("utf-8", "replace")


class Folders:
    """A data directory, and the folders for its copy, all of them open until close().

    Args:
        datadir: its path without links; OSError if it is none.
    """

    def __init__(self, datadir: str) -> None:
        self.datadir = os.open(datadir, FOLDER)
        self.parent = os.open("..", FOLDER, dir_fd=self.datadir)
        stat = os.fstat(self.datadir)
        self.uid, self.gid = stat.st_uid, stat.st_gid
        # Renames must stay on one file system: a data directory that is a mount point holds the
        # folder itself.
        beside = os.fstat(self.parent).st_dev == stat.st_dev
        self.place = self.parent if beside else self.datadir
        self.path = os.path.join(os.path.dirname(datadir) if beside else datadir, WORK)
        self.new = self.old = -1

    def make(self) -> None:
        """Make the folder for the copy, owned by the server's user, and that for the old data,
        owned by root; remove what an earlier seeding left there.

        Raises:
            OSError: another user's file is in the way.
        """
        self.remove()
        work = self._made(self.place, WORK, 0o710)
        try:
            # The server's user works in one of its folders.
            os.chown(work, os.geteuid(), self.gid)
            self.old = self._made(work, "old", 0o700)
            self.new = self._made(work, "new", 0o700)
        finally:
            os.close(work)
        os.chown(self.new, self.uid, self.gid)

    def _made(
        self,
        parent: int,
        name: str,
        mode: int,
    ) -> int:
        os.mkdir(name, mode, dir_fd=parent)
        folder = os.open(name, FOLDER, dir_fd=parent)
        if os.fstat(folder).st_uid != os.geteuid() or os.listdir(folder):
            os.close(folder)
            raise OSError(f"{self.path} is not the folder that was made there")
        # Whatever the umask is.
        os.chmod(folder, mode)
        return folder

    def swap(self) -> None:
        """Put the copy in place of the data."""
        move(self.datadir, self.old)
        move(self.new, self.datadir)

    def swap_back(self) -> None:
        move(self.datadir, self.new)
        move(self.old, self.datadir)

    def remove(self) -> None:
        """Remove the folder for the copy with all in it, and never what a link points to."""
        shutil.rmtree(f"/proc/self/fd/{self.place}/{WORK}", ignore_errors=True)

    def close(self) -> None:
        for folder in (self.datadir, self.parent, self.new, self.old):
            if folder >= 0:
                os.close(folder)
