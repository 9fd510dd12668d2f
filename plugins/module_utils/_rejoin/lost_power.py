# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a host lost power while its server ran: then the end of a binary log that was not synced
is gone, and its rows may be in the tables.
"""

from __future__ import annotations

import time

from ansible_collections.dbre.semisync.plugins.module_utils._binlog import log_access
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.log_files import LogFiles
from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import moment_of
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.traces import (
    kernel_seconds,
)

# What a server writes last in a clean shutdown (MySQL Internals, "Binlog Event Type").
STOP = 3


def lost(files: LogFiles, since: str) -> bool | None:
    """Whether the machine was started since the server that wrote the log ended without a clean
    shutdown; None if unknown.

    Args:
        files: of the server's binary log.
        since: when the server lost its role, as the journal has it; or empty.
    """
    running = kernel_seconds()
    if running is None:
        return None
    booted = time.time() - running
    try:
        seen = cut(log_access.listed(files), booted)
        # What was purged is older than what it wrote since, and than the loss of its role.
        return False if seen is None and since and booted < moment_of(since) else seen
    except (log_access.SalvageError, OSError, ValueError):
        return None


def cut(paths: list[str], booted: float) -> bool | None:
    """The same, of a log's files in their order.

    A recovery writes to a file that it finds, so the time of its last event counts, not its own.

    Args:
        booted: when the machine was started, in seconds since 1970.

    Raises:
        SalvageError: a file cannot be read.
    """
    for path in reversed(paths):
        seen = log_access.walk(path)
        if seen.problem:
            raise log_access.SalvageError(seen.problem, seen.words)
        if seen.kind is not None and seen.time < booted:
            return seen.kind != STOP
    # Everything that is left was written since; what was before may have been purged.
    return False if first_of_all(paths) else None


def first_of_all(paths: list[str]) -> bool:
    """Whether a log begins with the first file that there ever was."""
    return bool(paths) and paths[0].rpartition(".")[2].strip("0") == "1"
