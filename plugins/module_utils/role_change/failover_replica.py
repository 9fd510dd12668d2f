# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of any other replica: it follows the new source, and waits for the old one again where
nobody took over.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.replication.journal import (
    DONE,
    REFUSED,
    UNDONE,
    UNKNOWN,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change import (
    drain,
    io_thread,
    io_thread_resume,
    locks,
    partial_transaction,
    role_statements,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.failover_target import (
    applies,
    apply_all,
    hold,
    moves,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.participant import (
    Part,
    StepBackError,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.replica_part import (
    LOOK,
    ReplicaPart,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.watchdog import BACK, MEET
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError


class FailoverReplica(ReplicaPart):
    """The part of a replica that stays one."""

    def work(self) -> dict[str, Any]:
        """Follow whoever takes over; what became of it."""
        held = False
        self.heard = time.monotonic()
        try:
            hold(self)
            held = True
            self.stands_still()
            self.there = locks.Flags(lambda: self.connect(self.target), self.token)
            self.there.hoist(self.here(self.params["host"]))
            # Following another source throws away what was received: nothing of it may be left.
            with self.says(applies):
                apply_all(self)
            self.until(
                f"{self.target}'s word that it has everything",
                MEET + self.params["catch_up"],
                self.is_ready,
            )
            with self.says(moves):
                self.tell("moved")
                self.moved = True
                partial_transaction.give_up(self)
                self.move(self.target)
            return self.settle()
        except (StepBackError, ServerError) as error:
            self.note("back", str(error))
            return self.back(str(error), held)
        finally:
            self.drop()

    def stands_still(self) -> None:
        """Behind the freeze nobody may have started the IO thread, as a restart of the server does.

        Raises:
            StepBackError: it runs, and may acknowledge to a source that is back.
        """
        channel = self.channel()
        if not channel or channel["io_running"] != "No":
            raise StepBackError(
                f"{self.params['host']}'s IO thread runs again: it may have received and"
                " acknowledged more than was judged"
            )

    @contextlib.contextmanager
    def says(self, flag_of: Callable[[Part, str], str]) -> Iterator[None]:
        """Say on the target's server what this one is at, so that it is waited for."""
        busy = locks.Flags(lambda: self.connect(self.target), self.token)
        try:
            busy.hoist(flag_of(self, self.params["host"]))
            yield
        finally:
            busy.drop()

    # When somebody was last seen to work on the target.
    heard = 0.0

    def is_ready(self) -> bool:
        seen = self.look(self.target, drain.FLAG)
        if seen["run"] or seen[drain.FLAG]:
            self.heard = time.monotonic()
        elif time.monotonic() - self.heard > io_thread_resume.HELD:
            raise StepBackError(f"nobody works on {self.target} any more: the run has ended")
        return super().is_ready()

    def settle(self) -> dict[str, Any]:
        """Stay where the role went; back where it did not go."""
        begin, patience = time.monotonic(), self.params["timeout"] + 2 * BACK
        # The target may wait for another replica that applies what it has. One that says nothing
        # has died, and whoever takes over from it waits for this part to end.
        deadline, silent = begin + patience + self.params["catch_up"], begin + patience
        words = f"{self.target} does not take writes"
        while time.monotonic() < min(deadline, silent):
            try:
                seen = self.look(self.target, "ready", "back")
                silent = time.monotonic() + patience
                if not seen["read_only"]:
                    if not self.follows(self.target):
                        self.move(self.target)
                    return self.result(DONE)
                if seen["back"] or not seen["run"]:
                    return self.back(f"{self.target} went back; it says why", True)
            except ServerError as error:
                words = f"{self.target} does not answer: {error}"
                self.peers.pop(self.target, None)
            time.sleep(LOOK)
        return self.result(
            UNKNOWN,
            f"it is not known whether {self.target} took over: {words}. {self.params['host']}"
            f" follows {self.target if self.moved else self.source}",
        )

    def back(self, reason: str, held: bool) -> dict[str, Any]:
        """Wait for the old source again.

        Args:
            held: whether this part is the one that may start the IO thread.
        """
        if not held:
            return self.result(REFUSED, reason)
        try:
            self.revive(time.monotonic() + BACK)
            if self.follows(self.target):
                peer = next(one for one in self.params["members"] if one["host"] == self.source)
                self.run(role_statements.redirect_steps(self.names, peer["address"], peer["port"]))
                return self.result(UNDONE, reason)
            # Behind a move that failed both threads may stand.
            self.run(
                [role_statements.start(self.names)]
                if self.moved
                else io_thread.start_steps(self.names)
            )
            return self.result(REFUSED, reason)
        except (ServerError, StepBackError) as error:
            words = f"{reason}. The way back failed on {self.params['host']}: {error}"
            return self.result(UNKNOWN, words)

    def recover(self, stage: str) -> dict[str, Any]:
        """What the guard does when the part has ended without a word."""
        if not self.has_run_lock(5):
            return self.result(UNKNOWN, "another run has the lock")
        self.moved = stage == "moved"
        try:
            return self.settle()
        finally:
            self.drop()
