# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What replicas do in both a switchover and a failover: announce themselves, ask the target, and
follow it.
"""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids, position
from ansible_collections.dbre.semisync.plugins.module_utils._replication.journal import UNKNOWN
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    locks,
    role_statements,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.participant import (
    AbortError,
    Participant,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import SEE_ITS_RESULT
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError

# Seconds between two checks of which server became the source.
LOOK = 0.05


class Following:
    """Moves a replica from one source to another.

    Attributes:
        moved: whether the move to the target was begun.
    """

    def __init__(self, part: Participant) -> None:
        self.part = part
        self.moved = False
        # Whether the target's part was seen alive.
        self.armed = False
        self.there: locks.Locks | None = None

    def announce(self) -> None:
        """Announce this part on the target's server.

        Raises:
            ServerError: it cannot be said.
        """
        part = self.part
        self.there = locks.Locks(lambda: part.connect(part.target), part.token)
        self.there.acquire(part.presence(part.host))

    def is_ready(self) -> bool:
        """Whether the target has everything.

        Raises:
            AbortError: it rolled back, or its part has ended.
        """
        target = self.part.target
        seen = self.part.look(target, "ready", "back")
        if seen.flags["ready"]:
            return True
        if seen.flags["back"]:
            raise AbortError(f"{target} rolled back; {SEE_ITS_RESULT}")
        if not seen.runs and self.armed:
            raise AbortError(f"the process on {target} has ended; {SEE_ITS_RESULT}")
        self.armed = seen.runs
        return False

    def move(self, host: str) -> None:
        """Follow a member by the same account.

        Raises:
            ServerError: this server refuses.
        """
        part = self.part
        if not self.moved:
            part.report_stage("moved")
        self.moved = True
        part.log_event("attach", host)
        peer = part.plan.peer(host)
        part.run_statements(role_statements.redirect_steps(part.names, peer.address, peer.port))
        part.log_event("attached", host)

    def follow(self, host: str, outcome: str) -> dict[str, object]:
        """After an interrupted run: follow a member."""
        part = self.part
        try:
            if part.follows(host):
                self.renew(host)
            else:
                self.move(host)
            return part.result(outcome)
        except (ServerError, AbortError) as error:
            return part.result(UNKNOWN, str(error))
        finally:
            part.close()

    def renew(self, host: str) -> None:
        """Reconnect to the source that this replica follows already.

        It may have acknowledged for that one by now. A MariaDB server throws away what it received
        if both threads stand still and either starts (MDEV-4698), so its applier runs meanwhile.

        Raises:
            AbortError: the applier does not run.
        """
        part, names = self.part, self.part.names
        channel = part.channel()
        if not names.mariadb or not channel or channel["io_running"] == "No":
            part.run_statements(role_statements.renew_steps(names))
            return
        if channel["sql_running"] != "Yes":
            part.run_statements([role_statements.start_thread(names, "SQL")])
        part.run_statements([role_statements.stop_thread(names, "IO")])
        channel = part.channel()
        retrieved = channel["retrieved"] if channel else ""
        left = gtids.missing(names.engine, retrieved, part.applied())
        if left and not (channel and channel["sql_running"] == "Yes"):
            stopped = position.stopped(channel) or "its applier stands still"
            raise AbortError(
                f"{part.host} received {left} transactions of {host} that it does not apply"
                f" ({stopped}), and would discard them with a new connection. Repair its applier,"
                " and run START SLAVE"
            )
        part.run_statements([role_statements.start_replica(names)])

    def close(self) -> None:
        """Withdraw the announcement of this part."""
        if self.there:
            self.there.release_all()
