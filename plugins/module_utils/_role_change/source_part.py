# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the old source: it freezes, hands over, and decides.

The target asks to be opened, and this part grants it or takes its role back; it never does both. So
no clocks are compared, and it does not matter which of the two dies, or when.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._replication import (
    journal,
    journal_writing,
)
from ansible_collections.dbre.semisync.plugins.module_utils._replication.journal import (
    DONE,
    REFUSED,
    UNDONE,
    UNKNOWN,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    client_sessions,
    freeze,
    locks,
    read_only_dropin,
    role_statements,
    watchdog,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.participant import (
    UNDOING,
    AbortError,
    Participant,
    global_text,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    SEE_ITS_RESULT,
    SwitchoverPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.source_rollback import (
    SourceRollback,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.watchdog import MEET
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

# Seconds that an answer stays in place, so that the target's part sees it.
ANSWERED = 5
# Seconds in which a router sees that this server takes no writes (docs/haproxy.cfg: 0.4 at most),
# before its answer may be late: the server says nothing of its variables while it ends semi-sync.
ROUTERS = 0.7


class SourcePart(Participant):
    """The part of the old source: forward, and after an interrupted run.

    Attributes:
        rollback: the way back, and how far the switchover has come.
        frozen_at: when writers were kept out, by the monotonic clock; 0.0 if never.
    """

    plan: SwitchoverPlan

    def __init__(
        self, module: AnsibleModule, plan: SwitchoverPlan, dog: watchdog.Watchdog | None = None
    ) -> None:
        super().__init__(module, plan, dog)
        self.rollback = SourceRollback(self, plan)
        self.frozen_at = 0.0

    def work(self) -> dict[str, object]:
        """Hand the role over; return the result."""
        try:
            self.prepare()
            self.hand_over()
            if role_statements.retires_slowly(self.names):
                time.sleep(ROUTERS)
            self.run_statements(role_statements.retire_steps(self.names))
            return self.result(DONE)
        except (AbortError, freeze.FrozenError, ServerError, OSError) as error:
            return self.rollback.roll_back(str(error))
        finally:
            self.close()

    def prepare(self) -> None:
        """The slow steps: no writer is kept out yet."""
        self.take_run_lock()
        self.locks.prepare(3)
        self.meet()
        self.drain()
        self.announce()

    def hand_over(self) -> None:
        """The steps that writers wait for."""
        self.freeze()
        self.locks.acquire("frozen")
        self.log_event("frozen", self.position)
        limit = self.plan.timeout
        self.wait_for(
            f"{self.target} to report that it has applied everything", limit, self.is_ready
        )
        self.attach()
        self.wait_for(f"{self.target} to ask for permission to open", self.left(), self.is_asked)
        self.grant()
        self.wait_for(f"{self.target} to open", self.left(), self.is_open)
        self.rollback.over_at = time.monotonic()
        self.log_event("open_seen")

    def left(self) -> float:
        """Seconds that are left of the time that writers may be kept out."""
        return max(0.1, self.frozen_at + self.plan.timeout - time.monotonic())

    def meet(self) -> None:
        """Announce this part, and wait until all others are there and the target has caught up."""

        def both() -> bool:
            seen = self.look(self.target, "armed", "back")
            if seen.flags["back"]:
                raise AbortError(f"{self.target} rolled back; {SEE_ITS_RESULT}")
            return seen.flags["armed"]

        begin = time.monotonic()
        self.rollback.there = locks.Locks(lambda: self.connect(self.target), self.token)
        self.rollback.there.acquire(self.presence(self.host))
        self.wait_for(
            f"{self.target} to report that all hosts are ready and it has caught up",
            MEET + self.plan.catch_up,
            both,
        )
        self.log_event("met", f"after {time.monotonic() - begin:.1f} s")

    def drain(self) -> None:
        """Wait for long transactions first: what they wait for, writers would wait for too."""
        then = self.plan.long_transactions
        left, seconds = freeze.drain(self.monitor, self.plan.drain, then)
        if left and then == "refuse":
            self.point("S2", False, client_sessions.sessions_text(left), "no long transaction")
            raise AbortError(
                f"{self.host} still has transactions that are open for more than"
                f" {client_sessions.LONG} s, after waiting {self.plan.drain} s:"
                f" {client_sessions.sessions_text(left)}. End them, wait longer"
                " (semisync_switchover_drain), or pass semisync_switchover_long_transactions=kill"
            )
        ended = f"; ended: {client_sessions.sessions_text(left)}" if left else ""
        self.point("S2", True, f"none after {seconds:.1f} s{ended}", "no long transaction")
        self.log_event("drained", f"{seconds:.1f} s{ended}")

    def announce(self) -> None:
        """Say in the journal that it begins, and see that it is acknowledged."""
        before = self.semisync()
        count = self.plan.wait_count
        good = before["status"] == "ON" and int(before["clients"] or 0) >= count
        self.point(
            "S3",
            good,
            f"status {before['status']}, {before['clients']} client(s)",
            f"ON, at least {count}",
        )
        if not good:
            raise AbortError(
                f"{self.host} is not semi-synchronous: status {before['status']},"
                f" {before['clients']} replicas acknowledge, {count} are needed"
            )
        self.report_stage("begun")
        self.rollback.begun = True
        for statement in journal_writing.create_statements(self.plan.schema):
            self.control.rows(statement)
        self.write(journal.BEGUN)
        option_file = self.plan.option_file
        path = read_only_dropin.put(option_file.path, option_file.kind, option_file.group)
        wrong = read_only_dropin.overridden(self.module, option_file)
        if wrong:
            raise AbortError(f"{self.host}: {wrong}")
        self.log_event("announced", f"a restart is read-only by {path}")
        if not self.names.super_read_only:
            self.stop_events()

    def stop_events(self) -> None:
        """Events of accounts that read_only does not keep out must not write."""
        self.rollback.scheduler_was_on = global_text(self.monitor, "event_scheduler") == "ON"
        if self.rollback.scheduler_was_on and self.plan.events:
            self.run_statements([("SET GLOBAL event_scheduler = 0", None)])

    def freeze(self) -> None:
        self.frozen_at = time.monotonic()
        self.log_event("freeze")
        self.statements.append(
            freeze.freeze(self.control, self.monitor, self.names, self.plan.timeout)
        )
        ended = []
        if not self.names.super_read_only:
            keep = [freeze.connection_id(one) for one in self.own_connections()]
            ended = freeze.end_privileged(self.monitor, keep)
        self.position = freeze.stand_still(self.monitor, self.names, self.left())
        status = self.semisync()
        waiting = int(status["wait_sessions"] or 0)
        self.point(
            "S4",
            waiting == 0,
            f"{waiting} sessions wait; read {freeze.READINGS} times alike: {self.position}"
            + (f"; ended: {client_sessions.sessions_text(ended)}" if ended else ""),
            "none waits, the position stands still",
        )
        if waiting:
            raise AbortError(
                f"{waiting} sessions still wait for an acknowledgement although writers are kept"
                " out"
            )

    def own_connections(self) -> list[Server]:
        return [self.control, self.monitor, *self.locks.connections, *self.locks.spares]

    def is_ready(self) -> bool:
        return self.seen("ready").flags["ready"]

    def is_asked(self) -> bool:
        return self.seen("asks").flags["asks"]

    def is_open(self) -> bool:
        return not self.seen().read_only

    def seen(self, *names: str) -> locks.Seen:
        """What the target says.

        Raises:
            AbortError: it went back, or its part has ended.
        """
        seen = self.look(self.target, "back", *names)
        if seen.flags["back"]:
            raise AbortError(f"{self.target} rolled back; {SEE_ITS_RESULT}")
        if not seen.runs and seen.read_only:
            raise AbortError(f"the process on {self.target} ended before it opened")
        return seen

    def attach(self) -> None:
        """Follow the target, which has everything, and acknowledge."""
        self.log_event("attach")
        applied = ""
        if self.names.mariadb:
            done, logged = (
                global_text(self.monitor, name) for name in ("gtid_slave_pos", "gtid_binlog_pos")
            )
            applied = str(role_statements.merged(done, logged))
        self.run_statements(
            role_statements.attach_steps(self.names, self.channel_params(), applied)
        )
        self.log_event("attached")

    def channel_params(self) -> dict[str, object]:
        """How this host follows the target."""
        peer, tls = self.plan.peer(self.target), self.plan.tls
        return role_statements.channel_of(
            {
                "source_host": peer.address,
                "source_port": peer.port,
                "source_user": self.plan.user,
                "source_password": self.module.params["password"],
                "connect_retry": self.plan.connect_retry,
            },
            {"ssl": tls.ssl, "ca": tls.ca, "verify": tls.verify},
        )

    def grant(self) -> None:
        """Let the target open: from here on nothing is undone unless it is proven that it did not.

        Raises:
            AbortError: a client wrote here after the freeze.
        """
        now = self.look_here()
        if self.gtids(now.position) != self.gtids(self.position):
            raise AbortError(
                f"{self.host} was written to while writers were kept out, by an account that"
                f" read_only does not stop: {self.position} became {now.position}"
            )
        self.report_stage("granted")
        self.rollback.granted = True
        self.locks.acquire("granted")
        self.log_event("granted")

    # After an interrupted run

    def finish(self) -> dict[str, object]:
        """The target was opened: follow the target."""
        try:
            self.take_run_lock()
            own = self.executed().beyond(self.executed_there(self.peer(self.target)))
            if own:
                return self.result(
                    REFUSED,
                    f"{self.host} has transactions that {self.target} lacks: {own}",
                )
            if not self.frozen():
                self.statements.append(
                    freeze.freeze(self.control, self.monitor, self.names, self.plan.timeout)
                )
            if self.follows(self.target):
                self.run_statements(
                    [
                        role_statements.stop_replica(self.names),
                        *role_statements.return_steps(self.names),
                    ]
                )
            else:
                self.attach()
                self.run_statements(role_statements.retire_steps(self.names))
            return self.result(DONE)
        except (AbortError, freeze.FrozenError, ServerError) as error:
            return self.result(UNKNOWN, str(error))
        finally:
            self.close()

    def undo(self) -> dict[str, object]:
        """The target was not opened: be the source again."""
        try:
            self.take_run_lock()
            # One that follows no server let none open, and one that takes writes did so before
            # this: the plan rests on either.
            settled = self.channel() is None or not self.frozen()
            alone = self.plan.without_target and settled
            self.rollback.begun, self.rollback.granted = True, not alone
            result = self.rollback.roll_back("an interrupted switchover is rolled back")
            if result["outcome"] == UNDONE:
                self.wait_for_target()
            return result
        except (AbortError, ServerError) as error:
            return self.result(UNKNOWN, str(error))
        finally:
            self.close()

    def wait_for_target(self) -> None:
        """Until its part has seen the answer, which goes with this part."""
        with contextlib.suppress(AbortError, ServerError):  # what it undid stays undone
            self.wait_for(
                f"the part on {self.target} to end",
                ANSWERED,
                lambda: not self.look(self.target, UNDOING).flags[UNDOING],
            )

    def recover(self, stage: str) -> dict[str, object]:
        self.rollback.begun, self.rollback.granted = True, stage == "granted"
        if not self.frozen() and self.channel() is None:
            # It did not come to the freeze.
            option_file = self.plan.option_file
            read_only_dropin.take_away(option_file.path, option_file.kind, option_file.group)
            self.rollback.write_undone()
            return self.result(UNDONE, self.rollback.unsaid)
        if not self.has_run_lock(5):
            return self.result(UNKNOWN, "another run has the lock")
        return self.rollback.roll_back(f"the part on {self.host} was killed")

    def result(self, outcome: str, reason: str = "") -> dict[str, object]:
        result = super().result(outcome, reason)
        if self.frozen_at and self.rollback.over_at:
            result["writers_waited_ms"] = round(1000 * (self.rollback.over_at - self.frozen_at), 1)
        result["position"] = self.position
        result["scheduler_was_on"] = self.rollback.scheduler_was_on
        return result

    def close(self) -> None:
        if self.rollback.there:
            self.rollback.there.release_all()
        super().close()
