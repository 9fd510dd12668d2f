# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the files of a binary log are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LogFiles:
    """Where a server has its binary log, and what tells whether the server runs.

    Attributes:
        basename: path of the log's files without their numbers.
        first: name of the first file that is wanted; empty for the log's first.
    """

    basename: str
    datadir: str
    pid_file: str | None = None
    basedir: str | None = None
    program: str | None = None
    first: str = ""
