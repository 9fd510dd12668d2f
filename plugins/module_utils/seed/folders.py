# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folders of a data directory that is replaced with a copy."""

from __future__ import annotations

import os

# Where a copy lies until it is whole, beside the data directory or in it.
WORK = "dbre-semisync-seed"
# What a copy never replaces in a data directory.
KEPT = ("lost+found", WORK)


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


def move(source: str, target: str) -> None:
    """Every entry of a folder into another on the same file system."""
    for name in sorted(os.listdir(source)):
        if name not in KEPT:
            os.rename(os.path.join(source, name), os.path.join(target, name))
