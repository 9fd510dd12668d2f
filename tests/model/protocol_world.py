# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers in memory, as much of a MySQL 8.4 as the parts of a change of roles ask for: logs, relay
logs, acknowledgements, locks, option files; and clients, who know what they were told.
"""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils._replication import (
    journal_writing,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError

UUID = "00000000-0000-0000-0000-00000000000%d"
# Commits of the clients while a server takes writes, each time that it does.
COMMITS = 2
# When every row of the journal is written: before whatever is started again, after all else.
HAPPENED = "2026-11-18T11:00:00Z"
Gtid = tuple[int, int]


class GoneError(Exception):
    """What the driver says when there is no server."""


def gone() -> ServerError:
    return ServerError(GoneError(2013, "Lost connection"))


class Server:
    """One server on a host of its own.

    Attributes:
        executed: what it has committed; pending: what waits for an acknowledgement; relay: what it
            has received and not applied.
        role: of its option file; fenced: whether a file lets it start read-only all the same.
        lost: whether its host is lost for good.
    """

    def __init__(self, world: World, host: str, number: int) -> None:
        self.world, self.host, self.number = world, host, number
        self.up, self.lost, self.fenced = True, False, False
        self.role = "source" if number == 1 else "replica"
        self.read_only, self.waits, self.acknowledges = True, False, False
        self.executed: set[Gtid] = set()
        self.pending: list[Gtid] = []
        self.relay: list[Gtid] = []
        self.source: str | None = None
        self.met = 0
        self.io = self.sql = False
        self.locks: dict[str, Connection] = {}
        self.life = 0
        self.commits = 0
        # Since the last look at the source; the applier's start may throw relay logs away.
        self.restarted = self.rebooted = self.applier_restarted = False

    # What a host does

    def crash(self) -> None:
        """Its server is gone; what was in its log is committed when it starts."""
        self.up, self.locks, self.life = False, {}, self.life + 1
        self.executed |= set(self.pending)
        self.pending = []

    def power_cut(self) -> None:
        """What was received and not applied may be gone with the page cache."""
        self.crash()
        self.relay, self.rebooted = [], True

    def start(self) -> None:
        self.up, self.commits = True, 0
        self.restarted = self.applier_restarted = True
        self.read_only = self.fenced or self.role == "replica"
        self.waits, self.acknowledges = self.role == "source", self.role == "replica"
        self.io = self.sql = self.source is not None

    # What a server has

    def log(self) -> list[Gtid]:
        """What it sends."""
        return [*sorted(self.executed), *self.pending]

    def has(self) -> set[Gtid]:
        return self.executed | set(self.relay)

    def gtids(self, what: set[Gtid] | None = None) -> str:
        found: dict[int, list[int]] = {}
        for number, sequence in sorted(self.executed if what is None else what):
            found.setdefault(number, []).append(sequence)
        return ",".join(
            f"{UUID % number}:{':'.join(spans(parts))}" for number, parts in found.items()
        )

    def rows(self) -> list[dict[str, Any]]:
        """The journal, the oldest first."""
        made = [self.world.payload[gtid] for gtid in self.executed if gtid in self.world.payload]
        return sorted(made, key=lambda row: row["number"])

    def clients(self) -> list[Server]:
        """Replicas that acknowledge what it commits."""
        return [
            other
            for other in self.world.servers.values()
            if self.up
            and other.up
            and other.io
            and other.source == self.host
            and other.acknowledges
            and self.waits
        ]

    def append(self, row: dict[str, Any] | None = None) -> Gtid:
        """Write a transaction into its log; who asked for it waits."""
        mine = [one[1] for one in self.log() if one[0] == self.number]
        gtid = (self.number, max(mine, default=0) + 1)
        if row is not None:
            number = max((one["number"] for one in self.rows()), default=0) + 1
            self.world.payload[gtid] = dict(row, number=number)
        self.pending.append(gtid)
        return gtid

    def tick(self) -> None:
        """A moment passes."""
        if not self.up:
            return
        other = self.world.servers.get(self.source or "")
        if self.io and other and other.up:
            self.met = other.number
            have = self.has()
            self.relay += [gtid for gtid in other.log() if gtid not in have]
        if self.sql and self.relay:
            self.executed.add(self.relay.pop(0))
        for gtid in list(self.pending):
            if not self.waits or any(gtid in one.has() for one in self.clients()):
                self.pending.remove(gtid)
                self.executed.add(gtid)
                if gtid not in self.world.payload:
                    self.world.told.add(gtid)
        if not self.read_only and self.commits < COMMITS and not self.pending:
            self.commits += 1
            self.append()

    def state(self) -> tuple[Any, ...]:
        """All that counts when nothing is under way."""
        return (
            self.up,
            self.lost,
            self.fenced,
            self.role,
            self.read_only,
            self.waits,
            self.acknowledges,
            tuple(sorted(self.executed)),
            tuple(self.pending),
            tuple(self.relay),
            self.source,
            self.io,
            self.sql,
            self.restarted,
            self.rebooted,
            self.applier_restarted,
        )


def spans(numbers: list[int]) -> list[str]:
    made: list[list[int]] = []
    for number in numbers:
        if made and made[-1][1] == number - 1:
            made[-1][1] = number
        else:
            made.append([number, number])
    return [f"{first}-{last}" for first, last in made]


class World:
    """All servers, by host: the first is the source.

    Attributes:
        told: what a client was told is committed.
        payload: rows of the journal, by GTID.
    """

    def __init__(self, *hosts: str) -> None:
        self.told: set[Gtid] = set()
        self.payload: dict[Gtid, dict[str, Any]] = {}
        self.servers = {host: Server(self, host, turn + 1) for turn, host in enumerate(hosts)}
        for host in hosts:
            server = self.servers[host]
            server.executed = {(1, 1)}
            server.role = "source" if host == hosts[0] else "replica"
            if host != hosts[0]:
                server.source = hosts[0]
            server.start()
            server.commits = COMMITS
            server.restarted = server.applier_restarted = False
        for _turn in range(3):
            self.tick()

    def tick(self) -> None:
        for server in self.servers.values():
            server.tick()
        writers = self.writers()
        assert len(writers) <= 1, f"{' and '.join(writers)} take writes"

    def writers(self) -> list[str]:
        return [one.host for one in self.servers.values() if one.up and not one.read_only]

    def copy(self) -> World:
        made = World.__new__(World)
        made.told, made.payload = set(self.told), dict(self.payload)
        made.servers = {}
        for host, server in self.servers.items():
            other = Server.__new__(Server)
            other.__dict__.update(server.__dict__)
            other.world, other.locks, other.life = made, {}, 0
            other.executed = set(server.executed)
            other.pending, other.relay = list(server.pending), list(server.relay)
            made.servers[host] = other
        return made

    def state(self) -> tuple[Any, ...]:
        rows = tuple(
            (gtid, row["operation"], row["state"], row["run"])
            for gtid, row in sorted(self.payload.items())
        )
        told = tuple(sorted(self.told))
        return (*(one.state() for one in self.servers.values()), rows, told)


class Connection:
    """A connection, as module_utils/_server's Server: rows() understands what the parts say.

    Args:
        pause: lets time pass; the run's clock is in it.
    """

    counter = 0

    def __init__(self, server: Server, pause: Any) -> None:
        if not server.up:
            raise gone()
        self.server, self.pause, self.life = server, pause, server.life
        Connection.counter += 1
        self.number = Connection.counter
        self.cursor = self.connection = self
        self.open = True
        self._read_timeout: float | None = None

    def close(self) -> None:
        self.open = False
        locks = self.server.locks
        for name in [name for name, holder in locks.items() if holder is self]:
            del locks[name]

    def here(self) -> None:
        if not (self.server.up and self.open and self.life == self.server.life):
            raise gone()

    def pairs(self, statement: str) -> dict[str, str]:
        """Of where a server writes, nothing is said."""
        self.rows(statement)
        return {}

    def rows(self, statement: str, arguments: Any = None) -> list[dict[str, Any]]:
        self.pause(statement)
        self.here()
        return self.answer(statement, arguments)

    def answer(self, statement: str, arguments: Any) -> list[dict[str, Any]]:
        server = self.server
        words = statement.split()
        if statement.startswith("SHOW GLOBAL VARIABLES WHERE"):
            return []
        if statement.startswith("SELECT GET_LOCK"):
            if server.locks.get(arguments[0], self) is not self:
                return [{"got": 0}]
            server.locks[arguments[0]] = self
            return [{"got": 1}]
        if "CURRENT_USER() AS login" in statement:
            ((lock,),) = [re.findall(r"IS_USED_LOCK\('([^']+)'\)", statement)]
            has = server.locks.get(lock)
            return [{"id": has.number if has else None, "login": "root@localhost"}]
        if statement == "SHOW PROCESSLIST":
            holders = {has.number for has in server.locks.values()}
            return [{"Id": number, "User": "root", "Host": "here"} for number in holders]
        if "IS_USED_LOCK" in statement:
            found = re.findall(
                r"IS_USED_LOCK\('([^']+)'\) IS NOT NULL AS `?(\w[\w.]*)`?", statement
            )
            row: dict[str, Any] = {name: int(lock in server.locks) for lock, name in found}
            return [dict(row, read_only=int(server.read_only), position=server.gtids())]
        if statement.startswith("SELECT @@GLOBAL."):
            (name,) = re.findall(r"GLOBAL\.(\w+)", statement)
            values = {"gtid_executed": server.gtids(), "read_only": int(server.read_only)}
            return [{"value": values.get(name, "OFF")}]
        if statement.startswith("SELECT CONNECTION_ID"):
            return [{"id": self.number}]
        if statement.startswith("SELECT @@version"):
            return [{"version": "8.4.0", "comment": "MySQL"}]
        if "applier.PROCESSING_TRANSACTION" in statement:
            return [{"gtid": "", "id": None}]
        if statement.startswith("SET GLOBAL"):
            self.set_global(statement)
        elif words[0] in ("STOP", "START"):
            on, which = words[0] == "START", words[2] if words[2:] else "both"
            if which in ("both", "IO_THREAD"):
                server.io = on and server.source is not None
            if which in ("both", "SQL_THREAD"):
                server.applier_restarted |= on and not server.sql
                server.sql = on and server.source is not None
        elif words[0] == "RESET":
            assert not (server.io or server.sql)
            server.source, server.relay, server.met = None, [], 0
        elif words[0] == "CHANGE":
            assert not (server.io or server.sql)
            if server.source != arguments[0]:
                server.met = 0
            server.source, server.relay = arguments[0], []
        elif statement.startswith("INSERT INTO `important`.`semisync_journal`"):
            self.insert(arguments)
        return []

    def insert(self, arguments: Any) -> None:
        """A row of the journal; the statement ends when it is acknowledged."""
        server = self.server
        row = dict(zip(journal_writing.Entry._fields, arguments, strict=True), happened=HAPPENED)
        gtid, waited = server.append(row), 0.0
        while gtid in server.pending:
            self.pause("", 0.05)
            waited += 0.05
            self.here()
            if self._read_timeout is not None and waited > self._read_timeout:
                raise gone()

    def set_global(self, statement: str) -> None:
        server = self.server
        ((name, value),) = re.findall(r"SET GLOBAL (\w+) = (\w+)", statement)
        if name in ("read_only", "super_read_only"):
            if server.read_only and value == "0":
                server.commits = 0
            server.read_only = value == "1"
        elif name.endswith("_enabled") and "source" in name:
            server.waits = value == "1"
        elif name.endswith("_enabled"):
            server.acknowledges = value == "1"

    # What Server has beside rows().

    def plugins(self) -> dict[str, Any]:
        return {"rpl_semi_sync_source": "ACTIVE", "rpl_semi_sync_replica": "ACTIVE"}

    def semisync_status(self) -> dict[str, Any]:
        self.rows("SELECT 1")
        server = self.server
        return {
            "rpl_semi_sync_source_status": "ON" if server.waits else "OFF",
            "rpl_semi_sync_source_clients": str(len(server.clients())),
            "rpl_semi_sync_source_wait_sessions": str(len(server.pending)),
            "rpl_semi_sync_source_yes_tx": str(len(server.executed)),
            "rpl_semi_sync_source_no_tx": "0",
        }

    def applied(self, _names: Any) -> str:
        self.rows("SELECT 1")
        return self.server.gtids()

    def channels(self, _names: Any) -> list[dict[str, Any]]:
        self.rows("SELECT 1")
        found = channel(self.server)
        return [found] if found else []

    def events(self) -> list[dict[str, Any]]:
        self.rows("SELECT 1")
        return []

    def variables(self) -> dict[str, Any]:
        self.rows("SELECT 1")
        return {"gtid_executed": self.server.gtids(), "gtid_purged": ""}


def channel(server: Server) -> dict[str, Any] | None:
    """A server's channel as semisync_info has it."""
    if server.source is None:
        return None
    other = server.world.servers[server.source]
    io = ("Yes" if other.up else "Connecting") if server.io else "No"
    return {
        "name": "",
        "source_host": server.source,
        "source_port": 3306,
        "source_uuid": UUID % server.met if server.met else "",
        "source_server_id": server.met,
        "io_running": io,
        "sql_running": "Yes" if server.sql else "No",
        "last_sql_error": "",
        "retrieved": server.gtids(set(server.relay)),
    }
