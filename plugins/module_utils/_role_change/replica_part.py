# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of every other replica in a switchover: it follows the target, or the old source again
if that took its role back.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._replication.journal import (
    DONE,
    REFUSED,
    UNDONE,
    UNKNOWN,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import watchdog
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
    SwitchoverPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.watchdog import BACK, MEET
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


class ReplicaPart(Participant):
    """The part of a replica that stays a replica."""

    plan: SwitchoverPlan

    def __init__(
        self, module: AnsibleModule, plan: SwitchoverPlan, dog: watchdog.Watchdog | None = None
    ) -> None:
        super().__init__(module, plan, dog)
        self.following = Following(self)

    def work(self) -> dict[str, object]:
        """Follow the server that is the source in the end; return the result."""
        try:
            self.following.announce()
            wait = 2 * MEET + 2 * self.plan.catch_up + self.plan.drain + self.plan.timeout
            ready = f"{self.target} to report that it has applied everything"
            self.wait_for(ready, wait, self.is_ready)
            self.following.move(self.target)
        except (AbortError, ServerError) as error:
            self.log_event("back", str(error))
            if not self.following.moved:
                self.close()
                return self.result(REFUSED, str(error))
        try:
            return self.settle()
        finally:
            self.close()

    def is_ready(self) -> bool:
        """Whether the target has everything.

        Raises:
            AbortError: it rolled back, or its part has ended, or did not begin.
        """
        ready = self.following.is_ready()
        # The source's part waits as long: this one does not give up before it.
        patience = MEET + self.plan.catch_up
        if not (ready or self.following.armed) and time.monotonic() > self.began + patience:
            raise AbortError(
                f"the process on {self.target} did not begin within {patience} s; {SEE_ITS_RESULT}"
            )
        return ready

    def settle(self) -> dict[str, object]:
        """Stay if the role moved; go back if it did not."""
        deadline = time.monotonic() + self.plan.timeout + 2 * BACK
        words = "neither takes writes"
        while time.monotonic() < deadline:
            for host, outcome in ((self.target, DONE), (self.source, UNDONE)):
                try:
                    if self.writable(host) or self.took_it_back(host):
                        if not self.follows(host):
                            self.following.move(host)
                        return self.result(outcome)
                except ServerError as error:
                    words = f"{host} does not answer: {error}"
                    self.peers.pop(host, None)
            time.sleep(LOOK)
        return self.result(
            UNKNOWN,
            f"it is not known which host became the source: {words}. {self.host} follows"
            f" {self.target}. Run switchover.yml again",
        )

    def writable(self, host: str) -> bool:
        return not self.look(host).read_only

    def took_it_back(self, host: str) -> bool:
        """Whether the old source waits for its replicas, to be open again."""
        return host == self.source and self.look(host, "back").flags["back"]

    # After an interrupted run

    def finish(self) -> dict[str, object]:
        return self.following.follow(self.target, DONE)

    def undo(self) -> dict[str, object]:
        return self.following.follow(self.source, UNDONE)

    def recover(self, stage: str) -> dict[str, object]:
        return self.settle()

    def close(self) -> None:
        self.following.close()
        super().close()
