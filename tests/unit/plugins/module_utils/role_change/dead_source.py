# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers that are none, whose source is dead: what they have received, and apply one transaction a
question.
"""

from __future__ import annotations

import time
from typing import Any

from ansible_collections.dbre.semisync.tests.unit.plugins.module_utils.role_change.world import (
    UUID,
    Connection,
    Fake,
    World,
)


class DeadSource(World):
    """The first is dead; the others have received this much of it, and their IO threads stand."""

    def __init__(self, received: dict[str, int], applied: dict[str, int]) -> None:
        super().__init__("db1", *received)
        self.servers["db1"].up = False
        self.replicas: dict[str, Replica] = {}
        for host, number in received.items():
            replica = Replica(self, host, list(received).index(host) + 2)
            replica.received, replica.executed = number, {1: applied[host]}
            replica.sides["replica"], replica.source = True, "db1"
            self.replicas[host] = self.servers[host] = replica

    def __getitem__(self, host: str) -> Replica:
        return self.replicas[host]

    def connect(self, host: str) -> Connection:
        return (
            DeadConnection(self[host]) if host in self.replicas else Connection(self.servers[host])
        )


class Replica(Fake):
    """A server with two threads and a relay log."""

    def __init__(self, world: World, host: str, number: int) -> None:
        super().__init__(world, host, number)
        self.io, self.sql, self.received = False, True, 0
        self.error = ""
        # The number of the applier's thread.
        self.applier = 13
        # How much of its relay log it cannot apply.
        self.stuck_at: int | None = None
        # Seconds that it takes to stop both threads; where that is for a transaction of which it
        # has the first half, the transaction's GTID.
        self.stops_in, self.half = 0.0, ""

    def replicate(self) -> None:
        if not self.up:
            return
        if self.sql and self.executed[1] < self.received and self.executed[1] != self.stuck_at:
            self.executed[1] += 1
        other = self.world.servers.get(self.source or "")
        if self.io and self.sql and other and other.up and not other.read_only:
            for number, last in other.executed.items():
                self.executed[number] = max(last, self.executed.get(number, 0))

    def clients(self) -> int:
        if not self.sides["source"]:
            return 0
        return sum(
            1
            for other in self.world.servers.values()
            if isinstance(other, Replica)
            and other.up
            and other.io
            and other.source == self.host
            and other.sides["replica"]
        )

    def retrieved(self) -> str:
        return f"{UUID % 1}:1-{self.received}"


class DeadConnection(Connection):
    """A connection to one of them."""

    fake: Replica

    def rows(self, statement: str, arguments: Any = None) -> list[dict[str, Any]]:
        if statement.startswith("STOP") and "_THREAD" not in statement and self.fake.sql:
            time.sleep(self.fake.stops_in)
        return super().rows(statement, arguments)

    def answer(self, statement: str, arguments: Any) -> list[dict[str, Any]]:
        fake = self.fake
        words = statement.split()
        if statement.startswith("SELECT NAME"):
            return [{"name": "thread/sql/replica_sql", "id": fake.applier}] if fake.sql else []
        if words[0] in ("STOP", "START"):
            on = words[0] == "START"
            which = words[2] if words[2:] else "both"
            if which in ("both", "IO_THREAD"):
                fake.io = on
            if which in ("both", "SQL_THREAD"):
                fake.applier += on and not fake.sql
                fake.sql = on
            fake.statements.append(statement)
            return []
        if "applier.PROCESSING_TRANSACTION" in statement:
            return [{"gtid": fake.half, "id": 13 if fake.sql else None}]
        if statement == "KILL 13":
            assert fake.half and fake.executed[1] == fake.received
            fake.sql, fake.half = False, ""
            fake.statements.append(statement)
            return []
        if words[0] == "CHANGE":
            assert not (fake.io or fake.sql)
            if fake.executed[1] < fake.received:
                raise AssertionError("what was received is thrown away")
            fake.source = arguments[0]
            fake.statements.append(statement)
            return []
        if words[0] == "RESET":
            assert not (fake.io or fake.sql) and fake.executed[1] >= fake.received
        if words[0] == "CREATE":
            assert fake.sides["source"] or not fake.read_only
        if statement.startswith("INSERT") and not fake.sides["source"]:
            # No replica acknowledges, and the operator has accepted that.
            fake.commit()
            fake.journal.append(arguments[2])
            return []
        return super().answer(statement, arguments)

    def uptime(self) -> dict[str, Any]:
        return {"seconds": 900, "since_reset": 900}

    def channels(self, _names: Any) -> list[dict[str, Any]]:
        self.rows("SELECT 1")
        fake = self.fake
        if fake.source is None:
            return []
        return [
            {
                "name": "",
                "source_host": fake.source,
                "source_port": 3306,
                "io_running": "Yes" if fake.io else "No",
                "sql_running": "Yes" if fake.sql else "No",
                "last_sql_error": fake.error,
                "retrieved": fake.retrieved(),
            }
        ]

    def variables(self) -> dict[str, Any]:
        self.rows("SELECT 1")
        return {
            "gtid_executed": self.fake.gtids(),
            "gtid_purged": "",
            "performance_schema": "ON",
        }
