# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the replica that takes over from a dead source: it applies everything that it has
received, waits for replicas that acknowledge, and opens.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.replication import (
    gtids,
    journal,
    position,
)
from ansible_collections.dbre.semisync.plugins.module_utils.replication.channel import Step
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
    scheduled_events,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.participant import (
    PAUSE,
    Part,
    StepBackError,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.roll_forward import (
    position_steps,
    roll_forward,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.target_part import (
    TOLD,
    TargetPart,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.watchdog import BACK, MEET
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import REPLICA, SOURCE

# What the guard is told first: the IO thread stands still, and nobody else starts it again.
HOLDS = "holds"
GAVE_UP = "gave-up"
PROMOTED = "promoted"


class FailoverTarget(TargetPart):
    """The part of the new source."""

    operation = journal.FAILOVER
    # Whether this part is the one that may start the IO thread again.
    held = False
    # Whether its applier may have been ended, and is started again on the way back.
    gave_up = False

    # Forward

    def prepare(self) -> None:
        """Be alone here, and meet the others.

        Raises:
            StepBackError: somebody is missing, or it is not any more as it was judged.
        """
        hold(self)
        self.held = True
        self.flags.prepare(2)
        others = self.params["others"]
        self.until("the other hosts", MEET, lambda: self.all_here(others))
        channel = self.channel()
        if not channel or channel["io_running"] != "No":
            raise StepBackError(
                f"{self.target}'s IO thread runs again: it may have received more than was judged"
            )

    def take_over(self) -> None:
        """Everything up to the opening.

        Raises:
            StepBackError: the applier does not get on, or nobody comes who acknowledges.
        """
        limit = time.monotonic() + self.params["catch_up"]
        apply_all(self)
        self.tell(GAVE_UP)
        # Behind it, what was salvaged may bring that transaction whole.
        self.gave_up = True
        partial_transaction.give_up(self)
        if self.params.get("tail"):
            roll_forward(self)
        self.be_careful()
        self.tell(PROMOTED)
        self.promoted = True
        self.run(self.promotion())
        self.flags.hoist("ready")
        self.note("ready")
        self.deadline = time.monotonic() + self.params["timeout"]
        if self.params["wait_count"]:
            self.wait_for_replicas(limit)
        self.open()

    def wait_for_replicas(self, limit: float) -> None:
        """Wait until as many are connected as a commit waits for. One that applies its own backlog
        first says so, and is waited for; where that stands still, its part ends it. One that says
        that it stops to follow this server is waited for as long as a server may take to stop.

        Args:
            limit: of the monotonic clock, from which on nobody is waited for any more.

        Raises:
            StepBackError: nobody applies or stops, and they do not come.
        """
        others = self.params["others"]
        applying = {applies(self, host) for host in others}
        moving = {moves(self, host) for host in others}
        stopped = time.monotonic() + partial_transaction.STOP
        while not self.enough_clients():
            now = time.monotonic()
            seen = self.look_here(*applying, *moving) if others else {}
            if now < limit and any(seen[flag] for flag in applying):
                self.deadline = now + self.params["timeout"]
                stopped = now + partial_transaction.STOP
            elif now < stopped and any(seen[flag] for flag in moving):
                self.deadline = now + self.params["timeout"]
            elif now > self.deadline:
                raise StepBackError(
                    f"enough replicas did not come within {self.params['timeout']} s after they"
                    " had applied what they have, and had stopped"
                )
            time.sleep(PAUSE)

    def be_careful(self) -> None:
        """Write every commit to the disk again, and all that was applied without, where applying
        was to be fast.
        """
        durability = self.params["durability"]
        if durability:
            self.run(drain.careful_steps(durability))
            os.sync()
            self.note("careful_again", "all that was applied is on the disk")

    def result(self, outcome: str, reason: str = "") -> dict[str, Any]:
        """What became of it, and of which change of the old source's semi-sync this server knows
        now that it has applied everything; None if that cannot be read.
        """
        seen = None
        with contextlib.suppress(ServerError):
            seen = journal.past(self.eyes, self.params["schema"])["settings_row"]
        return dict(super().result(outcome, reason), settings_row=seen)

    def promotion(self) -> list[Step]:
        """Where nobody could acknowledge, the source side stays off: writers would only wait."""
        steps = role_statements.promote_steps(self.names)
        return steps if self.params["wait_count"] else steps[:-1]

    def first_commit(self) -> str:
        """The journal's row, in a table that may not be there yet; what is wrong with it in words,
        or "".
        """
        try:
            for statement in journal.create_statements(self.params["schema"]):
                self.run([(statement, None)])
            words = super().first_commit()
        except ServerError as error:
            return f"{self.target} is open, but its first commit failed: {error}"
        if not self.params["wait_count"]:
            # Somebody has accepted that nobody acknowledges.
            self.points = [point for point in self.points if point["id"] != "S7"]
            words = ""
        return words or self.run_events()

    def run_events(self) -> str:
        """Let the events run here that ran on the dead source; what is wrong with it, or ""."""
        try:
            steps, left = scheduled_events.take_over(
                self.eyes.events(), self.params.get("event_states")
            )
            self.run(steps)
        except ServerError as error:
            return (
                f"{self.target} is open, but events of {self.source} may run nowhere: {error}."
                " verify.yml names them"
            )
        if steps:
            self.note("events", f"{len(steps) // 2} as they were on {self.source}")
        if left:
            self.note("events_left", f"not known to have run on {self.source}: {', '.join(left)}")
        return ""

    # After an interrupted run

    def finish(self) -> dict[str, Any]:
        """It was opened: be open, with the journal's row, and replicas where there are enough."""
        if self.params["wait_count"]:
            return super().finish()
        try:
            self.take_run_lock()
            if self.frozen():
                self.run(self.promotion())
                self.open()
            return self.result(DONE, self.first_commit())
        except (StepBackError, ServerError) as error:
            return self.result(UNKNOWN, str(error))
        finally:
            self.drop()

    # Back

    def back(self, reason: str) -> dict[str, Any]:
        """Be a replica of the dead source again, where this server was not opened."""
        self.note("back", reason)
        if not self.held:
            self.drop()
            return self.result(REFUSED, reason)
        try:
            error = self.revive(time.monotonic() + BACK)
            if error:
                raise error
            if self.opened or not self.frozen():
                return self.result(DONE, f"{reason}; but {self.target} takes writes")
            # The others need not wait for their time to be up.
            locks.Flags(self.local, self.token).hoist("back")
            self.be_careful()
            self.run(self.way_back())
        except (ServerError, StepBackError) as error:
            return self.result(
                UNKNOWN, f"{reason}. The way back failed on {self.params['host']}: {error}"
            )
        finally:
            time.sleep(TOLD)
            self.drop()
        self.note("returned")
        return self.result(UNDONE if self.promoted else REFUSED, reason)

    def way_back(self) -> list[Step]:
        # What was salvaged is the dead source's own, and is not fetched from it again.
        given = position_steps(self) if self.params.get("tail") else []
        if not self.promoted:
            return [
                *given,
                *(
                    [role_statements.start(self.names)]
                    if given or self.gave_up
                    else io_thread.start_steps(self.names)
                ),
            ]
        return [
            *given,
            (role_statements.side_statement(self.names, SOURCE, False), None),
            (role_statements.side_statement(self.names, REPLICA, True), None),
            role_statements.start(self.names),
        ]

    def recover(self, stage: str) -> dict[str, Any]:
        """What the guard does when the part has ended without a word."""
        if not self.has_run_lock(5):
            return self.result(UNKNOWN, "another run has the lock")
        if not self.frozen():
            # What is left the next run does, which needs the lock.
            self.drop()
            return self.result(DONE)
        self.held, self.promoted, self.gave_up = True, stage == PROMOTED, stage == GAVE_UP
        return self.back(f"the part on {self.params['host']} ended without a word")


def applies(part: Part, host: str) -> str:
    """The flag by which a replica says on the target's server that it applies what it has."""
    return part.here(host).replace("here", "applies")


def moves(part: Part, host: str) -> str:
    """The flag by which a replica says on the target's server that it stops, to follow it."""
    return part.here(host).replace("here", "moves")


def hold(part: Part) -> None:
    """Be the only run on this host, and let nobody start the IO thread.

    Raises:
        StepBackError: another run is here, or it was started already.
    """
    part.take_run_lock()
    part.tell(HOLDS)
    gone = not io_thread_resume.release(io_thread_resume.address(part.params))
    if part.params["held"] and gone:
        raise StepBackError(
            f"nobody came to {part.params['host']} within {io_thread_resume.HELD} s after its IO"
            " thread was stopped, so it was started again"
        )


def apply_all(part: Part) -> None:
    """Apply what this server has received. As long as it gets on, it is waited for.

    Raises:
        StepBackError: it stands still, or has stopped.
    """
    wanted = part.params["received"]
    channel = part.channel()
    if channel and channel["sql_running"] != "Yes" and not part.names.mariadb:
        part.run([(f"START {part.names.replica_word} SQL_THREAD", None)])
    first = left = gtids.missing(part.names.engine, wanted, part.applied())
    begin = moved = time.monotonic()
    while left:
        words = position.stopped(part.channel())
        if words:
            raise StepBackError(f"{part.params['host']} does not apply what it has: {words}")
        if time.monotonic() - moved > part.params["stall"]:
            raise StepBackError(
                f"{part.params['host']} has applied nothing for {part.params['stall']} s, and"
                f" {left} transactions are left"
            )
        time.sleep(0.01 if left < 100 else 0.1)
        now = gtids.missing(part.names.engine, wanted, part.applied())
        if now < left:
            moved = time.monotonic()
        left = now
    part.point(
        "C6",
        True,
        f"{first} transactions in {time.monotonic() - begin:.1f} s; it has {part.applied()}",
        wanted,
    )
    part.note("applied_all", f"{first} transactions")
