# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes files of this host, whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat

LABEL = "security.selinux"


def replace(path: str, text: str, mode: int | None = None) -> None:
    """Write a file completely or not at all; an existing file keeps its owner, mode and SELinux
    label.

    Another user may be able to rename what is in its folder. The folder is therefore held open, and
    neither the file nor its temporary copy is reached through a link.

    Args:
        path: the file itself is not a link.
        mode: of a new file; None for a file that only its owner can read.

    Raises:
        OSError: it cannot be written.
    """
    folder_path, name = os.path.split(os.path.abspath(path))
    folder = os.open(folder_path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    part = f"{name}.dbre-semisync-{secrets.token_hex(8)}"
    try:
        there = None
        with contextlib.suppress(FileNotFoundError):
            there = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if there and not stat.S_ISREG(there.st_mode):
            raise OSError(
                f"{path} is not a regular file, and its folder is writable for others than root"
            )
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            handle = os.open(
                part,
                flags,
                0o600,
                dir_fd=folder,
            )
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
                stream.flush()
                if there:
                    os.chown(handle, there.st_uid, there.st_gid)
                    os.chmod(handle, stat.S_IMODE(there.st_mode))
                    keep_label(os.path.join(f"/proc/self/fd/{folder}", name), handle)
                elif mode is not None:
                    os.chmod(handle, mode)
                os.fsync(handle)
            os.rename(
                part,
                name,
                src_dir_fd=folder,
                dst_dir_fd=folder,
            )
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(part, dir_fd=folder)
            raise
    finally:
        os.close(folder)


def keep_label(path: str, handle: int) -> None:
    """Give an open file the SELinux label of another, which a new one has from its folder. A system
    without SELinux has none.
    """
    with contextlib.suppress(OSError):
        os.setxattr(handle, LABEL, os.getxattr(path, LABEL, follow_symlinks=False))
