# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a switchover; switchover.py has their order."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, cast

from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import LookPlan
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    SWITCH,
    SwitchoverPlan,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import (
    cluster,
    refusal,
    results,
    settings,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import current_source, problems
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    context,
    interrupted_switchover,
    switchover_outcome,
    switchover_plan,
    switchover_premises,
    switchover_statements,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.context import (
    NotMeantError,
    RunContext,
    plain,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.part_results import (
    SwitchoverLooks,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.peers import (
    where_they_listen,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.records import (
    Changes,
    SwitchoverRecord,
    SwitchoverRun,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.registered import (
    SWITCHOVER_LOOK,
    SWITCHOVER_PART,
    SWITCHOVER_PLAN,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import JournalRow

FILE = "switchover.json"
# A host that could not be read has no part in completing an interrupted switchover.
LEFT_OUT = "it could not be read, and is left out"
# The checkpoints that are seen after settling.
SETTLED = ("  S8", "  S9")


def take_cluster(run: RunContext) -> JournalRow | None:
    """Take the cluster, if it is the one that is meant; the newest row of its journal.

    Raises:
        NotMeantError: another one is meant.
        RefusedError: it cannot be one that is meant, or one of its hosts could not be read.
    """
    run.take_members()
    clusters, to = clusters_of(run), run.own["switchover_to"]
    in_play = run.task_vars["ansible_play_hosts_all"]
    taken = {clusters[host] for host in in_play if host in clusters}
    if to not in [member.host for member in run.members] and clusters.get(to) in taken:
        run.members = []
        raise NotMeantError("another cluster is meant")
    wrong = switchover_premises.target_name_problem(to, run.members, clusters, run.name)
    row = current_source.decide(run.members).row
    run.refuse(
        ([wrong] if wrong else [])
        or run.inventory_problems()
        or switchover_plan.unread(run.members, row)
        or problems.engines_problems(switchover_plan.taking_part(run.members, row))
        or context.forks_problem(run.members)
    )
    return row


def clusters_of(run: RunContext) -> dict[str, str]:
    """The cluster of every host in the two groups."""
    groups = run.task_vars["groups"]
    return {
        host: str(run.variables_of(host).get("semisync_cluster", cluster.DEFAULT))
        for _side, group in cluster.GROUPS
        for host in groups.get(group, [])
    }


def look_plan(run: RunContext, row: JournalRow | None) -> LookPlan:
    """What is read on this host, and where it tries to log in: on the target; the target on the
    source.
    """
    mine = run.mine
    if mine.info is None:
        raise NotMeantError(LEFT_OUT)
    members = switchover_plan.taking_part(run.members, row)
    source, target = ends(members, row, run.own)
    other = source if mine is target else target
    tried = [peer for peer in where_they_listen(members) if peer.host == other.host]
    return LookPlan(tried, run.own["replication_user"])


def ends(
    members: list[Member], row: JournalRow | None, own: settings.Settings
) -> tuple[Member, Member]:
    """The old source and the target, of this switchover or of an interrupted one."""
    by_host = {member.host: member for member in members}
    if interrupted_switchover.begun(row) and row:
        source = by_host.get(row["from_host"]) or source_of(members)
        return source, by_host.get(row["to_host"], source)
    return source_of(members), by_host[own["switchover_to"]]


def plan(run: RunContext, row: JournalRow | None) -> dict[str, object]:
    """Check all premises, and plan."""
    members, own = run.members, run.own
    taking_part = switchover_plan.taking_part(members, row)
    looks = {member.host: run.result_of(SWITCHOVER_LOOK, member.host) for member in taking_part}
    mode = switchover_plan.mode_of(members, row, own["switchover_to"])
    run.refuse(refusals(run, row, looks, mode))
    made = switchover_plan.planned_switchover(run.name, members, looks, own, run.token, mode, row)
    if mode == SWITCH:
        made["premises"] = switchover_premises.rows(members, looks, own, run.options.upgrades)
    if run.speaks():
        run.say(switchover_statements.plan_lines(made))
    return dict(made, changed=False)


def refusals(
    run: RunContext,
    row: JournalRow | None,
    looks: SwitchoverLooks,
    mode: str,
) -> list[str]:
    """Why nothing is done."""
    members = run.members
    failed = [
        f"{host}: {looked.get('msg')}" for host, looked in looks.items() if looked.get("failed")
    ]
    if failed:
        return failed
    if mode == switchover_plan.SETTLE:
        return current_source.decide(members).problems
    if mode == SWITCH:
        wrong = problems.reading_problems(members) or current_source.decide(members).problems
        return wrong or switchover_premises.refusals(members, looks, run.own, run.options.upgrades)
    return switchover_plan.interrupted_problems(members, row, looks) if row else []


def part_on_host(run: RunContext) -> SwitchoverPlan:
    """What this host has to do of the plan."""
    planned = run.result_of(SWITCHOVER_PLAN)["hosts"].get(run.host)
    if not planned:
        raise NotMeantError(LEFT_OUT)
    return SwitchoverPlan.from_dict(plain(planned))


def rest_of(run: RunContext) -> SwitchoverPlan:
    """The same for what writers need not wait for; the fence goes once all is settled."""
    planned = part_on_host(run)
    was_on = bool(run.result_of(SWITCHOVER_PART).get("scheduler_was_on")) and planned.events
    return dataclasses.replace(planned, scheduler_was_on=was_on, unfence=run.options.settled)


def report(run: RunContext) -> dict[str, object]:
    """Show and keep the outcome; fail if the role has not moved."""
    planned, settled = planned_by(run), run.options.settled
    parts = run.parts_of(planned["hosts"])
    outcome, reason = switchover_outcome.outcome(planned, parts)
    rows = switchover_outcome.points(parts, switchover_outcome.TITLES)
    if settled:
        run.take_members()
        rows += switchover_outcome.settled(planned, run.members, plans_of(run, planned))
    record = switchover_outcome.record(planned, parts, outcome, reason, rows)
    result: dict[str, object] = {**record, "changed": False, "path": None}
    if run.host == next(host for host in planned["hosts"] if run.in_play(host)):
        result["path"] = run.try_to_keep(lambda: save_record(run, planned, record))
        told = switchover_outcome.switchover_lines(record)
        run.say([line for line in told if not settled or line.startswith(SETTLED)])
        run.end_with("switchover", *switchover_outcome.last_lines(record))
    wrong = switchover_outcome.switchover_failure(record, parts, settled)
    if wrong:
        result.update(refusal.refused(wrong, run.host))
    return result


def planned_by(run: RunContext) -> SwitchoverRun:
    """What the step plan returned."""
    return run.result_of(SWITCHOVER_PLAN)


def plans_of(run: RunContext, planned: SwitchoverRun) -> dict[str, Changes | None]:
    """host -> what semisync_plan returned there last."""
    names = ("__semisync_readback", "__semisync_plan")
    every = {host: run.variables_of(host) for host in planned["hosts"]}
    return {
        host: cast("Changes | None", variables.get(names[0]) or variables.get(names[1]))
        for host, variables in every.items()
    }


def save_record(run: RunContext, planned: SwitchoverRun, record: SwitchoverRecord) -> str | None:
    """Write switchover.json into the run's folder, and the first look at the new source once all
    is settled; the file's path.
    """
    if run.check_mode:
        return None
    path = run.run_file(FILE)
    before = results.read_json(path, None)
    results.write_json(path, switchover_outcome.with_mended(record, before))
    if run.options.settled and source_of(run.members).host == planned["to"]:
        run.keep_look(run.members)
    return path
