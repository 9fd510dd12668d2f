# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The transactions of binary log files, out of what mysqlbinlog prints of them: each with its GTID
and the statements that carry it out again.

A statement is bytes: what a client wrote need not be text of any one character set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

# Ends a statement from the line on that says so.
LONG_END = b"/*!*/;"
# MySQL says the GTID in a statement, MariaDB in the comment of its event.
MYSQL_GTID = re.compile(rb"SET @@SESSION\.GTID_NEXT= ?'([^']+)'")
MARIADB_GTID = re.compile(rb"#\d{6} .*\tGTID (\d+-\d+-\d+)")
# What was known of earlier files where this one began.
MYSQL_BEFORE = re.compile(rb"^#\d{6} .*\tPrevious-GTIDs$")
MARIADB_BEFORE = re.compile(rb"#\d{6} .*\tGtid list \[([^]]*)\]")
# What a session is set to; a password or a role is of a client, and a transaction of its own.
SET = re.compile(rb"(/\*M?!\d+ )?SET (?!PASSWORD|DEFAULT |ROLE )", re.IGNORECASE)
# The part of a session's state that mysqlbinlog prints only where it changes.
LASTING = re.compile(rb"(/\*M?!\d+ )?SET @@session\.(?!gtid_seq_no|original_|immediate_)")
BEGINS = (b"BEGIN", b"START TRANSACTION")
ENDS = (b"COMMIT", b"ROLLBACK")
ADDED = b"added by mysqlbinlog"
ANONYMOUS, AUTOMATIC = "ANONYMOUS", "AUTOMATIC"


class TailError(Exception):
    """What was printed is not understood, or cannot be carried out again; the text says why."""


class Transaction(NamedTuple):
    """One transaction.

    Attributes:
        gtid: as the server that wrote it has it.
        statements: in their order, with what they need of the session before them.
    """

    gtid: str
    statements: list[bytes]


class Statement(NamedTuple):
    """One statement, or a GTID that a comment says (and no text then)."""

    text: bytes
    gtid: str = ""

    def begins(self) -> str:
        """The GTID of the transaction that begins here, MySQL's word where it has none, or ""."""
        match = MYSQL_GTID.match(self.text)
        return self.gtid or (match.group(1).decode("ascii") if match else "")


def statements(
    lines: Iterable[bytes], comment: Callable[[bytes], Any] | None = None
) -> Iterator[Statement]:
    """The statements that mysqlbinlog prints.

    Args:
        comment: takes each line of its comments, in their order among the statements.

    Raises:
        TailError: the last one has no end.
    """
    end = b";"
    parts: list[bytes] = []
    for line in lines:
        bare = line.rstrip(b"\r\n")
        if not parts:
            if bare.startswith(b"DELIMITER "):
                end = bare[len(b"DELIMITER ") :].strip()
                continue
            if bare.startswith(b"#"):
                if comment:
                    comment(bare)
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
        if text and not text.startswith(b"/*!\\C"):
            yield Statement(text)
    if parts:
        raise TailError(f"a statement has no end: {parts[0][:80]!r}")


def is_content(text: bytes) -> bool:
    """False for what only prepares the session."""
    return not SET.match(text)


def is_next_file(text: bytes) -> bool:
    """True for the description that a file begins with; rows are told so too, within BEGIN."""
    return text.startswith((b"BINLOG", b"ROLLBACK"))


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
        # The transaction that is being read, what comes behind it and is of the next, and how far
        # it is.
        self.gtid = ""
        self.own: list[bytes] = []
        self.behind: list[bytes] = []
        self.within = self.whole = False

    def read(
        self, lines: Iterable[bytes], comment: Callable[[bytes], Any] | None = None
    ) -> Iterator[Transaction]:
        """The transactions that are wanted and whole, in their order.

        Args:
            comment: takes each line of the comments.

        Raises:
            TailError: it is not understood, or has what cannot be carried out again.
        """
        for one in statements(lines, comment):
            gtid = one.begins()
            if gtid.upper() == ANONYMOUS:
                raise TailError("it has transactions without GTIDs")
            if gtid.upper() == AUTOMATIC:
                # At the end of a file, or of what can be read of it.
                yield from self.finished(cut=True)
                self.ahead.append(one.text)
                self.behind = []
            elif gtid:
                yield from self.finished()
                self.gtid, self.own = gtid, [*self.behind, *([one.text] if one.text else [])]
                self.behind = []
            else:
                if self.whole and is_next_file(one.text):
                    yield from self.finished()
                self.take(one.text)
        yield from self.finished(cut=True)

    def take(self, text: bytes) -> None:
        """One statement that says no GTID.

        Raises:
            TailError: it has no place here.
        """
        if ADDED in text:
            return
        if not self.gtid:
            if is_content(text) and not is_next_file(text):
                raise TailError(f"it has a statement of no transaction: {text[:80]!r}")
            if not text.startswith(b"ROLLBACK"):
                self.ahead.append(text)
        elif self.whole:
            if is_content(text):
                raise TailError(f"{self.gtid} goes on behind its end: {text[:80]!r}")
            self.behind.append(text)
        else:
            self.own.append(text)
            if is_content(text):
                self.go_on(text.upper())

    def go_on(self, word: bytes) -> None:
        """How far the transaction is with one more statement.

        Raises:
            TailError: it is of XA.
        """
        if word.startswith(b"XA "):
            raise TailError(f"{self.gtid} is of an XA transaction, which only its client can end")
        if self.within:
            self.whole = word.startswith(ENDS)
        elif word.startswith(BEGINS):
            self.within = True
        else:
            # A statement that is a transaction of its own.
            self.whole = True

    def finished(self, cut: bool = False) -> Iterator[Transaction]:
        """The transaction that something else follows.

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
                yield Transaction(self.gtid, [*self.ahead, *self.lasting.values(), *self.own])
                self.ahead, self.lasting = [], {}
            else:
                for text in filter(LASTING.match, self.own):
                    self.lasting[text.partition(b"=")[0]] = text
        self.gtid, self.own = "", []
        self.within = self.whole = False
