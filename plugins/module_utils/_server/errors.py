# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of a server or its driver: one exception class for all drivers."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


class ServerError(Exception):
    """A connection or a statement failed.

    Args:
        error: the driver's exception, whose text and arguments this one has.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(*error.args)
        self.text = str(error)

    def __str__(self) -> str:
        return self.text

    @property
    def number(self) -> int | None:
        """The error number, the server's or the client library's; None if there is none."""
        return self.args[0] if self.args and isinstance(self.args[0], int) else None


# CR_SERVER_LOST (MySQL manual, "Client Error Message Reference").
SERVER_LOST = 2013


@contextlib.contextmanager
def answers_within(seconds: float) -> Iterator[None]:
    """Raise a ServerError if the block takes longer, as with a server that accepts connections but
    never responds; the drivers wait for ever.

    Works only in a process's first thread, if that timer is not in use; elsewhere there is no
    limit.
    """
    first = threading.current_thread() is threading.main_thread()
    if not first or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return

    def give_up(_number: int, _frame: object) -> None:
        words = f"no response within {seconds:g} s, although the connection was accepted"
        raise ServerError(Exception(SERVER_LOST, words))

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def driver_errors() -> Iterator[None]:
    """Any error within becomes a ServerError."""
    try:
        yield
    except ServerError:
        raise
    except Exception as error:  # the drivers share no exception class
        raise ServerError(error) from error
