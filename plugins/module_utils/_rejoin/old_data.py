# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A former source's old data, kept in a copy beside them before they are replaced."""

from __future__ import annotations

import glob
import os
import shutil
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._host import command
from ansible_collections.dbre.semisync.plugins.module_utils._rejoin.read_only_start import (
    ReadyError,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import RejoinPlan

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

# The free space must hold the old data, and those that replace them.
ROOM = 2.2
# The copy's name until it is complete.
PART = ".part"


def used(folder: str) -> int:
    """The bytes that a folder takes on disk."""
    size = 0
    for path, _folders, names in os.walk(folder):
        size += sum(os.lstat(os.path.join(path, name)).st_blocks * 512 for name in names)
    return size


def copy_aside(module: AnsibleModule, plan: RejoinPlan) -> dict[str, str]:
    """Copy the data of a server that does not run; return where, or why not. A copy that an earlier
    run made since the server lost its role is enough.

    Raises:
        ReadyError: there is room, and the copy failed.
    """
    if not plan.datadir:
        raise ReadyError("it is not known where its data are")
    datadir = os.path.realpath(plan.datadir)
    made = sorted(glob.glob(glob.escape(datadir) + "-kept-*Z"))
    if made and made[-1].rpartition("-kept-")[2] > plan.since:
        return {"kept": made[-1], "not_kept": ""}
    parent, size = os.path.dirname(datadir), used(datadir)
    stat = os.statvfs(parent)
    free = stat.f_bavail * stat.f_frsize
    if free < size * ROOM:
        words = f"{parent} has {free >> 20} MB free, and {int(size * ROOM) >> 20} are needed"
        return {"kept": "", "not_kept": words}
    for left in glob.glob(glob.escape(datadir) + "-kept-*" + PART):
        # Left by an interrupted run.
        shutil.rmtree(left)
    copy = os.path.join(parent, f"{os.path.basename(datadir)}-kept-{plan.run}")
    argv = [
        "cp",
        "--archive",
        "--reflink=auto",
        "--no-target-directory",
        datadir,
        copy + PART,
    ]
    code, _output, errors = command.run(module, argv)
    if code:
        said = " ".join(errors.split())[-300:]
        raise ReadyError(f"its old data could not be copied to {copy}: {said}")
    os.chmod(copy + PART, 0o700)
    os.rename(copy + PART, copy)
    return {"kept": copy, "not_kept": ""}
