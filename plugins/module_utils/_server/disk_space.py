# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a file system of a server is full. Its server may then wait for space without an error
(MySQL manual, "How MySQL Handles a Full Disk"), refuse logins, or blame another folder.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping

# A disk with less left, in bytes, is full: InnoDB extends a file by up to 4 MB at a time.
FULL = 8 * 2**20
SHARE = 0.05
# Where a server's data are unless it says something else.
DEFAULT = "/var/lib/mysql"
# What folders_of() takes.
LOGS = ("log_bin_basename", "relay_log_basename")
ASKS = (
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN"
    f" ('datadir', {', '.join(repr(name) for name in LOGS)})"
)
# Another host's, or a program's: a question about one may wait for ever.
FOREIGN = ("nfs", "cifs", "smb", "fuse", "9p", "ceph", "glusterfs", "afs")
SERVERS = ("mysqld", "mariadbd")
# A message that has this names a full file system.
IS_FULL = "is full ("


def full_folders(folders: Iterable[str]) -> dict[str, int]:
    """Folder -> bytes left, of those on full file systems: the first folder of each."""
    full: dict[str, int] = {}
    seen = set()
    foreign = foreign_mounts()
    for folder in folders:
        if any(folder == place or folder.startswith(place + "/") for place in foreign):
            continue
        try:
            device, disk = os.stat(folder).st_dev, os.statvfs(folder)
        except OSError:
            continue
        left = disk.f_bavail * disk.f_frsize
        # One that is small, or is no disk at all, is not full.
        if device not in seen and left < min(FULL, disk.f_blocks * disk.f_frsize * SHARE):
            full[folder] = left
        seen.add(device)
    return full


def foreign_mounts() -> list[str]:
    """Where file systems are mounted that are not this host's own."""
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as stream:
            mounts = [line.split(" ")[1:3] for line in stream]
    except OSError:
        return []
    return [place for place, kind in mounts if kind.startswith(FOREIGN)]


def folders_of(variables: Mapping[str, str | None]) -> list[str]:
    """Where a server writes: its data, and its logs if they are elsewhere."""
    datadir = variables.get("datadir") or DEFAULT
    names = [variables.get(name) or "" for name in LOGS]
    return [datadir, *(os.path.join(datadir, os.path.dirname(name)) for name in names)]


def likely_folders() -> list[str]:
    """The same for a server that cannot be asked: each runs in the folder of its data, and has its
    logs open.
    """
    folders = [DEFAULT]
    for process in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else []):
        try:
            with open(f"/proc/{process}/comm", encoding="utf-8", errors="replace") as stream:
                name = stream.read().strip()
            folders += open_folders(f"/proc/{process}") if name in SERVERS else []
        except OSError:  # it has ended
            continue
    return list(dict.fromkeys(folders))


def open_folders(process: str) -> list[str]:
    """The folder in which a process runs, and those of its open files."""
    links = [os.readlink(f"{process}/cwd") + "/"]
    for number in os.listdir(f"{process}/fd"):
        with contextlib.suppress(OSError):  # it was closed
            links.append(os.readlink(f"{process}/fd/{number}"))
    return [os.path.dirname(link) for link in links if link.startswith("/")]


def words(full: Mapping[str, int]) -> str:
    """What is full, for a message; empty if nothing is."""
    return "; ".join(
        f"the file system of {folder} {IS_FULL}{left >> 20} MB left)"
        for folder, left in full.items()
    )


def full_here() -> str:
    """Which file systems of this host's servers are full, in words, if a server cannot be asked."""
    return words(full_folders(likely_folders()))


def explained(message: str, full: str | None = None) -> str:
    """A server's failure with its likely cause in front, unless it names one itself: by the time
    that it is told, there may be space again.

    Args:
        full: of full_here(), if that is known already.
    """
    if IS_FULL in message:
        return message
    cause = full_here() if full is None else full
    return f"{cause}; {message}" if cause else message
