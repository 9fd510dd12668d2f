# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The transactions of binary log files, from the output of mysqlbinlog: each with its GTID and the
statements that execute it again.

A statement is bytes: what a client wrote need not be text of any one character set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._binlog import disguise
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.events import EventError

# MySQL says the GTID in a statement, MariaDB in the comment of its event.
MYSQL_GTID = re.compile(rb"SET @@SESSION\.GTID_NEXT= ?'([^']+)'")
EVENT = rb"#\d{6} [ \d]\d:\d\d:\d\d server id \d+  end_log_pos \d+ (?:CRC32 0x[0-9a-f]+ )?\t"
MARIADB_GTID = re.compile(EVENT + rb"GTID (\d+-\d+-\d+)(?!\S)")
# What was known of earlier files where this one began.
MYSQL_BEFORE = re.compile(EVENT + rb"Previous-GTIDs$")
# What a session is set to.
SET = re.compile(rb"(?:/\*M?!\d{5,6} )?SET [^\n`\"\\;]*\Z")
SET_USER = b"SET @`"
# The part of a session's state that mysqlbinlog prints only when it changes.
LASTING = re.compile(rb"(/\*M?!\d+ )?SET @@session\.(?!gtid_seq_no|original_|immediate_)")
BINLOG = re.compile(rb"BINLOG '\n[A-Za-z0-9+/=\n]*'\Z")
XA = re.compile(rb"XA (?:START|END|PREPARE|COMMIT|ROLLBACK) X'[0-9a-f]*',X'[0-9a-f]*',\d+\Z")
# MariaDB logs a table and the rows that one statement made so, and no client can say it so.
FILLED = re.compile(rb"\s*(CREATE|ALTER)\b", re.IGNORECASE)
BEGINS = (b"BEGIN", b"START TRANSACTION")
ENDS = (b"COMMIT", b"ROLLBACK")
# At the end of what can be read of a file.
ADDED_ROLLBACK = b"ROLLBACK /* added by mysqlbinlog */"
ADDED_NEXT = b"SET @@SESSION.GTID_NEXT= 'AUTOMATIC' /* added by mysqlbinlog */"
ANONYMOUS, AUTOMATIC = "ANONYMOUS", "AUTOMATIC"


class TailError(Exception):
    """The printed text is not understood, or cannot be run again; the text says why."""


class Transaction(NamedTuple):
    """One transaction.

    Attributes:
        gtid: as the server that wrote it has it.
        statements: in their order, with what they need of the session before them.
        texts: those among them that clients wrote; all else is the servers'.
    """

    gtid: str
    statements: list[bytes]
    texts: tuple[bytes, ...] = ()


class Statement(NamedTuple):
    """One statement, or a GTID that a comment says (and no text then), or a file's end.

    Attributes:
        text: what is to be said to a server.
        gtid: of the transaction that a comment begins.
        written: where a client wrote it, else None: what gives it its schema, and why it cannot be
            carried out again.
        ends: nothing more is printed of this file.
    """

    text: bytes
    gtid: str = ""
    written: disguise.Text | None = None
    ends: bool = False

    def begins(self) -> str:
        """The GTID of the transaction that begins here, MySQL's word if it has none, or ""."""
        match = None if self.written else MYSQL_GTID.match(self.text)
        return self.gtid or (match.group(1).decode("ascii") if match else "")

    def is_content(self) -> bool:
        """False for what only prepares the session."""
        return bool(self.written) or (not self.text.startswith(SET_USER) and not is_set(self.text))

    def is_end(self) -> bool:
        """Whether it ends a transaction."""
        return not self.written and self.text in ENDS

    def is_begin(self) -> bool:
        """Whether a transaction of several statements begins here."""
        return not self.written and self.text in BEGINS

    def is_rows(self) -> bool:
        """Whether it is rows, or the description of a file."""
        return not self.written and self.text.startswith(b"BINLOG")

    def is_next_file(self) -> bool:
        """Whether it is the description at the beginning of a file. Rows look the same, but are
        within BEGIN.
        """
        return not self.written and self.text.startswith((b"BINLOG", b"ROLLBACK"))


def is_set(text: bytes) -> bool:
    return bool(SET.match(text))


def printed_statements(
    lines: disguise.Lines, comment: Callable[[bytes], object] | None = None
) -> Iterator[Statement]:
    """The statements that mysqlbinlog prints, with the clients' texts put back.

    Args:
        comment: takes each line of its comments, in their order among the statements.

    Raises:
        TailError: one has no end, or is none that mysqlbinlog prints.
    """
    hidden = lines.hidden
    end = b";"
    parts: list[bytes] = []
    try:
        for line in lines:
            if not line:
                if parts:
                    break
                hidden.finished()
                end = b";"
                yield Statement(b"", ends=True)
                continue
            bare = line.rstrip(b"\r\n")
            if not parts:
                if bare.startswith(b"DELIMITER "):
                    end = bare[len(b"DELIMITER ") :].strip()
                    continue
                if bare.startswith(b"#"):
                    if comment:
                        comment(hidden.line(bare))
                    match = MARIADB_GTID.match(bare)
                    if match:
                        yield Statement(b"", match.group(1).decode("ascii"))
                    continue
                if not bare:
                    continue
            if not bare.endswith(end):
                parts.append(line)
                continue
            text = b"".join([*parts, bare[: -len(end)]]).strip()
            parts = []
            # A client's own command, which no server knows.
            if text and not text.startswith(b"/*!\\C") and text != ADDED_ROLLBACK:
                yield understood(text, hidden)
    except EventError as error:
        raise TailError(f"what was printed of it is not what it contains: {error}") from error
    if parts:
        raise TailError(f"a statement is incomplete: {parts[0][:80]!r}")


