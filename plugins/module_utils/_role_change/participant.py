# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the parts of a role change have in common: connections, waiting, and what is recorded.

All parts run at the same time, each on its host. What one waits for it asks of the other's server.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils._replication import (
    gtids,
    journal,
    journal_writing,
)
from ansible_collections.dbre.semisync.plugins.module_utils._replication.channel import Step, show
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtid_type import Gtids
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    lock_holder,
    locks,
    watchdog,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.log_in import (
    Address,
    log_in,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import RoleChangePlan
from ansible_collections.dbre.semisync.plugins.module_utils._server import (
    channels,
    connection,
    disk_space,
    login,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.attempts import try_again
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import (
    Server,
    identify,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import SOURCE
from ansible_collections.dbre.semisync.plugins.module_utils._server.read import by_key
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import (
    canonical_value,
    text,
)

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Channel, Values

Value = TypeVar("Value")
# A statement that takes this many seconds is put in the timeline.
SLOW = 0.1
# Seconds between two looks at another part, and for an answer of its server.
PAUSE = 0.003
ANSWER = 3
# The flag of a target that undoes what was interrupted, and the source's answer on the same server.
UNDOING, HEARD = "undoing", "heard"


class AbortError(Exception):
    """The part cannot continue, and rolls back; the text says why."""


class Participant(ABC):
    """One host's part.

    Args:
        module: the AnsibleModule; see modules/semisync_switchover.py for its options.
        plan: what the controller planned for this host.
        dog: the process that repairs this host if the part is killed; None in that process itself.
    """

    # What its rows in the journal are of.
    operation = journal.SWITCHOVER

    def __init__(
        self,
        module: AnsibleModule,
        plan: RoleChangePlan,
        dog: watchdog.Watchdog | None = None,
    ) -> None:
        self.module, self.plan, self.watchdog = module, plan, dog
        self.token = plan.token
        self.began = time.monotonic()
        self.timeline: list[dict[str, object]] = []
        self.statements: list[str] = []
        self.points: list[dict[str, object]] = []
        # The source's position when it was frozen.
        self.position = ""
        # Freezes and opens, and holds the run's lock.
        self.control = self.local()
        self.monitor = self.local()
        self.names = identify(self.control)
        self.peers: dict[str, Server] = {}
        # What this part says on its own server.
        self.locks = locks.Locks(self.local, self.token)

    def report_stage(self, stage: str) -> None:
        """Tell the watchdog this part's stage."""
        if self.watchdog:
            self.watchdog.report_stage(stage)

    # Connections

    def local(self) -> Server:
        return Server(login.connect(self.module))

    def connect(self, host: str) -> Server:
        """A new connection to another member, by the replication account.

        Raises:
            ServerError: there is none.
            AbortError: see place().
        """
        server = log_in(self.module, self.plan.user, self.place(host), ANSWER)
        # If this host loses its power, its connections stay open there, and so would its locks.
        server.rows("SET SESSION wait_timeout = %s", (self.lifetime(),))
        return server

    def place(self, host: str) -> Address:
        """Where another member listens.

        Raises:
            AbortError: it is not a member any more: a lost host was taken out of the inventory.
        """
        if host not in [one.host for one in self.plan.members]:
            raise AbortError(f"{host} is not in the inventory")
        peer = self.plan.peer(host)
        return Address(peer.address, peer.port, peer.tls)

    def lifetime(self) -> int:
        """Seconds in which every part has ended."""
        waits = watchdog.MEET + self.plan.catch_up + self.plan.drain
        return int(watchdog.seconds(self.plan.timeout) + waits)

    def peer(self, host: str) -> Server:
        """The connection to another member that is used for questions."""
        if host not in self.peers:
            self.peers[host] = self.connect(host)
        return self.peers[host]

    def look(self, host: str, *names: str) -> locks.Seen:
        """locks.flags_of_part() at another member.

        Raises:
            ServerError: it cannot be asked.
        """
        return locks.flags_of_part(self.peer(host), self.token, names, self.names.logged_position)

    def look_here(self, *names: str) -> locks.Seen:
        return locks.flags_of_part(self.monitor, self.token, names, self.names.logged_position)

    @property
    def host(self) -> str:
        return self.plan.host

    @property
    def source(self) -> str:
        return self.plan.source

    @property
    def target(self) -> str:
        return self.plan.target

    def run(self) -> dict[str, object]:
        """Do what the run wants of this part."""
        works = {"switch": self.work, "finish": self.finish, "undo": self.undo}
        return works[self.plan.mode]()

    @abstractmethod
    def work(self) -> dict[str, object]:
        """Move the role; return this part's result."""

    @abstractmethod
    def finish(self) -> dict[str, object]:
        """After an interrupted run: the target was opened."""

    @abstractmethod
    def undo(self) -> dict[str, object]:
        """After an interrupted run: the target was not opened."""

    @abstractmethod
    def recover(self, stage: str) -> dict[str, object]:
        """What the watchdog does if the part was killed.

        Args:
            stage: the last one that it reported.
        """

    def presence(self, host: str) -> str:
        """The flag by which a member announces itself on the target's server; a lock's name has at
        most 64 characters.
        """
        return f"here.{[one.host for one in self.plan.members].index(host)}"

    # Records

    def log_event(self, event: str, words: str = "") -> None:
        """One line of the timeline."""
        self.timeline.append(
            {"event": event, "words": words, "at": time.time(), "clock": time.monotonic()}
        )

    def point(
        self,
        name: str,
        good: bool | None,
        observed: str,
        expected: str,
    ) -> None:
        """One checkpoint of this host."""
        self.points.append({"id": name, "good": good, "observed": observed, "expected": expected})

    def run_statements(self, steps: list[Step], server: Server | None = None) -> None:
        """Run statements in order.

        Raises:
            ServerError: the server refuses one.
        """
        for statement, arguments in steps:
            words, begin = show(statement, arguments), time.monotonic()
            self.statements.append(words)
            (server or self.control).rows(statement, arguments)
            if time.monotonic() - begin > SLOW:
                self.log_event("slow", f"{time.monotonic() - begin:.2f} s: {words}")

    def write(self, state: str, seconds: float | None = None) -> None:
        """Write a row of the journal.

        Args:
            seconds: how long it may wait for its acknowledgement; None for as long as it takes.

        Raises:
            ServerError: it was not written, or time is up.
        """
        server = self.local()
        try:
            if seconds is not None:
                server.cursor.connection._read_timeout = seconds
            journal_writing.insert(
                server,
                self.plan.schema,
                journal_writing.Entry(
                    operation=self.operation,
                    run=self.token,
                    state=state,
                    from_host=self.source,
                    to_host=self.target,
                    from_id=self.plan.source_id,
                    to_id=self.plan.target_id,
                    position=self.position or self.look_here().position,
                    verdict=self.plan.verdict,
                ),
            )
        finally:
            connection.close(server)

    def result(self, outcome: str, reason: str = "") -> dict[str, object]:
        return {
            "outcome": outcome,
            "reason": disk_space.explained(reason) if reason else "",
            "changed": bool(self.statements),
            "statements": self.statements,
            "timeline": self.timeline,
            "points": self.points,
        }

    def revive(self, deadline: float) -> ServerError | None:
        """Reconnect if this server was restarted; return why that is not possible, or None."""
        if locks.alive(self.control) and locks.alive(self.monitor):
            return None
        left = max(0.0, deadline - time.monotonic())
        try:
            self.control, self.monitor = try_again(left, lambda: (self.local(), self.local()))
        except ServerError as error:
            return error
        self.log_event("restarted", self.host)
        self.take_run_lock()
        return None

    # What the server here says

    def take_run_lock(self) -> None:
        """Take the lock of the only run that may freeze or open this server.

        Raises:
            AbortError: another run holds it.
        """
        if not self.has_run_lock(0):
            has = lock_holder.holder(self.control, self.plan.user)
            words = f"{lock_holder.RUN_LOCK}{f' ({has.words})' if has else ''}"
            raise AbortError(
                f"another role change is in progress on {self.host}: it holds the lock {words}."
                " Wait until it ends"
            )

    def has_run_lock(self, seconds: float) -> bool:
        """Whether this part now holds the run lock; see locks.take_run_lock()."""
        return locks.take_run_lock(self.control, seconds, self.plan.user, self.plan.ends_lock)

    def channel(self) -> Channel | None:
        return channels.default_channel(self.control.channels(self.names))

    def follows(self, host: str) -> bool:
        """Whether this host's channel points at a member."""
        channel, peer = self.channel(), self.plan.peer(host)
        return bool(
            channel
            and channel["source_host"] == peer.address
            and str(channel["source_port"]) == str(peer.port)
        )

    def applied(self) -> str:
        return str(self.monitor.applied(self.names))

    def has_applied(self, position: str) -> bool:
        """Whether this server has applied everything up to a position of its source."""
        return self.gtids(self.applied()).covers(self.gtids(position))

    def gtids(self, *texts: str) -> Gtids:
        """The value of what servers of this engine say."""
        return gtids.parse(self.names.engine, *texts)

    def executed(self) -> Gtids:
        """Everything that this server has executed, as a state."""
        return self.executed_there(self.monitor)

    def executed_there(self, server: Server) -> Gtids:
        """The same for another server."""
        return self.gtids(global_text(server, gtids.kind_of(self.names.engine).STATE))

    def semisync(self) -> Values:
        """The status values of the source side, by our keys."""
        return by_key(self.names.statuses(SOURCE), self.monitor.semisync_status())

    def frozen(self, server: Server | None = None) -> bool:
        return canonical_value(global_text(server or self.monitor, "read_only")) != "0"

    # Waiting

    def wait_for(
        self,
        what: str,
        seconds: float,
        holds: Callable[[], Value | None],
    ) -> Value:
        """Wait until holds() is true; return its result.

        Raises:
            AbortError: time is up.
        """
        seen = wait_until(holds, seconds, PAUSE)
        if not seen:
            raise AbortError(f"timed out after {seconds:.0f} s waiting for {what}")
        return seen

    def close(self) -> None:
        """Close all connections: from then on the others see that this part has ended."""
        self.locks.release_all()
        for server in [*self.peers.values(), self.control, self.monitor]:
            connection.close(server)
        self.peers = {}


def global_text(server: Server, name: str) -> str:
    """A global variable as one line of text."""
    value = server.rows(f"SELECT @@GLOBAL.{name} AS value")[0]["value"]
    return "" if value is None else "".join(text(value).split())
