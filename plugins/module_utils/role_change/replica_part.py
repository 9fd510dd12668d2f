# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of any other replica: it follows the target, and the old source again where that took
its role back.
"""

from __future__ import annotations

import time
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.replication import gtids, position
from ansible_collections.dbre.semisync.plugins.module_utils.replication.journal import (
    DONE,
    REFUSED,
    UNDONE,
    UNKNOWN,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change import (
    locks,
    role_statements,
    watchdog,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.participant import (
    Part,
    StepBackError,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.watchdog import BACK, MEET
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError

# Seconds between two questions who became the source.
LOOK = 0.05


class ReplicaPart(Part):
    """The part of a replica that stays one."""

    def __init__(self, module: Any, warden: watchdog.Guard | None = None) -> None:
        super().__init__(module, warden)
        self.moved = False
        self.there: locks.Flags | None = None

    def work(self) -> dict[str, Any]:
        """Follow whoever is the source in the end; what became of it."""
        try:
            self.there = locks.Flags(lambda: self.connect(self.target), self.token)
            self.there.hoist(self.here(self.params["host"]))
            wait = 2 * MEET + 2 * self.params["catch_up"]
            wait += self.params["drain"] + self.params["timeout"]
            self.until(f"{self.target}'s word that it has everything", wait, self.is_ready)
            self.move(self.target)
        except (StepBackError, ServerError) as error:
            self.note("back", str(error))
            if not self.moved:
                self.drop()
                return self.result(REFUSED, str(error))
        try:
            return self.settle()
        finally:
            self.drop()

    def is_ready(self) -> bool:
        seen = self.look(self.target, "ready", "back")
        if seen["ready"]:
            return True
        if seen["back"]:
            raise StepBackError(f"{self.target} went back; it says why")
        if not seen["run"] and self.armed:
            raise StepBackError(f"the part on {self.target} has ended; it says why")
        self.armed = bool(seen["run"])
        return False

    armed = False

    def move(self, host: str) -> None:
        """Follow a member by the same account."""
        if not self.moved:
            self.tell("moved")
        self.moved = True
        self.note("attach", host)
        peer = next(one for one in self.params["members"] if one["host"] == host)
        self.run(role_statements.redirect_steps(self.names, peer["address"], peer["port"]))
        self.note("attached", host)

    def settle(self) -> dict[str, Any]:
        """Stay where the role went; back where it did not go."""
        deadline = time.monotonic() + self.params["timeout"] + 2 * BACK
        words = "neither takes writes"
        while time.monotonic() < deadline:
            for host, outcome in ((self.target, DONE), (self.source, UNDONE)):
                try:
                    if self.writable(host) or self.took_it_back(host):
                        if not self.follows(host):
                            self.move(host)
                        return self.result(outcome)
                except ServerError as error:
                    words = f"{host} does not answer: {error}"
                    self.peers.pop(host, None)
            time.sleep(LOOK)
        return self.result(
            UNKNOWN,
            f"it is not known who became the source: {words}. {self.params['host']} follows"
            f" {self.target}. Run switchover.yml again",
        )

    def writable(self, host: str) -> bool:
        return not self.look(host)["read_only"]

    def took_it_back(self, host: str) -> bool:
        """Whether the old source waits for its replicas, to be open again."""
        return host == self.source and bool(self.look(host, "back")["back"])

    # After an interrupted run

    def finish(self) -> dict[str, Any]:
        return self.follow(self.target, DONE)

    def undo(self) -> dict[str, Any]:
        return self.follow(self.source, UNDONE)

    def follow(self, host: str, outcome: str) -> dict[str, Any]:
        """Follow a member, and be done."""
        try:
            if self.follows(host):
                self.renew(host)
            else:
                self.move(host)
            return self.result(outcome)
        except (ServerError, StepBackError) as error:
            return self.result(UNKNOWN, str(error))
        finally:
            self.drop()

    def renew(self, host: str) -> None:
        """A new connection to the one that this replica follows already.

        It may have acknowledged for that one by now. A MariaDB server throws away what it received
        where both threads stand still and either starts (MDEV-4698), so its applier runs meanwhile.

        Raises:
            StepBackError: the applier does not run.
        """
        channel = self.channel()
        if not self.names.mariadb or not channel or channel["io_running"] == "No":
            self.run(role_statements.renew_steps(self.names))
            return
        if channel["sql_running"] != "Yes":
            self.run([role_statements.start_thread(self.names, "SQL")])
        self.run([role_statements.stop_thread(self.names, "IO")])
        channel = self.channel()
        retrieved = channel["retrieved"] if channel else ""
        left = gtids.missing(self.names.engine, retrieved, self.applied())
        if left and not (channel and channel["sql_running"] == "Yes"):
            raise StepBackError(
                f"{self.params['host']} has received {left} transactions of {host} that it does not"
                f" apply ({position.stopped(channel) or 'its applier stands still'}), and would"
                " throw them away with a new connection. See to its applier, and START SLAVE"
            )
        self.run([role_statements.start(self.names)])

    def recover(self, stage: str) -> dict[str, Any]:
        """What the guard does when the part has ended without a word."""
        return self.settle()

    def drop(self) -> None:
        if self.there:
            self.there.drop()
        super().drop()
