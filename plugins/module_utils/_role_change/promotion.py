# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the targets of a switchover and of a failover share: check that replicas acknowledge, open,
and commit the journal's row first.
"""

from __future__ import annotations

from collections.abc import Callable

from ansible_collections.dbre.semisync.plugins.module_utils._replication import journal
from ansible_collections.dbre.semisync.plugins.module_utils._replication.journal import (
    DONE,
    UNKNOWN,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    read_only_dropin,
    role_statements,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.participant import (
    AbortError,
    Participant,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.watchdog import BACK
from ansible_collections.dbre.semisync.plugins.module_utils._server import disk_space
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import rises

# Seconds that a part stays after a rollback, so that the others learn of it.
TOLD = 0.3
# Seconds that the first commit may take to be acknowledged.
FIRST_COMMIT = 10


class Promotion:
    """Promotes a target from a replica to the source.

    Attributes:
        promoted: whether its sides of semi-sync were switched.
        opened: whether it was opened.
    """

    def __init__(self, part: Participant, option_file: Callable[[], tuple[str, str, str]]) -> None:
        """option_file: the path, kind and option group of the collection's lines on this host."""
        self.part, self.option_file = part, option_file
        self.promoted = self.opened = False
        self.folders: list[str] = []

    def all_here(self, others: list[str]) -> bool:
        """Whether the parts on other hosts have said that they are there."""
        names = tuple(self.part.presence(host) for host in others)
        seen = self.part.look_here(*names)
        return all(seen.flags[name] for name in names)

    def need_space(self) -> None:
        """Check that this server can take writes before it takes the role. Where it writes is read
        the first time: later, writers may wait.

        Raises:
            AbortError: a file system of it is full.
        """
        if not self.folders:
            self.folders = disk_space.folders_of(self.part.monitor.pairs(disk_space.ASKS))
        full = disk_space.full_folders(self.folders)
        if full:
            raise AbortError(
                f"{disk_space.words(full)}; without space {self.part.host} could take no writes."
                " Free space there or choose another host, and run this again"
            )

    def enough_clients(self) -> bool:
        """Whether enough replicas acknowledge for a commit."""
        status, wait_count = self.part.semisync(), self.part.plan.wait_count
        good = status["status"] == "ON" and int(status["clients"] or 0) >= wait_count
        if good:
            self.part.point(
                "S6",
                True,
                f"status ON, {status['clients']} client(s)",
                f"ON, at least {wait_count}, before it opens",
            )
        return good

    def open(self) -> None:
        """Let writers in."""
        self.part.run_statements([(role_statements.open_statement(), None)])
        self.opened = True
        self.part.log_event("open")

    def first_commit(self) -> str:
        """Write the journal's row, as the first commit that must be acknowledged; return what is
        wrong, or "".
        """
        part = self.part
        read_only_dropin.take_away(*self.option_file())
        before = part.semisync()
        try:
            part.write(journal.DONE, FIRST_COMMIT)
        except ServerError as error:
            part.point("S7", False, str(error), "the first commit is acknowledged")
            return f"{part.target} is open, but the first commit was not acknowledged: {error}"
        rise = rises(before, part.semisync(), ("yes_tx", "no_tx"))
        good = rise.get("yes_tx", 0) >= 1 and rise.get("no_tx", 0) == 0
        part.point(
            "S7",
            good,
            f"yes_tx rose by {rise.get('yes_tx')}, no_tx by {rise.get('no_tx')}",
            "the first commit is acknowledged",
        )
        part.log_event("first_commit")
        try:
            # There is no way back any more, and routers check whether this server follows a source.
            part.run_statements(role_statements.forget_steps(part.names))
        except ServerError as error:
            return f"{part.target} is open, but keeps its channel: {error}"
        return "" if good else f"{part.target} is open, but its first commit was not acknowledged"

    def finish(self, first_commit: Callable[[], str]) -> dict[str, object]:
        """After an interrupted run that opened it: be open, with replicas that acknowledge."""
        part = self.part
        try:
            part.take_run_lock()
            steps = role_statements.promote_steps(part.names)
            frozen = part.frozen()
            part.run_statements(steps if frozen else steps[1:])
            part.wait_for("enough replicas to connect", BACK, self.enough_clients)
            if frozen:
                self.open()
            return part.result(DONE, first_commit())
        except (AbortError, ServerError) as error:
            return part.result(UNKNOWN, str(error))
        finally:
            part.close()
