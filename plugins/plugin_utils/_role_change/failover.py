# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of failover.yml, from top to bottom, as docs/failover.md describes it. Each method
is a step: Ansible runs it on all hosts of a cluster at the same time (roles/failover), and a step
waits until the one before has ended on all of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import cast

from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import SWITCH, TARGET
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Case
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    cases,
    failover_facts,
    failover_outcome,
    failover_steps,
    first_look,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.context import (
    NotMeantError,
    RunContext,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.part_results import (
    HostLook,
)


class Failover:
    """A failover, on one host.

    Args:
        run: what the step works with.
    """

    def __init__(self, run: RunContext) -> None:
        self.run = run

    @functools.cached_property
    def facts(self) -> failover_facts.Facts:
        """The facts that the step is judged by; a wrong inventory is refused here."""
        return failover_facts.gather(self.run)

    def decide(self, stuck: list[Case]) -> cases.Decision:
        """The candidate, and what keeps it from taking over. A step decides once."""
        accepted = self.run.own["failover_accept"]
        return cases.decide(self.facts.evidence, accepted, stuck)

    # 1. Read every host. Nothing is changed.

    def look(self) -> dict[str, object]:
        """Read this host, and try to log in to the others."""
        result = first_look.read_host(self.run)
        seen = cast(HostLook, result.setdefault("look", {}))
        seen["asked_at"] = cast(float, result["asked_at"])
        seen["read_at"] = cast(float, result["answered_at"])
        return result

    def reach(self) -> dict[str, object]:
        """Try the servers that listen at another address than expected."""
        return self.run.do(failover_steps.untried(self.run, self.facts))

    # 2. Judge all that can be judged, and refuse before anything is changed.

    def plan(self) -> dict[str, object]:
        """Choose, show the certificate so far and the statements, or refuse. The tasks of
        semisync_hook_fence run after this step, and then this step runs again; and so it does if
        the hosts are read once more first.
        """
        if failover_steps.read_again(self.run, self.facts):
            return {"changed": False, "unsure": True}
        if self.facts.opened:
            return failover_steps.plan_the_rest(self.run, self.facts)
        return failover_steps.plan(self.run, self.facts, self.decide([]))

    # 3. Stop only the IO threads: after that, nothing can be acknowledged.

    def freeze(self) -> dict[str, object]:
        """Stop this replica's IO thread, and read what it received."""
        return self.run.do(failover_steps.io_thread(self.run, self.facts))

    # 4. Read the end of the dead source's binary log, if requested.

    def salvage(self) -> dict[str, object]:
        """Read it on the source's host, while the other hosts keep their IO threads stopped."""
        if self.run.host != failover_steps.source_of(self.facts):
            failover_steps.keep_stopped(self.run)
            raise NotMeantError("nothing is salvaged here")
        with failover_steps.others_wait(self.run):
            return failover_steps.salvage(self.run, self.facts, self.decide([]).chosen)

    # 5. Judge everything again from what was read after the stop, and choose the candidate.

    def judge(self) -> dict[str, object]:
        """What each host has to do, with the certificate; nothing if the failover is refused."""
        if self.facts.opened:
            return failover_steps.judge_the_rest(self.run, self.facts)
        stuck = failover_outcome.not_frozen(self.facts.evidence)
        return failover_steps.judged_failover(self.run, self.facts, self.decide(stuck))

    # 6 to 8. Apply what was received, follow the candidate, and open it: on all hosts at once.

    def part(self) -> dict[str, object]:
        """This host's part (module_utils): it can be undone until the candidate is open."""
        plan = failover_steps.part_on_host(self.run)
        if plan.part == TARGET and plan.mode == SWITCH:
            return failover_steps.take_over(self.run, plan)
        return self.run.do(plan)

    def thaw(self) -> dict[str, object]:
        """Start the IO thread again, if it was stopped and this host has no part."""
        return self.run.do(failover_steps.stopped_in_vain(self.run))

    # 9. Keep the certificate.

    def report(self) -> dict[str, object]:
        """Complete, show and keep it; fail if no replica took over, or one does not follow.
        The tasks of semisync_hook_after_open and the option files come after this.
        """
        if self.run.options.settled:
            return self.settled()
        return failover_steps.report(self.run, self.facts)

    def settled(self) -> dict[str, object]:
        """Keep the first look at the new source: the next failover needs it."""
        return failover_steps.keep_first_look(self.run, self.facts)


STEPS: dict[str, Callable[[Failover], dict[str, object]]] = {
    "look": Failover.look,
    "reach": Failover.reach,
    "plan": Failover.plan,
    "freeze": Failover.freeze,
    "salvage": Failover.salvage,
    "judge": Failover.judge,
    "part": Failover.part,
    "thaw": Failover.thaw,
    "report": Failover.report,
}
