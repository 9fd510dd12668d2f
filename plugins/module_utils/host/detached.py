# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A process that outlives the module, or the task, that starts it.

It belongs to init, is in a session and a group of its own, and has none of the files that Ansible
waits on. Ansible's own async needs eight remote executions for the same.
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
    """The new process's end of a pipe, by which it says that it is ready. Without that word, the
    wait for it ends when the pipe is closed.
    """

    def __init__(self, number: int) -> None:
        self.number: int | None = number

    def ready(self) -> None:
        """Say it; the first time counts.

        Raises:
            OSError: the one that waited for it is gone.
        """
        if self.number is not None:
            os.write(self.number, READY)
            self.close()

    def close(self) -> None:
        if self.number is not None:
            os.close(self.number)
            self.number = None


def start(work: Callable[[], Any], keep: Collection[int] | None, complaint: str = "") -> None:
    """Start a process that does the work and ends. When this returns, init has it, and signals to
    the session and the group of the one that starts it do not reach it.

    Args:
        work: what it does.
        keep: the numbers of the open files that it keeps; None for all but the standard ones, and
            the folder that it is in, for work that uses the connections of the one that starts it.
        complaint: what to write to the host's log if the work fails, before the error; without it
            nothing is written.

    Raises:
        OSError: no process could be started.
    """
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setsid()
            # The second fork gives the process to init.
            if os.fork() == 0:
                run(work, keep, complaint)
            status = 0
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1]:
        raise OSError("no process could be started that outlives this one")


def start_and_wait(
    work: Callable[[Starting], Any],
    keep: Collection[int] | None,
    seconds: float | None = None,
) -> bool:
    """start() a process, and wait until it is ready.

    Args:
        work: what it does; it calls ready() of its argument, or close() if it never will be.
        seconds: how long to wait; None for as long as the process lives.

    Returns:
        whether it is ready.

    Raises:
        OSError: no process could be started.
    """
    read_end, write_end = os.pipe()

    def begin() -> None:
        # Its own copy would keep ready() from failing after the wait is over.
        os.close(read_end)
        work(Starting(write_end))

    try:
        try:
            start(begin, None if keep is None else [read_end, write_end, *keep])
        finally:
            os.close(write_end)
        readable = select.select([read_end], [], [], seconds)[0]
        return bool(readable) and os.read(read_end, 1) == READY
    finally:
        os.close(read_end)


def run(work: Callable[[], Any], keep: Collection[int] | None, complaint: str) -> None:
    """What the new process does before it ends."""
    try:
        let_go(keep)
        work()
    except Exception as error:  # nothing else would hear of it
        if complaint:
            complain(f"{complaint}: {error}")


def let_go(keep: Collection[int] | None) -> None:
    """Let go of the group, of the standard files, and of what is not kept."""
    # Work that ends its whole group must not end the process between, whose end is waited for.
    os.setpgid(0, 0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(FIRST):
        os.dup2(nothing, number)
    if nothing >= FIRST:
        os.close(nothing)
    if keep is None:
        return
    os.chdir("/")
    # The C library would write to the number of the log's socket, whatever has it next.
    syslog.closelog()
    first = FIRST
    for number in sorted(keep):
        os.closerange(first, number)
        first = max(first, number + 1)
    os.closerange(first, LIMIT)


def complain(words: str) -> None:
    """A line in the host's log, of a process without another place to write to."""
    with contextlib.suppress(Exception):  # what it was started for is more than a line
        syslog.openlog("dbre.semisync", syslog.LOG_PID, syslog.LOG_DAEMON)
        syslog.syslog(syslog.LOG_ERR, " ".join(words.split()))
