# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The events of a binary log file: found by their lengths, checked by their checksums, and unpacked
if they are compressed.

The forms are those of MySQL's and MariaDB's own sources (libs/mysql/binlog/event, sql/log_event.h).
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._binlog import log_file, zstd
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.versions import (
    UnknownServerError,
    identify_version,
)

QUERY, STOP, ROTATE, DESCRIPTION = 2, 3, 4, 15
APPEND_BLOCK, DELETE_FILE, BEGIN_LOAD, EXECUTE_LOAD = 9, 11, 17, 18
INTVAR, RAND, USER_VAR, XID, TABLE_MAP = 5, 13, 14, 16, 19
INCIDENT, HEARTBEAT, IGNORABLE, ROWS_QUERY = 26, 27, 28, 29
TRANSACTION_CONTEXT, VIEW_CHANGE, HEARTBEAT_2 = 36, 37, 41
GTID, ANONYMOUS, PREVIOUS_GTIDS, XA_PREPARE = 33, 34, 35, 38
PAYLOAD, TAGGED_GTID = 40, 42
ANNOTATE, CHECKPOINT, MARIADB_GTID, GTID_LIST, QUERY_COMPRESSED = 160, 161, 162, 163, 165
# From old servers; from current ones; with a partial JSON value; MariaDB's compressed ones.
ROWS = frozenset(
    [
        *range(23, 26),
        *range(30, 33),
        39,
        *range(166, 172),
    ]
)
# Debian 13's MariaDB writes "11.8.6-MariaDB-0+deb13u1 from Debian-log".
SERVER_VERSION = re.compile(rb"(\d+\.\d+\.\d+[ -~]*)\0*\Z")
SIZE = struct.Struct("<I")
# Where they are in an event's header.
LENGTH, FLAGS = 9, 17
# The flag of a file that its server has not closed.
IN_USE = 1
# A server writes none that is longer.
LONGEST = 1 << 30


class EventError(Exception):
    """An event is not valid; the text says why."""


class UnknownError(Exception):
    """An event whose form is not known; the text says which."""


class Event(NamedTuple):
    """One event.

    Attributes:
        kind: its type's number.
        data: with its header and without its checksum.
        flags: of its header.
    """

    kind: int
    data: bytes
    flags: int

    @property
    def body(self) -> bytes:
        return self.data[log_file.HEADER.size :]


class Description(NamedTuple):
    """What the first event of a file says about the others.

    Attributes:
        summed: whether each has a checksum after it.
        heads: by type, less 1: how many bytes are the fixed part after its header.
        names: of the server that wrote it.
    """

    summed: bool
    heads: bytes
    names: Names

    @property
    def mariadb(self) -> bool:
        return self.names.mariadb

    def head(self, kind: int) -> int:
        """The length of the fixed part.

        Raises:
            UnknownError: it is not said.
        """
        if kind > len(self.heads):
            raise UnknownError(f"its file does not describe events of type {kind}")
        return self.heads[kind - 1]


def file_description(event: Event) -> Description:
    """What a file's first event says.

    Raises:
        EventError: it is not a description.
    """
    body = event.body
    match = SERVER_VERSION.match(body[2:52])
    if event.kind != DESCRIPTION or len(body) < 60 or not match or body[56] != 19:
        raise EventError("its first event does not describe the others")
    heads = body[57:-1]
    try:
        names = Names(*identify_version(match.group(1).decode("ascii")))
    except UnknownServerError as error:
        raise UnknownError(f"its file: {error}") from None
    if not names.has_gtid:
        raise UnknownError("it was written by a server that has no GTIDs")
    if body[-1] not in (0, 1):
        raise UnknownError(f"its events have checksums of type {body[-1]}")
    return Description(
        body[-1] == 1,
        heads,
        names,
    )


def parse_event(data: bytes) -> Event:
    """An event from its bytes."""
    _time, kind, _server, _length, _next, flags = log_file.HEADER.unpack_from(data)
    return Event(
        kind,
        data,
        flags,
    )


def joined(data: bytes, summed: bool) -> bytes:
    """An event as it is in a file: with its length put right, and its checksum."""
    whole = len(data) + (4 if summed else 0)
    data = data[:LENGTH] + SIZE.pack(whole) + data[LENGTH + 4 :]
    return data + SIZE.pack(zlib.crc32(data)) if summed else data


