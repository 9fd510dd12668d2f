# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a binary log file is whole, by the headers of its events: a server that died may have
left the last one unfinished, which is no damage; anything else that does not fit is.

The form is that of every version since MySQL 5.0 and MariaDB 5.0 (MySQL Internals, "Binary Log
Event Header"; MariaDB KB, "2-Binlog Event Header").
"""

from __future__ import annotations

import os
import struct
from typing import BinaryIO, NamedTuple

PLAIN, ENCRYPTED = b"\xfebin", b"\xfdbin"
# Timestamp, type, server_id, size, next position, flags.
HEADER = struct.Struct("<IBIIIH")
# MariaDB writes it after the description of a file whose events are encrypted.
START_ENCRYPTION = 164
# This many bytes at the end of a file may be zeros, if its size reached the disk before its bytes.
ZEROS = 1 << 20


class Whole(NamedTuple):
    """How far a file can be read.

    Attributes:
        end: after its last whole event.
        torn: bytes after that.
        problem: encrypted, damaged, or "".
        words: what was found, if there is a problem.
        kind, time: of its last whole event; kind is None if there is none.
    """

    end: int
    torn: int = 0
    problem: str = ""
    words: str = ""
    kind: int | None = None
    time: int = 0


def walk(stream: BinaryIO) -> Whole:
    """Go over a file's events."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    magic, place = stream.read(4), 4
    last: int | None = None
    then = 0
    if magic == ENCRYPTED:
        return Whole(
            0,
            0,
            "encrypted",
            "its file begins like an encrypted one (binlog_encryption)",
        )
    if magic != PLAIN:
        if PLAIN.startswith(magic):
            return Whole(len(magic))
        return Whole(
            0,
            0,
            "damaged",
            f"it begins with {magic!r}, which no binary log does",
        )
    while place + HEADER.size <= size:
        stream.seek(place)
        moment, kind, _server, length, _next, _flags = HEADER.unpack(stream.read(HEADER.size))
        if kind == START_ENCRYPTION:
            return Whole(
                place,
                0,
                "encrypted",
                "its events are encrypted (encrypt_binlog)",
            )
        if length < HEADER.size:
            rest = size - place
            stream.seek(place)
            if rest <= ZEROS and not stream.read(rest).strip(b"\0"):
                return Whole(
                    place,
                    rest,
                    kind=last,
                    time=then,
                )
            return Whole(
                place,
                0,
                "damaged",
                f"at {place} of {size} there is no event",
            )
        if place + length > size:
            break
        place += length
        last, then = kind, moment
    return Whole(
        place,
        size - place,
        kind=last,
        time=then,
    )
