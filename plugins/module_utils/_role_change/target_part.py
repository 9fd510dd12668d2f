# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of a switchover's new source: it applies everything, waits for its replicas, asks, and
opens.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids
from ansible_collections.dbre.semisync.plugins.module_utils._replication.journal import (
    DONE,
    REFUSED,
    UNDONE,
    UNKNOWN,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    locks,
    role_statements,
    watchdog,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.participant import (
    HEARD,
    UNDOING,
    AbortError,
    Participant,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    SEE_ITS_RESULT,
    SwitchoverPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.promotion import (
    TOLD,
    Promotion,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.watchdog import BACK, MEET
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


class TargetPart(Participant):
    """The part of the new source."""

    plan: SwitchoverPlan

    def __init__(
        self, module: AnsibleModule, plan: SwitchoverPlan, dog: watchdog.Watchdog | None = None
    ) -> None:
        super().__init__(module, plan, dog)
        lines = plan.option_file
        self.promotion = Promotion(self, lambda: (lines.path, lines.kind, lines.group))
        self.deadline = 0.0

    # Forward

    def work(self) -> dict[str, object]:
        """Take the role over; what became of it."""
        try:
            self.prepare()
            self.take_over()
        except (AbortError, ServerError, OSError) as error:
            return self.roll_back(str(error))
        try:
            return self.result(DONE, self.promotion.first_commit())
        except (ServerError, OSError) as error:
            # It may be read-only again, if its server was restarted: the next run repairs that.
            return self.result(UNKNOWN, f"{self.target} was opened, and then: {error}")
        finally:
            self.close()

    def prepare(self) -> None:
        """The slow steps, before writers are kept out."""
        self.take_run_lock()
        self.locks.prepare(4)
        others = [one.host for one in self.plan.members if one.host != self.target]
        self.wait_for("the other hosts", MEET, lambda: self.promotion.all_here(others))
        self.catch_up()
        self.promotion.need_space()
        self.locks.acquire("armed")
        self.log_event("armed")

    def catch_up(self) -> None:
        """Apply everything that the source has now, before writers are kept out.

        Raises:
            AbortError: it takes too long, or this server has errant transactions.
        """
        mine = self.executed()
        before = self.look(self.source)
        theirs = self.executed_there(self.peer(self.source))
        own = mine.beyond(theirs)
        if own:
            raise AbortError(
                f"{self.target} has transactions that {self.source} lacks: {own}. A switchover"
                " would send them to every server. Find out what they are, then seed it again, or"
                f" apply them on {self.source} yourself"
            )
        missing = gtids.missing(self.names.engine, before.position, self.applied())
        begin = time.monotonic()
        self.wait_for(
            f"{self.target} to reach the position of {self.source}",
            self.plan.catch_up,
            lambda: self.has_applied(before.position),
        )
        seconds = time.monotonic() - begin
        self.point(
            "S1",
            True,
            f"{missing} transactions were missing, none after {seconds:.1f} s",
            "none missing before the freeze",
        )
        self.log_event("caught_up", f"{missing} transactions in {seconds:.1f} s")

    def take_over(self) -> None:
        """The steps that writers wait for.

        Raises:
            AbortError: the source rolled back, or a step timed out.
        """
        wait = MEET + self.plan.catch_up + self.plan.drain + self.plan.timeout
        seen = self.wait_for(f"{self.source} to keep writers out", wait, self.frozen_there)
        self.log_event("frozen_seen", seen.position)
        self.deadline = time.monotonic() + self.plan.timeout
        self.wait_for(
            f"{self.target} to apply the last transaction",
            self.left(),
            lambda: self.has_applied(seen.position),
        )
        self.point("S5", True, self.applied(), seen.position)
        self.log_event("applied_all")
        self.promotion.need_space()
        self.report_stage("promoted")
        self.promotion.promoted = True
        self.run_statements(role_statements.promote_steps(self.names))
        self.locks.acquire("ready")
        self.log_event("ready")
        self.wait_for("enough replicas to connect", self.left(), self.enough)
        self.locks.acquire("asks")
        self.log_event("asks")
        self.wait_for(f"permission from {self.source}", self.left(), self.is_granted)
        # The source has granted the role, and grants it to no other.
        self.promotion.open()

    def left(self) -> float:
        return max(0.1, self.deadline - time.monotonic())

    def there(self, *names: str) -> locks.Seen:
        """What the source says.

        Raises:
            AbortError: its part has ended.
        """
        seen = self.look(self.source, *names)
        if not seen.runs:
            raise AbortError(f"the process on {self.source} has ended; {SEE_ITS_RESULT}")
        return seen

    def frozen_there(self) -> locks.Seen | None:
        here = self.presence(self.source)
        if not self.look_here(here).flags[here]:
            raise AbortError(f"the process on {self.source} has ended; {SEE_ITS_RESULT}")
        seen = self.there("frozen")
        return seen if seen.flags["frozen"] else None

    def enough(self) -> bool:
        """Whether as many replicas can acknowledge as a commit will wait for.

        Raises:
            AbortError: the source is no longer frozen.
        """
        self.still_frozen(self.there("frozen"))
        return self.promotion.enough_clients()

    def is_granted(self) -> bool:
        seen = self.there("frozen", "granted")
        self.still_frozen(seen)
        return seen.flags["granted"]

    def still_frozen(self, seen: locks.Seen) -> None:
        """
        Raises:
            AbortError: the source is not frozen any more.
        """
        if not seen.read_only or not seen.flags["frozen"]:
            raise AbortError(f"{self.source} took its role back; it says why")

    # Rollback

    def roll_back(self, reason: str) -> dict[str, object]:
        """Be a replica again, unless it was opened."""
        self.log_event("back", reason)
        deadline = time.monotonic() + BACK
        try:
            error = self.revive(deadline)
            if error:
                raise error
            if self.promotion.opened or not self.frozen():
                return self.result(DONE, f"{reason}; but {self.target} takes writes")
            # The source need not wait for its timeout.
            locks.Locks(self.local, self.token).acquire("back")
            if not self.promotion.promoted:
                return self.result(REFUSED, reason)
            self.run_statements(role_statements.return_steps(self.names))
            self.wait_for("the channel to run", BACK, self.replicates)
        except (ServerError, AbortError) as error:
            return self.result(
                UNKNOWN if self.promotion.promoted else REFUSED,
                f"{reason}. The rollback failed on {self.host}: {error}",
            )
        finally:
            time.sleep(TOLD)
            self.close()
        self.log_event("returned")
        return self.result(UNDONE, reason)

    # After an interrupted run

    def finish(self) -> dict[str, object]:
        return self.promotion.finish(self.promotion.first_commit)

    def undo(self) -> dict[str, object]:
        """It was not opened: be a replica."""
        try:
            self.take_run_lock()
            if not self.frozen():
                return self.result(UNKNOWN, f"{self.target} takes writes")
            if not self.follows(self.source):
                peer = self.plan.peer(self.source)
                self.run_statements(
                    role_statements.redirect_steps(self.names, peer.address, peer.port)
                )
            self.run_statements(
                [
                    role_statements.stop_replica(self.names),
                    *role_statements.return_steps(self.names),
                ]
            )
            # The source may open: this part holds the lock, and does not. One that came up again
            # by itself is open already, and has yet to ask.
            self.locks.acquire(UNDOING)
            self.wait_for(f"the part on {self.source} to respond", MEET + BACK, self.is_heard)
            self.wait_for(f"{self.source} to open", BACK, self.is_open_there)
            return self.result(UNDONE)
        except (AbortError, ServerError) as error:
            return self.result(UNKNOWN, str(error))
        finally:
            self.close()

    def is_heard(self) -> bool:
        return self.look_here(HEARD).flags[HEARD]

    def is_open_there(self) -> bool:
        return not self.look(self.source).read_only

    # The rest

    def replicates(self) -> bool:
        channel = self.channel()
        return bool(channel and channel["io_running"] == channel["sql_running"] == "Yes")

    def recover(self, stage: str) -> dict[str, object]:
        if not self.frozen():
            return self.result(DONE)
        self.promotion.promoted = True
        if not self.has_run_lock(5):
            return self.result(UNKNOWN, "another run has the lock")
        return self.roll_back(f"the part on {self.host} was killed")
