# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence for a step of failover.yml: what earlier steps returned, and what earlier runs
stored.
"""

from __future__ import annotations

import time
from typing import NamedTuple, cast

from ansible_collections.dbre.semisync.plugins.plugin_utils._common import results
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    context,
    interrupted_failover,
    readings,
    survivors,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.context import RunContext
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.readings import Fence, Read
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.records import (
    Certificate,
    Fenced,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.registered import (
    FAILOVER_FREEZE,
    FAILOVER_PLAN,
    FAILOVER_REACH,
    FAILOVER_SALVAGE,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.survivors import Evidence

# The earlier steps that a step uses. When the first look is repeated, the results before it no
# longer count.
EARLIER = {
    "plan": ("reach",),
    "salvage": ("reach", "freeze"),
    "judge": ("reach", "freeze", "salvage"),
    "thaw": ("freeze",),
    "report": ("reach", "freeze", "salvage"),
}
UNFENCED: Fenced = {"case": None, "words": "", "dead_at": None, "failed": [], "ended_at": None}


class Facts(NamedTuple):
    """What a step knows.

    Attributes:
        evidence: for the judge.
        opened: a failover that was interrupted after its target was opened, or None.
        fenced: what is known of the tasks of semisync_hook_fence; None if none have run.
    """

    evidence: Evidence
    opened: interrupted_failover.Opened | None
    fenced: Fenced | None


def gather(run: RunContext) -> Facts:
    """All of it.

    Raises:
        RefusedError: the inventory is wrong, or Ansible works on too few hosts at a time.
    """
    run.take_members()
    # After the failover of a pair, the new source is the only host left.
    run.refuse(run.inventory_problems(alone=run.options.settled))
    fenced = fenced_of(run)
    judged = readings.of_results(
        run.members,
        step_results(run),
        run.last_look(),
        cast(Certificate | None, run.kept(results.BEGUN)),
        run.own,
        time.time(),
        known_fence(run, fenced),
    )
    run.members = judged.evidence.members
    run.refuse(context.forks_problem(run.members))
    return Facts(judged.evidence, judged.opened, fenced)


def known_fence(run: RunContext, fenced: Fenced | None) -> Fence:
    """What the judge is told of the user's fence."""
    if fenced is None:
        return Fence(fence(run))
    ended = fenced["ended_at"]
    return Fence(
        fence(run),
        fenced["failed"],
        None if ended is None else survivors.moment_of(ended),
        run.result_of(FAILOVER_PLAN).get("host_clock"),
    )


def step_results(run: RunContext) -> Read:
    """What the modules of this run's steps returned."""
    # After everything the hosts have been read again.
    earlier = () if run.options.settled else EARLIER.get(run.step, ())
    info = {member.host: run.info_of(member.host) for member in run.members}
    reach = run.results_of(FAILOVER_REACH) if "reach" in earlier else {}
    frozen = run.results_of(FAILOVER_FREEZE) if "freeze" in earlier else None
    salvage = run.results_of(FAILOVER_SALVAGE) if "salvage" in earlier else {}
    return Read(info, reach, frozen, salvage)


def fence(run: RunContext) -> str:
    """Whether a hook is still to kill the source, or has run; neither, once the source was seen
    dead.
    """
    if not run.own.get("hook_fence"):
        return ""
    if run.step == "plan":
        return survivors.FENCE_DONE if run.options.fenced else survivors.FENCE_PENDING
    seen = fence_seen(run)
    return survivors.FENCE_DONE if seen and seen["case"] and not seen["dead_at"] else ""


def fence_seen(run: RunContext) -> Fenced | None:
    """What the plan before those tasks recorded about them. Every host has seen that they had
    ended: the earliest of these moments counts.
    """
    if run.step not in ("judge", "report") and not run.options.fenced:
        return None
    kept = run.result_of(FAILOVER_PLAN).get("certificate")
    fenced = kept.get("fenced") if kept else None
    if not fenced:
        return None
    plans = [plan.get("certificate") for plan in run.results_of(FAILOVER_PLAN).values()]
    others = [one.get("fenced") for one in plans if one]
    seen = [one["ended_at"] for one in others if one and one["ended_at"] is not None]
    return {**fenced, "ended_at": min(seen, default=None)}


def hook_ended(run: RunContext) -> float:
    """When those tasks had ended on every host, at the latest: if the source had answered before,
    every host was read again after that, and the last of these readings is certainly a new one;
    else this step is the next.
    """
    there = [member.host for member in run.members if run.in_play(member.host)]
    asked = [(run.info_of(host).get("look") or {}).get("asked_at") for host in there]
    after = [moment for moment in asked if moment is not None]
    if run.result_of(FAILOVER_PLAN).get("lives") and after:
        return max(after)
    return time.time()


def fenced_of(run: RunContext) -> Fenced | None:
    """The same with the hosts on which one of those tasks has failed since."""
    seen = fence_seen(run)
    if run.step != "plan" or fence(run) != survivors.FENCE_DONE:
        return seen
    planned = run.results_of(FAILOVER_PLAN)
    failed = sorted(host for host, plan in planned.items() if plan and not run.in_play(host))
    # A moment is kept by the thousandth before it.
    ended_at = survivors.stamp_of(hook_ended(run) + 0.001)
    return {**(seen or UNFENCED), "failed": failed, "ended_at": ended_at}
