# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import secrets
import time
from typing import Any

from ansible import constants, context
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.module_utils.shapes import JournalRow
from ansible_collections.dbre.semisync.plugins.plugin_utils import (
    cluster,
    promise,
    results,
    settings,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.findings import rules_events
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import Member, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import problems, sides
from ansible_collections.dbre.semisync.plugins.plugin_utils.reach import Reaching
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change import (
    failover,
    interrupted_switchover,
    io_threads,
    switchover_outcome,
    switchover_plan,
    switchover_premises,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict.kept import Shelf

MODULE = "dbre.semisync.semisync_switchover"
# What only reads a host is a module of its own, which carries less.
LOOK_MODULE = "dbre.semisync.semisync_role_look"
LOOKS = ("look", "reach")
FILE = "switchover.json"
# What only the controller needs.
OURS = (
    "info_from",
    "looks_from",
    "reach_from",
    "frozen_from",
    "salvage_from",
    "plan_from",
    "fenced_from",
    "parts_from",
    "settled",
    "results_dir",
    "run",
    "begun",
)
# A host that could not be read has no part in the end of a switchover that was interrupted.
LEFT_OUT = "it could not be read, and has no part in this"
# What is read is no older than the one, and no newer than the other.
DATED = ("look", "freeze")
display = Display()


class ActionModule(Reaching):
    """The steps of a switchover, or of a failover; see plugins/modules/semisync_switchover.py."""

    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> Any:
        result = super().run(tmp, task_vars)
        steps = {
            "look": self.look,
            "plan": self.plan,
            "part": self.part,
            "report": self.report,
            "after": self.after,
        }
        try:
            if self._task.args.get("operation") == "failover":
                result.update(self.failover(task_vars))
            else:
                result.update(steps[self._task.args["step"]](task_vars))
        except cluster.HeldError as error:
            result.update(skipped=True, skip_reason=str(error), mode=switchover_plan.NONE, hosts={})
        except cluster.RefusedError as error:
            result.update(cluster.refused(str(error), task_vars["inventory_hostname"]))
        return result

    def failover(self, task_vars: Any) -> dict[str, Any]:
        """A step of a failover."""
        if self._task.args["step"] == "look":
            return self.look_for_the_dead(task_vars)
        step = failover.Failover(
            self._task.args,
            task_vars,
            self.wanted(task_vars),
            lambda plan, **more: self.on_host(self.with_events(plan, step.name), task_vars, **more),
            token_of,
            self._task,
        )
        cluster.refuse(task_vars, step.name, step.members, forks(step.members))
        if self._task.args["step"] == "salvage" and not self._task.check_mode:
            return self.salvage(step, task_vars)
        return step.go()

    def salvage(self, step: Any, task_vars: Any) -> dict[str, Any]:
        """Read on one host; on the others keep the IO threads still as long as that takes."""
        if step.host == source_of(step.members).host:
            with io_threads.at_work(step.token):
                return step.go()
        frozen = step.results_of("frozen_from")[step.host]
        if frozen.get("changed"):
            plan = {"mode": "renew", "token": step.token}
            io_threads.keep(step.token, lambda: self.on_host(plan, task_vars))
        return step.go()

    def with_events(self, plan: dict[str, Any], name: str) -> dict[str, Any]:
        """The target's plan, with what the last look saw of the dead source's events."""
        if plan.get("part") != "target":
            return plan
        folder = results.cluster_folder(self._task.args.get("results_dir", "results"), name)
        last = results.read_json(os.path.join(folder, results.STATE), None)
        return dict(plan, event_states=rules_events.of_dead(last, str(plan["source_id"])))

    def look_for_the_dead(self, task_vars: Any) -> dict[str, Any]:
        """The first look at a host, which is asked all that a failover asks of anybody."""
        name, members = cluster.known_members(task_vars, "")
        folder = results.cluster_folder(self._task.args.get("results_dir", "results"), name)
        last = results.read_json(os.path.join(folder, results.STATE), None)
        plan = failover.look(
            self.wanted(task_vars),
            last if isinstance(last, dict) else None,
            [
                {
                    "address": member.address,
                    "port": task_vars["hostvars"][member.host].get("semisync_login_port"),
                }
                for member in members
                if member.host != task_vars["inventory_hostname"]
            ],
        )
        result = self.on_host(plan, task_vars)
        # Between these moments all of it was read; a host that is gone takes its time to be.
        result.setdefault("look", {}).update(
            asked_at=result["asked_at"], read_at=result["answered_at"]
        )
        return result

    def on_host(self, plan: dict[str, Any], task_vars: Any, **more: Any) -> dict[str, Any]:
        """The module's result."""
        arguments = {name: value for name, value in self._task.args.items() if name not in OURS}
        arguments.update(plan=plan, **more)
        asked = time.time()
        name = LOOK_MODULE if self._task.args["step"] in LOOKS else MODULE
        result = self._execute_module(name, arguments, task_vars=task_vars)
        if self._task.args["step"] in DATED:
            result.update(asked_at=asked, answered_at=time.time())
        return result

    def wanted(self, task_vars: Any) -> settings.Settings:
        """This host's settings.

        Raises:
            RefusedError: one cannot work.
        """
        own, wrong = promise.read(cluster.TaskVariables(task_vars, self._templar))
        if wrong:
            raise cluster.RefusedError(f"Nothing was changed. {'; '.join(wrong)}")
        return own

    def members(
        self, task_vars: Any
    ) -> tuple[str, list[Member], JournalRow | None, settings.Settings]:
        """(cluster, its Members, the newest row of its journal, this host's settings); no Members
        for a cluster that is not meant.

        Raises:
            RefusedError: it cannot be one that is meant, or one of its hosts could not be read.
        """
        own = self.wanted(task_vars)
        name, members = cluster.members(task_vars, self._task.args["info_from"], own=own)
        known = clusters_of(task_vars)
        to = own["switchover_to"]
        mine = to in [member.host for member in members]
        taken = {known[host] for host in task_vars["ansible_play_hosts_all"] if host in known}
        if not mine and known.get(to) in taken:
            return name, [], None, own
        wrong = switchover_premises.of_target_name(to, members, known, name)
        row = sides.decide(members).row
        cluster.refuse(
            task_vars,
            name,
            members,
            ([wrong] if wrong else [])
            or cluster.inventory_problems(task_vars, self._task.args["info_from"], name, members)
            or switchover_plan.unread(members, row)
            or problems.of_engines(switchover_plan.taking_part(members, row))
            or forks(members),
        )
        return name, members, row, own

    def look(self, task_vars: Any) -> dict[str, Any]:
        """Read what the plan needs, and try the way to the other server."""
        _name, members, row, own = self.members(task_vars)
        if not members:
            return {"skipped": True, "skip_reason": "another cluster is meant"}
        mine = cluster.of_host(task_vars, members)
        if mine.info is None:
            return {"skipped": True, "skip_reason": LEFT_OUT}
        members = switchover_plan.taking_part(members, row)
        source, target = ends(members, row, own)
        other = source if mine is target else target
        tried = [peer for peer in switchover_plan.peers(members) if peer["host"] == other.host]
        plan = {
            "members": tried,
            "user": own["replication_user"],
            "option_file": switchover_plan.option_file(mine),
        }
        return self.on_host(plan, task_vars)

    def plan(self, task_vars: Any) -> dict[str, Any]:
        """Judge all premises, and plan."""
        name, members, row, own = self.members(task_vars)
        if not members:
            return {"changed": False, "mode": switchover_plan.NONE, "cluster": name}
        hostvars = task_vars["hostvars"]
        looks = {
            member.host: hostvars[member.host].get(self._task.args["looks_from"]) or {}
            for member in switchover_plan.taking_part(members, row)
        }
        failed = [
            f"{host}: {looked.get('msg')}" for host, looked in looks.items() if looked.get("failed")
        ]
        mode = switchover_plan.mode_of(members, row, looks, own["switchover_to"])
        if failed:
            wrong = failed
        elif mode == switchover_plan.SETTLE:
            wrong = sides.decide(members).problems
        elif mode == switchover_plan.SWITCH:
            wrong = problems.of_reading(members) or sides.decide(members).problems
            wrong = wrong or switchover_premises.refusals(members, looks, own)
        else:
            wrong = switchover_plan.interrupted_problems(members, row, looks) if row else []
        cluster.refuse(task_vars, name, members, wrong)
        token = token_of(name, members)
        plan = switchover_plan.make(name, members, looks, own, token, mode, row)
        if self.speaks(task_vars, members):
            display.display("\n".join(switchover_plan.in_words(plan)))
        return dict(plan, changed=False)

    def speaks(self, task_vars: Any, members: list[Member]) -> bool:
        return cluster.speaks(task_vars, members, self._task)

    def planned(self, task_vars: Any) -> dict[str, Any]:
        plan = task_vars[self._task.args["plan_from"]]
        return plan if isinstance(plan, dict) else self._templar.template(plan)

    def part(self, task_vars: Any) -> dict[str, Any]:
        """This host's part, at the same time as all others'."""
        mine = self.planned(task_vars)["hosts"].get(task_vars["inventory_hostname"])
        if not mine:
            return {"skipped": True, "skip_reason": LEFT_OUT}
        return self.on_host(mine, task_vars)

    def after(self, task_vars: Any) -> dict[str, Any]:
        """What has time, on this host."""
        plan, host = self.planned(task_vars), task_vars["inventory_hostname"]
        mine = plan["hosts"].get(host)
        if not mine:
            return {"skipped": True, "skip_reason": LEFT_OUT}
        done = task_vars["hostvars"][host].get(self._task.args["parts_from"]) or {}
        was_on = bool(done.get("scheduler_was_on")) and bool(mine["events"])
        return self.on_host(dict(mine, scheduler_was_on=was_on), task_vars)

    def report(self, task_vars: Any) -> dict[str, Any]:
        """Say and keep what became of it; a failure where the role has not moved."""
        plan, host = self.planned(task_vars), task_vars["inventory_hostname"]
        hostvars, settled = task_vars["hostvars"], boolean(self._task.args.get("settled", False))
        parts = {
            name: hostvars[name].get(self._task.args["parts_from"]) or {} for name in plan["hosts"]
        }
        outcome, reason = switchover_outcome.outcome(plan, parts)
        rows, members = switchover_outcome.points(parts), []
        if settled:
            members = cluster.members(task_vars, self._task.args["info_from"])[1]
            plans = {
                name: hostvars[name].get("__semisync_readback")
                or hostvars[name].get("__semisync_plan")
                for name in plan["hosts"]
            }
            rows += switchover_outcome.settled(plan, members, plans)
        record = switchover_outcome.record(plan, parts, outcome, reason, rows)
        result: dict[str, Any] = dict(record, changed=False, path=None)
        speaker = next(name for name in plan["hosts"] if name in task_vars["ansible_play_hosts"])
        if host == speaker:
            result["path"] = self.keep(plan, record, task_vars)
            if settled:
                self.keep_look(plan, members)
            told = switchover_outcome.told(record)
            if settled:
                told = [line for line in told if line.startswith(("  S8", "  S9"))]
            display.display("\n".join(told))
        wrong = switchover_outcome.complaint(record, parts, settled)
        if wrong:
            result.update(cluster.refused(wrong, host))
        return result

    def keep(self, plan: dict[str, Any], record: dict[str, Any], task_vars: Any) -> str | None:
        """Write switchover.json into the run's folder; its path."""
        if self._task.check_mode:
            return None
        base = self._task.args.get("results_dir", "results")
        folder = results.cluster_folder(base, plan["cluster"])
        # The token is the moment at which this run planned: both reports are of one folder.
        run = results.open_run(folder, results.now(), self._task.args.get("run") or None)
        path = os.path.join(run, FILE)
        before = results.read_json(path, None)
        results.write_json(path, switchover_outcome.with_mended(record, before))
        return path

    def keep_look(self, plan: dict[str, Any], members: list[Member]) -> None:
        """Keep the first look at the new source."""
        shelf = Shelf(
            self._task.args.get("results_dir", "results"),
            plan["cluster"],
            None,
            results.now(),
            self._task.check_mode,
        )
        if source_of(members).host == plan["to"]:
            shelf.keep_look(members)


def clusters_of(task_vars: Any) -> dict[str, str]:
    """The cluster of every host in the two groups."""
    hostvars, groups = task_vars["hostvars"], task_vars["groups"]
    return {
        host: str(hostvars[host].get("semisync_cluster", cluster.DEFAULT))
        for _side, group in cluster.GROUPS
        for host in groups.get(group, [])
    }


def ends(
    members: list[Member], row: JournalRow | None, own: settings.Settings
) -> tuple[Member, Member]:
    """The old source and the target, of this switchover or of one that was interrupted."""
    by_host = {member.host: member for member in members}
    if interrupted_switchover.begun(row) and row:
        source = by_host.get(row["from_host"]) or source_of(members)
        return source, by_host.get(row["to_host"], source)
    return source_of(members), by_host[own["switchover_to"]]


def forks(members: list[Member]) -> list[str]:
    """Why Ansible would not do all parts at the same time; empty where it does."""
    number = int(context.CLIARGS.get("forks") or constants.DEFAULT_FORKS)
    if number >= len(members):
        return []
    return [
        f"Ansible works on {number} hosts at the same time (forks), and a switchover must on all"
        f" {len(members)} of its cluster; say --forks {len(members)}"
    ]


def token_of(name: str, members: list[Member]) -> str:
    """What marks this run: the same for all hosts of the cluster, and another in the next run."""
    path = os.path.join(constants.DEFAULT_LOCAL_TMP, f"semisync-token-{name.encode().hex()[:100]}")
    made = secrets.token_hex(4)
    try:
        # Whoever is first says it.
        os.symlink(made, path)
    except FileExistsError:
        return os.readlink(path)
    return made
