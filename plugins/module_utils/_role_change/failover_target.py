# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the replica that takes over from a dead source: it applies everything that it has
received, waits for replicas that acknowledge, and lets writers in.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._host import process, server_options
from ansible_collections.dbre.semisync.plugins.module_utils._replication import (
    journal,
    journal_writing,
)
from ansible_collections.dbre.semisync.plugins.module_utils._replication.channel import Step
from ansible_collections.dbre.semisync.plugins.module_utils._replication.journal import (
    DONE,
    REFUSED,
    UNDONE,
    UNKNOWN,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    drain,
    io_thread,
    locks,
    partial_transaction,
    role_statements,
    scheduled_events,
    traces,
    watchdog,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.applying import (
    applies,
    apply_all,
    claim,
    moves,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.participant import (
    PAUSE,
    AbortError,
    Participant,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import FailoverPlan
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.promotion import (
    TOLD,
    Promotion,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.roll_forward import (
    position_steps,
    roll_forward,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.watchdog import BACK, MEET
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import REPLICA, SOURCE

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.beat_shapes import Beat

GAVE_UP = "gave-up"
PROMOTED = "promoted"


class FailoverTarget(Participant):
    """The part of the new source.

    Attributes:
        claimed: whether only this part may start the IO thread again.
        gave_up: whether its applier may have been ended; a rollback starts it again.
        beats: the dead source's newest beats, once all is applied; None before.
        lines_at: what option_file() has found; None before.
        tail: the transactions that were salvaged from the dead source; empty if there are none.
    """

    operation = journal.FAILOVER
    plan: FailoverPlan

    def __init__(
        self, module: AnsibleModule, plan: FailoverPlan, dog: watchdog.Watchdog | None = None
    ) -> None:
        super().__init__(module, plan, dog)
        self.promotion = Promotion(self, self.option_file)
        self.lines_at: tuple[str, str, str] | None = None
        self.claimed = self.gave_up = False
        self.beats: list[Beat] | None = None
        self.deadline = 0.0
        self.tail = str(module.params.get("tail") or "")

    def option_file(self) -> tuple[str, str, str]:
        """The path, kind and option group of the collection's lines on this host."""
        if self.lines_at is None:
            server = process.running(self.monitor.variables())
            place = server_options.our_place(self.module, server, self.plan.option_file or None)
            self.lines_at = (place.path, place.kind, "mysqld" + place.suffix)
        return self.lines_at

    # Forward

    def work(self) -> dict[str, object]:
        """Take the role over; return the result."""
        try:
            self.prepare()
            self.take_over()
        except (AbortError, ServerError, OSError) as error:
            return self.roll_back(str(error))
        try:
            return self.result(DONE, self.first_commit())
        except (ServerError, OSError) as error:
            # It may be read-only again, if its server was restarted: the next run repairs that.
            return self.result(UNKNOWN, f"{self.target} was opened, and then: {error}")
        finally:
            self.close()

    def prepare(self) -> None:
        """Be the only run here, and wait for the other parts.

        Raises:
            AbortError: a host is missing, or the state has changed since it was judged.
        """
        claim(self, self.plan)
        self.claimed = True
        self.locks.prepare(2)
        others = self.plan.others
        # Now, while the others come: later each moment counts.
        self.option_file()
        self.promotion.need_space()
        self.wait_for("the other hosts", MEET, lambda: self.promotion.all_here(others))
        channel = self.channel()
        if not channel or channel["io_running"] != "No":
            raise AbortError(
                f"{self.target}'s IO thread is running again: it may have received more than was"
                " judged"
            )

    def take_over(self) -> None:
        """Everything up to the opening.

        Raises:
            AbortError: the applier makes no progress, or no replica that acknowledges comes.
        """
        limit = time.monotonic() + self.plan.catch_up
        apply_all(self, self.plan)
        self.report_stage(GAVE_UP)
        # After it, the salvaged transactions may include that one in full.
        self.gave_up = True
        partial_transaction.give_up(self, self.plan.received)
        if self.tail:
            roll_forward(self, self.tail)
        # Once it is open, it writes heartbeats itself.
        self.beats = traces.newest_beats(self.monitor, self.plan.schema)
        self.be_careful()
        self.promotion.need_space()
        self.report_stage(PROMOTED)
        self.promotion.promoted = True
        self.run_statements(self.promote_steps())
        self.locks.acquire("ready")
        self.log_event("ready")
        self.deadline = time.monotonic() + self.plan.timeout
        if self.plan.wait_count:
            self.wait_for_replicas(limit)
        self.promotion.open()

    def wait_for_replicas(self, limit: float) -> None:
        """Wait until as many are connected as a commit waits for. One that applies its own backlog
        first says so, and is waited for; where that stands still, its part ends it. One that says
        that it stops to follow this server is waited for as long as a server may take to stop.

        Args:
            limit: of the monotonic clock, after which none is waited for any more.

        Raises:
            AbortError: no replica applies or stops, and too few connect.
        """
        others = self.plan.others
        applying = {applies(self, host) for host in others}
        moving = {moves(self, host) for host in others}
        stopped = time.monotonic() + partial_transaction.STOP
        while not self.promotion.enough_clients():
            now = time.monotonic()
            seen = self.look_here(*applying, *moving).flags if others else {}
            if now < limit and any(seen[flag] for flag in applying):
                self.deadline = now + self.plan.timeout
                stopped = now + partial_transaction.STOP
            elif now < stopped and any(seen[flag] for flag in moving):
                self.deadline = now + self.plan.timeout
            elif now > self.deadline:
                raise AbortError(
                    f"too few replicas connected within {self.plan.timeout} s after they had"
                    " applied their backlog"
                )
            time.sleep(PAUSE)

    def be_careful(self) -> None:
        """If durability was relaxed to apply faster: sync every commit again, and what was applied
        meanwhile.
        """
        durability = self.plan.durability
        if durability:
            self.run_statements(drain.careful_steps(durability))
            os.sync()
            self.log_event("careful_again", "everything applied is on disk")

    def result(self, outcome: str, reason: str = "") -> dict[str, object]:
        """What became of it, and of which change of the old source's semi-sync this server knows
        now that it has applied everything; None if that cannot be read; with the beats of it.
        """
        seen = None
        with contextlib.suppress(ServerError):
            seen = journal.past(self.monitor, self.plan.schema)["settings_row"]
        return dict(super().result(outcome, reason), settings_row=seen, beats=self.beats)

    def promote_steps(self) -> list[Step]:
        """If no replica could acknowledge, the source side stays off: writers would only wait."""
        steps = role_statements.promote_steps(self.names)
        return steps if self.plan.wait_count else steps[:-1]

    def first_commit(self) -> str:
        """Write the journal's row; its table may not exist yet. Return what is wrong, or ""."""
        try:
            for statement in journal_writing.create_statements(self.plan.schema):
                self.run_statements([(statement, None)])
            words = self.promotion.first_commit()
        except ServerError as error:
            return f"{self.target} is open, but its first commit failed: {error}"
        if not self.plan.wait_count:
            # The operator has accepted that no replica acknowledges.
            self.points = [point for point in self.points if point["id"] != "S7"]
            words = ""
        return words or self.run_events()

    def run_events(self) -> str:
        """Run the events here that ran on the dead source; return what is wrong, or ""."""
        try:
            here = self.monitor.events()
            steps, left = scheduled_events.take_over(here, self.plan.event_states)
            self.run_statements(steps)
        except ServerError as error:
            return (
                f"{self.target} is open, but events of {self.source} may run nowhere: {error}."
                " verify.yml names them"
            )
        if steps:
            self.log_event("events", f"{len(steps) // 2} as they were on {self.source}")
        if left:
            self.log_event(
                "events_left", f"not known to have run on {self.source}: {', '.join(left)}"
            )
        return ""

    # After an interrupted run

    def finish(self) -> dict[str, object]:
        """The target was opened: keep it open, write the journal's row, and use replicas if there
        are enough.
        """
        if self.plan.wait_count:
            return self.promotion.finish(self.first_commit)
        try:
            self.take_run_lock()
            if self.frozen():
                self.run_statements(self.promote_steps())
                self.promotion.open()
            return self.result(DONE, self.first_commit())
        except (AbortError, ServerError) as error:
            return self.result(UNKNOWN, str(error))
        finally:
            self.close()

    def undo(self) -> dict[str, object]:
        return self.result(
            UNKNOWN, "a failover cannot be rolled back later: run failover.yml again"
        )

    # Rollback

    def roll_back(self, reason: str) -> dict[str, object]:
        """Be a replica of the dead source again, unless this server was opened."""
        self.log_event("back", reason)
        if not self.claimed:
            self.close()
            return self.result(REFUSED, reason)
        try:
            error = self.revive(time.monotonic() + BACK)
            if error:
                raise error
            if self.promotion.opened or not self.frozen():
                return self.result(DONE, f"{reason}; but {self.target} takes writes")
            # The others need not wait for their timeout.
            locks.Locks(self.local, self.token).acquire("back")
            self.be_careful()
            self.run_statements(self.way_back())
        except (ServerError, AbortError) as error:
            return self.result(UNKNOWN, f"{reason}. The rollback failed on {self.host}: {error}")
        finally:
            time.sleep(TOLD)
            self.close()
        self.log_event("returned")
        return self.result(UNDONE if self.promotion.promoted else REFUSED, reason)

    def way_back(self) -> list[Step]:
        # The salvaged transactions are the dead source's own; they are not fetched from it again.
        given = position_steps(self) if self.tail else []
        if not self.promotion.promoted:
            both = given or self.gave_up
            again = [role_statements.start_replica(self.names)]
            return [*given, *(again if both else io_thread.start_steps(self.names))]
        return [
            *given,
            (role_statements.side_statement(self.names, SOURCE, False), None),
            (role_statements.side_statement(self.names, REPLICA, True), None),
            role_statements.start_replica(self.names),
        ]

    def recover(self, stage: str) -> dict[str, object]:
        if not self.has_run_lock(5):
            return self.result(UNKNOWN, "another run has the lock")
        if not self.frozen():
            # The next run does the rest, and needs the lock.
            self.close()
            return self.result(DONE)
        self.claimed, self.gave_up = True, stage == GAVE_UP
        self.promotion.promoted = stage == PROMOTED
        return self.roll_back(f"the part on {self.host} was killed")
