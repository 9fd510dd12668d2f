# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import secrets
import time
from typing import Any

from ansible import constants
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.plugin_utils import results
from ansible_collections.dbre.semisync.plugins.plugin_utils.bench import (
    benchmark_points,
    environment,
    run_record,
    schedule,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.bench.benchmark_arguments import (
    ARGUMENTS,
    NEEDED,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.bench.benchmark_context import (
    CLIENT_FILE,
    Known,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.bench.step_options import (
    cell_of,
    load_options,
    netem_options,
    setting_options,
    timer_prefixes,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.checks import check
from ansible_collections.dbre.semisync.plugins.plugin_utils.lifeline import (
    LEASE,
    Lifeline,
    clock,
    run_lives,
)

display = Display()
SETTING = "dbre.semisync.semisync_setting"
NETEM = "dbre.semisync.netem"
ENVIRONMENT = "dbre.semisync.semisync_environment"
LOAD = "dbre.semisync.semisync_load"
SEED = "dbre.semisync.semisync_seed"
INFO = "dbre.semisync.semisync_info"


class ActionModule(ActionBase):
    """Runs a suite cell by cell; documented in plugins/modules/semisync_benchmark.py."""

    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _dummy, arguments = self.validate_argument_spec(
            argument_spec=ARGUMENTS,
            required_if=[("do", part, names) for part, names in NEEDED.items()],
        )
        self.arguments, self.known = arguments, Known(task_vars, arguments)
        result.update(getattr(self, arguments["do"])())
        return result

    def lifeline(self, host: str) -> Lifeline:
        """This run's sign of life for a server's host."""
        side = "source" if host == self.known.source.host else "replica"
        return Lifeline(constants.DEFAULT_LOCAL_TMP, host, timer_prefixes(side))

    def module(self, name: str, **options: Any) -> dict[str, Any]:
        """A module's result on this host; its failure is this task's."""
        result = self._execute_module(
            module_name=name, module_args=options, task_vars=self.known.task_vars
        )
        if result.get("failed"):
            raise AnsibleActionFail(f"{self.known.me}: {result.get('msg', result)}")
        return result

    def plan(self) -> dict[str, Any]:
        """Read the suite, and begin its run or go on with an interrupted one."""
        known = self.known
        suite_id, wanted = known.read_suite()
        if known.me != known.source.host:
            seen = {"seen_as": self.seen_as()} if known.me == known.client() else {}
            return {"changed": False, "source": known.source.host, **seen}
        known.refuse_missing_tools(wanted)
        for words in environment.defects(known.source.facts):
            display.warning(words)
        moment = results.now()
        result = run_record.begin(
            known.name,
            suite_id,
            wanted,
            self.arguments["profile"],
            known.describe(),
            moment,
        )
        run, interrupted = None, None
        if self.arguments["resume"]:
            run, interrupted = run_record.unfinished(known.folder, result)
        steps = schedule.remaining_steps(
            wanted, run_record.done(interrupted) if interrupted else set()
        )
        expected = schedule.expected_seconds(
            wanted, steps, run_record.walls(interrupted) if interrupted else None
        )
        if interrupted:
            result = run_record.resume(result, interrupted)
        else:
            result["suite"]["expected_seconds"] = round(expected)
        path = None
        if not self._task.check_mode:
            try:
                folder = results.open_run(known.folder, moment, run or self.arguments["run"])
            except ValueError as error:
                raise AnsibleActionFail(str(error)) from error
            path = os.path.join(folder, run_record.file_name(suite_id))
            results.write_json(path, result)
            run_record.remove_former(path, suite_id)
        display.display(
            f"{wanted['title']}\n  cluster {known.name}, {len(wanted['cells'])} cells,"
            f" {wanted['repetitions']} repetitions, profile {self.arguments['profile']}, load from"
            f" {known.client()}: {len(steps)} runs, about {schedule.in_words(expected)}"
            + (f"; going on with the interrupted run {run}" if run else "")
        )
        return {
            "steps": steps,
            "path": path,
            "source": known.source.host,
            "client": known.client(),
            "expected_seconds": round(expected),
            "schema": "semisync_bench_" + secrets.token_hex(6),
            "changed": False,
            "run": os.path.basename(os.path.dirname(path)) if path else None,
        }

    def seen_as(self) -> str:
        """As which host the source sees this one, a client's; empty where it does not tell."""
        login = self.known.source_login()
        where = {"source_host": login["login_host"], "source_port": login["login_port"]}
        result = self._execute_module(
            module_name=SEED,
            module_args={"part": "seen", "method": "clone", **where},
            task_vars=self.known.task_vars,
        )
        return str(result.get("host") or "")

    def prepare(self) -> dict[str, Any]:
        """Set this host up for a step."""
        known = self.known
        step, result = self.arguments["step"], known.kept()
        cell = cell_of(result, step)
        done: dict[str, Any] = {"changed": False}
        lifeline, begun = self.lifeline(known.me), clock()
        # A run that did not count may have restarted a server, with the values of its option files.
        valid = known.registered(known.client(), "measured_from").get("valid")
        anew = not valid or lifeline.lapsed()
        seconds = schedule.longest_step(result["suite"]["time_limit"])
        if lifeline.hold(self, seconds):
            seconds = LEASE
        else:
            anew = True
            display.warning(schedule.unheard(known.me, seconds, LEASE))
        if step[known.side] or anew:
            info = next(member.facts for member in known.servers if member.host == known.me)
            options = setting_options(cell, known.side, info, len(known.replicas), seconds)
            if known.side == "source":
                options["schema"] = known.planned()["schema"]
                if known.client() != known.source.host:
                    options["account"] = known.account()
            done["setting"] = self.module(SETTING, **self.arguments["login"], **options)
            done["changed"] = done["setting"]["changed"]
            lifeline.renewed(begun)
        if known.side == "source" and (step["delay"] or anew):
            peers = known.peers(all_needed=bool(cell["delay_ms"]))
            done["netem"] = self.module(NETEM, **netem_options(cell, peers, seconds))
            done["changed"] = done["changed"] or done["netem"]["changed"]
            if cell["delay_ms"] and done["netem"]["changed"]:
                run_record.keep_netem(result, cell["delay_ms"], done["netem"])
                known.keep(result)
        return done

    def measure(self) -> dict[str, Any]:
        """Run one cell once and keep what it gave."""
        known = self.known
        step, result = self.arguments["step"], known.kept()
        cell = cell_of(result, step)
        on_source = known.me == known.source.host
        options = load_options(
            cell,
            result["suite"]["time_limit"],
            known.planned()["schema"],
            len(known.replicas),
            known.peers() if on_source else [],
        )
        login = self.arguments["login"] if on_source else known.client_login()
        begin, moment, main = time.time(), results.now(), os.getppid()
        loaded = self._execute_module(
            module_name=LOAD, task_vars=known.task_vars, module_args={**login, **options}
        )
        if loaded.get("failed"):
            run = run_record.failed_run(loaded.get("msg") or "the load failed")
        else:
            run = loaded["runs"][0]
        if run["rtt_ms"] is None and run["valid"]:
            run = run_record.with_known_trip(run, result, cell)
        if not run_lives(main):
            raise AnsibleActionFail("ansible-playbook was killed; the next run measures this again")
        lapsed = [each.host for each in known.servers if self.lifeline(each.host).lapsed()]
        if lapsed:
            run = run_record.lapsed_run(run, lapsed, LEASE)
        run_record.add(result, cell["id"], step["repetition"], run, moment, time.time() - begin)
        known.keep(result)
        self.show(result, step)
        return {"changed": True, "valid": run["valid"], "reason": run["reason"]}

    def show(self, result: dict[str, Any], step: dict[str, Any]) -> None:
        """A line for the run that has just ended."""
        steps = self.known.planned()["steps"]
        position = steps.index(step) + 1
        cell = cell_of(result, step)
        run = next(run for run in cell["repetitions"] if run["number"] == step["repetition"])
        seconds = schedule.expected_seconds(result, steps[position:], run_record.walls(result))
        left = schedule.in_words(seconds)
        display.display(run_record.line(cell, run, position, len(steps), left))

    def confirm(self) -> dict[str, Any]:
        """Where the load came from another host: whether netem on this one dropped packets, which
        that one cannot see.
        """
        now = self.module(ENVIRONMENT)["dropped"]
        before = self.known.registered(self.known.me, "confirmed_from").get("dropped", 0)
        # A netem that was put on anew counts from zero.
        lost = now - before if now >= before else now
        if lost:
            step, result = self.arguments["step"], self.known.kept()
            reason = f"netem dropped {lost} packets"
            run_record.spoil(result, step["cell"], step["repetition"], reason)
            self.known.keep(result)
            display.display(f"  {step['cell']} does not count: {reason}")
        return {"changed": False, "dropped": now}

    def restore(self) -> dict[str, Any]:
        """Put back whatever a step set on this host."""
        try:
            done = self.put_back()
        finally:
            # Where that failed, the host tries by itself when its timers run out.
            self.lifeline(self.known.me).release()
        done["changed"] = any(part["changed"] for part in done.values())
        return done

    def put_back(self) -> dict[str, Any]:
        """The modules' results."""
        known = self.known
        done = {
            "setting": self.module(
                SETTING, state="absent", side=known.side, **self.arguments["login"]
            )
        }
        # Before the servers were read, any of them may be the one that a run delayed.
        if known.side == "source" or known.source.info is None:
            done["netem"] = self.module(
                NETEM, state="absent", peers=known.peers(), ping_count=self.arguments["pings"]
            )
            planned = known.planned().get("path")
            if planned and os.path.exists(os.path.join(os.path.dirname(planned), CLIENT_FILE)):
                os.unlink(os.path.join(os.path.dirname(planned), CLIENT_FILE))
        return done

    def finish(self) -> dict[str, Any]:
        """Close the run: what it says, its checkpoints, and whether the pair is as it was."""
        known = self.known
        result, path = known.kept(), known.planned()["path"]
        info = self.module(
            INFO,
            wait_for={"clients": len(known.replicas), "source_status": True},
            wait_timeout=60,
            **self.arguments["login"],
        )
        status = info["semisync"]["source"]["status"]
        restored = {
            "qdiscs_after": (known.registered(known.me, "restored_from").get("netem") or {}).get(
                "qdiscs_after"
            ),
            "status": status["status"],
            "clients": int(status["clients"] or 0),
            "replicas": len(known.replicas),
        }
        run_record.finish(result, results.now())
        known.keep(result)
        rows = check.at(result["ended"], benchmark_points.points(result, known.me, restored))
        if rows:
            results.keep_rows(os.path.dirname(path), rows)
        display.display(run_record.summary(result, path))
        return {
            "changed": False,
            "path": path,
            "statement": result["statement"],
            "checkpoints": rows,
            "invalid": [cell["label"] for cell in result["cells"] if not cell["valid"]],
        }
