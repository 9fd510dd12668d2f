# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A process that outlives the module or task that starts it.

Its parent is init, it has its own session and process group, and none of the files that Ansible
waits for. Ansible's own async needs eight remote executions for the same.
"""

from __future__ import annotations

import contextlib
import os
import select
import syslog
from collections.abc import Callable, Collection
from typing import Any

READY = b"r"
# Above the three standard files, up to the usual limit of a process.
FIRST, LIMIT = 3, 1024


class Starting:
    """The new process's end of a pipe, by which it reports that it is ready. If it does not, the
    wait ends when the pipe is closed.
    """

    def __init__(self, number: int) -> None:
        self.number: int | None = number

    def ready(self) -> None:
        """Report it; only the first call counts.

        Raises:
            OSError: the process that waited is gone.
        """
        if self.number is not None:
            os.write(self.number, READY)
            self.close()

    def close(self) -> None:
        if self.number is not None:
            os.close(self.number)
            self.number = None


def start_detached(
    work: Callable[[], Any], keep: Collection[int] | None, complaint: str = ""
) -> None:
    """Start a process that does the work and ends. When this returns, init is its parent, and
    signals to the caller's session and group do not reach it.

    Args:
        work: what it does.
        keep: the numbers of the open files that it keeps; None for all but the standard ones, and
            the current folder, for work that uses the caller's connections.
        complaint: what to write to the host's log before the error if the work fails; without it
            nothing is written.

    Raises:
        OSError: no detached process could be started.
    """
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setsid()
            # The second fork gives the process to init.
            if os.fork() == 0:
                run_and_exit(work, keep, complaint)
            status = 0
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1]:
        raise OSError("no detached process could be started")


def start_and_wait(
    work: Callable[[Starting], Any],
    keep: Collection[int] | None,
    seconds: float | None = None,
) -> bool:
    """start_detached() a process, and wait until it is ready.

    Args:
        work: what it does; it calls ready() of its argument, or close() if it never will be.
        seconds: how long to wait; None for as long as the process lives.

    Returns:
        whether it is ready.

    Raises:
        OSError: no detached process could be started.
    """
    read_end, write_end = os.pipe()

    def begin() -> None:
        # With this copy open, ready() would not fail after the wait is over.
        os.close(read_end)
        work(Starting(write_end))

    try:
        try:
            start_detached(begin, None if keep is None else [read_end, write_end, *keep])
        finally:
            os.close(write_end)
        readable = select.select([read_end], [], [], seconds)[0]
        return bool(readable) and os.read(read_end, 1) == READY
    finally:
        os.close(read_end)


def run_and_exit(work: Callable[[], Any], keep: Collection[int] | None, complaint: str) -> None:
    """What the new process does before it ends."""
    try:
        let_go(keep)
        work()
    except Exception as error:  # nothing else would hear of it
        if complaint:
            complain(f"{complaint}: {error}")


def let_go(keep: Collection[int] | None) -> None:
    """Leave the group, and close the standard files and those that are not kept."""
    # Work that kills its whole group must not kill the intermediate process, which the caller waits
    # for.
    os.setpgid(0, 0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(FIRST):
        os.dup2(nothing, number)
    if nothing >= FIRST:
        os.close(nothing)
    if keep is None:
        return
    os.chdir("/")
    # The C library would write to the file number of the log's socket, whatever file has it next.
    syslog.closelog()
    first = FIRST
    for number in sorted(keep):
        os.closerange(first, number)
        first = max(first, number + 1)
    os.closerange(first, LIMIT)


def complain(words: str) -> None:
    """Write a line to the host's log, for a process without another output."""
    with contextlib.suppress(Exception):  # its work matters more than a log line
        syslog.openlog("dbre.semisync", syslog.LOG_PID, syslog.LOG_DAEMON)
        syslog.syslog(syslog.LOG_ERR, " ".join(words.split()))
