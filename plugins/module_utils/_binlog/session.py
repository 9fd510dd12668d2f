# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the events of a binary log say about the sessions that executed their statements."""

from __future__ import annotations

import re
import struct

from ansible_collections.dbre.semisync.plugins.module_utils._binlog.events import (
    EventError,
    UnknownError,
)

# What of a session's state is in an event: number -> how many bytes.
FIXED = {
    0: 4,
    1: 8,
    3: 4,
    4: 6,
    7: 2,
    8: 2,
    9: 8,
    10: 4,
    13: 3,
}
FIXED.update(
    {
        14: 8,
        15: 8,
        16: 1,
        17: 8,
        18: 2,
        19: 1,
        20: 1,
        128: 3,
        129: 8,
        130: 2,
    }
)
CHARSET, TIME_ZONE, DATABASE_CHARSET, INVOKER = 4, 5, 8, 11
OF_ZONE = re.compile(rb"[\w/+:. -]*\Z", re.ASCII)
# What names its definer, and what is about accounts that it names; what depends on who gives it.
DEFINED = re.compile(
    rb"\s*CREATE\s+(OR\s+REPLACE\s+)?(ALGORITHM\s*=\s*\w+\s+)?DEFINER\s*=", re.IGNORECASE
)
# The numbers of collations of UTF-8; what is logged as the client wrote it.
UTF_8 = frozenset(
    [
        33,
        45,
        46,
        76,
        83,
        *range(192, 248),
        *range(255, 324),
    ]
)
OF_DATA = re.compile(rb"\s*(INSERT|UPDATE|DELETE|REPLACE)\b", re.IGNORECASE)
OF_ACCOUNTS = re.compile(
    rb"\s*(GRANT|REVOKE|DROP|SET|(CREATE|ALTER|RENAME)\s+USER)\b", re.IGNORECASE
)
OF_INVOKER = re.compile(rb"\b(EVENT|VIEW|TRIGGER|PROCEDURE|FUNCTION|ROLE)\b", re.IGNORECASE)
INVOKER_SAID = re.compile(rb"\b(CURRENT_USER|SESSION_USER|SYSTEM_USER|USER\s*\()", re.IGNORECASE)


class Session:
    """What an event says about its session.

    Raises:
        EventError: the event is cut off.
    """

    def __init__(self, state: bytes) -> None:
        self.charset = self.database_charset = 0
        self.invoker: tuple[bytes, bytes] | None = None
        place = 0
        while place < len(state):
            code, place = state[place], place + 1
            try:
                place = self.take(code, state, place)
            except (IndexError, ValueError, struct.error) as error:
                raise EventError("the session data of a statement are cut off") from error
            if not place:
                # Everything after this is newer than what we need.
                break
        if place > len(state):
            raise EventError("the session data of a statement are cut off")

    def take(
        self,
        code: int,
        state: bytes,
        place: int,
    ) -> int:
        """Take one value; return the offset of the next, or 0 if this one is not known."""
        if code in FIXED:
            if code == CHARSET:
                (self.charset,) = struct.unpack_from("<H", state, place)
            elif code == DATABASE_CHARSET:
                (self.database_charset,) = struct.unpack_from("<H", state, place)
            return place + FIXED[code]
        if code == 2:
            return place + state[place] + 2
        if code in (TIME_ZONE, 6):
            name, place = counted(state, place)
            if code == TIME_ZONE and not OF_ZONE.match(name):
                raise UnknownError("a statement has an invalid time zone name")
            return place
        if code == INVOKER:
            user, place = counted(state, place)
            host, place = counted(state, place)
            self.invoker = user, host
            return place
        if code == 12:
            # The schemas that it changed; 254 are too many to say.
            count, place = state[place], place + 1
            for _number in range(0 if count == 254 else count):
                place = state.index(b"\0", place) + 1
            return place
        return 0

    def problem(self, text: bytes) -> str:
        """Why a statement cannot be executed again as it was."""
        if not self.invoker or not self.invoker[0] or DEFINED.match(text):
            return ""
        if INVOKER_SAID.search(text) or (OF_INVOKER.search(text) and not OF_ACCOUNTS.match(text)):
            return "a statement that depends on its user (CURRENT_USER)"
        return ""

    def is_rewritten(self, text: bytes) -> bool:
        """Whether a MySQL server may have put names in UTF-8 into a text of another character set,
        as it does in definitions. Then the character set of no letter is known.
        """
        return max(text, default=0) > 127 and self.charset not in UTF_8 and not OF_DATA.match(text)

    def use(self, schema: bytes) -> list[bytes]:
        """The statements that choose a schema as it was chosen."""
        made = [b"USE " + quoted(schema)]
        if max(schema) > 127:
            # Names are UTF-8, whatever the client spoke.
            made = [
                b"SET @@session.character_set_client=33",
                *made,
                b"SET @@session.character_set_client=%d" % self.charset,
            ]
        if self.database_charset:
            made.append(b"SET @@session.collation_database=%d" % self.database_charset)
        return made


def named(body: bytes, place: int) -> tuple[bytes, int]:
    """(a name with its length before it and a zero after it, where the next one is)."""
    name, place = counted(body, place)
    if len(body) <= place or body[place]:
        raise EventError("a table's name has no end")
    return name, place + 1


def counted(data: bytes, place: int) -> tuple[bytes, int]:
    """(bytes with their number before them, where the next ones are)."""
    end = place + 1 + data[place]
    if end > len(data):
        raise IndexError
    return data[place + 1 : end], end


def quoted(name: bytes) -> bytes:
    return b"`%s`" % name.replace(b"`", b"``")
