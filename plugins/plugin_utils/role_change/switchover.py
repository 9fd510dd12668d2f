# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of switchover.yml, from top to bottom, as docs/switchover.md has it in words. Each
method is a step: Ansible runs it on all hosts of a cluster at the same time (roles/switchover), and
a step waits until the one before has ended on all of them.
"""

from __future__ import annotations

from collections.abc import Callable

from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change import (
    switchover_plan,
    switchover_steps,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change.context import RunContext


class Switchover:
    """A switchover, on one host.

    Args:
        run: what the step works with.
    """

    def __init__(self, run: RunContext) -> None:
        self.run = run

    # 1. Read every host. Nothing is changed.

    def look(self) -> dict[str, object]:
        """Read what the plan needs, and try to log in to the other of the two servers."""
        row = switchover_steps.take_cluster(self.run)
        return self.run.do(switchover_steps.look(self.run, row))

    # 2. Judge every premise, and plan; or refuse.

    def plan(self) -> dict[str, object]:
        """What each host has to do, with every statement. If a switchover was interrupted, it is
        finished or undone by this plan, and this step runs once more after that.
        """
        row = switchover_steps.take_cluster(self.run)
        return switchover_steps.plan(self.run, row)

    # 3. Move the role: on all hosts together, while writers wait.

    def part(self) -> dict[str, object]:
        """This host's part (module_utils): keep writers out, apply, attach, open; or undo it."""
        return self.run.do(switchover_steps.part_of(self.run))

    # 4. Say what became of it.

    def report(self) -> dict[str, object]:
        """Show and keep it; a failure if the role did not move. Once more after step 5."""
        return switchover_steps.report(self.run)

    # 5. Settle: before the option files get the new roles, and once more after that.

    def after(self) -> dict[str, object]:
        """Do what writers need not wait for: events, the old channel, the read-only option file."""
        return self.run.do(switchover_steps.rest_of(self.run))


STEPS: dict[str, Callable[[Switchover], dict[str, object]]] = {
    "look": Switchover.look,
    "plan": Switchover.plan,
    "part": Switchover.part,
    "report": Switchover.report,
    "after": Switchover.after,
}
# What a host has that has no part in a step, or whose cluster is not meant.
NOT_MEANT = {"mode": switchover_plan.NONE, "hosts": {}}