def read_events(
    stream: BinaryIO, end: int, begin: int = 4, stop: int | None = None
) -> Iterator[tuple[Event, Description]]:
    """The events of a file, its description first, those of compressed transactions one by one.

    Args:
        end: the length of the file's whole events, in bytes.
        begin: where the first wanted one after the description is.
        stop: where the first one is that is no longer wanted.

    Raises:
        EventError, UnknownError: what is wrong.
    """
    place, known = 4, None
    while place < (end if stop is None else min(end, stop)):
        stream.seek(place)
        head = stream.read(log_file.HEADER.size)
        if len(head) < log_file.HEADER.size:
            raise EventError(f"there is no event at {place}")
        length = log_file.HEADER.unpack(head)[3]
        if not log_file.HEADER.size <= length <= LONGEST or place + length > end:
            raise EventError(f"there is no event at {place}")
        data = head + stream.read(length - len(head))
        if len(data) != length:
            raise EventError(f"there is no event at {place}")
        if known is None:
            event = parse_event(data[:-4])
            known = file_description(event)
            # It has one in any case; the mark was not there when it was made.
            plain = event.data[:FLAGS] + bytes([event.flags & 0xFF & ~IN_USE]) + event.data[18:]
            if known.summed and SIZE.unpack(data[-4:])[0] != zlib.crc32(plain):
                raise EventError("its description has a wrong checksum")
            yield event, known
            place = max(place + length, begin)
            continue
        if known.summed:
            data, summed = data[:-4], data[-4:]
            if SIZE.unpack(summed)[0] != zlib.crc32(data):
                raise EventError(f"the event at {place} has a wrong checksum")
        event = parse_event(data)
        for one in unpacked(event) if event.kind == PAYLOAD else (event,):
            yield one, known
        place += length


def packed(data: bytes, place: int) -> tuple[int, int]:
    """(a number as the protocol encodes it, the offset after it).

    Raises:
        EventError: there is none.
    """
    try:
        first = data[place]
        if first < 251:
            return first, place + 1
        size = {
            252: 2,
            253: 3,
            254: 8,
        }[first]
        if place + 1 + size > len(data):
            raise IndexError
    except LookupError as error:
        raise EventError("a number in it is cut off") from error
    return int.from_bytes(data[place + 1 : place + 1 + size], "little"), place + 1 + size


def unpacked(event: Event) -> Iterator[Event]:
    """The events of a compressed transaction.

    Raises:
        EventError, UnknownError: it cannot be unpacked.
    """
    body, place = event.body, 0
    fields: dict[int, int] = {}
    while True:
        field, place = packed(body, place)
        if not field:
            break
        size, place = packed(body, place)
        fields[field], _end = packed(body, place)
        place += size
    inner, size = body[place:], fields.get(3, 0)
    if len(inner) != fields.get(1) or size > LONGEST:
        raise EventError("a compressed transaction does not have its stated length")
    if fields.get(2) == 0:
        try:
            inner = zstd.decompress(inner, size)
        except zstd.ZstdError as error:
            raise EventError(f"a compressed transaction cannot be unpacked: {error}") from error
        except OSError as error:
            words = f"it has compressed transactions, and libzstd is not installed: {error}"
            raise UnknownError(words) from error
    elif fields.get(2) != 255:
        raise UnknownError(f"it has transactions with compression type {fields.get(2)}")
    place = 0
    while place < len(inner):
        if place + log_file.HEADER.size > len(inner):
            raise EventError("a compressed transaction ends within an event")
        length = log_file.HEADER.unpack_from(inner, place)[3]
        if length < log_file.HEADER.size or place + length > len(inner):
            raise EventError("a compressed transaction ends within an event")
        one = parse_event(inner[place : place + length])
        if one.kind in (PAYLOAD, DESCRIPTION):
            raise UnknownError("a compressed transaction has events that do not belong there")
        yield one
        place += length


def inflated(data: bytes) -> bytes:
    """Unpack what MariaDB has compressed within an event.

    Raises:
        EventError, UnknownError: it cannot be unpacked.
    """
    if not data or data[0] & 0xE0 != 0x80 or data[0] & 0x07 not in (1, 2, 3, 4):
        raise EventError("a compressed event does not begin as one")
    if data[0] & 0x18:
        raise UnknownError("an event is compressed by something other than zlib")
    begin = 1 + (data[0] & 0x07)
    size = int.from_bytes(data[1:begin], "big")
    unpack = zlib.decompressobj()
    try:
        plain = unpack.decompress(data[begin:], size + 1)
    except zlib.error as error:
        raise EventError(f"a compressed event cannot be unpacked: {error}") from error
    if len(plain) != size or not unpack.eof or unpack.unused_data:
        raise EventError("a compressed event does not have its stated length")
    return plain
