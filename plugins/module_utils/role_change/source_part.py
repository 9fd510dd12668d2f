# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the old source: it freezes, hands over, and decides.

The target asks to be opened, and this part grants it or takes its role back; it never does both. So
nobody has to compare clocks, and it does not matter which of the two dies, or when.
"""

from __future__ import annotations

import time
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.replication import journal
from ansible_collections.dbre.semisync.plugins.module_utils.replication.journal import (
    DONE,
    REFUSED,
    UNKNOWN,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change import (
    freeze,
    locks,
    read_only_dropin,
    role_statements,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.participant import (
    StepBackError,
    global_text,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.source_rollback import (
    SourceBack,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.watchdog import MEET
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError


class SourcePart(SourceBack):
    """The part of the old source."""

    # Forward

    def work(self) -> dict[str, Any]:
        """Hand the role over; what became of it."""
        try:
            self.prepare()
            self.hand_over()
            self.run(role_statements.retire_steps(self.names))
            return self.result(DONE)
        except (StepBackError, freeze.FrozenError, ServerError, OSError) as error:
            return self.back(str(error))
        finally:
            self.drop()

    def prepare(self) -> None:
        """Everything that may take its time: nobody is kept out yet."""
        self.take_run_lock()
        self.flags.prepare(3)
        self.meet()
        self.drain()
        self.announce()

    def hand_over(self) -> None:
        """The part that writers wait for."""
        self.freeze()
        self.flags.hoist("frozen")
        self.note("frozen", self.position)
        limit = self.params["timeout"]
        self.until(f"{self.target}'s word that it has everything", limit, self.is_ready)
        self.attach()
        self.until(f"{self.target}'s question whether it may open", self.left(), self.is_asked)
        self.grant()
        self.until(f"{self.target} as the open source", self.left(), self.is_open)
        self.frozen_until = time.monotonic()
        self.note("open_seen")

    def left(self) -> float:
        """Seconds that are left of the time that writers may be kept out."""
        return max(0.1, self.frozen_at + self.params["timeout"] - time.monotonic())

    def meet(self) -> None:
        """Be there, and wait until all others are, and the target has caught up."""

        def both() -> bool:
            seen = self.look(self.target, "armed", "back")
            if seen["back"]:
                raise StepBackError(f"{self.target} went back; it says why")
            return bool(seen["armed"])

        begin = time.monotonic()
        self.there = locks.Flags(lambda: self.connect(self.target), self.token)
        self.there.hoist(self.here(self.params["host"]))
        self.until(
            f"{self.target}'s word that all are there and it has caught up",
            MEET + self.params["catch_up"],
            both,
        )
        self.note("met", f"after {time.monotonic() - begin:.1f} s")

    def drain(self) -> None:
        """Long transactions first: what they wait for, writers would wait for."""
        then = self.params["long_transactions"]
        left, seconds = freeze.drain(self.eyes, self.params["drain"], then)
        if left and then == "refuse":
            self.point("S2", False, freeze.in_words(left), "no long transaction")
            raise StepBackError(
                f"{self.params['host']} has transactions that are open for longer than"
                f" {role_statements.LONG} s, {self.params['drain']} s after they were waited for:"
                f" {freeze.in_words(left)}. End them, wait longer"
                " (semisync_switchover_drain), or say semisync_switchover_long_transactions=kill"
            )
        ended = f"; ended: {freeze.in_words(left)}" if left else ""
        self.point("S2", True, f"none after {seconds:.1f} s{ended}", "no long transaction")
        self.note("drained", f"{seconds:.1f} s{ended}")

    def announce(self) -> None:
        """Say in the journal that it begins, and see that it is acknowledged."""
        before = self.semisync()
        count = self.params["wait_count"]
        good = before["status"] == "ON" and int(before["clients"] or 0) >= count
        self.point(
            "S3",
            good,
            f"status {before['status']}, {before['clients']} client(s)",
            f"ON, at least {count}",
        )
        if not good:
            raise StepBackError(
                f"{self.params['host']} is not semi-synchronous: status {before['status']},"
                f" {before['clients']} replicas acknowledge, {count} are wanted"
            )
        self.tell("begun")
        self.begun = True
        for statement in journal.create_statements(self.params["schema"]):
            self.hand.rows(statement)
        self.write(journal.BEGUN)
        option_file = self.params["option_file"]
        path = read_only_dropin.put(option_file["path"], option_file["kind"], option_file["group"])
        self.note("announced", f"a restart is read-only by {path}")
        if not self.names.super_read_only:
            self.stop_events()

    def stop_events(self) -> None:
        """Events of accounts that read_only does not keep out must not write."""
        self.scheduler_was_on = global_text(self.eyes, "event_scheduler") == "ON"
        if self.scheduler_was_on and self.params["events"]:
            self.run([("SET GLOBAL event_scheduler = 0", None)])

    def freeze(self) -> None:
        self.frozen_at = time.monotonic()
        self.note("freeze")
        self.statements.append(
            freeze.freeze(self.hand, self.eyes, self.names, self.params["timeout"])
        )
        ended = []
        if not self.names.super_read_only:
            keep = [freeze.connection_id(one) for one in self.own_connections()]
            ended = freeze.end_privileged(self.eyes, keep)
        self.position = freeze.stand_still(self.eyes, self.names, self.left())
        status = self.semisync()
        waiting = int(status["wait_sessions"] or 0)
        self.point(
            "S4",
            waiting == 0,
            f"{waiting} sessions wait; read {role_statements.READINGS} times alike: {self.position}"
            + (f"; ended: {freeze.in_words(ended)}" if ended else ""),
            "none waits, the position stands still",
        )
        if waiting:
            raise StepBackError(f"{waiting} sessions wait for an acknowledgement although frozen")

    def own_connections(self) -> list[Server]:
        return [self.hand, self.eyes, *self.flags.held, *self.flags.spares]

    def is_ready(self) -> bool:
        return bool(self.seen("ready")["ready"])

    def is_asked(self) -> bool:
        return bool(self.seen("asks")["asks"])

    def is_open(self) -> bool:
        return not self.seen()["read_only"]

    def seen(self, *names: str) -> dict[str, Any]:
        """What the target says.

        Raises:
            StepBackError: it went back, or its part has ended.
        """
        seen = self.look(self.target, "back", *names)
        if seen["back"]:
            raise StepBackError(f"{self.target} went back; it says why")
        if not seen["run"] and seen["read_only"]:
            raise StepBackError(f"the part on {self.target} has ended before it opened")
        return seen

    def attach(self) -> None:
        """Follow the target, which has everything, and acknowledge."""
        self.note("attach")
        applied = ""
        if self.names.mariadb:
            done, logged = (
                global_text(self.eyes, name) for name in ("gtid_slave_pos", "gtid_binlog_pos")
            )
            applied = str(role_statements.merged(done, logged))
        self.run(role_statements.attach_steps(self.names, self.channel_params(), applied))
        self.note("attached")

    def channel_params(self) -> dict[str, Any]:
        """How this host follows the target."""
        peer = next(one for one in self.params["members"] if one["host"] == self.target)
        return role_statements.channel_of(
            {
                "source_host": peer["address"],
                "source_port": peer["port"],
                "source_user": self.params["user"],
                "source_password": self.params["password"],
                "connect_retry": self.params["connect_retry"],
            },
            self.params["tls"],
        )

    def grant(self) -> None:
        """Let the target open: from here on nothing is undone unless it is proven that it did not.

        Raises:
            StepBackError: somebody wrote here after the freeze.
        """
        now = self.look_here()
        if self.gtids(now["position"]) != self.gtids(self.position):
            raise StepBackError(
                f"{self.params['host']} was written to after it was frozen, by an account that"
                f" read_only does not keep out: {self.position} became {now['position']}"
            )
        self.tell("granted")
        self.granted = True
        self.flags.hoist("granted")
        self.note("granted")

    # After an interrupted run

    def finish(self) -> dict[str, Any]:
        """The target was opened: follow it."""
        try:
            self.take_run_lock()
            own = self.executed().beyond(self.executed_there(self.peer(self.target)))
            if own:
                return self.result(
                    REFUSED,
                    f"{self.params['host']} has transactions that {self.target} lacks: {own}",
                )
            if not self.frozen():
                self.statements.append(
                    freeze.freeze(self.hand, self.eyes, self.names, self.params["timeout"])
                )
            if self.follows(self.target):
                self.run(
                    [role_statements.stop(self.names), *role_statements.return_steps(self.names)]
                )
            else:
                self.attach()
                self.run(role_statements.retire_steps(self.names))
            return self.result(DONE)
        except (StepBackError, freeze.FrozenError, ServerError) as error:
            return self.result(UNKNOWN, str(error))
        finally:
            self.drop()
