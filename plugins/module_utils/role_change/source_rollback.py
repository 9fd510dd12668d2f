# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The old source's way back: it finds out whether the target has opened, and if not, it takes its
role back. It does so only if the target cannot open any more.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils.replication import journal
from ansible_collections.dbre.semisync.plugins.module_utils.replication.gtid_type import Gtids
from ansible_collections.dbre.semisync.plugins.module_utils.replication.journal import (
    DONE,
    REFUSED,
    UNDONE,
    UNKNOWN,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change import (
    lock_holder,
    locks,
    read_only_dropin,
    role_statements,
    watchdog,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.participant import (
    HEARD,
    UNDOING,
    AbortError,
    Participant,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.plan import SwitchoverPlan
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.watchdog import BACK
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

# Seconds that a rollback waits for replicas before it lets writers in without them.
CLIENTS = 10
# The states of the target's role that its server shows.
CLOSED, OPENED = "closed", "open"


class SourceRollback(Participant):
    """What a part of the old source does if the role may not have moved.

    Attributes:
        begun: whether the journal says that the switchover began.
        granted: whether the target may open.
        frozen_at, frozen_until: of the monotonic clock; 0.0 if that did not happen.
        there: this part's flags on the target's server.
        unsaid: why the journal does not say that it was undone.
    """

    plan: SwitchoverPlan

    def __init__(
        self, module: AnsibleModule, plan: SwitchoverPlan, dog: watchdog.Watchdog | None = None
    ) -> None:
        super().__init__(module, plan, dog)
        self.begun = self.granted = False
        self.frozen_at = self.frozen_until = 0.0
        self.there: locks.Locks | None = None
        self.scheduler_was_on = False
        self.unsaid = ""

    def roll_back(self, reason: str) -> dict[str, object]:
        """Take the role back if the target has not taken it; this has a separate time limit."""
        self.log_event("back", reason)
        if not self.begun:
            return self.result(REFUSED, reason)
        deadline = time.monotonic() + BACK
        error = self.revive(deadline)
        if error:
            return self.result(UNKNOWN, f"{reason}. {self.host} does not answer: {error}")
        state, words = self.state_of_target(deadline)
        if state == OPENED:
            self.log_event("open_seen", words)
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
            return self.result(UNKNOWN, f"{reason}. The rollback failed on {self.host}: {error}")
        return self.result(UNDONE, f"{reason}{self.unsaid}")

    def stays(self) -> str:
        """The state in which this server is left if the target's state is unknown."""
        if self.frozen():
            return (
                f"{self.host} stays read-only: no server may take writes until it is known whether"
                " the other one did"
            )
        return f"{self.host} takes writes, as before"

    def retire(self) -> str:
        """Stop waiting for acknowledgements; return why that failed, or ""."""
        try:
            self.run_statements(role_statements.retire_steps(self.names))
        except ServerError as error:
            return f"; its source side is still on: {error}"
        return ""

    def state_of_target(self, deadline: float) -> tuple[str, str]:
        """(closed, open or '' where that cannot be known, why)."""

        def attempt() -> tuple[str, str]:
            server = self.connect(self.target)
            self.peers["the way back"] = server
            position = self.names.logged_position
            if not locks.flags_of_part(server, self.token, (), position).read_only:
                return OPENED, f"{self.target} takes writes"
            more = self.more_there(server)
            if more:
                return OPENED, f"{self.target} was open: it has {more}"
            # The only part that could open the target holds this lock.
            if self.plan.mode == "undo" and not self.plan.without_target:
                if not locks.flags_of_part(server, self.token, (UNDOING,), position).flags[UNDOING]:
                    raise AbortError(f"the process on {self.target} has not reached that step")
                self.answer()
            elif not locks.take(server, lock_holder.RUN_LOCK, 1):
                raise AbortError(f"the part on {self.target} has not ended")
            if not locks.flags_of_part(server, self.token, (), position).read_only:
                return OPENED, f"{self.target} takes writes"
            return CLOSED, f"{self.target} is read-only, and has no errant transactions"

        words = ""
        while True:
            try:
                state, words = attempt()
                return state, words
            except (ServerError, AbortError) as error:
                words = f"it cannot be read whether {self.target} was opened: {error}"
            if not self.granted:
                # It waits for an answer that never comes.
                return CLOSED, words
            if time.monotonic() >= deadline:
                return "", words
            time.sleep(0.2)

    def more_there(self, server: Server) -> Gtids:
        """The transactions that the target has and this server lacks."""
        return self.executed_there(server).beyond(self.executed())

    def reopen(self, deadline: float) -> None:
        """Be the source again: detached, semi-synchronous, open, in this order.

        Raises:
            ServerError, OSError: something refuses.
        """
        channel = self.channel()
        self.run_statements(role_statements.detach_steps(self.names, channel is not None))
        # The other replicas come back by this.
        returning = locks.Locks(self.local, self.token)
        returning.acquire("back")
        count = self.plan.wait_count

        def enough() -> bool:
            status = self.semisync()
            return status["status"] == "ON" and int(status["clients"] or 0) >= count

        limit = min(CLIENTS, max(0.0, deadline - time.monotonic()))
        try:
            self.wait_for("enough replicas to acknowledge", limit, enough)
        except AbortError:
            self.log_event("too_few", f"{self.semisync()['clients']} replicas acknowledge")
        if self.scheduler_was_on and self.plan.events:
            self.run_statements([("SET GLOBAL event_scheduler = 1", None)])
        self.run_statements([(role_statements.open_statement(), None)])
        returning.release_all()
        self.frozen_until = time.monotonic()
        self.log_event("reopened")
        option_file = self.plan.option_file
        read_only_dropin.take_away(option_file.path, option_file.kind, option_file.group)
        self.write_undone()

    def write_undone(self) -> None:
        """The journal's row; what is wrong with it goes into the reason."""
        try:
            self.write(journal.UNDONE)
        except ServerError as error:
            self.unsaid = (
                f"; {self.host} takes writes, but the journal still says that the switchover began:"
                f" {error}. Run switchover.yml again, which records it"
            )

    def answer(self) -> None:
        """Tell the target's part, which holds its flag for this, that its request was seen."""
        if self.there is None:
            self.there = locks.Locks(lambda: self.connect(self.target), self.token)
            self.there.acquire(HEARD)