def understood(text: bytes, hidden: disguise.Disguise) -> Statement:
    """One statement that is printed.

    Raises:
        TailError: it is none that mysqlbinlog prints.
        EventError: see Disguise.
    """
    written = hidden.text(text)
    if written:
        return Statement(written.text, written=written)
    if text.startswith(SET_USER):
        return Statement(hidden.variable(text))
    if BINLOG.match(text):
        return Statement(hidden.rows(text))
    if text == ADDED_NEXT or is_set(text) or text in (*BEGINS, *ENDS) or XA.match(text):
        return Statement(text)
    raise TailError(f"it was printed with an unknown statement: {text[:80]!r}")


class Reader:
    """Transactions out of statements.

    Args:
        wanted: whether a GTID is one of those that are to be carried out again.

    Attributes:
        torn: the GTID of a transaction that the log ends within, or "".
        seen: how many there were that are whole, wanted or not.
    """

    def __init__(self, wanted: Callable[[str], bool]) -> None:
        self.wanted = wanted
        self.torn, self.seen = "", 0
        # What the session needs before the next one that is wanted: of files, and of those that
        # were passed over, by what it sets.
        self.ahead: list[bytes] = []
        self.lasting: dict[bytes, bytes] = {}
        # The transaction that is being read, what comes after it and is of the next, and how far it
        # is.
        self.gtid = ""
        self.own: list[bytes] = []
        self.texts: list[bytes] = []
        self.problem = ""
        self.behind: list[bytes] = []
        self.within = self.whole = False

    def read(
        self, lines: disguise.Lines, comment: Callable[[bytes], object] | None = None
    ) -> Iterator[Transaction]:
        """The wanted transactions that are complete, in order.

        Args:
            comment: takes each line of the comments.

        Raises:
            TailError: it is not understood, or has what cannot be carried out again.
        """
        for one in printed_statements(lines, comment):
            gtid = one.begins()
            if gtid.upper() == ANONYMOUS:
                raise TailError("it has transactions without GTIDs")
            if one.ends or gtid.upper() == AUTOMATIC:
                # At the end of a file, or of what can be read of it.
                yield from self.finished(cut=True)
                self.ahead += [one.text] if one.text else []
                self.behind = []
            elif gtid:
                yield from self.finished()
                self.gtid, self.own = gtid, [*self.behind, *([one.text] if one.text else [])]
                self.behind = []
            else:
                if self.whole and one.is_next_file():
                    yield from self.finished()
                self.take(one)
        yield from self.finished(cut=True)

    def take(self, one: Statement) -> None:
        """Take a statement without a GTID.

        Raises:
            TailError: it has no place here.
        """
        if not self.gtid:
            if one.is_content() and not one.is_next_file():
                raise TailError(f"it has a statement outside any transaction: {one.text[:80]!r}")
            if not one.text.startswith(b"ROLLBACK"):
                self.ahead.append(one.text)
        elif self.whole:
            if one.is_content():
                raise TailError(f"{self.gtid} continues after its end: {one.text[:80]!r}")
            self.behind.append(one.text)
        else:
            if one.written:
                self.own += one.written.ahead
                self.texts.append(one.text)
                problem = one.written.problem
                if not problem and BEGINS[1] in self.own and FILLED.match(one.text):
                    problem = "a statement that made a table and filled it"
                if problem and not self.problem:
                    said = b" ".join(one.text.split()[:2]).decode("utf-8", "replace")
                    self.problem = f"{problem} ({said} …)"
            self.own.append(one.text)
            if one.is_content():
                self.go_on(one)

    def go_on(self, one: Statement) -> None:
        """Add a statement to the transaction, and update its state.

        Raises:
            TailError: it is of XA.
        """
        if one.text.upper().startswith(b"XA "):
            raise TailError(f"{self.gtid} is of an XA transaction, which only its client can end")
        if self.within:
            self.whole = one.is_end()
        elif one.is_begin():
            self.within = True
        else:
            # A statement that is a whole transaction.
            self.whole = True

    def finished(self, cut: bool = False) -> Iterator[Transaction]:
        """End the transaction, and yield it if it is wanted: something else follows.

        Args:
            cut: whether the log may end here.

        Raises:
            TailError: it has no end.
        """
        if self.torn and self.gtid:
            raise TailError(f"{self.torn} has no end, and {self.gtid} follows")
        if self.gtid and not self.whole:
            if not cut:
                raise TailError(f"{self.gtid} has no end, and something else follows")
            self.torn = self.gtid
        elif self.gtid:
            self.seen += 1
            if self.wanted(self.gtid):
                if self.problem:
                    raise TailError(f"{self.gtid} has {self.problem}")
                every = [
                    *self.ahead,
                    *self.lasting.values(),
                    *self.own,
                ]
                yield Transaction(
                    self.gtid,
                    every,
                    tuple(self.texts),
                )
                self.ahead, self.lasting = [], {}
            else:
                for text in filter(LASTING.match, self.own):
                    self.lasting[text.partition(b"=")[0]] = text
        self.gtid, self.own, self.texts, self.problem = "", [], [], ""
        self.within = self.whole = False
