# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A binary log's events in disguise: mysqlbinlog prints nothing that a client chose. Each text of a
client is replaced by a number before, and put back from the file afterwards.

So what is printed can be cut into statements, and no client has a say in where.
"""

from __future__ import annotations

import base64
import re
import secrets
import struct
from collections import deque
from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._binlog import events, log_file
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.events import (
    Description,
    Event,
    EventError,
    UnknownError,
)
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.session import (
    Session,
    named,
    quoted,
)

HEAD = log_file.HEADER.size
# Statements about transactions that the servers themselves write; mysqlbinlog must see them.
OWN = (b"BEGIN", b"COMMIT", b"ROLLBACK")
# A text's number, as a statement; a name's, between quotes.
NUMBER = re.compile(rb"DO (\d+)\Z")
SET_USER = re.compile(rb"SET @`(\d+)`:=(.*)\Z", re.DOTALL)
LINE = 76
# Of an event's header: it depends on its client's session; no USE before it.
OF_THREAD, NO_USE, MAY_IGNORE = 0x4, 0x8, 0x80
CONTROL = re.compile(rb"[\0-\x1f\x7f]")
# It drops no other if there are no temporary tables: of each its server said what it was.
DROPS = re.compile(rb"\s*DROP\b", re.IGNORECASE)
ASKS_SCHEMA = re.compile(rb"\b(DATABASE|SCHEMA)\b[^\w`'\"]*\(", re.IGNORECASE)
SKIPPED = frozenset(
    [
        *(events.STOP, events.ROTATE, events.HEARTBEAT, events.HEARTBEAT_2, events.IGNORABLE),
        *(events.ROWS_QUERY, events.ANNOTATE, events.TRANSACTION_CONTEXT, events.VIEW_CHANGE),
        *(events.BEGIN_LOAD, events.APPEND_BLOCK, events.DELETE_FILE),
    ]
)
# Numbers and bytes of the server, which mysqlbinlog prints as such.
KEPT = events.ROWS | {
    *(events.INTVAR, events.RAND, events.XID, events.GTID, events.ANONYMOUS),
    *(events.PREVIOUS_GTIDS, events.XA_PREPARE, events.TAGGED_GTID, events.CHECKPOINT),
    *(events.MARIADB_GTID, events.GTID_LIST),
}
REAL = 1


class Text(NamedTuple):
    """What a client wrote.

    Attributes:
        text: the statement.
        ahead: statements that give it the schema it was written in.
        problem: why it cannot be run again unchanged, or "".
    """

    text: bytes
    ahead: list[bytes]
    problem: str


class Variable(NamedTuple):
    """A variable of a client's.

    Attributes:
        name: of any bytes.
        value: the text to write, if mysqlbinlog would not write all of it.
    """

    name: bytes
    value: bytes


class Disguise:
    """The texts that were replaced, by their numbers. One thread replaces, another puts back.

    Args:
        skips: whether mysqlbinlog was called with options that leave transactions out.
        token: a value that no client could know when it chose a name.
    """

    def __init__(
        self,
        skips: bool = False,
        token: str = "",
    ) -> None:
        self.skips = skips
        self.token = (token or secrets.token_hex(16)).encode("ascii")
        # By number, in their order: a statement, or a variable's name and its value.
        self.taken: deque[tuple[int, Text | Variable]] = deque()
        self.made = 0
        self.tables: dict[bytes, bytes] = {}
        self.words: dict[bytes, bytes] = {}
        self.used_schema = False

    def copy(
        self, stream: BinaryIO, end: int, begin: int = 4, stop: int | None = None
    ) -> Iterator[bytes]:
        """The pieces of a file that can be printed; see events.read_events().

        Raises:
            EventError, UnknownError: what is wrong.
        """
        yield log_file.PLAIN
        for event, known in events.read_events(
            stream,
            end,
            begin,
            stop,
        ):
            if event.kind == events.DESCRIPTION:
                open_mark = bytes([event.data[events.FLAGS] & ~events.IN_USE])
                data = event.data[: events.FLAGS] + open_mark + event.data[events.FLAGS + 1 :]
                yield events.joined(data, True)
                continue
            plain = self.plain(event, known)
            if plain:
                yield events.joined(plain, known.summed)

    def plain(
        self,
        event: Event,
        known: Description,
    ) -> bytes:
        """An event without what a client chose; nothing if it is not printed.

        Raises:
            EventError, UnknownError: what is wrong.
        """
        if event.kind in KEPT:
            return event.data
        if event.kind in (events.QUERY, events.QUERY_COMPRESSED, events.EXECUTE_LOAD):
            return self.query(event, known)
        if event.kind == events.TABLE_MAP:
            return self.table(event, known)
        if event.kind == events.USER_VAR:
            return self.user_variable(event)
        if event.kind in SKIPPED or event.flags & MAY_IGNORE:
            return b""
        if event.kind == events.INCIDENT:
            raise UnknownError("its server recorded that something is missing in it (an incident)")
        raise UnknownError(f"it has an event of type {event.kind}")

    def query(
        self,
        event: Event,
        known: Description,
    ) -> bytes:
        """A statement, whose text becomes a number."""
        body, head = event.body, known.head(event.kind)
        if head < 13 or len(body) < head:
            raise EventError("a statement is shorter than its form")
        of_schema, error, of_state = struct.unpack_from("<BHH", body, 8)
        state = body[head : head + of_state]
        begin = head + of_state + of_schema + 1
        if len(body) < begin or body[begin - 1]:
            raise EventError("a statement is shorter than its form")
        schema, text = body[head + of_state : begin - 1], body[begin:]
        if event.kind == events.QUERY_COMPRESSED:
            text = events.inflated(text)
        session = Session(state)
        if text not in OWN:
            rewritten = not known.mariadb and session.is_rewritten(text)
            text = self.hidden(
                event,
                error,
                session,
                schema,
                text,
                rewritten,
            )
        flags = struct.pack("<H", event.flags | NO_USE)
        data = event.data[:4] + bytes([events.QUERY]) + event.data[5 : events.FLAGS] + flags
        return data + body[:8] + b"\0" + body[9:13] + state + b"\0" + text

    def hidden(
        self,
        event: Event,
        error: int,
        session: Session,
        schema: bytes,
        text: bytes,
        rewritten: bool,
    ) -> bytes:
        """A statement that has only the number of a client's statement."""
        problem = session.problem(text)
        if event.kind == events.EXECUTE_LOAD:
            problem = "a statement that loads a file which is not available here"
        elif rewritten:
            problem = "a definition with characters of a client that does not use UTF-8"
        elif error:
            problem = f"a statement that ended with error {error} where it was written"
        elif event.flags & OF_THREAD and not DROPS.match(text):
            problem = "a statement on temporary tables, which do not exist here"
        uses = bool(schema) and not event.flags & NO_USE
        if not uses and self.used_schema and ASKS_SCHEMA.search(text):
            problem = "a statement that depends on its default schema, and had none"
        self.used_schema = self.used_schema or uses
        return b"DO %d" % self.take(Text(text, session.use(schema) if uses else [], problem))

    def take(self, what: Text | Variable) -> int:
        """Keep it, and return its number."""
        self.made += 1
        self.taken.append((self.made, what))
        return self.made

    def table(
        self,
        event: Event,
        known: Description,
    ) -> bytes:
        """A table's names; only such as could be taken for a line of its own are replaced."""
        body, head = event.body, known.head(event.kind)
        try:
            schema, place = named(body, head)
            table, place = named(body, place)
        except IndexError as error:
            raise EventError("a table's name is cut off") from error
        if not CONTROL.search(schema + table):
            return event.data
        replaced = b"".join(
            bytes([len(word)]) + word + b"\0" for word in (self.word(schema), self.word(table))
        )
        data = event.data[:HEAD] + body[:head] + replaced + body[place:]
        self.tables[data[HEAD:]] = event.data[HEAD:]
        return data

    def word(self, name: bytes) -> bytes:
        """The replacement for a table's or a schema's name."""
        if not CONTROL.search(name):
            return name
        if name not in self.words:
            # No longer than a name may be.
            self.words[name] = b"%s_%d" % (self.token, len(self.words))
        return self.words[name]

    def user_variable(self, event: Event) -> bytes:
        """A variable of a client's, whose name becomes a number."""
        body = event.body
        try:
            (size,) = events.SIZE.unpack_from(body)
            name, rest = body[4 : 4 + size], body[4 + size :]
            kind = REAL if not rest[0] and rest[1] == REAL else 0
            # mysqlbinlog prints fourteen digits of it.
            value = b"%r" % struct.unpack_from("<d", rest, 10) if kind else b""
            value += b"e0" if value and b"e" not in value else b""
        except (IndexError, struct.error) as error:
            raise EventError("a variable is cut off") from error
        if value and not re.match(rb"-?\d", value):
            raise UnknownError("a variable has a number that cannot be written as a literal")
        number = b"%d" % self.take(Variable(name, value))
        return event.data[:HEAD] + events.SIZE.pack(len(number)) + number + rest

    # And back

    def text(self, printed: bytes) -> Text | None:
        """The client's statement for a printed placeholder.

        Raises:
            EventError: it is not the next one.
        """
        match = NUMBER.match(printed)
        if not match:
            return None
        what = self.put_back(int(match.group(1)))
        if not isinstance(what, Text):
            raise EventError(f"{printed!r} is no statement")
        return what

    def put_back(self, wanted: int) -> Text | Variable:
        """The text for a number; each number comes once, in order.

        Raises:
            EventError: it is not the next one.
        """
        while self.taken:
            number, what = self.taken.popleft()
            if number == wanted:
                return what
            if number > wanted or not self.skips:
                break
        raise EventError(f"{wanted} is not the next event to be printed")

    def finished(self) -> None:
        """End a file: everything must have been printed, unless transactions are skipped.

        Raises:
            EventError: something is left.
        """
        if self.taken and not self.skips:
            raise EventError(f"{len(self.taken)} statements were not printed")
        self.taken.clear()

    def forget(self) -> None:
        """Forget every text that was not put back yet."""
        self.taken = deque(maxlen=0)

    def variable(self, printed: bytes) -> bytes:
        """The client's variable for a printed placeholder, with its value.

        Raises:
            EventError: it is not the next one.
        """
        match = SET_USER.match(printed)
        what = self.put_back(int(match.group(1))) if match else None
        if not match or not isinstance(what, Variable):
            raise EventError(f"{printed[:80]!r} is no variable")
        return b"SET @%s:=%s" % (quoted(what.name), what.value or match.group(2))

    def rows(self, printed: bytes) -> bytes:
        """Rows as they are printed to be carried out again, with their tables' own names.

        Raises:
            EventError: they are not in that form.
        """
        if not self.tables:
            return printed
        lines = printed.split(b"\n")
        made, place = lines[:1], 1
        while place < len(lines) - 1:
            try:
                size = events.SIZE.unpack_from(base64.b64decode(lines[place]), events.LENGTH)[0]
                count = -(-4 * ((size + 2) // 3) // LINE)
                data = base64.b64decode(b"".join(lines[place : place + count]), validate=True)
            except (ValueError, struct.error) as error:
                raise EventError("rows are not printed as they were written") from error
            if len(data) != size:
                raise EventError("rows are not printed as they were written")
            again = self.original(data)
            if again is data:
                made += lines[place : place + count]
            else:
                made.append(base64.b64encode(again))
            place += count
        return b"\n".join([*made, *lines[place:]])

    def original(self, data: bytes) -> bytes:
        """An event as it was, from its bytes with or without a checksum."""
        if events.parse_event(data).kind != events.TABLE_MAP:
            return data
        for summed in (True, False):
            body = data[HEAD : -4 if summed else None]
            if body in self.tables:
                return events.joined(data[:HEAD] + self.tables[body], summed)
        return data

    def line(self, printed: bytes) -> bytes:
        """A comment about a row, with its table's own name."""
        if self.token not in printed:
            return printed
        for name, word in list(self.words.items()):
            printed = printed.replace(quoted(word), quoted(name))
        return printed


class Lines:
    """What mysqlbinlog prints of events in disguise.

    Args:
        printed: its lines; an empty one is the end of a file.
        hidden: what was taken out.
    """

    def __init__(
        self,
        printed: Iterable[bytes],
        hidden: Disguise,
    ) -> None:
        self.printed, self.hidden = printed, hidden

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.printed)
