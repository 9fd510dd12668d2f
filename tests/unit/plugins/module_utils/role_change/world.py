# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers that are none: as much of them as the parts of a switchover ask for, in one process."""

from __future__ import annotations

import itertools
import re
import threading
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError

UUID = "00000000-0000-0000-0000-00000000000%d"


class GoneError(Exception):
    """What the driver says when there is no server."""


def gone():
    return ServerError(GoneError(2013, "Lost connection"))


class World:
    """All servers, by host."""

    def __init__(self, *hosts: str) -> None:
        self.lock = threading.RLock()
        self.servers = {host: Fake(self, host, turn + 1) for turn, host in enumerate(hosts)}
        first, *others = hosts
        self.servers[first].read_only = False
        self.servers[first].sides["source"] = True
        for host in others:
            self.servers[host].sides["replica"] = True
            self.servers[host].follow(first)

    def __getitem__(self, host: str) -> Fake:
        return self.servers[host]

    def writers(self) -> list[str]:
        return [host for host, server in self.servers.items() if server.up and not server.read_only]


class Fake:
    """One server: its GTIDs are the numbers of commits by server."""

    def __init__(self, world: World, host: str, number: int) -> None:
        self.world, self.host, self.number = world, host, number
        self.up, self.read_only, self.hangs = True, True, False
        self.sides = {"source": False, "replica": False}
        self.executed = {1: 100}
        self.source: str | None = None
        self.runs = False
        self.locks: dict[str, Connection] = {}
        self.statements: list[str] = []
        self.journal: list[str] = []
        self.failing: dict[str, Any] = {}
        # Status of its scheduled events, by schema and name.
        self.events: dict[tuple[str, str], str] = {}

    def follow(self, host: str) -> None:
        self.source, self.runs = host, True

    def gtids(self) -> str:
        return ",".join(
            f"{UUID % number}:1-{last}" for number, last in sorted(self.executed.items()) if last
        )

    def commit(self) -> None:
        self.executed[self.number] = self.executed.get(self.number, 0) + 1

    def replicate(self) -> None:
        """Have what the source has, as a replica that is connected."""
        other = self.world.servers.get(self.source or "")
        if self.up and self.runs and other and other.up:
            for number, last in other.executed.items():
                self.executed[number] = max(last, self.executed.get(number, 0))

    def clients(self) -> int:
        if not self.sides["source"]:
            return 0
        return sum(
            1
            for other in self.world.servers.values()
            if other.up and other.runs and other.source == self.host and other.sides["replica"]
        )

    def crash(self) -> None:
        """Be gone, with all connections; the fence, or an option file, makes it read-only later."""
        with self.world.lock:
            self.up, self.locks = False, {}

    def restart(self, read_only: bool = True) -> None:
        with self.world.lock:
            self.up, self.read_only = True, read_only
            self.generation = object()


