# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Attempts at what a server may not answer yet."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError

Value = TypeVar("Value")


def try_again(seconds: float, attempt: Callable[[], Value], pause: float = 0.2) -> Value:
    """Repeat an attempt until it succeeds or time is up; return its result.

    Raises:
        ServerError: the last one's.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            return attempt()
        except ServerError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(pause)
