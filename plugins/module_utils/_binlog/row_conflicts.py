# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows that two servers have both written since their histories parted, from the output of
mysqlbinlog for each. If there are none, the transactions of one can be executed on the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._binlog import log_transactions
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.disguise import Lines

TABLE = re.compile(rb"### (?:INSERT INTO|UPDATE|DELETE FROM) (`.+`)$", re.DOTALL)
NAMES = re.compile(r"`((?:[^`]|``)*)`\.`((?:[^`]|``)*)`\Z")
IMAGE = (b"### WHERE", b"### SET")
COLUMN = re.compile(rb"###   @(\d+)=(.*)$", re.DOTALL)
# The text about a row that both have written.
MOST, WIDTH = 20, 120


class Row(NamedTuple):
    """One row that was written.

    Attributes:
        table: as mysqlbinlog quotes it.
        images: before and after: number of a column -> its value as it is printed. Each byte is a
            character of latin-1, so that values which differ differ here.
    """

    table: str
    images: list[dict[str, str]]


class Rows:
    """Rows from the comments that `mysqlbinlog --verbose` prints.

    Args:
        take: is given each of them, when its last line was seen.
    """

    def __init__(self, take: Callable[[Row], object]) -> None:
        self.take = take
        self.now: Row | None = None

    def comment(self, line: bytes) -> None:
        """One line that begins with #."""
        if not line.startswith(b"###"):
            self.finished()
            return
        match = TABLE.match(line)
        if match:
            self.finished()
            self.now = Row(match.group(1).decode("latin-1"), [])
        elif self.now is not None and line.startswith(IMAGE):
            self.now.images.append({})
        elif self.now is not None and self.now.images:
            column = COLUMN.match(line)
            if column:
                value = column.group(2).decode("latin-1")
                self.now.images[-1][column.group(1).decode("ascii")] = value

    def finished(self) -> None:
        """What is printed next is of another row, or nothing is."""
        if self.now is not None:
            self.take(self.now)
        self.now = None


def split(table: str) -> tuple[str, str]:
    """(schema, name) of a table as mysqlbinlog quotes it."""
    match = NAMES.match(table)
    if not match:
        raise log_transactions.TailError(f"{table!r} is not a table name")
    schema, name = match.groups()
    return schema.replace("``", "`"), name.replace("``", "`")


class Written:
    """The rows that one of the two has written.

    Args:
        primary: of each table of theirs the numbers of its primary key's columns, in their order;
            empty if it has none.
    """

    def __init__(
        self,
        rows: Iterable[Row],
        primary: dict[str, list[str]],
    ) -> None:
        self.primary = primary
        self.keys: dict[str, set[tuple[str, ...]]] = {table: set() for table in primary}
        for row in rows:
            self.keys[row.table].update(keys(row, primary[row.table]))
        names = {name for table in primary for name in split(table)}
        self.names = [
            re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE) for name in names
        ]

    def meets(self, row: Row) -> str:
        """How the other server's row conflicts with what this one has written, or ""."""
        if row.table not in self.primary:
            return ""
        schema, name = split(row.table)
        if not self.primary[row.table]:
            # Without a key, equal rows cannot be matched.
            return f"{schema}.{name}, which has no primary key"
        for key in keys(row, self.primary[row.table]):
            if key in self.keys[row.table]:
                return f"{schema}.{name}: the row of {', '.join(key)}"[:WIDTH]
        return ""

    def named(self, statement: bytes) -> bool:
        """Whether a statement of the other server names one of the tables, or its schema."""
        try:
            words = statement.decode("utf-8")
        except UnicodeDecodeError:
            # Its letters are not known, so nor is what it names.
            return bool(self.names)
        return any(name.search(words) for name in self.names)


def keys(row: Row, primary: list[str]) -> list[tuple[str, ...]]:
    """The primary keys of a row before and after; a value that an image lacks is unchanged."""
    return [
        tuple(image[column] for column in primary)
        for image in row.images
        if primary and all(column in image for column in primary)
    ]


class Meeting:
    """What the other server wrote to the same rows, from everything that was printed.

    Attributes:
        met: the first of them, in words.
    """

    def __init__(self, written: Written) -> None:
        self.written = written
        self.met: list[str] = []

    def read(self, lines: Lines) -> Meeting:
        """Take what a program prints with its rows decoded.

        Raises:
            TailError: it is not understood.
        """
        rows = Rows(self.row)
        for one in log_transactions.printed_statements(lines, rows.comment):
            if one.written:
                self.statement(one.text)
        rows.finished()
        return self

    def row(self, row: Row) -> None:
        self.add(self.written.meets(row))

    def statement(self, text: bytes) -> None:
        """A definition, or a change that was logged as the statement that it was."""
        if self.written.named(text):
            verb = b" ".join(text.split()[:2]).decode("utf-8", "replace")
            self.add(f"a statement that names one of its tables ({verb} …)")

    def add(self, words: str) -> None:
        if words and words not in self.met and len(self.met) < MOST:
            self.met.append(words)