class Connection:
    """A connection, as Server: rows() understands what the parts say."""

    counter = itertools.count(1)

    def __init__(self, fake: Fake) -> None:
        if not fake.up:
            raise gone()
        self.fake, self.number = fake, next(self.counter)
        self.generation = getattr(fake, "generation", None)
        self.cursor = self
        self.connection = self
        self.open = True

    def close(self) -> None:
        self.open = False
        with self.fake.world.lock:
            locks = self.fake.locks
            for name in [name for name, holder in locks.items() if holder is self]:
                del locks[name]

    def pairs(self, statement: str) -> dict[str, str]:
        """Of where a server writes, nothing is said."""
        self.rows(statement)
        return {}

    def rows(self, statement: str, arguments: Any = None) -> list[dict[str, Any]]:
        fake = self.fake
        with fake.world.lock:
            if not (fake.up and self.open) or self.generation is not getattr(
                fake, "generation", None
            ):
                raise gone()
            for server in fake.world.servers.values():
                server.replicate()
            for pattern, act in list(fake.failing.items()):
                if re.search(pattern, statement):
                    act()
                    if not fake.up:
                        raise gone()
            return self.answer(statement, arguments)

    def answer(self, statement: str, arguments: Any) -> list[dict[str, Any]]:
        fake = self.fake
        if statement.startswith("SHOW GLOBAL VARIABLES WHERE"):
            return []
        if statement.startswith("SELECT GET_LOCK"):
            if fake.locks.get(arguments[0], self) is not self:
                return [{"got": 0}]
            fake.locks[arguments[0]] = self
            return [{"got": 1}]
        if "AS id, CURRENT_USER() AS login" in statement:
            has = next((one for name, one in fake.locks.items() if name in statement), None)
            return [{"id": has.number if has else None, "login": "root@localhost"}]
        if statement.startswith("KILL "):
            ended = [one for one in fake.locks.values() if one.number == int(statement[5:])]
            for one in ended:
                one.close()
            return []
        if "IS_USED_LOCK" in statement:
            row: dict[str, Any] = {
                name: int(lock in fake.locks)
                for lock, name in re.findall(
                    r"IS_USED_LOCK\('([^']+)'\) IS NOT NULL AS `?(\w[\w.]*)`?", statement
                )
            }
            return [dict(row, read_only=int(fake.read_only), position=fake.gtids())]
        if statement.startswith("SELECT @@GLOBAL."):
            (name,) = re.findall(r"GLOBAL\.(\w+)", statement)
            values = {"gtid_executed": fake.gtids(), "read_only": int(fake.read_only)}
            return [{"value": values.get(name, "OFF")}]
        if statement.startswith("SET GLOBAL"):
            self.set_global(statement)
        elif statement.startswith("STOP"):
            fake.runs = False
        elif statement.startswith("START"):
            fake.runs = fake.source is not None
        elif statement.startswith("RESET"):
            fake.source = None
        elif statement.startswith("CHANGE"):
            fake.source = arguments[0]
        elif statement.startswith("INSERT INTO `important`.`semisync_journal`"):
            if not fake.sides["source"]:
                raise AssertionError("nobody would acknowledge this row")
            fake.commit()
            fake.journal.append(arguments[2])
        elif statement.startswith("ALTER DEFINER"):
            ((schema, name, words),) = re.findall(r"EVENT `(\w+)`\.`(\w+)` (.+)", statement)
            fake.events[schema, name] = {"ENABLE": "ENABLED", "DISABLE": "DISABLED"}.get(
                words, "REPLICA_SIDE_DISABLED"
            )
        elif statement.startswith("SELECT CONNECTION_ID"):
            return [{"id": self.number}]
        elif statement.startswith("SELECT @@version"):
            return [{"version": "8.4.0", "comment": "MySQL"}]
        if not statement.startswith(("SELECT", "SHOW")):
            fake.statements.append(statement)
        return []

    def set_global(self, statement: str) -> None:
        fake = self.fake
        ((name, value),) = re.findall(r"SET GLOBAL (\w+) = (\w+)", statement)
        if name in ("read_only", "super_read_only"):
            fake.read_only = value == "1"
        elif name.endswith("_enabled"):
            fake.sides["source" if "source" in name else "replica"] = value == "1"

    # What Server has beside rows().

    def plugins(self) -> dict[str, Any]:
        return {"rpl_semi_sync_source": "ACTIVE", "rpl_semi_sync_replica": "ACTIVE"}

    def semisync_status(self) -> dict[str, Any]:
        self.rows("SELECT 1")
        fake = self.fake
        return {
            "rpl_semi_sync_source_status": "ON" if fake.sides["source"] else "OFF",
            "rpl_semi_sync_source_clients": str(fake.clients()),
            "rpl_semi_sync_source_wait_sessions": "0",
            "rpl_semi_sync_source_yes_tx": str(fake.executed.get(fake.number, 0)),
            "rpl_semi_sync_source_no_tx": "0",
        }

    def events(self) -> list[dict[str, Any]]:
        self.rows("SELECT 1")
        more = {"definer": "root@localhost", "sql_mode": "", "time_zone": "SYSTEM"}
        return [
            dict(more, schema=schema, name=name, status=status)
            for (schema, name), status in sorted(self.fake.events.items())
        ]

    def applied(self, _names: Any) -> str:
        self.rows("SELECT 1")
        return self.fake.gtids()

    def channels(self, _names: Any) -> list[dict[str, Any]]:
        self.rows("SELECT 1")
        fake = self.fake
        if fake.source is None:
            return []
        runs = "Yes" if fake.runs else "No"
        return [
            {
                "name": "",
                "source_host": fake.source,
                "source_port": 3306,
                "io_running": runs,
                "sql_running": runs,
            }
        ]
