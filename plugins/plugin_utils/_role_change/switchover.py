# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of switchover.yml, from top to bottom, as docs/switchover.md describes it. Each
method is a step: Ansible runs it on all hosts of a cluster at the same time (roles/switchover), and
a step waits until the one before has ended on all of them.
"""

from __future__ import annotations

from collections.abc import Callable

from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    switchover_plan,
    switchover_steps,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.context import RunContext


class Switchover:
    """A switchover, on one host.

    Args:
        run: what the step works with.
    """

    def __init__(self, run: RunContext) -> None:
        self.run = run

    # 1. Read every host. Nothing is changed.

    def look(self) -> dict[str, object]:
        """Read what the plan needs, and try to log in to the other server of the pair."""
        row = switchover_steps.take_cluster(self.run)
        return self.run.do(switchover_steps.look_plan(self.run, row))

    # 2. Judge every premise, then plan or refuse.

    def plan(self) -> dict[str, object]:
        """What each host has to do, with every statement. If a switchover was interrupted,
        this plan finishes or undoes it, and this step then runs again.
        """
        row = switchover_steps.take_cluster(self.run)
        return switchover_steps.plan(self.run, row)

    # 3. Move the role on all hosts at once, while writers wait.

    def part(self) -> dict[str, object]:
        """This host's part (module_utils): keep writers out, apply, attach, open; or undo it."""
        return self.run.do(switchover_steps.part_on_host(self.run))

    # 4. Report the outcome.

    def report(self) -> dict[str, object]:
        """Show and keep it; fail if the role did not move. Runs again after step 5."""
        return switchover_steps.report(self.run)

    # 5. Settle: before the option files get the new roles, and again after that.

    def after(self) -> dict[str, object]:
        """Do what writers need not wait for: events, the old channel; and the second time the file
        that makes the old source start read-only.
        """
        return self.run.do(switchover_steps.rest_of(self.run))


STEPS: dict[str, Callable[[Switchover], dict[str, object]]] = {
    "look": Switchover.look,
    "plan": Switchover.plan,
    "part": Switchover.part,
    "report": Switchover.report,
    "after": Switchover.after,
}
# The result on a host without a part in the step, or in a cluster that is not meant.
NOT_MEANT = {"mode": switchover_plan.NONE, "hosts": {}}
