# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of every other replica in a failover: it follows the new source, or waits for the old
one again if no replica took over.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._replication.journal import (
    DONE,
    REFUSED,
    UNDONE,
    UNKNOWN,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    drain,
    io_thread,
    io_thread_resume,
    locks,
    partial_transaction,
    role_statements,
    watchdog,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.applying import (
    applies,
    apply_all,
    claim,
    moves,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.following import (
    LOOK,
    Following,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.participant import (
    AbortError,
    Participant,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    SEE_ITS_RESULT,
    FailoverPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.watchdog import BACK, MEET
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


class FailoverReplica(Participant):
    """The part of a replica that stays a replica."""

    plan: FailoverPlan

    def __init__(
        self, module: AnsibleModule, plan: FailoverPlan, dog: watchdog.Watchdog | None = None
    ) -> None:
        super().__init__(module, plan, dog)
        self.following = Following(self)
        # When a run was last seen on the target.
        self.heard = 0.0

    def work(self) -> dict[str, object]:
        """Follow the replica that takes over; return the result."""
        claimed = False
        self.heard = time.monotonic()
        try:
            claim(self, self.plan)
            claimed = True
            self.stands_still()
            self.following.announce()
            # Following another source discards the relay log, so everything must be applied first.
            with self.says(applies):
                apply_all(self, self.plan)
            ready = f"{self.target} to report that it has applied everything"
            self.wait_for(ready, MEET + self.plan.catch_up, self.is_ready)
            with self.says(moves):
                self.report_stage("moved")
                self.following.moved = True
                partial_transaction.give_up(self, self.plan.received)
                self.following.move(self.target)
            return self.settle()
        except (AbortError, ServerError) as error:
            self.log_event("back", str(error))
            return self.roll_back(str(error), claimed)
        finally:
            self.close()

    def stands_still(self) -> None:
        """Check that the IO thread has not started since the freeze, as it does when its server
        starts.

        Raises:
            AbortError: it runs, and may acknowledge to a source that has returned.
        """
        channel = self.channel()
        if not channel or channel["io_running"] != "No":
            raise AbortError(
                f"{self.host}'s IO thread is running again: it may have received and acknowledged"
                " more than was judged"
            )

    @contextlib.contextmanager
    def says(self, flag_of: Callable[[Participant, str], str]) -> Iterator[None]:
        """Tell the target's server what this part is doing, so that the target waits for it."""
        busy = locks.Locks(lambda: self.connect(self.target), self.token)
        try:
            busy.acquire(flag_of(self, self.host))
            yield
        finally:
            busy.release_all()

    def is_ready(self) -> bool:
        seen = self.look(self.target, drain.FLAG)
        if seen.runs or seen.flags[drain.FLAG]:
            self.heard = time.monotonic()
        elif time.monotonic() - self.heard > io_thread_resume.RESUME_AFTER:
            raise AbortError(f"the run's process on {self.target} has ended")
        return self.following.is_ready()

    def settle(self) -> dict[str, object]:
        """Stay if the role moved; go back if it did not."""
        begin, patience = time.monotonic(), self.plan.timeout + 2 * BACK
        # The target may wait for another replica that applies what it has. One that says nothing
        # has died, and its watchdog waits for this part to end.
        deadline, silent = begin + patience + self.plan.catch_up, begin + patience
        words = f"{self.target} does not take writes"
        while time.monotonic() < min(deadline, silent):
            try:
                seen = self.look(self.target, "ready", "back")
                silent = time.monotonic() + patience
                if not seen.read_only:
                    if not self.follows(self.target):
                        self.following.move(self.target)
                    return self.result(DONE)
                if seen.flags["back"] or not seen.runs:
                    return self.roll_back(f"{self.target} rolled back; {SEE_ITS_RESULT}", True)
            except ServerError as error:
                words = f"{self.target} does not answer: {error}"
                self.peers.pop(self.target, None)
            time.sleep(LOOK)
        return self.result(
            UNKNOWN,
            f"it is not known whether {self.target} was promoted: {words}. {self.host}"
            f" follows {self.target if self.following.moved else self.source}",
        )

    def roll_back(self, reason: str, claimed: bool) -> dict[str, object]:
        """Wait for the old source again.

        Args:
            claimed: whether only this part may start the IO thread.
        """
        if not claimed:
            return self.result(REFUSED, reason)
        try:
            self.revive(time.monotonic() + BACK)
            if self.follows(self.target):
                peer = self.plan.peer(self.source)
                self.run_statements(
                    role_statements.redirect_steps(self.names, peer.address, peer.port)
                )
                return self.result(UNDONE, reason)
            # After a failed move both threads may be stopped.
            both = [role_statements.start_replica(self.names)]
            self.run_statements(both if self.following.moved else io_thread.start_steps(self.names))
            return self.result(REFUSED, reason)
        except (ServerError, AbortError) as error:
            words = f"{reason}. The rollback failed on {self.host}: {error}"
            return self.result(UNKNOWN, words)

    # After an interrupted run

    def finish(self) -> dict[str, object]:
        return self.following.follow(self.target, DONE)

    def undo(self) -> dict[str, object]:
        return self.following.follow(self.source, UNDONE)

    def recover(self, stage: str) -> dict[str, object]:
        if not self.has_run_lock(5):
            return self.result(UNKNOWN, "another run has the lock")
        self.following.moved = stage == "moved"
        try:
            return self.settle()
        finally:
            self.close()

    def close(self) -> None:
        self.following.close()
        super().close()
