# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The old source's way back: it takes its role again, where the target has not taken it."""

from __future__ import annotations

import contextlib
import time
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.replication import journal
from ansible_collections.dbre.semisync.plugins.module_utils.replication.gtid_type import Gtids
from ansible_collections.dbre.semisync.plugins.module_utils.replication.journal import (
    DONE,
    REFUSED,
    UNDONE,
    UNKNOWN,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change import (
    locks,
    read_only_dropin,
    role_statements,
    watchdog,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.participant import (
    HEARD,
    UNDOING,
    Part,
    StepBackError,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.watchdog import BACK
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError

# Seconds that the way back waits for replicas before it lets writers in without them.
CLIENTS = 10
# Seconds that an answer stays, so that the target's part sees it.
ANSWERED = 5
# What the target's server says of its role.
CLOSED, OPENED = "closed", "open"


class SourceBack(Part):
    """What the part of the old source does when the role does not move."""

    def __init__(self, module: Any, warden: watchdog.Guard | None = None) -> None:
        super().__init__(module, warden)
        self.begun = self.granted = False
        self.frozen_at = self.frozen_until = 0.0
        self.there: locks.Flags | None = None
        self.scheduler_was_on = False
        # Why the journal does not say that it was undone.
        self.unsaid = ""

    def back(self, reason: str) -> dict[str, Any]:
        """Take the role back, where the target has not taken it; in a time of its own."""
        self.note("back", reason)
        if not self.begun:
            return self.result(REFUSED, reason)
        deadline = time.monotonic() + BACK
        error = self.revive(deadline)
        if error:
            return self.result(UNKNOWN, f"{reason}. {self.params['host']} does not answer: {error}")
        state, words = self.state_of_target(deadline)
        if state == OPENED:
            self.note("open_seen", words)
            self.frozen_until = time.monotonic()
            return self.result(DONE, f"{reason}; but {words}{self.retire()}")
        if state != CLOSED:
            return self.result(
                UNKNOWN,
                f"{reason}. {words}. {self.stays()}. Run switchover.yml again when {self.target}"
                " answers",
            )
        try:
            self.reopen(deadline)
        except (ServerError, OSError) as error:
            return self.result(
                UNKNOWN, f"{reason}. The way back failed on {self.params['host']}: {error}"
            )
        return self.result(UNDONE, f"{reason}{self.unsaid}")

    def stays(self) -> str:
        """What this server is left as where nothing is known of the target."""
        if self.frozen():
            return (
                f"{self.params['host']} stays read-only: nobody may take writes until it is known"
                " whether the other did"
            )
        return f"{self.params['host']} takes writes, as before"

    def retire(self) -> str:
        """Wait for nobody any more; why that is not so, or ""."""
        try:
            self.run(role_statements.retire_steps(self.names))
        except ServerError as error:
            return f"; its source side is still on: {error}"
        return ""

    def state_of_target(self, deadline: float) -> tuple[str, str]:
        """(closed, open or '' where that cannot be known, why)."""

        def attempt() -> tuple[str, str]:
            server = self.connect(self.target)
            self.peers["the way back"] = server
            position = self.names.logged_position
            if not locks.look(server, self.token, (), position)["read_only"]:
                return OPENED, f"{self.target} takes writes"
            more = self.more_there(server)
            if more:
                return OPENED, f"{self.target} was open: it has {more}"
            # Whoever could open it holds this lock.
            if self.params["mode"] == "undo" and not self.params.get("without_target"):
                if not locks.look(server, self.token, (UNDOING,), position)[UNDOING]:
                    raise StepBackError(f"the part on {self.target} has not come so far")
                self.answer()
            elif not locks.take(server, role_statements.RUN_LOCK, 1):
                raise StepBackError(f"the part on {self.target} has not ended")
            if not locks.look(server, self.token, (), position)["read_only"]:
                return OPENED, f"{self.target} takes writes"
            return CLOSED, f"{self.target} is read-only, and has nothing of its own"

        words = ""
        while True:
            try:
                state, words = attempt()
                return state, words
            except (ServerError, StepBackError) as error:
                words = f"{self.target} does not say whether it was opened: {error}"
            if not self.granted:
                # It waits for a word that never comes.
                return CLOSED, words
            if time.monotonic() >= deadline:
                return "", words
            time.sleep(0.2)

    def more_there(self, server: Server) -> Gtids:
        """What the target has that this server lacks."""
        return self.executed_there(server).beyond(self.executed())

    def reopen(self, deadline: float) -> None:
        """Be the source again: detached, semi-synchronous, open, in this order.

        Raises:
            ServerError, OSError: something refuses.
        """
        channel = self.channel()
        self.run(role_statements.detach_steps(self.names, channel is not None))
        # The other replicas come back by this.
        returning = locks.Flags(self.local, self.token)
        returning.hoist("back")
        count = self.params["wait_count"]

        def enough() -> bool:
            status = self.semisync()
            return status["status"] == "ON" and int(status["clients"] or 0) >= count

        limit = min(CLIENTS, max(0.0, deadline - time.monotonic()))
        try:
            self.until("the replicas", limit, enough)
        except StepBackError:
            self.note("too_few", f"{self.semisync()['clients']} replicas acknowledge")
        if self.scheduler_was_on and self.params["events"]:
            self.run([("SET GLOBAL event_scheduler = 1", None)])
        self.run([(role_statements.open_statement(), None)])
        returning.drop()
        self.frozen_until = time.monotonic()
        self.note("reopened")
        option_file = self.params["option_file"]
        read_only_dropin.take_away(option_file["path"], option_file["kind"])
        self.write_undone()

    def write_undone(self) -> None:
        """The journal's row; what is wrong with it goes into the reason."""
        try:
            self.write(journal.UNDONE)
        except ServerError as error:
            self.unsaid = (
                f"; {self.params['host']} takes writes, but the journal says still that the"
                f" switchover began: {error}. Run switchover.yml again, which writes it down"
            )

    # After an interrupted run

    def undo(self) -> dict[str, Any]:
        """The target was not opened: be the source again."""
        try:
            self.take_run_lock()
            # One that follows no server let none open, and one that takes writes did so before
            # this: the plan rests on either.
            settled = self.channel() is None or not self.frozen()
            alone = self.params.get("without_target") and settled
            self.begun, self.granted = True, not alone
            result = self.back("an interrupted switchover is undone")
            if result["outcome"] == UNDONE:
                self.wait_for_target()
            return result
        except (StepBackError, ServerError) as error:
            return self.result(UNKNOWN, str(error))
        finally:
            self.drop()

    def answer(self) -> None:
        """Tell the target's part, which holds its flag for this, that it was heard."""
        if self.there is None:
            self.there = locks.Flags(lambda: self.connect(self.target), self.token)
            self.there.hoist(HEARD)

    def wait_for_target(self) -> None:
        """Until its part has seen the answer, which goes with this part."""
        with contextlib.suppress(StepBackError, ServerError):  # what it undid stays undone
            self.until(
                f"the end of the part on {self.target}",
                ANSWERED,
                lambda: not self.look(self.target, UNDOING)[UNDOING],
            )

    def recover(self, stage: str) -> dict[str, Any]:
        """What the guard does when the part has ended without a word."""
        self.begun, self.granted = True, stage == "granted"
        if not self.frozen() and self.channel() is None:
            # It did not come to the freeze.
            option_file = self.params["option_file"]
            read_only_dropin.take_away(option_file["path"], option_file["kind"])
            self.write_undone()
            return self.result(UNDONE, self.unsaid)
        if not self.has_run_lock(5):
            return self.result(UNKNOWN, "another run has the lock")
        return self.back(f"the part on {self.params['host']} ended without a word")

    def result(self, outcome: str, reason: str = "") -> dict[str, Any]:
        result = super().result(outcome, reason)
        if self.frozen_at and self.frozen_until:
            result["writers_waited_ms"] = round(1000 * (self.frozen_until - self.frozen_at), 1)
        result["position"] = self.position
        result["scheduler_was_on"] = self.scheduler_was_on
        return result

    def drop(self) -> None:
        if self.there:
            self.there.drop()
        super().drop()
