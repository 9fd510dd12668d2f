# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks import check, checkpoints
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Check
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import (
    closing,
    cluster,
    durability_mode,
    refusal,
    results,
    settings,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.cluster_action import (
    ClusterAction,
    Result,
    other_speaks,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import HEALTHY, PASSED
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.verdict_store import ResultStore
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import (
    backlog,
    closing_lines,
    history,
    listing,
    rulebook,
    rules_heartbeat,
    rules_server,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Finding
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.option_lines import COMPARED

display = Display()
UNREACHABLE = "unreachable"
SAID_LAST = "the last lines of this run say what to do next"

OBSERVATION = {
    "id": {"type": "str", "choices": ["P2.1", "P3.5"], "required": True},
    "observed": {"type": "str", "required": True},
    "passed": {"type": "bool", "required": True},
}
DRILL = {
    "plan": {"type": "dict", "required": True},
    "rows": {"type": "list", "elements": "dict", "default": []},
    "stopped": {"type": "dict", "default": {}},
    "started": {"type": "dict", "default": {}},
    "returned": {"type": "dict", "default": {}},
    "reason": {"type": "str", "default": ""},
}
SPEC = {
    "info_from": {"type": "str", "required": True},
    "written_from": {"type": "str"},
    "lag_limit": {"type": "int", "default": 60},
    "failover_limit": {"type": "float", "default": 60},
    "planned": {"type": "bool", "default": False},
    "observation": {"type": "dict", "options": OBSERVATION},
    "drill": {"type": "dict", "options": DRILL},
    "results_dir": {"type": "path", "default": "results"},
    "run": {"type": "str"},
}


def reached(members: list[Member]) -> list[Member]:
    return [member for member in members if member.unread != UNREACHABLE]


def silent(mine: Member) -> Result:
    """The result of a host for which another one speaks. An unreachable one says so once more: the
    look ignored it to judge the others, and Ansible would not end with 4.
    """
    if mine.unread == UNREACHABLE:
        return {"unreachable": True, "msg": f"{mine.host} was not reached: {mine.error}"}
    return other_speaks()


def only_planned(name: str, members: list[Member], hostvars: Any) -> dict[str, object]:
    """The result in a run that has shown what it would change, which is its verdict."""
    # Not at the top: see judge_drill().
    from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import plan_summary

    words = "would be changed; run the same without --check to change it"
    closing.leave(name, "health", [words, *plan_summary.of_cluster(members, hostvars)], False)
    return {"skipped": True, "skip_reason": "nothing was changed that could be judged"}


class ActionModule(ClusterAction):
    """Decides the checkpoints and findings of a cluster, or those of a drill; see
    plugins/modules/semisync_verdict.py for its documentation.
    """

    SPEC, EXCLUSIVE = SPEC, [["observation", "drill", "written_from"]]

    def answer(self, arguments: Any, task_vars: Any) -> Result:
        info_from = arguments["info_from"]
        name, members = cluster.members(task_vars, info_from, active_only=True)
        shelf = self.shelf(arguments, name)
        if arguments["observation"]:
            mine = cluster.of_host(task_vars, members)
            return self.observe(shelf, arguments["observation"], mine)
        if arguments["drill"]:
            return self.judge_drill(shelf, arguments["drill"])
        if arguments["planned"]:
            return only_planned(shelf.cluster, members, task_vars["hostvars"])
        part = cluster.left_out(task_vars)
        if part:
            raise refusal.RefusedError(f"Nothing was judged. {part}")
        wrong = cluster.inventory_problems(task_vars, info_from, name, members)
        if wrong:
            raise refusal.RefusedError("; ".join(wrong))
        if not cluster.speaks(task_vars, reached(members) or members, self._task):
            return silent(cluster.of_host(task_vars, members))
        return self.judge(shelf, arguments, members, task_vars)

    def shelf(self, arguments: Any, name: str) -> ResultStore:
        """Where this run's results are kept."""
        where = (arguments["results_dir"], name, arguments["run"])
        try:
            return ResultStore(*where, results.now(), self._task.check_mode)
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from error

    def judge(
        self,
        shelf: ResultStore,
        arguments: dict[str, Any],
        members: list[Member],
        task_vars: Any,
    ) -> dict[str, Any]:
        """Decide, show and record the checkpoints and findings of a cluster."""
        info_from, source = arguments["info_from"], source_of(members)
        canary, arrivals = cluster.canary(task_vars, members, arguments["written_from"], info_from)
        recorded = results.observations(shelf.folder)
        rows = check.at(shelf.at, checkpoints.evaluate(members, canary, arrivals, recorded))
        state, past, since = history.look_back(shelf.last_state(), members, shelf.at)
        # The source's variables say what is wanted; another host's only if the source could not be
        # read.
        spoken_for = task_vars["inventory_hostname"] == source.host
        entries = rulebook.evaluate(
            members,
            past,
            since,
            arguments["lag_limit"],
            rules_server.clocks(members, shelf.moment.timestamp()),
            self.wanted(task_vars, COMPARED.values() if spoken_for else ()),
            arguments["failover_limit"],
            cluster.held_hosts(task_vars, info_from),
        )
        path = self.tell(shelf, members, rows, entries, state)
        verdict = listing.verdict(rows, entries)
        health = listing.health(rows, entries)
        command = functools.partial(closing.command, task_vars["groups"], shelf.cluster)
        last = closing_lines.closing_lines(rows, entries, command)
        closing.leave(shelf.cluster, "health", last, health == HEALTHY)
        # A failure is printed with all of its result: only a variable has a use for these.
        everything = {"verdict": verdict, "checkpoints": rows, "findings": entries}
        words = f"Cluster {shelf.cluster} is {health}: {verdict}; {SAID_LAST}"
        failure = {"failed": True, "msg": words}
        return {
            **(everything if self._task.register else {}),
            "path": path,
            "cluster": shelf.cluster,
            "health": health,
            **({"verdict": verdict} if health == HEALTHY else failure),
        }

    def tell(
        self,
        shelf: ResultStore,
        members: list[Member],
        rows: list[Check],
        entries: list[Finding],
        state: history.Look | None,
    ) -> str | None:
        """Record and show what was decided, even if it cannot be recorded; return the path, or
        None.

        Raises:
            ResultsError: it was shown, and could not be recorded.
        """
        path = None
        try:
            path = shelf.keep_verdict(rows, entries, state, rules_heartbeat.kept(members))
        finally:
            more = [backlog.line(members), rules_heartbeat.line(members)]
            whole = bool(display.verbosity)
            # At once: hosts speak at the same time.
            display.display(listing.both_tables(rows, entries, more, shelf.cluster, path, whole))
        return path

    def observe(
        self,
        shelf: ResultStore,
        seen: dict[str, Any],
        member: Member,
    ) -> dict[str, Any]:
        """Record what can be seen only once in a cluster's life, for every later run."""
        if member.info is None:
            raise AnsibleActionFail(f"{member.host}: {member.error}")
        row = checkpoints.observation(
            seen["id"], member.host, seen["observed"], seen["passed"], member.info, shelf.at
        )
        shelf.keep_observation(row)
        return {"checkpoint": row}

    def judge_drill(
        self,
        shelf: ResultStore,
        seen: dict[str, Any],
    ) -> dict[str, Any]:
        """Decide, show and record the checkpoints of a drill."""
        # Not at the top: Ansible compiles it at each import, and few runs are a drill.
        from ansible_collections.dbre.semisync.plugins.plugin_utils._checks import drill_outcome

        judged = drill_outcome.drill_seen(
            seen["plan"],
            seen["rows"],
            seen["stopped"],
            seen["started"],
            seen["reason"],
            seen["returned"],
        )
        judged["checkpoints"] = check.at(shelf.at, judged["checkpoints"])
        path = shelf.keep_drill(judged)
        said = drill_outcome.drill_line(judged)
        now = shelf.moment.timestamp()
        progress = drill_outcome.progress_line(seen["plan"], judged, seen["rows"], now)
        lines = [check.table(judged["checkpoints"], shelf.cluster), progress]
        if path:
            lines.append(f"  {path}")
        display.display("\n".join(lines))
        about, passed = f"drill of {judged['replica']}", judged["outcome"] == PASSED
        last = [said]
        if not passed:
            last.append(judged["reason"])
        closing.leave(shelf.cluster, about, last, passed)
        words = f"Cluster {shelf.cluster}: {about} failed: {judged['reason']}"
        return {
            "drill": judged,
            "path": path,
            "cluster": shelf.cluster,
            **({} if passed else {"failed": True, "msg": words}),
        }

    def wanted(
        self,
        task_vars: Any,
        keys: Iterable[str],
    ) -> settings.Settings:
        """What this host's variables require of semi-sync on a source, as far as they are set, the
        promise that all of them make, the heartbeat and the names of plugins.
        """
        always = ("promise", "heartbeat_seconds", "plugin_names")
        rows = [settings.KEYS[key] for key in (*keys, *always)]
        values, wrong = durability_mode.promised_settings(
            cluster.TaskVariables(task_vars, self._templar), rows
        )
        if wrong:
            raise AnsibleActionFail("; ".join(wrong))
        return values
