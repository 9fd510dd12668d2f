# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GTIDs of MySQL and of MariaDB as one type of values, compared without a server.

MySQL's are a set: UUID:INTERVAL[:INTERVAL…], since 8.3 with tags, UUID:TAG:INTERVAL (MySQL manual,
"GTID Format and Storage"). What one server lacks of another is the difference of two sets.

MariaDB's are a list of DOMAIN-SERVER-SEQUENCE (https://mariadb.com/kb/en/gtid/). It comes in two
forms, and only who reads it knows which it is:

* a position (gtid_slave_pos, gtid_binlog_pos, Gtid_IO_Pos) has the last transaction of each domain.
  It stands for all that came before it in that domain: minus(), covers(), missing_of() and
  latest(). The same number by another server is a split: two transactions took one place, so each
  server lacks what the other has, and the two cannot be compared.
* a state (gtid_binlog_state) has the last transaction of each server in each domain. It tells what
  a server wrote itself, which the position of another may not show: beyond().

On MySQL the methods of both forms are the same.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping


class Gtids(abc.ABC):
    """The GTIDs of some transactions. A value: nothing changes it, and two that name the same
    transactions are equal, whatever their texts were. str() is the text as its server takes it,
    in one order and without spaces; one without a transaction is false.

    Attributes:
        STATE: the variable with all that a server has.
        APPLIED: the variable with all that a replica has applied.
        SERVER: the variable by which GTIDs name the server that wrote a transaction.
    """

    __slots__ = ("_text",)

    STATE = ""
    APPLIED = ""
    SERVER = ""

    @classmethod
    @abc.abstractmethod
    def parse(cls, text: str | None) -> Gtids:
        """The value of a server's text, in which spaces do not count; None is empty.

        Raises:
            ValueError: the text is something else.
        """

    @classmethod
    def of(cls, *texts: str | None) -> Gtids:
        """The value of several texts together.

        Raises:
            ValueError: one of them is something else.
        """
        return cls.parse(",".join(text for text in texts if text))

    @classmethod
    def server_of(cls, variables: Mapping[str, object]) -> str:
        """A server's name in GTIDs, by its global variables: server_uuid or server_id."""
        return str(variables.get(cls.SERVER) or "")

    @classmethod
    @abc.abstractmethod
    def disorder(cls, names: Iterable[str | None]) -> str:
        """Where the numbers of a server fall in a binary log, in words; empty if they grow.

        Args:
            names: what came before the log, and its GTIDs in their order.

        Raises:
            ValueError: one of them is no GTID.
        """

    @abc.abstractmethod
    def union(self, other: Gtids) -> Gtids:
        """What is in either."""

    @abc.abstractmethod
    def latest(self) -> Gtids:
        """The position at which a server stands that has all of these. Of two MariaDB transactions
        with one number it is at the one that was named last.
        """

    @abc.abstractmethod
    def minus(self, other: Gtids) -> Gtids:
        """What a server at the position `other` lacks of these; on MariaDB the last of each domain,
        even if `other` has its number by another server.
        """

    @abc.abstractmethod
    def beyond(self, other: Gtids) -> Gtids:
        """What is in the state `self`, and not in the state `other`; on MariaDB the last of each
        server and domain.
        """

    @abc.abstractmethod
    def lacked_by(self, had: Gtids, by_log: bool) -> Gtids:
        """What a server is seen to lack of these, by the state that its binary log has. Of a log's
        first numbers it does not show whether they came with a copy of the data.

        Args:
            by_log: whether only its log was read. MariaDB's state is never more than that.
        """

    @abc.abstractmethod
    def with_copied(self, there: Gtids, server: str) -> Gtids:
        """These, which were read of a binary log, and what of `there` came with a copy of the data
        as far as the log shows it: what a server wrote before the first that the log has of it.

        Args:
            server: whose log it is; of its own all that is not in it.
        """

    @abc.abstractmethod
    def of_server(self, server: str) -> Gtids:
        """Those that a server wrote; see server_of()."""

    def not_of_server(self, server: str) -> Gtids:
        """Those that another server wrote."""
        return self.beyond(self.of_server(server))

    @abc.abstractmethod
    def same_places(self, other: Gtids) -> Gtids:
        """Those whose server, and tag or domain, the other one has, too."""

    @abc.abstractmethod
    def missing_of(self, wanted: Gtids) -> int:
        """How many transactions of `wanted` a server lacks that is at this position. On MariaDB by
        their sequence numbers, which may have gaps: as many at most; a split counts as one.
        """

    def covers(self, wanted: Gtids) -> bool:
        """Whether a server at this position has all of `wanted`."""
        return not wanted.minus(self)

    @abc.abstractmethod
    def spell(self) -> str:
        """What str() returns, and keeps."""

    @abc.abstractmethod
    def __bool__(self) -> bool: ...

    def __str__(self) -> str:
        try:
            return self._text
        except AttributeError:
            self._text: str = self.spell()
            return self._text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))
