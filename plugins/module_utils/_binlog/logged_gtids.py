# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GTIDs of binary log files, from the output of mysqlbinlog: those before the first file, those
in each file, and whether the numbers of a server grow.
"""

from __future__ import annotations

import re

from ansible_collections.dbre.semisync.plugins.module_utils._binlog import log_transactions
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.disguise import Lines
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtid_type import Gtids
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtids import MariadbGtids

NO_GTID = ("ANONYMOUS", "AUTOMATIC")
# A comment that may go on in the next lines, until its bracket.
MYSQL_LINE = re.compile(rb"# (\[empty\]|[0-9a-f]{8}-)")
MARIADB_BEGIN = re.compile(rb"#\d{6} .*\tGtid list \[")


class History:
    """What is known about a binary log after its files were printed one after the other.

    Args:
        kind: of the server that wrote them.

    Attributes:
        before: the GTIDs that the first file says came before it; None if it does not say.
        gtids: of its whole transactions, in their order.
        torn: of the one that the log ends within, which no server commits, or "".
        anonymous: how many transactions have none.
    """

    def __init__(self, kind: type[Gtids]) -> None:
        self.kind, self.mariadb = kind, kind is MariadbGtids
        self.before: str | None = None
        self.gtids: list[str] = []
        self.torn = ""
        self.anonymous = 0
        # Lines of a comment that goes on, and whether it is wanted.
        self.open: list[str] | None = None
        # The transaction that is being read, and how far it is.
        self.now = ""
        self.within = self.whole = False

    def read(self, lines: Lines) -> History:
        """Read what a program prints.

        Raises:
            TailError: it is not understood.
        """
        for one in log_transactions.printed_statements(lines, self.comment):
            name = one.begins()
            if one.ends:
                self.closed()
            if name:
                self.finished()
                self.now = "" if name.upper() in NO_GTID else name
                self.anonymous += name.upper() == NO_GTID[0]
            elif self.now and one.is_content():
                self.go_on(one)
        self.finished()
        self.closed()
        return self

    def go_on(self, one: log_transactions.Statement) -> None:
        """Add a statement to the transaction, and update its state."""
        if self.within:
            self.whole = self.whole or one.is_end()
        elif one.is_begin():
            self.within = True
        elif one.text:
            # A statement that is a whole transaction.
            self.whole = True

    def finished(self) -> None:
        """End the transaction: something else follows, or the log ends."""
        if self.now and self.whole:
            self.gtids.append(self.now)
        elif self.now:
            self.torn = self.now
        self.now, self.within, self.whole = "", False, False

    def comment(self, line: bytes) -> None:
        if self.open is not None:
            if self.mariadb or MYSQL_LINE.match(line):
                self.open.append(line[1:].decode("ascii", "replace").strip())
                if self.mariadb and b"]" in line:
                    self.closed()
                return
            self.closed()
        if self.mariadb:
            match = MARIADB_BEGIN.match(line)
            if match:
                self.open = [line[match.end() :].decode("ascii", "replace")]
                if b"]" in line[match.end() :]:
                    self.closed()
        elif log_transactions.MYSQL_BEFORE.match(line):
            self.open = []

    def closed(self) -> None:
        """The continued comment has ended."""
        if self.open is None:
            return
        text = "".join("".join(self.open).split()).rstrip("]")
        self.open = None
        if text == "[empty":
            text = ""
        if self.before is None:
            self.before = text

    def disorder(self) -> str:
        """Where the numbers of a MariaDB server fall, in words, or empty.

        Raises:
            ValueError: what was printed as a GTID is none.
        """
        return self.kind.disorder([self.before, *self.gtids])

    def has(self) -> str:
        """Everything up to the log's end: gtid_executed, or gtid_binlog_state.

        Raises:
            TailError: the first file does not say what was before it.
            ValueError: what was printed as a GTID is none.
        """
        if self.before is None:
            raise log_transactions.TailError(
                "its first file does not say which GTIDs come before it"
            )
        return str(self.kind.of(self.before, *self.gtids))
