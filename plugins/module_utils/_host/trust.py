# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What root may run, and where it may write: only what root alone could have created.

The server's user decides where its programs are (basedir, its process), and often owns that folder.
A program there runs with that user's rights: with root's, an intruder in the server would become
root.
"""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._host import as_user

# As many links as the kernel follows in one path.
LINKS = 40
WRITABLE_FOR_OTHERS = stat.S_IWGRP | stat.S_IWOTH
NOBODY = 65534


class User(NamedTuple):
    """A user and its group, by number."""

    uid: int
    gid: int


def stranger(path: str) -> User | None:
    """The user whose rights suffice to replace what a path leads to; None if only root's do.

    Checks the file and every folder and link on the way to it. The first that another user owns
    decides; if a group or all users may write there, the user is NOBODY.
    """
    if os.geteuid() != 0:
        # A process without root's rights has none to give away.
        return None
    left = [word for word in os.path.abspath(path).split("/") if word]
    here, links, owner = "/", 0, None
    while True:
        about = os.lstat(here)
        link = stat.S_ISLNK(about.st_mode)
        if about.st_uid != 0:
            return User(about.st_uid, about.st_gid)
        # In a sticky folder such as /tmp no other user can rename root's files.
        kept = bool(left) and bool(about.st_mode & stat.S_ISVTX)
        if not (link or kept) and about.st_mode & WRITABLE_FOR_OTHERS:
            # A folder with an owner may follow.
            owner = owner or User(NOBODY, NOBODY)
        if link:
            links += 1
            if links > LINKS:
                raise OSError(f"too many links on the way to {path}")
            target = os.readlink(here)
            left = [word for word in target.split("/") if word not in ("", ".")] + left
            here = "/" if target.startswith("/") else os.path.dirname(here)
        if not left:
            return owner
        word = left.pop(0)
        here = os.path.dirname(here) if word == ".." else os.path.join(here, word)


def trusted(path: str) -> bool:
    """Whether only root could have created what a path leads to; False if nothing is there."""
    try:
        return stranger(path) is None
    except OSError:
        return False


def trusted_command(command: list[str]) -> list[str]:
    """The command as root may run it: unchanged if only root could have created its program, else
    with the rights of the user who could.
    """
    try:
        user = stranger(command[0])
    except OSError:
        # It cannot be run either; running it will report that.
        return command
    return as_user.command_as_user(command, *user) if user else command


def hand_over(program: str, *paths: str) -> None:
    """Give our files to the user that a program is run as; see trusted_command()."""
    try:
        user = stranger(program)
    except OSError:
        return
    if user:
        for path in paths:
            os.chown(path, user.uid, user.gid)
