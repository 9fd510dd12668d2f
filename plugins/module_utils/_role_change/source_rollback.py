# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The old source's way back: it finds out whether the target has opened, and if not, it takes its
role back. It does so only if the target cannot open any more.
"""

from __future__ import annotations

import time

from ansible_collections.dbre.semisync.plugins.module_utils._replication import journal
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtid_type import Gtids
from ansible_collections.dbre.semisync.plugins.module_utils._replication.journal import (
    DONE,
    REFUSED,
    UNDONE,
    UNKNOWN,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    lock_holder,
    locks,
    read_only_dropin,
    role_statements,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.participant import (
    HEARD,
    UNDOING,
    AbortError,
    Participant,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import SwitchoverPlan
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.watchdog import BACK
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError

# Seconds that a rollback waits for replicas before it lets writers in without them.
CLIENTS = 10
# The states of the target's role that its server shows.
CLOSED, OPENED = "closed", "open"


class SourceRollback:
    """What the part of the old source does if the role may not have moved.

    Attributes:
        begun: whether the journal says that the switchover began.
        granted: whether the target may open.
        there: the part's flags on the target's server.
        scheduler_was_on: whether the switchover stopped the event scheduler here.
        over_at: when writers were let in, here or there, by the monotonic clock; 0.0 if never.
        unsaid: why the journal does not say that the switchover was undone.
    """

    def __init__(self, part: Participant, plan: SwitchoverPlan) -> None:
        self.part, self.plan = part, plan
        self.begun = self.granted = self.scheduler_was_on = False
        self.there: locks.Locks | None = None
        self.over_at = 0.0
        self.unsaid = ""

    def roll_back(self, reason: str) -> dict[str, object]:
        """Take the role back if the target has not taken it; this has a separate time limit."""
        part = self.part
        part.log_event("back", reason)
        if not self.begun:
            return part.result(REFUSED, reason)
        deadline = time.monotonic() + BACK
        error = part.revive(deadline)
        if error:
            return part.result(UNKNOWN, f"{reason}. {part.host} does not answer: {error}")
        state, words = self.state_of_target(deadline)
        if state == OPENED:
            part.log_event("open_seen", words)
            self.over_at = time.monotonic()
            return part.result(DONE, f"{reason}; but {words}{self.retire()}")
        if state != CLOSED:
            return part.result(
                UNKNOWN,
                f"{reason}. {words}. {self.stays()}. Run switchover.yml again when {part.target}"
                " answers",
            )
        try:
            self.reopen(deadline)
        except (ServerError, OSError) as error:
            return part.result(UNKNOWN, f"{reason}. The rollback failed on {part.host}: {error}")
        return part.result(UNDONE, f"{reason}{self.unsaid}")

    def stays(self) -> str:
        """The state in which this server is left if the target's state is unknown."""
        part = self.part
        if part.frozen():
            return (
                f"{part.host} stays read-only: no server may take writes until it is known whether"
                " the other one did"
            )
        return f"{part.host} takes writes, as before"

    def retire(self) -> str:
        """Stop waiting for acknowledgements; return why that failed, or ""."""
        try:
            self.part.run_statements(role_statements.retire_steps(self.part.names))
        except ServerError as error:
            return f"; its source side is still on: {error}"
        return ""

    def state_of_target(self, deadline: float) -> tuple[str, str]:
        """(closed, open or '' where that cannot be known, why)."""
        part = self.part

        def attempt() -> tuple[str, str]:
            server = part.connect(part.target)
            part.peers["the way back"] = server
            position = part.names.logged_position
            if not locks.flags_of_part(server, part.token, (), position).read_only:
                return OPENED, f"{part.target} takes writes"
            more = self.more_there(server)
            if more:
                return OPENED, f"{part.target} was open: it has {more}"
            # The only part that could open the target holds this lock.
            if self.plan.mode == "undo" and not self.plan.without_target:
                if not locks.flags_of_part(server, part.token, (UNDOING,), position).flags[UNDOING]:
                    raise AbortError(f"the process on {part.target} has not reached that step")
                self.answer()
            elif not locks.take(server, lock_holder.RUN_LOCK, 1):
                raise AbortError(f"the part on {part.target} has not ended")
            if not locks.flags_of_part(server, part.token, (), position).read_only:
                return OPENED, f"{part.target} takes writes"
            return CLOSED, f"{part.target} is read-only, and has no errant transactions"

        words = ""
        while True:
            try:
                state, words = attempt()
                return state, words
            except (ServerError, AbortError) as error:
                words = f"it cannot be read whether {part.target} was opened: {error}"
            if not self.granted:
                # It waits for an answer that never comes.
                return CLOSED, words
            if time.monotonic() >= deadline:
                return "", words
            time.sleep(0.2)

    def more_there(self, server: Server) -> Gtids:
        """The transactions that the target has and this server lacks."""
        return self.part.executed_there(server).beyond(self.part.executed())

    def reopen(self, deadline: float) -> None:
        """Be the source again: detached, semi-synchronous, open, in this order.

        Raises:
            ServerError, OSError: something refuses.
        """
        part = self.part
        channel = part.channel()
        part.run_statements(role_statements.detach_steps(part.names, channel is not None))
        # The other replicas come back by this.
        returning = locks.Locks(part.local, part.token)
        returning.acquire("back")
        count = self.plan.wait_count

        def enough() -> bool:
            status = part.semisync()
            return status["status"] == "ON" and int(status["clients"] or 0) >= count

        limit = min(CLIENTS, max(0.0, deadline - time.monotonic()))
        try:
            part.wait_for("enough replicas to acknowledge", limit, enough)
        except AbortError:
            part.log_event("too_few", f"{part.semisync()['clients']} replicas acknowledge")
        if self.scheduler_was_on and self.plan.events:
            part.run_statements([("SET GLOBAL event_scheduler = 1", None)])
        part.run_statements([(role_statements.open_statement(), None)])
        returning.release_all()
        self.over_at = time.monotonic()
        part.log_event("reopened")
        option_file = self.plan.option_file
        read_only_dropin.take_away(option_file.path, option_file.kind, option_file.group)
        self.write_undone()

    def write_undone(self) -> None:
        """The journal's row; what is wrong with it goes into the reason."""
        try:
            self.part.write(journal.UNDONE)
        except ServerError as error:
            self.unsaid = (
                f"; {self.part.host} takes writes, but the journal still says that the switchover"
                f" began: {error}. Run switchover.yml again, which records it"
            )

    def answer(self) -> None:
        """Tell the target's part, which holds its flag for this, that its request was seen."""
        part = self.part
        if self.there is None:
            self.there = locks.Locks(lambda: part.connect(part.target), part.token)
            self.there.acquire(HEARD)
