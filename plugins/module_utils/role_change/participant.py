# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the three parts of a switchover have in common: connections, time, and what is written down.

All parts run at the same time, each on its host. What one waits for it asks of the other's server.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils.replication import gtids, journal
from ansible_collections.dbre.semisync.plugins.module_utils.replication.channel import Step, show
from ansible_collections.dbre.semisync.plugins.module_utils.replication.gtid_type import Gtids
from ansible_collections.dbre.semisync.plugins.module_utils.role_change import (
    locks,
    role_statements,
    run_lock,
    watchdog,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.log_in import log_in
from ansible_collections.dbre.semisync.plugins.module_utils.server import channels, login
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import (
    Server,
    identify,
)
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import SOURCE
from ansible_collections.dbre.semisync.plugins.module_utils.server.read import by_key
from ansible_collections.dbre.semisync.plugins.module_utils.server.values import (
    canonical_value,
    text,
)
from ansible_collections.dbre.semisync.plugins.module_utils.shapes import Channel

# A statement that takes so many seconds is in the timeline.
SLOW = 0.1
# Seconds between two looks at another part, and for an answer of its server.
PAUSE = 0.003
ANSWER = 3
# The flag of a target that undoes what was interrupted, and the source's answer on the same server.
UNDOING, HEARD = "undoing", "heard"


class StepBackError(Exception):
    """It cannot go on, and what was done is undone; the text says why."""


class Part(ABC):
    """One host's part.

    Args:
        module: the AnsibleModule; see modules/semisync_switchover.py for its options.
    """

    # What its rows in the journal are of.
    operation = journal.SWITCHOVER

    def __init__(self, module: Any, warden: watchdog.Guard | None = None) -> None:
        self.module, self.params, self.warden = module, module.params, warden
        self.token = self.params["token"]
        self.began = time.monotonic()
        self.timeline: list[dict[str, Any]] = []
        self.statements: list[str] = []
        self.points: list[dict[str, Any]] = []
        # Where the source stood still.
        self.position = ""
        # Freezes and opens, and holds the run's lock.
        self.hand = self.local()
        self.eyes = self.local()
        self.names = identify(self.hand)
        self.peers: dict[str, Server] = {}
        # What this part says on its own server.
        self.flags = locks.Flags(self.local, self.token)

    def tell(self, stage: str) -> None:
        """Let the guard know how far this part is."""
        if self.warden:
            self.warden.tell(stage)

    # Connections

    def local(self) -> Server:
        return Server(login.connect(self.module))

    def connect(self, host: str) -> Server:
        """A new connection to another member, by the replication account.

        Raises:
            ServerError: there is none.
        """
        peer = next(one for one in self.params["members"] if one["host"] == host)
        server = log_in(peer, self.params, peer["tls"], ANSWER)
        # Where this host loses its power nobody closes the connection, and its locks would stay.
        server.rows("SET SESSION wait_timeout = %s", (self.lifetime(),))
        return server

    def lifetime(self) -> int:
        """Seconds in which every part has ended."""
        waits = watchdog.MEET + self.params["catch_up"] + self.params["drain"]
        return int(watchdog.seconds(self.params) + waits)

    def peer(self, host: str) -> Server:
        """The connection to another member that questions go through."""
        if host not in self.peers:
            self.peers[host] = self.connect(host)
        return self.peers[host]

    def look(self, host: str, *names: str) -> dict[str, Any]:
        """flags.look() at another member.

        Raises:
            ServerError: it cannot be asked.
        """
        return locks.look(self.peer(host), self.token, names, self.names.logged_position)

    def look_here(self, *names: str) -> dict[str, Any]:
        return locks.look(self.eyes, self.token, names, self.names.logged_position)

    @property
    def source(self) -> str:
        return str(self.params["source"])

    @property
    def target(self) -> str:
        return str(self.params["target"])

    def go(self) -> dict[str, Any]:
        """Do what the run wants of this part."""
        return {"switch": self.work, "finish": self.finish, "undo": self.undo}[
            self.params["mode"]
        ]()

    @abstractmethod
    def work(self) -> dict[str, Any]:
        """Move the role; what became of this part."""

    @abstractmethod
    def finish(self) -> dict[str, Any]:
        """After an interrupted run: the target was opened."""

    @abstractmethod
    def undo(self) -> dict[str, Any]:
        """After an interrupted run: the target was not opened."""

    @abstractmethod
    def recover(self, stage: str) -> dict[str, Any]:
        """What the guard does when the part has ended without a word.

        Args:
            stage: the last one that it told.
        """

    def here(self, host: str) -> str:
        """The flag by which a member says on the target's server that it is there; a lock's name
        has 64 characters at most.
        """
        return f"here.{[one['host'] for one in self.params['members']].index(host)}"

    # What is written down

    def note(self, event: str, words: str = "") -> None:
        """One line of the timeline."""
        self.timeline.append(
            {"event": event, "words": words, "at": time.time(), "clock": time.monotonic()}
        )

    def point(self, name: str, good: bool | None, observed: str, expected: str) -> None:
        """One checkpoint of this host."""
        self.points.append({"id": name, "good": good, "observed": observed, "expected": expected})

    def run(self, steps: list[Step], server: Server | None = None) -> None:
        """Run statements in their order.

        Raises:
            ServerError: the server refuses one.
        """
        for statement, arguments in steps:
            words, begin = show(statement, arguments), time.monotonic()
            self.statements.append(words)
            (server or self.hand).rows(statement, arguments)
            if time.monotonic() - begin > SLOW:
                self.note("slow", f"{time.monotonic() - begin:.2f} s: {words}")

    def write(self, state: str, seconds: float | None = None) -> None:
        """A row of the journal.

        Args:
            seconds: how long it may wait for its acknowledgement; None for as long as it takes.

        Raises:
            ServerError: it was not written, or time is up.
        """
        server = self.local()
        try:
            if seconds is not None:
                server.cursor.connection._read_timeout = seconds
            journal.insert(
                server,
                self.params["schema"],
                journal.Entry(
                    operation=self.operation,
                    run=self.token,
                    state=state,
                    from_host=self.source,
                    to_host=self.target,
                    from_id=self.params["source_id"],
                    to_id=self.params["target_id"],
                    position=self.position or self.look_here()["position"],
                    verdict=self.params.get("verdict") or "",
                ),
            )
        finally:
            locks.close(server)

    def result(self, outcome: str, reason: str = "") -> dict[str, Any]:
        return {
            "outcome": outcome,
            "reason": reason,
            "changed": bool(self.statements),
            "statements": self.statements,
            "timeline": self.timeline,
            "points": self.points,
        }

    def revive(self, deadline: float) -> ServerError | None:
        """Connect again where this server was restarted; why that is not possible, or None."""
        if locks.alive(self.hand) and locks.alive(self.eyes):
            return None
        connections, error = try_again(
            max(0.0, deadline - time.monotonic()), lambda: (self.local(), self.local())
        )
        if error:
            return error
        self.hand, self.eyes = connections
        self.note("restarted", self.params["host"])
        self.take_run_lock()
        return None

    # What the server here says

    def take_run_lock(self) -> None:
        """Be the only run that may freeze or open this server.

        Raises:
            StepBackError: another is.
        """
        if not self.has_run_lock(0):
            has = run_lock.holder(self.hand, self.params["user"])
            raise StepBackError(
                f"another switchover is under way on {self.params['host']}: it holds the lock"
                f" {role_statements.RUN_LOCK}{f' ({has.words})' if has else ''}. Wait until it has"
                " ended"
            )

    def has_run_lock(self, seconds: float) -> bool:
        """Whether this part has that lock by now; see run_lock.take()."""
        return run_lock.take(
            self.hand, seconds, self.params["user"], bool(self.params.get("ends_lock"))
        )

    def channel(self) -> Channel | None:
        return channels.default_channel(self.hand.channels(self.names))

    def follows(self, host: str) -> bool:
        """Whether this host's channel points at a member."""
        channel = self.channel()
        peer = next(one for one in self.params["members"] if one["host"] == host)
        return bool(
            channel
            and channel["source_host"] == peer["address"]
            and str(channel["source_port"]) == str(peer["port"])
        )

    def applied(self) -> str:
        return str(self.eyes.applied(self.names))

    def has_applied(self, position: str) -> bool:
        """Whether this server has applied everything up to a position of its source."""
        return self.gtids(self.applied()).covers(self.gtids(position))

    def gtids(self, *texts: str) -> Gtids:
        """The value of what servers of this engine say."""
        return gtids.parse(self.names.engine, *texts)

    def executed(self) -> Gtids:
        """All that this server has, as a state."""
        return self.executed_there(self.eyes)

    def executed_there(self, server: Server) -> Gtids:
        """The same of another server."""
        return self.gtids(global_text(server, gtids.kind_of(self.names.engine).STATE))

    def semisync(self) -> dict[str, Any]:
        """The source side's statuses by our keys."""
        return by_key(self.names.statuses(SOURCE), self.eyes.semisync_status())

    def frozen(self, server: Server | None = None) -> bool:
        return canonical_value(global_text(server or self.eyes, "read_only")) != "0"

    # Waiting

    def until(
        self,
        what: str,
        seconds: float,
        holds: Callable[[], Any],
    ) -> Any:
        """What holds() returned, once it is true.

        Raises:
            StepBackError: time is up.
        """
        seen = wait_until(holds, seconds, PAUSE)
        if not seen:
            raise StepBackError(f"{what} did not come within {seconds:.0f} s")
        return seen

    def drop(self) -> None:
        """Let go of everything: from here on the others see that this part has ended."""
        self.flags.drop()
        for server in [*self.peers.values(), self.hand, self.eyes]:
            locks.close(server)
        self.peers = {}


def global_text(server: Server, name: str) -> str:
    """A global variable as one line of text."""
    value = server.rows(f"SELECT @@GLOBAL.{name} AS value")[0]["value"]
    return "" if value is None else "".join(text(value).split())


def try_again(
    seconds: float, attempt: Callable[[], Any], pause: float = 0.2
) -> tuple[Any, ServerError | None]:
    """(what an attempt returned, None), or (None, the last error) where time is up."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return attempt(), None
        except ServerError as error:
            if time.monotonic() >= deadline:
                return None, error
        time.sleep(pause)
