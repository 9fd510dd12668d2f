# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shapes of the service that applies what a MariaDB replica had received. mypy reads this, and
nothing that runs imports it, as with shapes.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypedDict
else:
    TypedDict = dict


class Received(TypedDict):
    """The service that applies what a MariaDB replica had received (role_change/received_place.py):
    path -> text of its files.
    """

    python: str
    # The system account of the server; empty if it has no name.
    user: str
    files: dict[str, str]
    enabled: bool
    # Whether it is enabled, and none of its files is missing.
    stands: bool
    # Whether another server of the host has the service too.
    shared: bool


class ReceivedOutcome(TypedDict):
    """What that service did at the server's last start."""

    outcome: ReceivedWords
    # The thread that it started; None if there is none. at: the host's clock.
    applier: Thread | None
    at: float


class Thread(TypedDict):
    """A thread, its start in the kernel's ticks, and the kernel by its boot_id."""

    boot: str
    tid: int
    ticks: int


class ReceivedWords(TypedDict):
    """Whether everything that it had received is applied, in words, and how many by position."""

    complete: bool
    words: str
    applied: int
