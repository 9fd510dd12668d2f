# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the new source: it applies everything, waits for its replicas, asks, and opens."""

from __future__ import annotations

import time
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.replication import gtids, journal
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
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.watchdog import BACK, MEET
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils.server.values import rises

# Seconds that a part which went back stays, so that the others hear of it.
TOLD = 0.3
# Seconds that the first commit may take to be acknowledged.
FIRST_COMMIT = 10


class TargetPart(Part):
    """The part of the new source."""

    def __init__(self, module: Any, warden: watchdog.Guard | None = None) -> None:
        super().__init__(module, warden)
        self.promoted = self.opened = False

    # Forward

    def work(self) -> dict[str, Any]:
        """Take the role over; what became of it."""
        try:
            self.prepare()
            self.take_over()
        except (StepBackError, ServerError, OSError) as error:
            return self.back(str(error))
        try:
            return self.result(DONE, self.first_commit())
        except (ServerError, OSError) as error:
            # It may be read-only again, where its server was restarted: the next run sees to it.
            return self.result(UNKNOWN, f"{self.target} was opened, and then: {error}")
        finally:
            self.drop()

    def prepare(self) -> None:
        """Everything that may take its time."""
        self.take_run_lock()
        self.flags.prepare(4)
        others = [one["host"] for one in self.params["members"] if one["host"] != self.target]
        self.until("the other hosts", MEET, lambda: self.all_here(others))
        self.catch_up()
        self.flags.hoist("armed")
        self.note("armed")

    def all_here(self, others: list[str]) -> bool:
        names = tuple(self.here(host) for host in others)
        seen = self.look_here(*names)
        return all(seen[name] for name in names)

    def catch_up(self) -> None:
        """Have everything that the source has now, before anybody is kept out.

        Raises:
            StepBackError: it takes too long, or this server has what its source lacks.
        """
        mine = self.executed()
        before = self.look(self.source)
        theirs = self.executed_there(self.peer(self.source))
        own = mine.beyond(theirs)
        if own:
            raise StepBackError(
                f"{self.target} has transactions that {self.source} lacks: {own}. A switchover"
                " would give them to everybody. Find out what they are, and seed it again or take"
                " them over yourself"
            )
        missing = gtids.missing(self.names.engine, before["position"], self.applied())
        begin = time.monotonic()
        self.until(
            f"{self.target} at the position of {self.source}",
            self.params["catch_up"],
            lambda: self.has_applied(before["position"]),
        )
        seconds = time.monotonic() - begin
        self.point(
            "S1",
            True,
            f"{missing} transactions were missing, none after {seconds:.1f} s",
            "none missing before the freeze",
        )
        self.note("caught_up", f"{missing} transactions in {seconds:.1f} s")

    def take_over(self) -> None:
        """The part that writers wait for.

        Raises:
            StepBackError: the source went back, or something takes too long.
        """
        wait = MEET + self.params["catch_up"] + self.params["drain"] + self.params["timeout"]
        seen = self.until("the freeze", wait, self.frozen_there)
        self.note("frozen_seen", seen["position"])
        self.deadline = time.monotonic() + self.params["timeout"]
        self.until(
            "the last transaction",
            self.left(),
            lambda: self.has_applied(seen["position"]),
        )
        self.point("S5", True, self.applied(), seen["position"])
        self.note("applied_all")
        self.tell("promoted")
        self.promoted = True
        self.run(role_statements.promote_steps(self.names))
        self.flags.hoist("ready")
        self.note("ready")
        self.until("enough replicas", self.left(), self.enough)
        self.flags.hoist("asks")
        self.note("asks")
        self.until(f"the word of {self.source}", self.left(), self.is_granted)
        self.open()

    def left(self) -> float:
        return max(0.1, self.deadline - time.monotonic())

    def there(self, *names: str) -> dict[str, Any]:
        """What the source says.

        Raises:
            StepBackError: its part has ended.
        """
        seen = self.look(self.source, *names)
        if not seen["run"]:
            raise StepBackError(f"the part on {self.source} has ended; it says why")
        return seen

    def frozen_there(self) -> dict[str, Any] | None:
        here = self.here(self.source)
        if not self.look_here(here)[here]:
            raise StepBackError(f"the part on {self.source} has ended; it says why")
        seen = self.there("frozen")
        return seen if seen["frozen"] else None

    def enough(self) -> bool:
        """Whether as many replicas can acknowledge as a commit will wait for.

        Raises:
            StepBackError: the source is no longer frozen.
        """
        self.still_frozen(self.there("frozen"))
        return self.enough_clients()

    def enough_clients(self) -> bool:
        status = self.semisync()
        good = status["status"] == "ON" and int(status["clients"] or 0) >= self.params["wait_count"]
        if good:
            self.point(
                "S6",
                True,
                f"status ON, {status['clients']} client(s)",
                f"ON, at least {self.params['wait_count']}, before it opens",
            )
        return good

    def is_granted(self) -> bool:
        seen = self.there("frozen", "granted")
        self.still_frozen(seen)
        return bool(seen["granted"])

    def still_frozen(self, seen: dict[str, Any]) -> None:
        if not seen["read_only"] or not seen["frozen"]:
            raise StepBackError(f"{self.source} took its role back; it says why")

    def open(self) -> None:
        """Let writers in. The source has given its word, and gives it to nobody else."""
        self.run([(role_statements.open_statement(), None)])
        self.opened = True
        self.note("open")

    def first_commit(self) -> str:
        """The journal's row, as the first commit that must be acknowledged; what is wrong with it
        in words, or "".
        """
        option_file = self.params["option_file"]
        read_only_dropin.take_away(option_file["path"], option_file["kind"])
        before = self.semisync()
        try:
            self.write(journal.DONE, FIRST_COMMIT)
        except ServerError as error:
            self.point("S7", False, str(error), "the first commit is acknowledged")
            return f"{self.target} is open, but the first commit was not acknowledged: {error}"
        rise = rises(before, self.semisync(), ("yes_tx", "no_tx"))
        good = rise.get("yes_tx", 0) >= 1 and rise.get("no_tx", 0) == 0
        self.point(
            "S7",
            good,
            f"yes_tx rose by {rise.get('yes_tx')}, no_tx by {rise.get('no_tx')}",
            "the first commit is acknowledged",
        )
        self.note("first_commit")
        try:
            # The way back is none any more; routers ask whether this server follows anybody.
            self.run(role_statements.forget_steps(self.names))
        except ServerError as error:
            return f"{self.target} is open, but keeps its channel: {error}"
        return "" if good else f"{self.target} is open, but its first commit was not acknowledged"

    # Back

    def back(self, reason: str) -> dict[str, Any]:
        """Be a replica again, where it was not opened."""
        self.note("back", reason)
        deadline = time.monotonic() + BACK
        try:
            error = self.revive(deadline)
            if error:
                raise error
            if self.opened or not self.frozen():
                return self.result(DONE, f"{reason}; but {self.target} takes writes")
            # The source need not wait for its time to be up.
            locks.Flags(self.local, self.token).hoist("back")
            if not self.promoted:
                return self.result(REFUSED, reason)
            self.run(role_statements.return_steps(self.names))
            self.until("the channel", BACK, self.replicates)
        except (ServerError, StepBackError) as error:
            return self.result(
                UNKNOWN if self.promoted else REFUSED,
                f"{reason}. The way back failed on {self.params['host']}: {error}",
            )
        finally:
            time.sleep(TOLD)
            self.drop()
        self.note("returned")
        return self.result(UNDONE, reason)

    # After an interrupted run

    def finish(self) -> dict[str, Any]:
        """It was opened: be open, with replicas that acknowledge."""
        try:
            self.take_run_lock()
            if self.frozen():
                self.run(role_statements.promote_steps(self.names))
                self.until("enough replicas", BACK, self.enough_clients)
                self.open()
            else:
                self.run(role_statements.promote_steps(self.names)[1:])
                self.until("enough replicas", BACK, self.enough_clients)
            return self.result(DONE, self.first_commit())
        except (StepBackError, ServerError) as error:
            return self.result(UNKNOWN, str(error))
        finally:
            self.drop()

    def undo(self) -> dict[str, Any]:
        """It was not opened: be a replica."""
        try:
            self.take_run_lock()
            if not self.frozen():
                return self.result(UNKNOWN, f"{self.target} takes writes")
            if not self.follows(self.source):
                peer = next(one for one in self.params["members"] if one["host"] == self.source)
                self.run(role_statements.redirect_steps(self.names, peer["address"], peer["port"]))
            self.run([role_statements.stop(self.names), *role_statements.return_steps(self.names)])
            # The source may open: this part holds the lock, and does not. One that came up again
            # by itself is open already, and has yet to ask.
            self.flags.hoist(UNDOING)
            self.until(f"the part on {self.source}", MEET + BACK, self.is_heard)
            self.until(f"{self.source} as the open source", BACK, self.is_open_there)
            return self.result(UNDONE)
        except (StepBackError, ServerError) as error:
            return self.result(UNKNOWN, str(error))
        finally:
            self.drop()

    def is_heard(self) -> bool:
        return bool(self.look_here(HEARD)[HEARD])

    def is_open_there(self) -> bool:
        return not self.look(self.source)["read_only"]

    # The rest

    def replicates(self) -> bool:
        channel = self.channel()
        return bool(channel and channel["io_running"] == channel["sql_running"] == "Yes")

    def recover(self, stage: str) -> dict[str, Any]:
        """What the guard does when the part has ended without a word."""
        if not self.frozen():
            return self.result(DONE)
        self.promoted = True
        if not self.has_run_lock(5):
            return self.result(UNKNOWN, "another run has the lock")
        return self.back(f"the part on {self.params['host']} ended without a word")
