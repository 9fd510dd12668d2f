# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of rejoin.yml, from top to bottom, as docs/rejoin.md describes it. Each method is a
step on the host that comes back, or on its new source (roles/rejoin). Steps without a method here
run only in a module (module_utils).
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    quarantine,
    rejoin_judge,
    rejoin_steps,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.context import RunContext
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.rejoin_facts import (
    RejoinFacts,
)


class Rejoin:
    """The return of a former source, or of a replica that missed a failover, on one host.

    Args:
        run: what the step works with.
    """

    def __init__(self, run: RunContext) -> None:
        self.run = run

    @functools.cached_property
    def facts(self) -> RejoinFacts:
        """Which host comes back to which source; the step is refused here if that is not clear."""
        return RejoinFacts(self.run)

    # 0. At the end of a failover, on the dead source's host.

    def hold(self) -> dict[str, object]:
        """Make its server start read-only, however it is started."""
        return self.run.do(quarantine.hold(self.run))

    # 1. Read both. Nothing is changed.

    def look(self) -> dict[str, object]:
        """Read what the former source has that the new one lacks: by a connection, or by the files
        of its binary log if its server does not run; and where the new source's logs begin.
        """
        return self.run.do(rejoin_steps.look_plan(self.facts))

    # 2. Judge, and refuse what was not consented to; again after step 4.

    def judge(self) -> dict[str, object]:
        """The verdict, the method, and what each of the two hosts must do."""
        return rejoin_judge.judged_rejoin(self.facts)

    # 3. By the method replay: the new source gets what only the former one has.

    def carry(self) -> dict[str, object]:
        """Read those transactions on the former source's host."""
        return rejoin_steps.carry(self.facts)

    def replay(self) -> dict[str, object]:
        """Apply them on the new source, with their GTIDs."""
        return rejoin_steps.replay(self.facts)

    # 4. Start the former source read-only; then read and judge it again.

    def ready(self) -> dict[str, object]:
        """Start it with the options of a replica; copy its data first, if it is replaced."""
        return self.run.do(rejoin_steps.former_part(self.facts))

    # 5. It becomes a replica: the roles server, seed and replication do that after this.

    def release(self) -> dict[str, object]:
        """Give it the position at which its channel starts."""
        return self.run.do(rejoin_steps.former_part(self.facts))

    # 6. Settle.

    def settle(self) -> dict[str, object]:
        """Leave its events to the source, and remove the read-only option file."""
        return self.run.do(rejoin_steps.former_part(self.facts))

    def record(self) -> dict[str, object]:
        """Write on the new source that the former one is back and no longer held."""
        return self.run.do(rejoin_steps.record_part(self.facts))

    def report(self) -> dict[str, object]:
        """Keep the outcome; fail if it does not follow, or has errant transactions."""
        return rejoin_judge.report(self.facts)


STEPS: dict[str, Callable[[Rejoin], dict[str, object]]] = {
    "hold": Rejoin.hold,
    "look": Rejoin.look,
    "judge": Rejoin.judge,
    "carry": Rejoin.carry,
    "replay": Rejoin.replay,
    "ready": Rejoin.ready,
    "release": Rejoin.release,
    "settle": Rejoin.settle,
    "record": Rejoin.record,
    "report": Rejoin.report,
}
# The result on a host without a part in the step.
NOT_MEANT = {"go": False, "way": "none", "host": ""}
