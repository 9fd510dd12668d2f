# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transactions as people read them, from the output of mysqlbinlog with decoded rows: when, which
tables, how many rows, and the first of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._binlog import log_transactions
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.disguise import Lines
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtid_type import Gtids
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtids import MariadbGtids

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        ErrantTransaction,
    )

# Limits of what is shown: transactions, rows of each, characters of a line; all are counted.
MOST, ROWS, WIDTH = 50, 20, 400
OPTIONS = ("--verbose", "--base64-output=DECODE-ROWS")
EVENT = re.compile(rb"#(\d\d)(\d\d)(\d\d) +(\d+):(\d\d):(\d\d) server id \d+ .*?\t(\w+)(.*)$")
# MariaDB says of each GTID what it is of: trans where everything of it can be rolled back.
FLAGS = re.compile(rb" \d+-\d+-\d+(.*)$")
ROW = re.compile(rb"### (INSERT INTO|UPDATE|DELETE FROM) (.+)$")
VERBS = {b"INSERT INTO": "inserted", b"UPDATE": "updated", b"DELETE FROM": "deleted"}
# What a client may have said beside it: passwords and their hashes.
SECRET = re.compile(r"IDENTIFIED|PASSWORD|\bmysql\b", re.IGNORECASE)
HIDDEN = "(not shown: it may hold a password)"
DATA = ("INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "SELECT", "CALL")


class Phantoms:
    """The transactions that are wanted, as dictionaries: gtid, at (UTC), tables (name -> how many
    rows were inserted, updated, deleted), statements, rows, ddl and transactional.

    Args:
        kind: of the server that wrote the log.
        wanted: whether a GTID is one of them.

    Attributes:
        told: the first of them.
        count: how many there are.
        gtids: all of them, in their order.
        tables: of all of them.
        lasting: those that cannot be rolled back: DDL, or of tables without transactions.
    """

    def __init__(
        self,
        kind: type[Gtids],
        wanted: Callable[[str], bool],
    ) -> None:
        self.mariadb, self.wanted = kind is MariadbGtids, wanted
        self.told: list[ErrantTransaction] = []
        self.count = 0
        self.gtids: list[str] = []
        self.tables: dict[str, dict[str, int]] = {}
        self.lasting: list[str] = []
        self.at, self.flags = "", ""
        self.now: ErrantTransaction | None = None
        self.hides = False

    def read(self, lines: Lines) -> Phantoms:
        """Read the output of a program that ran with OPTIONS.

        Raises:
            TailError: it is not understood.
        """
        for one in log_transactions.printed_statements(lines, self.comment):
            name = one.begins()
            if name:
                self.finished()
                if name.upper() not in ("AUTOMATIC", "ANONYMOUS") and self.wanted(name):
                    self.begin(name)
            elif self.now is not None and one.written:
                self.statement(self.now, one.text)
        self.finished()
        return self

    def begin(self, name: str) -> None:
        self.now = {
            "gtid": name,
            "at": self.at,
            "tables": {},
            "statements": [],
            "rows": [],
            "ddl": "ddl" in self.flags,
            "transactional": "trans" in self.flags if self.mariadb else False,
        }

    def finished(self) -> None:
        """End the transaction: something else follows."""
        if self.now is None:
            return
        self.count += 1
        self.gtids.append(self.now["gtid"])
        for name, counts in self.now["tables"].items():
            every = self.tables.setdefault(name, dict.fromkeys(VERBS.values(), 0))
            for verb, number in counts.items():
                every[verb] += number
        if self.now["ddl"] or not self.now["transactional"]:
            self.lasting.append(self.now["gtid"])
        if len(self.told) < MOST:
            self.told.append(self.now)
        self.now = None

    def comment(self, line: bytes) -> None:
        if line.startswith(b"###"):
            if self.now is not None:
                self.row(self.now, line)
            return
        match = EVENT.match(line)
        if not match:
            return
        year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
        self.at = f"20{year:02}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
        kind, rest = match.group(7), match.group(8)
        if kind == b"GTID":
            flags = FLAGS.match(rest)
            self.flags = flags.group(1).decode("ascii", "replace") if flags else ""
        elif kind == b"Xid" and self.now is not None:
            # An engine with transactions has ended it; COMMIT as a statement is of one without.
            self.now["transactional"] = True

    def row(self, current: ErrantTransaction, line: bytes) -> None:
        """Take one line of a row, or the line above it."""
        match = ROW.match(line)
        if match:
            table = match.group(2).decode("utf-8", "replace").replace("`", "")
            counts = current["tables"].setdefault(table, dict.fromkeys(VERBS.values(), 0))
            counts[VERBS[match.group(1)]] += 1
            self.hides = table.startswith("mysql.")
            current["seen"] = current.get("seen", 0) + 1
        if current.get("seen", 0) <= ROWS and not (self.hides and not match):
            current["rows"].append(shortened(line[4:].decode("utf-8", "replace")))

    def statement(self, current: ErrantTransaction, text: bytes) -> None:
        words = " ".join(text.decode("utf-8", "replace").split())
        if not words.upper().startswith(DATA):
            current["ddl"] = True
        if len(current["statements"]) < ROWS:
            current["statements"].append(HIDDEN if SECRET.search(words) else shortened(words))


def shortened(words: str) -> str:
    return words if len(words) <= WIDTH else words[:WIDTH] + "…"
