# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep writers out of a source: end long transactions, then run the statement that may hang, then
end the sessions that it does not keep out.
"""

from __future__ import annotations

import threading
import time

from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    locks,
    role_statements,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.client_sessions import (
    NEVER_ENDED,
    Session,
    long_transactions,
    privileged_users,
    sessions_text,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import text

# How many times the source's position must read the same, and the seconds in between.
READINGS, READING_PAUSE = 3, 0.002
POLL_SECONDS = 0.1
# Seconds that a killed statement may take to end.
KILLED_SECONDS = 5
# ER_NO_SUCH_THREAD: it has ended already.
NO_SUCH_THREAD = 1094


class FrozenError(Exception):
    """Writers could not be kept out in time; the text says what it may have waited for."""


def kill(server: Server, number: int, what: str = "") -> None:
    """End a session, or only its statement, as `what` says."""
    try:
        server.rows(f"KILL {what}{number}")
    except ServerError as error:
        if error.number != NO_SUCH_THREAD:
            raise


def drain(server: Server, seconds: float, then: str) -> tuple[list[Session], float]:
    """Wait until no long transaction is left.

    Args:
        then: what to do with those that are left: kill or refuse.

    Returns:
        (those that were ended or are left, how long was waited).
    """
    begin = time.monotonic()
    while True:
        left = long_transactions(server)
        if not left or time.monotonic() - begin >= seconds:
            break
        time.sleep(POLL_SECONDS)
    if then == "kill":
        for one in left:
            kill(server, one["id"])
    return left, time.monotonic() - begin


def end_statement(other: Server, number: int, thread: threading.Thread) -> str:
    """End a session's statement, or the session if that does not help.

    Returns:
        What was in progress at that time, in words.
    """
    waiting = sessions_text(busy(other, number))
    kill(other, number, "QUERY ")
    thread.join(KILLED_SECONDS)
    if thread.is_alive():
        kill(other, number)
        thread.join(KILLED_SECONDS)
    return waiting


def freeze(
    server: Server,
    other: Server,
    names: Names,
    seconds: float,
) -> str:
    """Keep writers out; return the statement that did it.

    It waits for every commit in progress, and so for acknowledgements that may not come (MySQL bug
    96644). It runs in a separate thread, and is ended on timeout.

    Args:
        server: the connection that freezes.
        other: one that ends it.

    Raises:
        FrozenError: the timeout passed; writers are let in again.
        ServerError: the server refuses it.
    """
    statement, errors = role_statements.freeze_statement(names), []

    def work() -> None:
        try:
            server.rows(statement)
        except ServerError as error:
            errors.append(error)

    number = connection_id(server)
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        waiting = end_statement(other, number, thread)
        raise FrozenError(
            f"{statement} did not end within {seconds:.0f} s"
            + (f"; at that time there was {waiting}" if waiting else "")
        )
    if errors:
        raise errors[0]
    return statement


def connection_id(server: Server) -> int:
    return int(server.rows("SELECT CONNECTION_ID() AS id")[0]["id"])


def busy(server: Server, but: int) -> list[Session]:
    """Sessions that are not idle."""
    return [
        {"id": int(row["Id"]), "user": text(row["User"]), "seconds": int(row["Time"] or 0)}
        for row in server.rows("SHOW PROCESSLIST")
        if text(row["Command"]) in ("Query", "Execute")
        and int(row["Id"]) != but
        and text(row["User"]) not in NEVER_ENDED
        and "SHOW PROCESSLIST" not in text(row["Info"] or "")
    ]


def end_privileged(server: Server, keep: list[int]) -> list[Session]:
    """End the sessions that read_only does not keep out; return them.

    Args:
        keep: our own.
    """
    users = privileged_users(server)
    ended: list[Session] = []
    for row in server.rows("SHOW PROCESSLIST"):
        number, user = int(row["Id"]), text(row["User"])
        command = text(row["Command"])
        if (
            user in users
            and number not in keep
            and user not in NEVER_ENDED
            and not command.startswith(("Binlog Dump", "Daemon", "Slave"))
        ):
            kill(server, number)
            ended.append({"id": number, "user": user, "seconds": int(row["Time"] or 0)})
    return ended


def stand_still(server: Server, names: Names, seconds: float) -> str:
    """The position of a frozen server, once several readings agree.

    Raises:
        FrozenError: the position still changes.
    """
    deadline, alike, last = time.monotonic() + seconds, 0, ""
    while alike < READINGS:
        seen = locks.flags_of_part(server, "", (), names.logged_position).position
        alike, last = (alike + 1 if alike and seen == last else 1), seen
        # A position that settles at the last moment counts as settled.
        if alike < READINGS and time.monotonic() >= deadline:
            raise FrozenError("its position still changes although writers are kept out")
        time.sleep(READING_PAUSE)
    return str(last)
