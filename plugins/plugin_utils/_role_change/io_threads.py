# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""While one host reads the rest of a dead source's log, the others keep their IO threads stopped.

A process on each host restarts its IO thread if the run does not come back within a minute, but
reading may take longer. Ansible runs a task on all hosts at the same time, so each host extends its
own minute.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator

from ansible import constants

# Seconds between two signs of life to that process, which waits for a minute; and between two
# looks.
PAUSE, LOOK = 20.0, 0.1
# Seconds until the other host begins: Ansible starts them one after another.
MEET = 10.0


def place(token: str) -> str:
    """The file by which a run's salvage shows that it is working, and that it has ended."""
    return os.path.join(constants.DEFAULT_LOCAL_TMP, f"semisync-salvage-{token}")


@contextlib.contextmanager
def at_work(token: str) -> Iterator[None]:
    """Tell the other hosts that this one reads, and when it has ended."""
    path = place(token)
    for name in (path, path + "-ended"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
    create_empty(path)
    try:
        yield
    finally:
        create_empty(path + "-ended")


def create_empty(path: str) -> None:
    with open(path, "w", encoding="ascii") as stream:
        stream.write("")


def keep_renewing(token: str, renew: Callable[[], object]) -> int:
    """Renew until the other host has ended; returns how often. It stops if that host does not begin
    in time, or if the run is gone.

    Args:
        renew: lets the process on this host wait longer.
    """
    path, parent, count = place(token), os.getppid(), 0
    begin = last = time.monotonic()
    while os.getppid() == parent and not os.path.exists(path + "-ended"):
        now = time.monotonic()
        if now - begin > MEET and not os.path.exists(path):
            break
        if now - last > PAUSE:
            last, count = now, count + 1
            renew()
        time.sleep(LOOK)
    return count
