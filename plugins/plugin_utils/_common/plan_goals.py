# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The goals of semisync_plan: what each reads of a cluster, what it refuses, and its plan.

Each takes a host's variables, the name of the variable with what the servers said, and the other
options of the task; it returns the plan, or raises refusal.RefusedError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import (
    cluster,
    durability_mode,
    inventory,
    refusal,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.cluster import TaskVariables
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import LOST, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import apply, problems

# The side of a host that a failover left behind.
HELD = "held"

# A host that has failed in this play has given its reason.
SAID_ITSELF = "it failed before, and says why above"

display = Display()

# The task's options, and what the task returns.
Options = Mapping[str, object]
Result = Mapping[str, object]


def plan_apply(variables: TaskVariables, info_from: str, options: Options) -> Result:
    """What has to be done for semi-synchronous replication."""
    own, wrong = durability_mode.promised_settings(variables)
    try:
        name, members = cluster.members(variables.task_vars, info_from, own=own)
    except refusal.HeldError:
        # The reason was reported, and the others are planned without it.
        kinds = ("changes", "differs", "server_changes", "cluster_changes", "cluster_differs")
        return {"side": HELD, **dict.fromkeys(kinds, False)}
    alone = bool(options.get("alone"))
    if alone:
        # Its failover continued without the hosts that it could not read, or had to leave behind:
        # those it has looked at, and no more.
        members = [one for one in members if one.info is not None and "option_files" in one.info]
    for member in members:
        reasoned = member.info is None and member.error not in ("", LOST)
        if reasoned and cluster.lost(variables.task_vars, member.host):
            member.error = SAID_ITSELF
    me = variables.task_vars["inventory_hostname"]
    refusal.refuse(
        variables.task_vars,
        name,
        members,
        [f"{me}: {words}" for words in wrong]
        or cluster.inventory_problems(variables.task_vars, info_from, name, members, alone)
        or problems.reading_problems(members)
        or problems.source_problems(members)
        or problems.cluster_problems(members, own),
    )
    mine = cluster.of_host(variables.task_vars, members)
    made = apply.set_up_plan(mine, members, own, bool(options["hold_back"]))
    refusal.refuse(
        variables.task_vars,
        name,
        members,
        durability_mode.restart_problems(members, made["source_restarts"], own)
        + apply.unsafe_places(members, own, bool(options["hold_back"])),
    )
    return {**made, "cluster": name}


def plan_removal(variables: TaskVariables, info_from: str, _options: Options) -> Result:
    """What has to be undone, with a warning about what remains."""
    # Not at the top: Ansible compiles it at each import, and most runs do not need it.
    from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import removal

    name, members, mine = cluster.judged(variables.task_vars, info_from, removal.removal_problems)
    remains = removal.remains(mine)
    for words in remains:
        display.warning(words)
    return {**removal.removal_plan(mine, members), "remains": remains, "cluster": name}


def plan_gtid(variables: TaskVariables, info_from: str, _options: Options) -> Result:
    """The way from file and position to GTIDs."""
    # Not at the top: Ansible compiles it at each import, and most runs do not need it.
    from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.gtid import (
        conversion_problems,
        gtid_plan,
    )

    name, members, mine = cluster.judged(variables.task_vars, info_from, conversion_problems)
    return {**gtid_plan(mine, members), "cluster": name}


def plan_sides(variables: TaskVariables, info_from: str, _options: Options) -> Result:
    """Who is what; contradictions are said, and refuse nothing."""
    try:
        name, members = cluster.members(variables.task_vars, info_from)
    except refusal.HeldError:
        return {"side": HELD, "problems": []}
    mine = cluster.of_host(variables.task_vars, members)
    wrong = cluster.inventory_problems(
        variables.task_vars, info_from, name, members
    ) or problems.source_problems(members)
    return {"cluster": name, "side": mine.side, "problems": wrong}


def plan_drill(variables: TaskVariables, info_from: str, _options: Options) -> Result:
    """Which replicas are stopped one after another, and what the source is to do then."""
    # Not at the top: Ansible compiles it at each import, and most runs do not need it.
    from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import drill

    own, wrong = durability_mode.promised_settings(variables)
    name, members = cluster.members(variables.task_vars, info_from, active_only=True)
    units = {
        member.host: variables.task_vars["hostvars"][member.host].get("semisync_service")
        for member in members
    }
    wrong = (
        wrong
        or cluster.inventory_problems(variables.task_vars, info_from, name, members)
        or drill.refusals(members, own, units)
    )
    if wrong:
        raise refusal.RefusedError(f"Nothing was stopped. Cluster {name!r}: {'; '.join(wrong)}")
    drills, source = drill.drill_plan(members, own, units), source_of(members).host
    if variables.task_vars["inventory_hostname"] == source:
        display.display(drill.announcement(name, drills))
    return {"drills": drills, "source": source, "cluster": name}


def plan_hosts(variables: TaskVariables, _info_from: str, _options: Options) -> Result:
    """Nothing; refuses a run that would read no host."""
    playing = variables.task_vars["ansible_play_hosts_all"]
    if wrong := inventory.problem(variables.task_vars["groups"], playing):
        raise refusal.RefusedError(wrong)
    return {}


def plan_read(variables: TaskVariables, info_from: str, _options: Options) -> Result:
    """Nothing; refuses to end a run well that has read no host."""
    known = variables.task_vars
    said = (known["hostvars"][host].get(info_from) for host in known["ansible_play_hosts_all"])
    if wrong := inventory.unread(said, known.get("ansible_run_tags") or []):
        raise refusal.RefusedError(wrong)
    return {}


# Of a whole run, and of no cluster: what needs nothing that a server said.
OF_RUN = ("hosts",)
GOALS: dict[str, Callable[[TaskVariables, str, Options], Result]] = {
    "apply": plan_apply,
    "remove": plan_removal,
    "gtid": plan_gtid,
    "sides": plan_sides,
    "drill": plan_drill,
    "hosts": plan_hosts,
    "read": plan_read,
}
