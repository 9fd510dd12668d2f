# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a server writes its error log, and the log's present end: a later read begins there."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.types.shapes import ErrorLog, Variables

# Names for the server's standard error, which goes to its unit's journal: MariaDB's, MySQL's.
STANDARD_ERROR = ("", "stderr")
# The component that writes the file on MySQL 8.0 and later ("The Error Log", log_error_services).
WRITES_FILE = "log_sink_internal"


def read_error_log(variables: Variables, pid: int | None) -> ErrorLog | None:
    """`error_log` of the RETURN section of semisync_info; None if unknown.

    Args:
        variables: the server's log_error, log_error_services, datadir.
        pid: its process, None if that is not on this host.
    """
    name, sinks = variables.get("log_error"), variables.get("log_error_services")
    if pid is None or name is None or (sinks is not None and WRITES_FILE not in sinks):
        return None
    place: ErrorLog = {
        "path": "",
        "inode": None,
        "size": None,
        "at": time.time(),
    }
    if name not in STANDARD_ERROR:
        place["path"] = os.path.join(variables.get("datadir") or "/", name)
        with contextlib.suppress(OSError):
            seen = os.stat(place["path"])
            place["inode"], place["size"] = seen.st_ino, seen.st_size
    return place
